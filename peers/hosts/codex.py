"""Codex: how it is set up, started and spoken to."""

import json
import os

from scripted_model import use


class Codex:
    name = "codex"
    turn = "turn_id"
    hooks_file = ".codex/hooks.json"
    terminal_arguments = ["--dangerously-bypass-hook-trust"]
    says_cleared = False
    rereads_hooks = False

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
        terminal.read(1)

    def print_arguments(self, prompt):
        return ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--json", prompt]

    def mcp_tool(self, name, arguments):
        return use(name, arguments, "mcp__highwater")

    def shell(self, command):
        return use("exec_command", {"cmd": command})

    def agent(self, prompt, background=False):
        return use("spawn_agent", {"message": prompt}, "multi_agent_v1")

    def clear(self, stage, terminal):
        """It takes commands only while nothing of the conversation runs any more."""
        for _ in range(10):
            start = terminal.type("/new")
            try:
                return terminal.wait_for("OpenAI Codex", start=start, patience=10)
            except TimeoutError:
                terminal.press_escape()
        raise TimeoutError("no new conversation could be begun")

    def switch_hooks_off(self, stage):
        """Only the one that comes before tools: without all the others there is no conversation to speak of."""
        path = f"{stage.home}/{self.hooks_file}"
        with open(path) as file:
            hooks = json.load(file)
        del hooks["hooks"]["PreToolUse"]
        with open(path, "w") as file:
            json.dump(hooks, file)
