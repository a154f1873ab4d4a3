//! What is written bears the label of the session that wrote it, and gives it to every session that reads it.

use highwater_store::{Fault, Memory};
use serde_json::{Value, json};

use super::approver::Approver;
use super::tools::{doer, reader};
use super::{
    Agent, ClientOptions, ERAS, FETCH, INBOX, LOOK, SEND, Script, Setup, Stage, Step, forms, refusal,
    stocked, text, yes,
};
use highwater_upstream::error::Cause;

/// A server of notes beside the usual one.
fn notes() -> Setup {
    let tools = [
        doer("write", "internal", "benign"),
        reader("read", "internal", "none"),
        reader("search", "internal", "none"),
        reader("list", "internal", "none"),
    ];
    let roles = |name: &str| json!({ "roles": { name: "object" } });
    Setup::usual().server("notes", Script::of(tools)).with(|config| {
        config["servers"]["notes"]["labels"] = json!({ "write": roles("path"), "read": roles("path") });
    })
}

/// A session that has read what strangers wrote, and one that has read nothing.
async fn both(stage: &Stage) -> [Agent; 2] {
    let writer = stage.agent(ClientOptions { context: Some("writer"), ..ClientOptions::default() });
    text(&writer.call(FETCH, json!({})).await);
    [writer, stage.agent(ClientOptions { context: Some("reader"), ..ClientOptions::default() })]
}

async fn write(agent: &Agent, path: &str) -> Value {
    agent.call("notes__write", json!({ "path": path })).await
}

fn is_untrusted(stage: &Stage, agent: &Agent) -> bool {
    stage.label(agent).contains(&"integrity:none")
}

/// More than eight words.
const TEXT: &str = "The mill stands by the river, and grinds all day long for the whole village.";

#[tokio::test]
async fn a_written_object_gives_its_label_to_the_session_that_reads_it_and_to_no_other() {
    let cases = [
        ("notes__read", json!({ "path": "a" }), "", true),
        ("notes__read", json!({ "path": "/srv/notes/a" }), "", true),
        ("notes__read", json!({ "path": "b" }), TEXT, false),
        ("notes__search", json!({ "words": "anything" }), TEXT, true),
        ("notes__search", json!({ "words": "anything" }), "nothing found", false),
        ("notes__list", json!({}), "a, b", false),
        ("up__look", json!({}), TEXT, false),
    ];
    for (tool, arguments, found, met) in cases {
        let stage = notes().open().await;
        let [writer, reader] = both(&stage).await;
        text(&writer.call("notes__write", json!({ "path": "a", "text": TEXT })).await);
        stage.server("notes").on(tool.trim_start_matches("notes__"), [Step::say(found)]);
        text(&reader.call(tool, arguments.clone()).await);
        assert_eq!(is_untrusted(&stage, &reader), met, "{tool} {arguments}");
    }
}

/// What its own text says is nothing new to the conversation that wrote it, until a person has taken it off its label.
#[tokio::test]
async fn its_own_text_says_nothing_new_to_a_conversation_until_its_label_is_lowered() {
    let stage = notes().open().await;
    let [writer, reader] = both(&stage).await;
    let search = json!({ "words": "anything" });
    text(&writer.call("notes__search", search.clone()).await);
    stage.server("notes").on("search", [Step::say(TEXT)]);
    text(&writer.call("notes__write", json!({ "path": "a", "text": TEXT })).await);
    let held = stage.label(&writer);
    assert_eq!(text(&writer.call("notes__search", search.clone()).await), TEXT);
    assert_eq!(stage.label(&writer), held);

    let session = writer.session();
    let lowered = session.declassify(0, &highwater_core::label::Label::bottom(), "op", "I know it").await;
    assert!(lowered.is_ok());
    assert!(!is_untrusted(&stage, &writer));
    assert_eq!(text(&writer.call("notes__search", search.clone()).await), TEXT);
    assert!(is_untrusted(&stage, &writer), "it is new to a session that was cleared");
    text(&reader.call("notes__search", search).await);
    assert!(is_untrusted(&stage, &reader));
}

/// A server whose tools nobody described further than that they read or keep something.
fn undescribed() -> Setup {
    let schema = |names: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        json!({ "type": "object", "properties": properties })
    };
    let with = |mut tool: Value, names: &[&str]| {
        tool["inputSchema"] = schema(names);
        tool
    };
    let tools = [
        with(doer("put_file", "internal", "benign"), &["repo", "path", "content"]),
        with(reader("get_file", "internal", "none"), &["repository", "file_path"]),
        with(reader("list_files", "internal", "none"), &["repo"]),
        with(doer("remember", "internal", "benign"), &["topic", "text"]),
        with(reader("recall", "internal", "none"), &["topic"]),
        with(doer("jot", "internal", "benign"), &["text"]),
        with(reader("status", "internal", "none"), &[]),
    ];
    Setup::usual()
        .server("notes", Script::of(tools))
        .server("twin", Script::of([reader("read", "internal", "none")]))
}

#[tokio::test]
async fn what_a_call_names_shows_in_its_arguments() {
    let file = json!({ "repo": "website", "path": "README.md", "content": TEXT });
    let topic = json!({ "topic": "travel", "text": TEXT });
    let cases = [
        (
            "put_file",
            file.clone(),
            "get_file",
            json!({ "repository": "website", "file_path": "README.md" }),
            "",
            true,
        ),
        (
            "put_file",
            file.clone(),
            "get_file",
            json!({ "repository": "diary", "file_path": "README.md" }),
            "",
            false,
        ),
        (
            "put_file",
            file.clone(),
            "get_file",
            json!({ "repository": "website", "file_path": "LICENSE" }),
            "",
            false,
        ),
        ("put_file", file.clone(), "list_files", json!({ "repo": "website" }), "", true),
        ("put_file", file.clone(), "list_files", json!({ "repo": "diary" }), "", false),
        ("put_file", file, "status", json!({}), "all is well", false),
        ("remember", topic.clone(), "recall", json!({ "topic": "travel" }), "", true),
        ("remember", topic, "recall", json!({ "topic": "work" }), "", false),
        (
            "jot",
            json!({ "text": TEXT }),
            "recall",
            json!({ "topic": "work" }),
            &format!("<p>{TEXT}</p>"),
            true,
        ),
        ("jot", json!({ "text": TEXT }), "status", json!({}), "all is well", false),
    ];
    for (write, written, read, asked, found, met) in cases {
        let stage = undescribed().open().await;
        let [writer, reader] = both(&stage).await;
        text(&writer.call(&format!("notes__{write}"), written.clone()).await);
        stage.server("notes").on(read, [Step::say(found)]);
        text(&reader.call(&format!("notes__{read}"), asked.clone()).await);
        assert_eq!(is_untrusted(&stage, &reader), met, "{write} {written}, {read} {asked}");
    }
}

#[tokio::test]
async fn a_write_that_did_nothing_leaves_no_mark() {
    let refused = json!({ "code": -32602, "message": "no such folder" });
    let failed = json!({ "content": [{ "type": "text", "text": "disk full" }], "isError": true });
    let cases = [
        (Step::Error(refused), false),
        (Step::Fail(Cause::Unreachable("refused".to_owned()), false), false),
        (Step::Answer(failed), true),
        (Step::Fail(Cause::TimedOut(std::time::Duration::from_secs(1)), true), true),
        (Step::Fail(Cause::Gone("ended".to_owned()), true), true),
    ];
    for (number, (step, kept)) in cases.into_iter().enumerate() {
        for earlier in [false, true] {
            let stage = notes().open().await;
            let [writer, reader] = both(&stage).await;
            if earlier {
                text(&write(&writer, "a").await);
            }
            stage.server("notes").on("write", [step.clone()]);
            write(&writer, "a").await;
            text(&reader.call("notes__read", json!({ "path": "a" })).await);
            assert_eq!(is_untrusted(&stage, &reader), kept || earlier, "{number} {earlier}");
        }
    }
}

#[tokio::test]
async fn what_is_only_observed_leaves_no_mark() {
    let link = json!({ "type": "resource_link", "uri": "note://a", "name": "a" });
    let loose = |config: &mut Value| {
        config["virtual_servers"] = json!({
            "default": { "servers": ["up", "notes"], "flow": "balanced" },
            "loose": { "servers": ["up", "notes"], "flow": "observe" },
        });
    };
    let stage = notes().with(loose).open().await;
    stage.up().on("fetch", [Step::Answer(json!({ "content": [link] }))]);
    let writer = stage.agent(ClientOptions { virtual_server: "loose", ..ClientOptions::default() });
    writer.call(FETCH, json!({})).await;
    text(&writer.call("notes__write", json!({ "path": "a", "text": TEXT })).await);
    assert!(stage.gateway.store.all_marks().await.unwrap().is_empty());
    let reader = stage.agent(ClientOptions { context: Some("reader"), ..ClientOptions::default() });
    text(&reader.call("notes__read", json!({ "path": "a" })).await);
    assert!(!is_untrusted(&stage, &reader));
}

#[tokio::test]
async fn what_a_person_saw_and_approved_is_no_strangers_text() {
    let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": "notes__write" } });
    for by_form in [false, true] {
        let stage = notes().rule(rule.clone()).with_page().open().await;
        let approver = Approver::enrolled(&stage).await;
        let capabilities = if by_form { forms() } else { json!({}) };
        let context = Some("writer");
        let writer = stage.agent(ClientOptions { context, capabilities, ..ClientOptions::default() });
        text(&writer.call(INBOX, json!({})).await);
        // Only what stays inside is asked by a form.
        text(&writer.call(FETCH, json!({})).await);
        let params = json!({ "name": "notes__write", "arguments": { "path": "a", "text": TEXT } });
        if by_form {
            let asked = writer.send("tools/call", params.clone()).await.answer;
            let answers = json!({ "highwater_approval": yes() });
            text(&writer.answer("tools/call", &params, &asked, answers).await);
        } else {
            let call = writer.start("tools/call", params);
            let request = approver.asked().await;
            approver.confirm(&request.id, None).await.unwrap();
            text(&call.finish().await.answer);
        }
        let reader = stage.agent(ClientOptions { context: Some("reader"), ..ClientOptions::default() });
        text(&reader.call("notes__read", json!({ "path": "a" })).await);
        let label = stage.label(&reader);
        assert!(label.contains(&"pii"), "its classes stay: {label:?}");
        assert!(!is_untrusted(&stage, &reader), "page and form show what is written: {by_form}");
    }
}

#[tokio::test]
async fn a_server_is_marked_as_a_whole_where_the_operator_is_strict() {
    for (flow, met) in [("balanced", false), ("strict", true)] {
        let stage = undescribed().with(|config| config["flow"] = json!(flow)).open().await;
        let [writer, reader] = both(&stage).await;
        text(&writer.call("notes__jot", json!({ "text": TEXT })).await);
        text(&reader.call("notes__status", json!({})).await);
        assert_eq!(is_untrusted(&stage, &reader), met, "{flow}");
    }
}

#[tokio::test]
async fn servers_that_keep_the_same_things_share_their_marks() {
    for (said, met) in [(json!([]), false), (json!(["notes"]), true)] {
        for (written, read) in [("team/a.txt", "team/a.txt"), ("team/a.txt", "/srv/files/team/a.txt")] {
            let keeps = |config: &mut Value| {
                config["servers"]["twin"]["keeps_with"] = said.clone();
                config["servers"]["twin"]["labels"] = json!({ "read": { "roles": { "path": "object" } } });
            };
            let stage = undescribed().with(keeps).open().await;
            let [writer, reader] = both(&stage).await;
            text(&writer.call("notes__put_file", json!({ "path": written, "content": TEXT })).await);
            text(&reader.call("twin__read", json!({ "path": read })).await);
            assert_eq!(is_untrusted(&stage, &reader), met, "{said} {written} {read}");
        }
    }
}

#[tokio::test]
async fn nothing_of_what_one_agent_read_is_told_to_another() {
    let grants = json!({ "servers": ["*"], "permissions": ["call_tool_read", "call_tool_write", "call_tool_destructive"] });
    let stage = notes().token("hr", grants.clone()).token("intern", grants).open().await;
    let agent = |token: &str, era| {
        stage.agent(ClientOptions {
            token: Some(stage.token(token)),
            context: Some("c"),
            era,
            ..ClientOptions::default()
        })
    };
    for era in ERAS {
        let (hr, intern) = (agent("hr", era), agent("intern", era));
        text(&hr.call(INBOX, json!({})).await);
        text(&hr.call("notes__write", json!({ "path": "a", "text": TEXT })).await);
        let own = hr.call("notes__read", json!({ "path": "a" })).await.to_string();
        assert!(own.contains("pii") && !own.contains("mcp:up:inbox"), "{own}");
        for (tool, arguments) in [("notes__read", json!({ "path": "a" })), ("notes__list", json!({}))] {
            let told = intern.call(tool, arguments).await.to_string();
            for secret in ["pii", "inbox", "mcp:up", "hr"] {
                assert!(!told.contains(secret), "{secret}: {told}");
            }
        }
        let told = intern.call("notes__read", json!({ "path": "a" })).await.to_string();
        assert!(told.contains("another-conversation") && told.contains("confidential"), "{told}");
        // It counts all the same.
        assert!(stage.label(&intern).contains(&"pii"), "{:?}", stage.label(&intern));
        // And nothing of it goes to servers in the name of the one who read it.
        intern.call(LOOK, json!({})).await;
        let sent = stage.up().journal().last().unwrap().text.clone();
        assert!(!sent.contains("inbox") && !sent.contains("pii"), "{sent}");
        let question = intern.call(SEND, json!({})).await.to_string();
        for secret in ["pii", "personal", "inbox", "mcp:up"] {
            assert!(!question.contains(secret), "{secret}: {question}");
        }
    }
}

#[tokio::test]
async fn what_a_clean_session_writes_marks_nothing() {
    let stage = notes().open().await;
    let [_, clean] = both(&stage).await;
    text(&write(&clean, "a").await);
    text(&clean.call("notes__read", json!({ "path": "a" })).await);
    assert!(!is_untrusted(&stage, &clean));
}

#[tokio::test]
async fn a_write_marks_before_its_server_hears_of_it_and_even_if_it_fails() {
    let stage = notes().open().await;
    let [writer, reader] = both(&stage).await;
    stage.server("notes").on("write", []);
    let writing = writer.start_call("notes__write", json!({ "path": "a" }));
    stage.server("notes").reached(1).await;
    text(&reader.call("notes__read", json!({ "path": "a" })).await);
    assert!(is_untrusted(&stage, &reader), "it may be written by now");
    writing.cancel().await;
}

#[tokio::test]
async fn a_call_does_not_read_its_own_mark_as_news() {
    let stage = notes().open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call("up__inbox", json!({})).await);
    let answer = write(&agent, "a").await;
    assert_eq!(answer["result"]["_meta"]["dev.highwater/label"]["secrecy"], json!([]), "{answer}");
}

#[tokio::test]
async fn a_write_that_cannot_be_marked_is_not_made() {
    for fault in [Fault::Write, Fault::LostAnswer] {
        let stage = notes().open().await;
        let [writer, _] = both(&stage).await;
        stage.store_fails(fault);
        let answer = write(&writer, "a").await;
        assert!(refusal(&answer).contains("This is an outage"), "{answer}");
        assert!(stage.server("notes").journal().is_empty(), "{fault:?}");
        stage.store_fails(None);
        text(&write(&writer, "a").await);
    }
}

#[tokio::test]
async fn marks_that_cannot_be_read_count_as_the_highest() {
    let memory = Memory::new(true);
    let [writer, _] = both(&notes().on(&memory).open().await).await;
    text(&write(&writer, "elsewhere").await);
    // Where others write to the store, too, only it knows what is marked.
    let stage = notes().on(&memory).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call("up__look", json!({})).await);
    agent.send("tools/list", json!({})).await;
    stage.store_fails(Fault::Read);
    text(&agent.call("notes__read", json!({ "path": "a" })).await);
    stage.store_fails(None);
    let label = stage.label(&agent);
    assert!(label.contains(&"integrity:none") && label.contains(&"credentials"), "{label:?}");
}

#[tokio::test]
async fn a_server_without_writes_needs_no_marks() {
    let stage = Setup::new().server("up", Script::of([reader("look", "system", "none")])).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call("up__look", json!({})).await);
    let before = stage.label(&agent);
    stage.store_fails(Fault::Read);
    text(&agent.call("up__look", json!({ "other": 1 })).await);
    stage.store_fails(None);
    assert_eq!(stage.label(&agent), before);
}

#[tokio::test]
async fn a_link_remembers_the_label_under_which_it_was_given_out() {
    let resource = |name: &str| json!({ "uri": format!("note://{name}"), "name": name });
    let script = stocked().with_resources([resource("a"), resource("b")]);
    let label = json!({ "note://*": { "returnMetadata": { "source": "system", "sensitivity": "none" } } });
    let stage = Setup::new()
        .server("up", script)
        .with(|config| config["servers"]["up"]["resource_labels"] = label)
        .open()
        .await;
    let link = json!({ "type": "resource_link", "uri": "note://a", "name": "a" });
    stage.up().on("fetch", [Step::Answer(json!({ "content": [link] }))]);
    let giver = stage.agent(ClientOptions { context: Some("giver"), ..ClientOptions::default() });
    giver.call(FETCH, json!({})).await;
    let reader = stage.agent(ClientOptions { context: Some("reader"), ..ClientOptions::default() });
    for (uri, met) in [("up+note://b", false), ("up+note://a", true)] {
        let answer = reader.send("resources/read", json!({ "uri": uri })).await.answer;
        assert!(answer["result"].is_object(), "{answer}");
        assert_eq!(is_untrusted(&stage, &reader), met, "{uri}");
    }
}

#[tokio::test]
async fn marks_are_met_behind_every_gateway_that_shares_the_store() {
    let memory = Memory::new(true);
    let (one, two) = (notes().on(&memory).open().await, notes().on(&memory).open().await);
    let [writer, _] = both(&one).await;
    let [_, reader] = both(&two).await;
    text(&reader.call("notes__read", json!({ "path": "a" })).await);
    assert!(!is_untrusted(&two, &reader));
    text(&write(&writer, "a").await);
    text(&reader.call("notes__read", json!({ "path": "a" })).await);
    assert!(is_untrusted(&two, &reader));
}
