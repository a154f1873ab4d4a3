"""A home of its own for a host, with Highwater connected to it, and what is read there afterwards.

Whether something ran is read from the server's own list of calls, what was decided and why from the audit log; never from
what the host or the model says.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

from scripted_model import ScriptedModel
from terminal import Terminal

# Only decides how late a check fails.
PATIENCE_SECONDS = 120
SERVERS = ["mail", "files", "repo", "web"]


class Stage:
    """One home, one project, one gateway at a time."""

    def __init__(self, host, folder, highwater, words="owner"):
        self.host, self.highwater = host, highwater
        self.folder = os.path.abspath(folder)
        self.home, self.project = f"{self.folder}/home", f"{self.folder}/project"
        self.data, self.example = f"{self.folder}/data", f"{self.folder}/example"
        shutil.rmtree(self.folder, ignore_errors=True)
        for made in (self.home, self.project, self.example):
            os.makedirs(made)
        self.model = ScriptedModel()
        self.terminals = []
        self.server = None
        self.environment = {
            "HOME": self.home,
            "PATH": f"{os.path.dirname(host.program)}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "USER": "owner",
            **host.environment(self),
        }
        self.config = f"{self.folder}/highwater.yaml"
        with open(self.config, "w") as file:
            json.dump(self._config(words), file)
        host.furnish(self)
        self.run("connect", host.name, "--yes")

    def _config(self, words):
        servers = {
            name: {
                "command": self.highwater,
                "args": ["example-server", name, "--data", f"{self.example}/{name}"],
                "trust": {"server_trust": "tool", "verified": True},
            }
            for name in SERVERS
        }
        reading = {
            "cases": [
                {
                    "when": {"arguments.repo": {"in": ["website", "docs"]}},
                    "returnMetadata": {"source": "untrustedPublic", "sensitivity": "none"},
                }
            ]
        }
        servers["repo"]["labels"] = {"list_issues": reading, "get_issue": reading}
        token = {
            "permissions": ["read", "write", "destructive", "retrieve_tools"],
            "servers": ["*"],
            "forms": "never",
            "words": words,
        }
        # A gateway that nobody needed for a while ends. The next one must be where the approvals of the first were.
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        return {
            "quarantine": False,
            "servers": servers,
            "agent_tokens": {self.host.name: token},
            "approvals": {"listen": f"localhost:{port}", "open_browser": False, "notify": False, "hold": "1s"},
        }

    def run(self, *arguments, check=True):
        """A command of ours."""
        command = [self.highwater, *arguments, "--data-dir", self.data]
        if arguments[0] in ("connect", "disconnect", "doctor", "token"):
            command += ["--config", self.config]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def serve(self):
        """Runs a gateway that stays. One that a hook starts ends if the host takes long to come as a client, and what it knew
        of the host's process is forgotten."""
        self.server = subprocess.Popen(
            [self.highwater, "serve", "--listen", "localhost:0", "--config", self.config, "--data-dir", self.data],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: self.gateway() == self.server.pid, "the gateway runs")

    def start(self, *arguments, environment=None, folder=None):
        """The host at a terminal."""
        terminal = Terminal(
            self.host,
            arguments,
            {**self.environment, **(environment or {})},
            folder or self.project,
        )
        self.terminals.append(terminal)
        self.host.greet(terminal)
        # A host that cannot reach us for a while lets the prompt go on without telling it: it then brings no words.
        terminal.wait_until(self._has_listed, "the host asks us what there is")
        return terminal

    def _has_listed(self):
        return any(record.get("event") == "access" and record.get("act") == "list" for record in self.audit())

    def print(self, prompt, environment=None):
        """The host without a person: one prompt, one answer."""
        command = [self.host.program, *self.host.print_arguments(prompt)]
        done = subprocess.run(
            command,
            cwd=self.project,
            env={**self.environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        return done.stdout + done.stderr

    def script(self, name, *steps):
        """What the model says in a conversation that names this script."""
        self.model.scripts[name] = list(steps)

    def tool(self, name, arguments):
        """A call of a tool of ours, as this host names it."""
        return self.host.mcp_tool(name, arguments)

    # What is read afterwards.

    def audit(self):
        """Every record, oldest first."""
        records = []
        folder = f"{self.data}/audit"
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(f"{folder}/{name}") as file:
                records += [json.loads(line) for line in file if line.endswith("\n")]
        return records

    def remarks(self, what):
        """What was remarked about conversations, by its kind."""
        return [record for record in self.audit() if record.get("what") == what]

    def wait_for_remark(self, what, count=1):
        """The remarks of a kind, once there are so many."""
        return wait_until(lambda: len(found := self.remarks(what)) >= count and found, f"{count} × {what}")

    def calls(self, server, tool):
        """The arguments with which a server was called."""
        path = f"{self.example}/{server}/{server}.calls.jsonl"
        if not os.path.exists(path):
            return []
        with open(path) as file:
            entries = [json.loads(line) for line in file]
        return [entry.get("arguments") for entry in entries if entry.get("tool") == tool]

    def sessions(self):
        """The agent sessions that the gateway knows."""
        return json.loads(self.run("session", "list", "--json").stdout)

    def gateway(self):
        """The process of the gateway, if one runs."""
        try:
            with open(f"{self.data}/gateway.json") as file:
                return json.load(file)["pid"]
        except (OSError, ValueError):
            return None

    def close(self):
        """Ends what was started here, a gateway that was stopped included."""
        for terminal in self.terminals:
            terminal.close()
        if pid := self.gateway():
            for number in (signal.SIGTERM, signal.SIGCONT):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    break
        if self.server:
            self.server.terminate()
            self.server.wait(PATIENCE_SECONDS)


def wait_until(condition, what, patience=PATIENCE_SECONDS):
    """Waits for a condition; what it is then."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise TimeoutError(f"this did not happen: {what}")
