"""Codex: how it is set up, started and spoken to."""

import json
import os

from scripted_model import use
from terminal import PATIENCE_SECONDS, squeezed

PROMPT = "›"
EMPTY = "Ask Codex to do anything"
REFUSED = "'/new' is disabled while a task is in progress."
# It asks this where the project is part of a Git repository, as below a checkout of ours.
QUESTION, HERE = "Where should the new conversation run?", "1. Use current Git worktree"
# With this control it tells the terminal what it does: `state=working`, `state=done` or `state=idle`.
STATE = "7501"


class Codex:
    name = "codex"
    turn = "turn_id"
    hooks_file = ".codex/hooks.json"
    terminal_arguments = ["--dangerously-bypass-hook-trust"]
    says_cleared = False
    rereads_hooks = False
    # Whether the end of a sub-agent is told to the model of its parent without being asked for.
    tells_of_agents = False

    def __init__(self, program):
        self.program = program

    def environment(self, stage):
        return {"CODEX_HOME": f"{stage.home}/.codex", "SCRIPTED_KEY": "x"}

    def furnish(self, stage):
        """A user who lets everything run. Our hooks are trusted by a flag: people do that in Codex itself.

        Letters that come fast are letters all the same: else it takes them for a paste, does not show them at once, and takes
        the key that ends the line for a part of it, or for one that chooses from what it offers for the first letter.
        """
        os.makedirs(f"{stage.home}/.codex")
        with open(f"{stage.home}/.codex/config.toml", "w") as file:
            file.write(
                f'model = "gpt-5.1-codex"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
                f'sandbox_mode = "danger-full-access"\ndisable_paste_burst = true\n\n'
                f'[projects."{stage.project}"]\ntrust_level = "trusted"\n\n'
                f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{stage.model.url}/v1"\nwire_api = "responses"\n'
                f'env_key = "SCRIPTED_KEY"\n\n[analytics]\nenabled = false\n'
            )

    def greet(self, terminal):
        terminal.wait_until(lambda: self._has_begun(terminal), "a conversation begins", patience=2 * PATIENCE_SECONDS)

    def print_arguments(self, prompt):
        return ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--json", prompt]

    def mcp_tool(self, name, arguments):
        return use(name, arguments, "mcp__highwater")

    def shell(self, command):
        return use("exec_command", {"cmd": command})

    def agent(self, prompt, background=False):
        return use("spawn_agent", {"message": prompt}, "multi_agent_v1")

    def written(self, terminal):
        """What stands in the place where lines are written: the last prompt on the screen and what follows it."""
        lines = terminal.lines()
        prompts = [row for row, line in enumerate(lines) if line.startswith(PROMPT)]
        written = ""
        for line in lines[prompts[-1] :] if prompts else []:
            if not line:
                break
            written += squeezed(line)
        return written.removeprefix(PROMPT)

    def is_ready(self, terminal):
        """What is typed while something runs belongs to what runs."""
        return self._is_empty(terminal) and terminal.told(STATE).startswith(("state=idle", "state=done"))

    def is_taken(self, terminal, line):
        return self._is_empty(terminal) or self._asks(terminal)

    def _is_empty(self, terminal):
        return self.written(terminal) == squeezed(EMPTY)

    def _asks(self, terminal):
        """Whether it asks where the conversation shall run, and would be told: here."""
        is_asked = any(QUESTION in line for line in terminal.lines())
        return is_asked and self.written(terminal).startswith(squeezed(HERE))

    def _has_begun(self, terminal):
        """It is ready, knows what it may do, and nothing was said yet. Before that it takes a line and keeps it."""
        lines = terminal.lines()
        return (
            self.is_ready(terminal)
            and any("permissions: YOLO mode" in line for line in lines)
            and [line.startswith(PROMPT) for line in lines].count(True) == 1
        )

    def clear(self, stage, terminal):
        """It takes this command only while nothing of the conversation runs any more, and says so if something does."""
        said = "refused"
        while said == "refused":
            before = self._refusals(terminal)
            terminal.type("/new")
            said = self._answer(terminal, before)
            if said == "asks":
                terminal.press("\r")
                terminal.wait_until(lambda: not self._asks(terminal), "the question where it shall run is answered")
                said = self._answer(terminal, before)

    def _answer(self, terminal, refusals):
        """What it does with a command to begin a conversation."""

        def answer():
            if self._has_begun(terminal):
                return "begun"
            if self._asks(terminal):
                return "asks"
            return "refused" if self._refusals(terminal) > refusals else None

        return terminal.wait_until(answer, "a new conversation begins or is refused")

    def _refusals(self, terminal):
        return sum(REFUSED in line for line in terminal.lines())

    def switch_hooks_off(self, stage):
        """Only the one that comes before tools: without all the others there is no conversation to speak of."""
        path = f"{stage.home}/{self.hooks_file}"
        with open(path) as file:
            hooks = json.load(file)
        del hooks["hooks"]["PreToolUse"]
        with open(path, "w") as file:
            json.dump(hooks, file)
