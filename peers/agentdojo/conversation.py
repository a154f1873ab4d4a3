"""One conversation of a replay: the user's calls, which the person agrees to, and strangers' calls, which they do not."""

import json
import socket
from dataclasses import dataclass
from pathlib import Path

from gateway import Hooks, Host, Operator, Person
from suites import Call

# What becomes of a call.
RAN, ASKED, REFUSED = "ran", "asked", "refused"
YES = "Yes, go ahead."


class World:
    """The suite's server, as the one who runs the replay reaches it."""

    def __init__(self, place: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(place))
        self.file = self.socket.makefile("rwb")

    def tell(self, said: dict) -> dict:
        self.file.write(json.dumps(said).encode() + b"\n")
        self.file.flush()
        return json.loads(self.file.readline())

    def made(self, tool: str) -> int:
        """How many calls of a tool have reached the server in this environment."""
        return self.tell({"made": tool})["made"]

    def has_done_last(self, tool: str) -> bool:
        """Whether the last of them was done."""
        return self.tell({"made": tool})["done"]


@dataclass
class Setting:
    """The gateway of a replay, and everybody who is there."""

    suite: str
    endpoint: str
    token: str
    principal: str
    operator: Operator
    person: Person
    world: World
    # How the host tells the user's words, if it does.
    hooks: Hooks | None
    # The tools that do something or reach somebody, by the operator's labels.
    acting: set[str]


@dataclass
class Question:
    """Something that the person was asked."""

    tool: str
    kind: str
    rules: list[str]


class Conversation:
    def __init__(self, setting: Setting, task: str | None, injections: dict[str, str], plant: list[dict] | None = None) -> None:
        self.setting = setting
        setting.world.tell({"injections": injections, "task": task, "plant": plant or []})
        self.host = Host(setting.endpoint, setting.token, setting.hooks)
        # How a stranger's text begins, and whether any of it has been read: `strict` keeps some of it out.
        self.openings = {json.dumps(text[:16])[1:-1] for text in injections.values()}
        self.has_read = False
        self.questions: list[Question] = []
        self.refused: list[str] = []
        self.acted = False

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *_: object) -> None:
        self.host.close()
        if self.acted:
            self.setting.operator.forget_marks()

    def say(self, text: str) -> None:
        self.host.prompt(text)

    def user(self, call: Call) -> str:
        """A call that the user wants: whatever is asked, the answer is yes."""
        made, result, request = self.attempt(call)
        if made:
            return RAN
        if request is None:
            self.refused.append(call.tool)
            return REFUSED
        asked = self.setting.operator.ask("GET", f"/approvals/{request}")
        self.questions.append(Question(call.tool, asked["kind"], [one["rule"] for one in asked["asks"]]))
        self.setting.person.agree(asked)
        made, result, again = self.attempt(call)
        if not made:
            self.refused.append(f"{call.tool}: {result['content'][0]['text'][:200]}")
            assert again is None, f"asked twice: {call} {asked['asks']} {result}"
        return ASKED if made else REFUSED

    def stranger(self, call: Call) -> str:
        """A call that only a stranger wants: whatever is asked, the answer is no."""
        made, _, request = self.attempt(call)
        if made:
            return RAN
        if request is None:
            return REFUSED
        self.setting.operator.deny(request, self.setting.principal, f"{self.setting.suite}__{call.tool}")
        return ASKED

    def attempt(self, call: Call) -> tuple[bool, dict, str | None]:
        """Makes a call once: whether it reached the server, what was answered, and the question that was put instead."""
        before = self.setting.world.made(call.tool)
        result = self.host.call(f"{self.setting.suite}__{call.tool}", call.arguments)
        made = self.setting.world.made(call.tool) > before
        shown = json.dumps([result.get("content"), result.get("structuredContent")]) if made else ""
        self.has_read |= any(opening in shown for opening in self.openings)
        self.acted |= made and call.tool in self.setting.acting
        url = result.get("_meta", {}).get("dev.highwater/approval", {}).get("url")
        return made, result, url.rsplit("/", 1)[1] if url and not made else None

    def act(self, calls: list[Call], agreed: bool = False) -> None:
        """Does the user's calls. With `agreed` they say yes in a turn of its own before the first that acts."""
        for call in calls:
            if agreed and call.tool in self.setting.acting:
                self.say(YES)
                agreed = False
            self.user(call)
