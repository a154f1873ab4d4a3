"""Claude Code: how it is set up, started and spoken to."""

import glob
import json
import os

from scripted_model import use
from stage import wait_until
from terminal import squeezed

KEY = "sk-ant-scripted-" + "0" * 24
PROMPT = "❯"
RULE = "───"


class ClaudeCode:
    name = "claude-code"
    turn = "prompt_id"
    hooks_file = ".claude/settings.json"
    terminal_arguments = []
    # Whether it tells a conversation that was cleared from one that was started anew.
    says_cleared = True
    # Whether a change of its hooks counts for a conversation that runs.
    rereads_hooks = True
    # Whether the end of a sub-agent is told to the model of its parent without being asked for.
    tells_of_agents = True

    def __init__(self, program):
        self.program = program

    def environment(self, stage):
        return {
            "ANTHROPIC_BASE_URL": stage.model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def furnish(self, stage):
        """A user who has answered all questions of the first start and lets the tools run."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {stage.project: trusted},
        }
        settings = {"permissions": {"allow": ["Bash", "Agent", "mcp__highwater"]}, "disableAutoMode": "disable"}
        os.makedirs(f"{stage.home}/.claude")
        for path, value in ((".claude.json", state), (".claude/settings.json", settings)):
            with open(f"{stage.home}/{path}", "w") as file:
                json.dump(value, file, indent=2)

    def greet(self, terminal):
        terminal.wait_for("? for shortcuts", "for agents", "shift+tab")

    def print_arguments(self, prompt):
        return ["-p", prompt, "--output-format", "json"]

    def mcp_tool(self, name, arguments):
        return use(f"mcp__highwater__{name}", arguments)

    def shell(self, command):
        return use("Bash", {"command": command, "description": "a command"})

    def agent(self, prompt, background=False):
        return use(
            "Agent",
            {
                "description": "a job",
                "prompt": prompt,
                "subagent_type": "general-purpose",
                "run_in_background": background,
            },
        )

    def written(self, terminal):
        """What stands in the place where lines are written: the last prompt on the screen, down to the rule below it."""
        lines = terminal.lines()
        prompts = [row for row, line in enumerate(lines) if line.startswith(PROMPT)]
        written = ""
        for line in lines[prompts[-1] :] if prompts else ["there is no such place"]:
            if line.startswith(RULE):
                break
            written += squeezed(line)
        return written.removeprefix(PROMPT)

    def is_ready(self, terminal):
        """What is typed while something runs may become a part of what runs."""
        return not self.written(terminal) and not any("esc to interrupt" in line for line in terminal.lines())

    def is_taken(self, terminal, line):
        """What was taken stands in its history of lines. No story says the same line twice."""
        path = f"{terminal.home}/.claude/history.jsonl"
        if not os.path.exists(path):
            return False
        with open(path) as file:
            entries = [json.loads(entry) for entry in file if entry.endswith("\n")]
        return squeezed(line) in [squeezed(entry.get("display", "")) for entry in entries]

    def clear(self, stage, terminal):
        begun = len(stage.remarks("conversation"))
        terminal.type("/clear")
        stage.wait_for_remark("conversation", begun + 1)
        # It says so before it has done with the command, and what is typed until then may be lost.
        wait_until(lambda: self._transcripts_hold(stage, "SessionStart:clear"), "the new conversation stands there")

    def _transcripts_hold(self, stage, text):
        for path in glob.glob(f"{stage.home}/.claude/projects/*/*.jsonl"):
            with open(path) as file:
                if text in file.read():
                    return True
        return False

    def switch_hooks_off(self, stage):
        """As a person or an agent could: a nearer file of settings outranks the user's."""
        os.makedirs(f"{stage.project}/.claude", exist_ok=True)
        with open(f"{stage.project}/.claude/settings.json", "w") as file:
            json.dump({"disableAllHooks": True}, file)
