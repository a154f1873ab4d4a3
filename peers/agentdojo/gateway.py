"""The three who meet at the gateway: a host that calls tools and tells what its user typed, the person who answers what is
asked, and the operator, who says no."""

import http.client
import json
import re
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent / "clients"))
from approval_person import Passkey  # noqa: E402

PROTOCOL = "2025-11-25"
# Only decides how late a hang is noticed.
LIMIT_SECONDS = 300
# The page lets one person do so much a minute; a person who answers for hundreds of conversations waits.
PATIENCE_SECONDS = 2
# A connection over which nothing went for so long may have been ended by the other side.
SILENCE_SECONDS = 3


class Line:
    """A connection, which is kept where many requests follow one another closely."""

    def __init__(self, url: str, headers: dict[str, str], is_kept: bool = True) -> None:
        parts = urlsplit(url)
        self.is_kept = is_kept
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT_SECONDS)
        self.path, self.headers, self.used = parts.path, headers, time.monotonic()

    def ask(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None):
        data = None if body is None else json.dumps(body).encode()
        if not self.is_kept or time.monotonic() - self.used > SILENCE_SECONDS:
            self.connection.close()
        self.connection.request(method, self.path + path, data, {**self.headers, **(headers or {})})
        if method == "POST" and self.connection.sock:
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = self.connection.getresponse()
        self.used = time.monotonic()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()


class Operator:
    """What the operator may do, which includes no yes."""

    def __init__(self, endpoint: str, token: str) -> None:
        self.token = token
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self.line = Line(endpoint.removesuffix("/mcp") + "/api/v1", headers)

    def ask(self, method: str, path: str, body: object = None):
        status, _, text = self.line.ask(method, path, body)
        assert status < 300, f"{method} {path}: {status} {text}"
        return json.loads(text)

    def deny(self, request: str, principal: str, tool: str) -> None:
        """Says no, and lets the tool be asked about again: three noes pause it, and these are of many conversations."""
        self.ask("POST", f"/approvals/{request}/deny", {})
        self.ask("POST", f"/approvals/paused/{quote(principal, safe='')}/{quote(tool, safe='')}/resume", {})

    def forget_marks(self) -> None:
        """Conversations of a replay do not follow one another: nothing that one wrote is there in the next."""
        if self.ask("GET", "/marks"):
            servers = {mark["server"] for mark in self.ask("GET", "/marks")}
            for server in servers:
                self.ask("POST", "/marks/clear", {"marks": {"server": server}, "reason": "the next replay"})


class Person:
    """Somebody who is signed in on the approval page, and has a passkey."""

    def __init__(self, operator: Operator) -> None:
        window = operator.ask("POST", "/approvals/enroll", {"user": "owner"})
        origin = window["url"].split("/enroll")[0]
        self.line, self.known, self.csrf = Line(origin, {}, is_kept=False), {}, ""
        self.origin, self.passkey = origin, Passkey(origin)
        answered, said = self.send("/sign-in", {"token": operator.token})
        self.known = {"cookie": answered["set-cookie"].split(";")[0], "highwater-page-secret": said["secret"]}
        self.csrf = ""
        begun = self.send("/enroll/begin", {"user": "owner"})[1]
        key = self.send("/enroll/finish", {"ticket": begun["ticket"], "response": self.passkey.create(begun["options"])})[1]
        self.send("/enroll/code", {"id": key["id"], "code": window["code"]})

    def agree(self, request: dict) -> None:
        """Presses the button, or signs where a passkey is asked for."""
        place = f"/approve/{request['id']}"
        if request["kind"] == "passkey":
            asked = self.send(f"{place}/challenge", {})[1]
            signed = {"challengeId": asked["challengeId"], "response": self.passkey.get(asked["requestOptions"])}
            self.send(f"{place}/assertion", signed)
        else:
            self.send(f"{place}/confirm", {"remember": None})

    def send(self, path: str, body: dict):
        if not self.csrf:
            visit = {"sec-fetch-dest": "document", **{key: self.known[key] for key in self.known if key == "cookie"}}
            _, _, document = self.line.ask("GET", "/inbox", None, visit)
            self.csrf = re.search(r'data-csrf="([^"]*)"', document)[1]
        headers = {"origin": self.origin, "sec-fetch-site": "same-origin", "content-type": "application/json",
                   "highwater-csrf": self.csrf, **self.known}
        while (said := self.line.ask("POST", path, body, headers))[0] == http.client.TOO_MANY_REQUESTS:
            time.sleep(PATIENCE_SECONDS)
        status, answered, text = said
        assert status == 200, f"{path}: {status} {text}"
        return answered, json.loads(text)


@dataclass
class Hooks:
    """What a host needs to tell what its user typed: where it keeps transcripts, and the command that it runs."""

    transcripts: Path
    command: list[str]


class Host:
    """An agent's host with one conversation, which may tell what its user typed."""

    def __init__(self, endpoint: str, token: str, hooks: Hooks | None) -> None:
        self.conversation, self.hooks = str(uuid.uuid4()), hooks
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json",
                   "accept": "application/json, text/event-stream", "mcp-protocol-version": PROTOCOL}
        self.line = Line(endpoint, headers)
        self.count, self.turn = 0, ""
        if hooks is not None:
            self.transcript = hooks.transcripts / f"{self.conversation}.jsonl"
            self.begin()
        client = {"name": "claude-code", "version": "2.1.325"}
        said = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        _, answered, _ = self.send("initialize", said)
        self.line.headers["mcp-session-id"] = answered["mcp-session-id"]
        self.line.ask("POST", "", {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, method: str, params: dict):
        self.count += 1
        body = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        status, answered, text = self.line.ask("POST", "", body)
        assert status == 200, f"{method}: {status} {text}"
        if answered.get("content-type", "").startswith("text/event-stream"):
            data = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
            text = next(one for one in data if json.loads(one).get("id") == self.count)
        return status, answered, json.loads(text)

    def begin(self) -> None:
        """Runs the hook of a conversation that begins, which is a command: no connection is there yet."""
        said = {"session_id": self.conversation, "transcript_path": str(self.transcript), "source": "startup",
                "cwd": str(self.hooks.transcripts), "hook_event_name": "SessionStart"}
        done = subprocess.run([*self.hooks.command, "SessionStart"], input=json.dumps(said), text=True, capture_output=True,
                              timeout=LIMIT_SECONDS, check=False)
        assert done.returncode == 0, f"SessionStart: {done}"

    def hear(self, event: str, **more: str) -> None:
        """Tells the gateway of an event, as Claude Code does on its own connection."""
        known = {"host": "claude-code", "hook_event_name": event, "session_id": self.conversation, "prompt_id": self.turn,
                 "transcript_path": str(self.transcript), "cwd": str(self.transcript.parent), "agent_id": "", "agent_type": ""}
        answer = self.send("tools/call", {"name": "highwater__hook", "arguments": {**known, **more}})[2]
        assert "error" not in answer and not answer["result"].get("isError"), f"{event}: {answer}"

    def prompt(self, text: str) -> None:
        """The user types something."""
        self.turn = str(uuid.uuid4())
        if self.hooks is None:
            return
        typed = {"type": "user", "promptId": self.turn, "turnOrigin": "human", "origin": {"kind": "human"},
                 "promptSource": "typed", "sessionId": self.conversation, "message": {"role": "user", "content": text}}
        with self.transcript.open("a") as file:
            file.write(json.dumps(typed) + "\n")
        self.hear("UserPromptSubmit", prompt=text)

    def call(self, tool: str, arguments: dict) -> dict:
        """Calls a tool once, whatever comes of it."""
        params: dict = {"name": tool, "arguments": arguments}
        if self.hooks is not None:
            use = f"toolu_{uuid.uuid4().hex}"
            self.hear("PreToolUse", tool_name=f"mcp__highwater__{tool}", tool_input=json.dumps(arguments), tool_use_id=use)
            params["_meta"] = {"claudecode/toolUseId": use}
        answer = self.send("tools/call", params)[2]
        assert "error" not in answer, f"{tool} {arguments}: {answer}"
        return answer["result"]

    def close(self) -> None:
        self.line.ask("DELETE", "")
        self.line.connection.close()
        if self.hooks is not None:
            self.transcript.unlink(missing_ok=True)
