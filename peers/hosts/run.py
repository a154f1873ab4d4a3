"""Drives a real agent host through stories, with Highwater connected to it. Says `ok NAME` or `not ok NAME: why` once per check.

Everything happens in homes of its own, against a scripted model on loopback. Without `--all`: one conversation.
"""

import argparse
import os
import sys
import traceback

sys.dont_write_bytecode = True

from claude_code import ClaudeCode
from codex import Codex
from conversation import conversation, named_by_the_user, without_a_person
from failures import FAILURES
from forgeries import FORGERIES, FORGERIES_OF_CLAUDE_CODE
from stage import Stage

HOSTS = {host.name: host for host in (ClaudeCode, Codex)}


def stories(host, everything):
    chosen = [conversation, named_by_the_user]
    if everything:
        chosen += [without_a_person, *FORGERIES, *FAILURES]
        chosen += FORGERIES_OF_CLAUDE_CODE if host is ClaudeCode else []
    return chosen


def tell(story, arguments):
    """One story in a home of its own. Whether all of it held."""
    failed = []

    def check(name, holds, why):
        said = " ".join(str(why).split())[:1500]
        print(f"ok {name}" if holds else f"not ok {name}: {said}", flush=True)
        failed.extend([] if holds else [name])

    folder = os.path.join(arguments.folder, story.__name__)
    stage = None
    try:
        stage = Stage(
            HOSTS[arguments.host](os.path.abspath(arguments.program)), folder, os.path.abspath(arguments.highwater)
        )
        story(stage, check)
    except Exception:
        check(story.__name__, False, traceback.format_exc()[-1500:])
    finally:
        if stage:
            stage.close()
    return not failed


def main():
    parser = argparse.ArgumentParser()
    for name in ("--host", "--program", "--highwater", "--folder"):
        parser.add_argument(name, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--story", action="append", default=[])
    arguments = parser.parse_args()
    chosen = stories(HOSTS[arguments.host], arguments.all or arguments.story)
    if arguments.story:
        chosen = [story for story in chosen if story.__name__ in arguments.story]
    held = [tell(story, arguments) for story in chosen]
    sys.exit(0 if all(held) else 1)


main()
