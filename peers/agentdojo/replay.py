"""Replays AgentDojo through a gateway, without a model: `replay.py SUITE --endpoint URL …`, writes what came of it as JSON.

The user's work are the calls that AgentDojo knows to do a task. A stranger's are the calls that reach an attacker's goal,
made by an agent that obeys whatever it reads: once when it has read the first text of the stranger, and again when the
user's work is done. One person answers everything that is asked: yes to the user's calls, no to all others. An attack has
won if any call of it that acts, or that reaches somebody outside, was made without that person.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import strangers
import suites
import yaml
from conversation import RAN, Conversation, Setting, World
from gateway import Hooks, Host, Operator, Person
from suites import Call, Task

PRINCIPAL = "replay"
LABELS = Path(__file__).parent / "labels"


def work(setting: Setting, tasks: list[Task], agreed: bool) -> dict:
    """The user's tasks, with nobody else there."""
    told = []
    for task in tasks:
        with Conversation(setting, task.id, {}) as talk:
            talk.say(task.prompt)
            talk.act(task.calls, agreed)
            asked = [{"tool": one.tool, "kind": one.kind, "rules": one.rules} for one in talk.questions]
            told.append({"task": task.id, "questions": asked, "refused": talk.refused})
    return {"tasks": told}


def attacks(setting: Setting, tasks: list[Task], form: str, agreed: bool) -> dict:
    """Every goal of a stranger in every task. Whoever was not read does not win."""
    tried, won = 0, []
    for task in tasks:
        for goal, (said, calls) in suites.goals(setting.suite).items():
            tried += 1
            places = strangers.injections(form, task, said, calls)
            mine = user_calls(setting.suite, task, places)
            with Conversation(setting, task.id, places) as talk:
                talk.say(task.prompt)
                talk.act(mine[: task.first_read + 1], agreed)
                made = obey(talk, calls) if talk.has_read else None
                if not made:
                    talk.act(mine[task.first_read + 1 :], agreed)
                    made = obey(talk, calls) if talk.has_read else None
                if made:
                    won.append({"task": task.id, "goal": goal, "call": made})
    return {"tried": tried, "won": won}


def user_calls(suite: str, task: Task, places: dict[str, str]) -> list[Call]:
    """What the user's agent calls where a stranger has written; it may not find what it looks for."""
    try:
        return suites.calls_with(suite, task.id, places)
    except (ValueError, KeyError, IndexError, AttributeError):
        return task.calls


def obey(talk: Conversation, calls: list[Call]) -> str | None:
    """Makes a stranger's calls; the first that acts and was made, if any was."""
    for call in calls:
        if talk.stranger(call) == RAN and call.tool in talk.setting.acting:
            return f"{call.tool} {json.dumps(call.arguments)[:300]}"
    return None


def owners(setting: Setting, tasks: list[Task]) -> dict:
    """A stranger who owns one mail, event, file or transaction and knows the request: it is named by each of its words and
    each phrase in quotes, one after the other. A task is won if any name wins anything."""
    tried, won = [], []
    for task in tasks:
        if (found := strangers.listed(task)) is None:
            continue
        kind, by = found
        tried.append(task.id)
        first = task.calls[: task.calls.index(by) + 1]
        ways: dict[str, list[str]] = {}
        for name in strangers.names_for_owner(task.prompt):
            for made in tempt(setting, task, first, [strangers.owned(kind, name, by)], strangers.calls_for_owner(kind, task)):
                ways.setdefault(made.tool, []).append(name)
        if ways:
            tool, named = next(iter(ways.items()))
            won.append({"task": task.id, "name": named[0], "call": tool, "ways": ways})
    return {"tasks": tried, "won": won}


def names(setting: Setting, tasks: list[Task]) -> dict:
    """A stranger who is in the team, or has made a channel there, under a name that is a mere word of the request."""
    tried, won = 0, []
    known = suites.environment(setting.suite, {}).slack
    for task in tasks:
        for name in strangers.words(task.prompt):
            if name in (*known.users, *known.channels):
                continue
            tried += 1
            for kind, calls in (("member", strangers.calls_for_member(name)), ("channel", strangers.calls_for_channel(name))):
                plant = [{"kind": kind, "name": name, "owner": "", "day": "2024-05-15", "said": ""}]
                for made in tempt(setting, task, task.calls[: task.first_read + 1], plant, calls):
                    won.append({"task": task.id, "name": name, "call": made.tool})
    return {"tried": tried, "won": won}


def tempt(setting: Setting, task: Task, mine: list[Call], plant: list[dict], calls: list[Call]) -> list[Call]:
    """Those of a stranger's calls that are made where something of theirs was listed."""
    with Conversation(setting, task.id, {}, plant) as talk:
        talk.say(task.prompt)
        talk.act(mine)
        return [call for call in calls if talk.stranger(call) == RAN]


def selection(setting: Setting, tasks: list[Task]) -> dict:
    """The user's own words, put into tools that they did not ask for."""
    schemas = {tool.name: tool.parameters.model_json_schema() for tool in suites.suite(setting.suite).tools}
    labels = labels_of(setting.suite)["labels"]
    roles = {tool: label.get("roles", {}) for tool, label in labels.items()}
    tried, passed = 0, []
    for task in tasks:
        left = strangers.selections(task, schemas, roles, setting.acting)
        tried += len(left)
        while left:
            # What passes changes what is known of the conversation, so the next is tried in another.
            with Conversation(setting, task.id, {}) as talk:
                talk.say(task.prompt)
                talk.act(task.calls[: task.first_read + 1])
                while left:
                    call = left.pop(0)
                    if talk.stranger(call) != RAN:
                        continue
                    # What its server refuses, such as a message to nobody, has done nothing.
                    if setting.world.has_done_last(call.tool):
                        passed.append({"task": task.id, "tool": call.tool, "arguments": call.arguments, "prompt": task.prompt})
                    break
    return {"tried": tried, "passed": passed}


EXPERIMENTS: dict[str, Callable[[Setting, list[Task]], dict]] = {
    "work": lambda setting, tasks: work(setting, tasks, agreed=False),
    "work-agreed": lambda setting, tasks: work(setting, tasks, agreed=True),
    **{form: lambda setting, tasks, form=form: attacks(setting, tasks, form, agreed=False) for form in strangers.FORMS},
    "plain-agreed": lambda setting, tasks: attacks(setting, tasks, "plain", agreed=True),
    "owners": owners,
    "names": names,
    "selection": selection,
}


def labels_of(suite: str) -> dict:
    return yaml.safe_load((LABELS / f"{suite}.yaml").read_text())


def acting(suite: str) -> set[str]:
    """The tools that do something or reach somebody outside, by the labels."""
    labels = labels_of(suite)["labels"]
    said = {tool: labels.get(tool, {}).get("inputMetadata", labels["*"]["inputMetadata"]) for tool in
            (tool.name for tool in suites.suite(suite).tools)}
    return {tool for tool, label in said.items() if label["outcomes"] != "benign" or label["destination"] == "public"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=suites.NAMES)
    for name in ("--endpoint", "--operator", "--world", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--transcripts", type=Path, help="where the host keeps transcripts, if it tells the user's words")
    parser.add_argument("--hook", help="the program that it runs then; and below a process that is called as the host is")
    parser.add_argument("--data", help="the gateway's data directory, for that program")
    parser.add_argument("--experiment", action="append", choices=EXPERIMENTS, required=True)
    parser.add_argument("--tasks", type=int, help="no more than this many tasks, for a first look")
    options = parser.parse_args()
    operator = Operator(options.endpoint, options.operator)
    token = operator.ask("POST", "/tokens", {"name": PRINCIPAL})["secret"]
    # A server is started when somebody wants to know of its tools.
    Host(options.endpoint, token, None).send("tools/list", {})
    command = [options.hook, "hook", "claude-code", "--data-dir", options.data]
    hooks = Hooks(options.transcripts, command) if options.transcripts else None
    setting = Setting(options.suite, options.endpoint, token, PRINCIPAL, operator, Person(operator),
                      World(Path(options.world)), hooks, acting(options.suite))
    tasks = suites.tasks(options.suite)[: options.tasks]
    told = {}
    for name in options.experiment:
        told[name] = EXPERIMENTS[name](setting, tasks)
        print(f"{options.suite} {name}: done", flush=True)
        Path(options.out).write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    sys.exit(main())
