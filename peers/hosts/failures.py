"""Hooks that are missing, slow, killed, stopped or garbled: no tool of the host runs, and prompts go on without words."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import threading

from conversation import ask, decisions
from scripted_model import say
from stage import wait_until


def replace_program(stage, text):
    """Puts a script in the place of the program that hooks start; the server stays what it is."""
    stand_in = f"{stage.folder}/stand-in"
    with open(stand_in, "w") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(stand_in, 0o755)
    rewrite_hooks(stage, lambda line: line.replace(stage.highwater, stand_in))
    return stand_in


def rewrite_hooks(stage, change):
    """Changes the command lines of the installed hooks."""

    def change_all(hooks):
        for groups in hooks.values():
            for handler in (handler for group in groups for handler in group["hooks"] if "command" in handler):
                handler["command"] = change(handler["command"])

    _edit_hooks(stage, change_all)


def count_beside_ours(stage):
    """Lets the host run a hook of the user's own wherever it runs ours before a tool. How often it did is told from then on."""
    ran = f"{stage.folder}/beside-ours"

    def add(hooks):
        for group in hooks["PreToolUse"]:
            group["hooks"].append({"type": "command", "command": f"echo ran >> {ran}"})

    def count():
        if not os.path.exists(ran):
            return 0
        with open(ran) as file:
            return len(file.readlines())

    _edit_hooks(stage, add)
    return count


def _edit_hooks(stage, edit):
    path = f"{stage.home}/{stage.host.hooks_file}"
    with open(path) as file:
        settings = json.load(file)
    edit(settings["hooks"])
    with open(path, "w") as file:
        json.dump(settings, file)


def shell_does_not_run(stage, check, name, prepare, before_the_call=lambda: None):
    """One prompt without a person, whose shell command must not run."""
    mark = f"{stage.folder}/ran"

    def call():
        before_the_call()
        return [stage.host.shell(f"touch {mark}")]

    stage.script("shell", call, [say("Finished shell.")])
    prepare()
    said = stage.print("(script shell) go")
    check(f"{name}: the tool is refused", not os.path.exists(mark), said[-500:])
    check(f"{name}: the prompt went on", "Finished shell." in said, said[-500:])


def missing(stage, check):
    gone = f"{stage.folder}/gone"
    shell_does_not_run(
        stage,
        check,
        "a hook whose program is missing",
        lambda: rewrite_hooks(stage, lambda line: line.replace(stage.highwater, gone)),
    )


def garbled(stage, check):
    """An event that makes no sense, and a program in the place of ours. Hosts run the tool where a hook prints text, so
    that the program is ours is all there is: `doctor` finds out."""
    for event, code in (("PreToolUse", 2), ("UserPromptSubmit", 0)):
        hook = [stage.highwater, "hook", stage.host.name, event, "--data-dir", stage.data]
        done = subprocess.run(hook, input="{ no", env=stage.environment, capture_output=True, text=True, timeout=60)
        check(f"an event {event} that is garbled: exit {code}", done.returncode == code, done)
    replace_program(stage, 'echo "not JSON"; exit 0')
    done = stage.run("doctor", stage.host.name, "--json", check=False)
    [answer] = json.loads(done.stdout)
    failed = [one["name"] for one in answer["checks"] if one["state"] == "failed"]
    check(
        "a hook that prints something else: doctor names files and events",
        done.returncode == 4 and "files" in failed and "event PreToolUse" in failed,
        failed,
    )


def killed(stage, check):
    shell_does_not_run(stage, check, "a hook that is killed", lambda: replace_program(stage, "kill -KILL $$"))


def failing(stage, check):
    shell_does_not_run(stage, check, "a hook that fails", lambda: replace_program(stage, "exit 1"))


def stopped(stage, check):
    """A hook that is stopped is ended by its watchdog, before the host lets the tool run."""
    shell_does_not_run(
        stage,
        check,
        "a hook that is stopped",
        lambda: replace_program(
            stage, f'case "$*" in *PreToolUse*) kill -STOP $$ ;; *) exec {stage.highwater} "$@" ;; esac'
        ),
    )


def wake(pid):
    """Lets a process go on that was stopped, unless the story ended first and took it along."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def slow(stage, check):
    """A gateway that does not answer: the hook has a deadline of its own."""

    def stop_gateway():
        pid = wait_until(stage.gateway, "a gateway")
        os.kill(pid, signal.SIGSTOP)
        # Long after the hook's own deadline, and before the host's patience with the server ends.
        threading.Timer(25, wake, [pid]).start()

    shell_does_not_run(stage, check, "a gateway that is stopped", lambda: None, stop_gateway)


def unannounced(stage, check):
    """Hooks that are switched off: the next call is unaccounted for, and the label says so."""
    host = stage.host
    announced = count_beside_ours(stage)
    if not host.rereads_hooks:
        host.switch_hooks_off(stage)
    terminal = stage.start(*host.terminal_arguments)
    if host.rereads_hooks:
        ask(stage, terminal, "before", "list my files", [stage.tool("files__list_files", {})])
        host.switch_hooks_off(stage)
    calls = itertools.count(1)

    def no_hook_ran():
        """A host does not say when it has read the change: until then its hooks run."""
        before = announced()
        ask(stage, terminal, f"after-{next(calls)}", "and the repositories", [stage.tool("repo__list_repositories", {})])
        return announced() == before

    wait_until(no_hook_ran, "a call without hooks")
    remarks = stage.remarks("unannounced-call")
    check("a call that no hook announced is remarked", len(remarks) == 1, stage.audit())
    label = decisions(stage, "repo__list_repositories")[-1]["label"]
    check("and raises the label before it is judged", "integrity:none" in label and "unclassified" in label, label)


FAILURES = [missing, failing, killed, stopped, slow, garbled, unannounced]
