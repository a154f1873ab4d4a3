//! Where something came from is told whatever others add to it: our own names for servers and tools are never pushed out,
//! and no message takes the room of all others.

use highwater_core::label::{Label, TextSet};
use serde_json::{Value, json};

use super::agent::Agent;
use super::tools::{doer, reader};
use super::{ACT, ERAS, FETCH, INBOX, LOOK, Script, Setup, Stage, Step, forms, text};

/// This many attributions, all before ours by their letters.
fn crowd(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("a://{number:03}.example/")).collect()
}

fn crowded(count: usize) -> Step {
    let said = json!({ "attribution": crowd(count) });
    Step::Answer(json!({ "content": [{ "type": "text", "text": "hi" }],
        "_meta": { "annotations": said }, "annotations": said }))
}

/// The label of an agent's session as it lies in the database.
fn stored(stage: &Stage, agent: &Agent) -> Label {
    stage.memory.look(agent.session().key()).unwrap().session.label
}

/// The attribution that a server was told with its last call.
fn told(stage: &Stage) -> Vec<Value> {
    let last = stage.up().journal().pop().unwrap();
    last.params["_meta"]["annotations"]["attribution"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_server_that_names_three_hundred_others_is_itself_named_in_the_question() {
    let stage = Setup::usual().open().await;
    stage.up().on("fetch", [crowded(300)]);
    let agent = stage.modern(forms());
    text(&agent.call(FETCH, json!({})).await);
    let label = stored(&stage, &agent);
    assert_eq!(label.origins().members().first().map(|first| &**first), Some("mcp:up:fetch"));
    assert!(label.origins().is_open(), "what was left out is marked");
    assert!(label.origins().members().len() < TextSet::LIMIT, "there is room for others");
    let asked = agent.call(ACT, json!({})).await.to_string();
    assert!(asked.contains("`fetch` of server `up`"), "{asked}");
}

#[tokio::test]
async fn what_a_client_names_beyond_the_bound_costs_no_other_origin() {
    for era in ERAS {
        let stage = Setup::usual()
            .with(|config| config["servers"]["up"]["share_context"] = json!("full"))
            .open()
            .await;
        let agent = stage.of_era(era);
        let params = json!({ "name": LOOK, "arguments": {},
            "_meta": { "annotations": { "attribution": crowd(257) } } });
        text(&agent.send("tools/call", params).await.answer);
        // Origins that no decision looks at may be written a little later: the copy has them at once.
        let label = agent.session().cached().unwrap().label.clone();
        assert!(label.bits().origins_open(), "what was left out is marked: {label:?}");
        assert_eq!(label.origins().contains("a://000.example/"), Some(true), "{label:?}");
        text(&agent.call(FETCH, json!({})).await);
        text(&agent.call(LOOK, json!({})).await);
        let told = told(&stage);
        assert_eq!(told.first(), Some(&json!("mcp:up:fetch")), "{told:?}");
        assert!(
            told.contains(&json!("mcp:up:look")) && told.contains(&json!("a://000.example/")),
            "{told:?}"
        );
        let label = stored(&stage, &agent);
        assert_eq!(label.origins().contains("mcp:up:fetch"), Some(true), "{label:?}");
    }
}

#[tokio::test]
async fn messages_that_fill_the_label_one_by_one_push_out_none_of_our_names() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(FETCH, json!({})).await);
    for part in crowd(640).chunks(64) {
        let said = json!({ "attribution": part });
        let answer = json!({ "content": [], "_meta": { "annotations": said }, "annotations": said });
        stage.up().on("fetch", [Step::Answer(answer)]);
        agent.call(FETCH, json!({})).await;
    }
    text(&agent.call(LOOK, json!({})).await);
    let label = agent.session().cached().unwrap().label.clone();
    assert_eq!(label.origins().members().len(), TextSet::LIMIT);
    assert!(label.origins().is_open());
    for own in ["mcp:up:fetch", "mcp:up:look"] {
        assert_eq!(label.origins().contains(own), Some(true), "{own}");
    }
}

/// Seed 000: the sources that contribute to the response. What was written bears all that its session had read, and that
/// raises the label of whoever reads it; as a list of sources of every such reply it would tell nobody anything.
#[tokio::test]
async fn a_reply_is_attributed_to_its_own_sources_and_the_session_to_all() {
    for era in ERAS {
        let tools = [doer("write", "internal", "benign"), reader("read", "internal", "none")];
        let setup = Setup::usual().server("notes", Script::of(tools)).with(|config| {
            let path = json!({ "roles": { "path": "object" } });
            config["servers"]["notes"]["labels"] = json!({ "write": path, "read": path });
        });
        let stage = setup.open().await;
        let agent = stage.of_era(era);
        for tool in [FETCH, LOOK, INBOX] {
            let reply = agent.call(tool, json!({})).await;
            let own = tool.replace("__", ":");
            let told = &reply["result"]["_meta"]["annotations"]["attribution"];
            assert_eq!(*told, json!([format!("mcp:{own}")]), "{reply}");
        }
        let named = json!({ "path": "a", "text": "one two three four five six seven eight nine" });
        agent.call("notes__write", named).await;
        let said = json!({ "attribution": ["https://wiki.example/a"] });
        let found = json!({ "content": [], "_meta": { "annotations": said }, "annotations": said });
        stage.server("notes").on("read", [Step::Answer(found)]);
        let reply = agent.call("notes__read", json!({ "path": "a" })).await;
        let told = &reply["result"]["_meta"]["annotations"];
        assert_eq!(told["attribution"], json!(["https://wiki.example/a", "mcp:notes:read"]), "{reply}");
        // What it read is still what it read.
        let label = agent.session().cached().unwrap().label.clone();
        for origin in ["mcp:up:fetch", "mcp:up:look", "mcp:up:inbox", "mcp:notes:read"] {
            assert_eq!(label.origins().contains(origin), Some(true), "{origin}: {label:?}");
        }
    }
}

#[tokio::test]
async fn what_was_written_in_doubt_is_still_called_untrusted_when_it_is_read() {
    let tools = [doer("write", "internal", "benign"), reader("read", "internal", "none")];
    let setup = Setup::usual().server("notes", Script::of(tools)).with(|config| {
        let path = json!({ "roles": { "path": "object" } });
        config["servers"]["notes"]["labels"] = json!({ "write": path, "read": path });
    });
    let stage = setup.open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(FETCH, json!({})).await);
    text(&agent.call("notes__write", json!({ "path": "a", "text": "anything" })).await);
    let reply = agent.call("notes__read", json!({ "path": "a" })).await;
    let told = &reply["result"]["_meta"];
    assert_eq!(
        told["annotations"],
        json!({ "openWorldHint": true, "attribution": ["mcp:notes:read"] }),
        "{reply}"
    );
    assert_eq!(told["dev.highwater/label"]["integrity"], "none", "{reply}");
}
