"""One conversation at a terminal: words arrive and are tied to calls, sub-agents and cleared conversations are kept apart."""

from scripted_model import say
from stage import wait_until

ISSUE = {"repo": "website", "number": 3}


def decisions(stage, tool):
    """What was decided about a tool, oldest first."""
    return [record for record in stage.audit() if record.get("event") == "decision" and record.get("tool") == tool]


def ask(stage, terminal, script, prompt, *steps):
    """One prompt, typed, and everything until the model has finished."""
    finished = f"Finished {script}."
    stage.script(script, *steps, [say(finished)])
    terminal.type(f"(script {script}) {prompt}")
    terminal.wait_for(finished)


def conversation(stage, check):
    """What every run shows."""
    host = stage.host
    stage.serve()
    terminal = stage.start(*host.terminal_arguments)
    stage.script("sub", [stage.tool("repo__list_issues", {"repo": "docs"})], [say("Looked.")])
    ask(
        stage,
        terminal,
        "first",
        "look at issue 3 of website",
        [stage.tool("repo__get_issue", ISSUE)],
        [host.shell("echo hello")],
        [host.agent("(script sub) look at the issues of docs")],
    )
    wait_until(lambda: decisions(stage, "repo__list_issues"), "the sub-agent calls")

    [first] = decisions(stage, "repo__get_issue")
    conversation_key = first["session"]
    check(
        "a call is tied to the host's conversation",
        conversation_key.startswith(f"host/local/{host.name}/"),
        conversation_key,
    )
    words = stage.wait_for_remark("words")
    check(
        "what was typed is the user's words, of that conversation",
        [remark["session"] for remark in words] == [conversation_key],
        words,
    )
    check("a prompt that a person typed is never doubted", stage.remarks("no-words") == [], stage.remarks("no-words"))
    check(
        "a tool of the host raises the label of its conversation",
        conversation_key in [remark["session"] for remark in stage.wait_for_remark("host-tool")],
        stage.remarks("host-tool"),
    )
    [sub] = decisions(stage, "repo__list_issues")
    check(
        "a sub-agent has a session of its own",
        sub["session"] != conversation_key and sub["session"].startswith(conversation_key),
        sub["session"],
    )
    check("a sub-agent begins with the label of its parent", "integrity:none" in sub["label"], sub["label"])
    check("every call was announced", stage.remarks("unannounced-call") == [], stage.remarks("unannounced-call"))

    if host.tells_of_agents:
        # Else its end may be told in the conversation that comes next, which then holds what it has read.
        wait_until(lambda: stage.model.results("Looked."), "the end of the sub-agent is told")
    host.clear(stage, terminal)
    ask(stage, terminal, "second", "list my files", [stage.tool("files__list_files", {})])
    [second] = decisions(stage, "files__list_files")
    check(
        "clearing begins another conversation",
        second["session"].startswith(f"host/local/{host.name}/") and second["session"] != conversation_key,
        second["session"],
    )
    check("which holds nothing of the first", second["label"] == [], second["label"])
    if host.says_cleared:
        check(
            "and brings words of its own",
            second["session"] in [remark["session"] for remark in stage.wait_for_remark("words", 2)],
            stage.remarks("words"),
        )
    else:
        check(
            "which vouches for nothing until its user says that it is theirs",
            second["session"] in [remark["session"] for remark in stage.remarks("unconfirmed")],
            stage.audit(),
        )


def named_by_the_user(stage, check):
    """In a conversation that has read strangers' text, what the user named needs no question, and what they did not does."""
    terminal = stage.start(*stage.host.terminal_arguments)
    mail = lambda to: stage.tool("mail__send_message", {"to": to, "subject": "Hello", "body": "Hello from Mara."})
    ask(
        stage,
        terminal,
        "wanted",
        "read issue 3 of website, then mail jonas@larkfield.example: subject Hello, body Hello from Mara.",
        [stage.tool("repo__get_issue", ISSUE)],
        [mail("jonas@larkfield.example")],
    )
    check(
        "what the user named is done",
        [call["to"] for call in stage.calls("mail", "send_message")] == ["jonas@larkfield.example"],
        decisions(stage, "mail__send_message"),
    )
    stage.script("other", [mail("mallory@example.net")], [say("Finished other.")])
    terminal.type("(script other) thank you")
    asked = wait_until(
        lambda: [one for one in decisions(stage, "mail__send_message") if one.get("effect") == "confirm"], "a question"
    )
    check(
        "whom nobody named is asked about, and nothing is sent",
        asked and len(stage.calls("mail", "send_message")) == 1,
        asked,
    )


def without_a_person(stage, check):
    """A prompt on the command line is nobody's words for a token that says `owner`."""
    stage.script("headless", [stage.tool("repo__get_issue", ISSUE)], [say("Finished headless.")])
    stage.print("(script headless) look at issue 3 of website")
    remarks = stage.wait_for_remark("no-words")
    check(
        "a prompt on the command line brings no words",
        len(remarks) == 1 and stage.remarks("words") == [],
        stage.audit(),
    )
    [decision] = decisions(stage, "repo__get_issue")
    check(
        "and its calls are tied to its conversation all the same",
        decision["session"] == remarks[0]["session"],
        decision["session"],
    )
