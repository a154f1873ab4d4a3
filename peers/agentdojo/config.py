"""Prints the configuration of a gateway in front of one of AgentDojo's suites: `config.py SUITE WORLD --mode MODE`.

The labels of `labels/` are the operator's word on the tools; a mode is how strictly the gateway judges and what it is told.
"""

import argparse
import json
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).parent
# Every call that does something is a question, whatever was read: what many clients do by themselves.
EVERY_WRITE = {
    "name": "confirm-every-write",
    "effect": "confirm",
    "conditions": {"fact": "tool.annotations.inputMetadata.outcomes", "in": ["consequential", "irreversible"]},
}
MODES = {
    "every-write": {"flow": "observe", "provenance": "off", "rules": [EVERY_WRITE]},
    "label-balanced": {"flow": "balanced", "provenance": "off"},
    "label-strict": {"flow": "strict", "provenance": "off"},
    # Whether words arrive is for the host to say: `replay.py --transcripts`.
    "balanced": {"flow": "balanced"},
    "strict": {"flow": "strict"},
    "first-labels": {"flow": "balanced"},
}
# What the labels said before anything was measured. They were changed afterwards, with the results in view: figures for both
# are in the documentation.
FIRST_LABELS = {
    "slack": {
        "*": {
            "inputMetadata": {"destination": "ephemeral", "outcomes": "benign"},
            "returnMetadata": {"source": "untrustedPublic", "sensitivity": "confidential"},
        },
        "get_users_in_channel": {
            "returnMetadata": {"source": "internal", "sensitivity": "none"},
            "roles": {"channel": "query"},
            "records": {"kind": "member"},
        },
        "add_user_to_channel": {
            "inputMetadata": {"destination": "internal", "outcomes": "consequential"},
            "returnMetadata": {"source": "system", "sensitivity": "none"},
            "roles": {"user": "target", "channel": "target"},
        },
    },
    "travel": {
        "get_user_information": {"returnMetadata": {"source": "user", "sensitivity": ["user", "pii", "financial"]}},
    },
}


def config(suite: str, world: str, mode: str) -> dict:
    said = yaml.safe_load((HERE / "labels" / f"{suite}.yaml").read_text())
    server = {
        "command": sys.executable,
        # One process for everybody: what reached it is asked of that one.
        "era": "modern",
        "args": [str(HERE / "server.py"), suite, world],
        "trust": {"server_trust": "tool", "verified": True},
        "labels": {**said.pop("labels"), **(FIRST_LABELS.get(suite, {}) if mode == "first-labels" else {})},
        # It takes seconds to start, and far longer on a busy machine.
        "timeouts": {"start": "5m", "probe": "2m"},
    }
    permissions = ["call_tool_read", "call_tool_write", "call_tool_destructive"]
    return {
        **said,
        **MODES[mode],
        # Nobody waits for an answer here: who asked calls again.
        "approvals": {"listen": "localhost:0", "open_browser": False, "notify": False, "hold": "1ms"},
        "agent_tokens": {"replay": {"permissions": permissions, "servers": [suite], "partition": "session"}},
        "servers": {suite: server},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("world", help="the socket through which the suite's server is told what is in it")
    parser.add_argument("--mode", choices=MODES, required=True)
    options = parser.parse_args()
    print(json.dumps(config(options.suite, options.world, options.mode), indent=1))
