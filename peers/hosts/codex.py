"""Codex: how it is set up, started and spoken to."""

import json
import os
import time

from scripted_model import use
from terminal import PATIENCE_SECONDS


class Codex:
    name = "codex"
    turn = "turn_id"
    hooks_file = ".codex/hooks.json"
    terminal_arguments = ["--dangerously-bypass-hook-trust"]
    says_cleared = False
    rereads_hooks = False
    # Whether its screen has to be asked for what stands there already.
    writes_only_changes = True
    # Whether the end of a sub-agent is told to the model of its parent without being asked for.
    tells_of_agents = False

    def __init__(self, program):
        self.program = program

    def environment(self, stage):
        return {"CODEX_HOME": f"{stage.home}/.codex", "SCRIPTED_KEY": "x"}

    def furnish(self, stage):
        """A user who lets everything run. Our hooks are trusted by a flag: people do that in Codex itself."""
        os.makedirs(f"{stage.home}/.codex")
        with open(f"{stage.home}/.codex/config.toml", "w") as file:
            file.write(
                f'model = "gpt-5.1-codex"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
                f'sandbox_mode = "danger-full-access"\n\n[projects."{stage.project}"]\ntrust_level = "trusted"\n\n'
                f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{stage.model.url}/v1"\nwire_api = "responses"\n'
                f'env_key = "SCRIPTED_KEY"\n\n[analytics]\nenabled = false\n'
            )

    def greet(self, terminal):
        terminal.wait_for("for shortcuts", "Ask Codex")
        # Before that it takes a line and keeps it: on a busy machine for minutes.
        terminal.wait_for("permissions: YOLO mode", patience=2 * PATIENCE_SECONDS)
        terminal.read(1)

    def print_arguments(self, prompt):
        return ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--json", prompt]

    def mcp_tool(self, name, arguments):
        return use(name, arguments, "mcp__highwater")

    def shell(self, command):
        return use("exec_command", {"cmd": command})

    def agent(self, prompt, background=False):
        return use("spawn_agent", {"message": prompt}, "multi_agent_v1")

    def is_taken(self, terminal, line):
        """Behind a prompt that was sent there is room for the next, or it waits until everything has been started. What a
        command has done is seen by whoever gives it."""
        if line.startswith("/"):
            return True
        _, found, behind = terminal.whole().rpartition(line)
        return bool(found) and ("AskCodex" in behind or "Waitingforstartup" in behind)

    def clear(self, stage, terminal):
        """It takes this command only while nothing of the conversation runs any more, its hooks included, and says so if
        something does. What shows that it began another one is that nothing of the old one stands there."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            terminal.type("/new")
            screen = terminal.whole()
            if "OpenAICodex" in screen and "AskCodex" in screen and "Finished" not in screen:
                return
        raise TimeoutError(f"no new conversation could be begun: …{screen[-600:]}")

    def switch_hooks_off(self, stage):
        """Only the one that comes before tools: without all the others there is no conversation to speak of."""
        path = f"{stage.home}/{self.hooks_file}"
        with open(path) as file:
            hooks = json.load(file)
        del hooks["hooks"]["PreToolUse"]
        with open(path, "w") as file:
            json.dump(hooks, file)
