//! Labelling by answering: what a person says a server is counts at once, below the file and never by a form.

use highwater_core::id::UpstreamId;
use highwater_core::profile::Profile;
use serde_json::{Value, json};

use super::{ClientOptions, ERAS, Script, Setup, forms, text};
use crate::describe::Saying;

const READ: &str = "up__query_rows";
const ADD: &str = "up__add_row";

/// A server whose tools say nothing of themselves.
fn plain() -> Script {
    Script::of([plain_tool("query_rows", "table"), plain_tool("add_row", "table")])
}

fn plain_tool(name: &str, argument: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { argument: { "type": "string" } } });
    json!({ "name": name, "inputSchema": schema })
}

fn undescribed() -> Setup {
    Setup::new().server("up", plain()).with(|config| {
        config["servers"]["up"] = json!({ "command": "scripted", "quarantine": false });
    })
}

#[tokio::test]
async fn what_a_person_says_counts_from_the_next_call_on() {
    let stage = undescribed().open().await;
    let up = UpstreamId::new("up");
    assert_eq!(stage.gateway.describe(&up, Some(Profile::Local), "ada", "").await.unwrap(), Saying::Done);
    let known = stage.gateway.what_it_is(&up).unwrap();
    assert_eq!((known.profile, known.described.unwrap().person.as_str()), (Profile::Local, "ada"));
    let other = stage.of_era(ERAS[0]);
    for tool in [READ, ADD, READ] {
        text(&other.call(tool, json!({ "table": "a" })).await);
    }
    assert_eq!(stage.label(&other), ["integrity:tool", "confidential"]);
    // And no more than it is said.
    assert_eq!(stage.gateway.describe(&up, None, "ada", "").await.unwrap(), Saying::Done);
    assert_eq!(stage.gateway.what_it_is(&up).unwrap().profile, Profile::Unknown);
}

#[tokio::test]
async fn the_file_counts_above_what_a_person_says() {
    for word in ["private", "unknown"] {
        let stage =
            undescribed().with(|config| config["servers"]["up"]["profile"] = json!(word)).open().await;
        let said = stage.gateway.describe(&UpstreamId::new("up"), Some(Profile::Local), "ada", "").await;
        assert!(matches!(said.unwrap(), Saying::ByFile(_)), "{word}");
    }
}

#[tokio::test]
async fn local_is_not_offered_where_something_leaves() {
    let open_world = json!({ "name": "look", "inputSchema": { "type": "object" },
                             "annotations": { "openWorldHint": true } });
    let cases = [
        (plain_tool("read_page", "url"), json!({}), "`url` of `read_page`"),
        (open_world, json!({}), "`look` says that it reaches the open world"),
        (plain_tool("query_rows", "table"), json!({ "NOTES_API_TOKEN": "x" }), "holds a token"),
    ];
    for (tool, env, why) in cases {
        let stage = Setup::new()
            .server("up", Script::of([tool]))
            .with(|config| {
                config["servers"]["up"] = json!({ "command": "scripted", "quarantine": false, "env": env });
            })
            .open()
            .await;
        let up = UpstreamId::new("up");
        let said = stage.gateway.describe(&up, Some(Profile::Local), "ada", "").await.unwrap();
        let Saying::NotLocal(found) = &said else { panic!("{said:?}") };
        assert!(found.contains(why), "{found}");
        assert_eq!(
            stage.gateway.describe(&up, Some(Profile::Private), "ada", "").await.unwrap(),
            Saying::Done
        );
    }
}

#[tokio::test]
async fn a_question_about_an_undescribed_server_says_how_to_describe_it() {
    let verified = json!({ "server_trust": "tool", "verified": true });
    let stage = undescribed().with(|config| config["servers"]["up"]["trust"] = verified).open().await;
    let agent = stage.modern(forms());
    text(&agent.call(READ, json!({ "table": "a" })).await);
    let asked = agent.call(ADD, json!({ "table": "a" })).await;
    assert!(asked.to_string().contains("highwater servers describe up"), "{asked}");
}

#[tokio::test]
async fn a_read_only_token_may_call_what_only_reads_by_the_operators_word() {
    let grants = json!({ "permissions": ["read"], "servers": ["*"] });
    for (profile, may) in [("local", true), ("private", true), ("unknown", false)] {
        let stage = undescribed()
            .with(|config| {
                config["servers"]["up"]["profile"] = json!(profile);
                config["expose"] = json!("both");
            })
            .token("bob", grants.clone())
            .open()
            .await;
        let agent =
            stage.agent(ClientOptions { token: Some(stage.token("bob")), ..ClientOptions::default() });
        let read = agent.call(READ, json!({ "table": "a" })).await;
        assert_eq!(read["result"]["content"][0]["text"] == "done", may, "{profile}: {read}");
        let through = json!({ "name": READ, "arguments": { "table": "a" } });
        let through = agent.call("call_tool_read", through).await;
        assert_eq!(through["result"]["content"][0]["text"] == "done", may, "{profile}: {through}");
        let added = agent.call(ADD, json!({ "table": "a" })).await;
        assert_ne!(added["result"]["content"][0]["text"], "done", "{profile}: {added}");
        assert_eq!(stage.up().runs("query_rows"), if may { 2 } else { 0 });
        assert_eq!(stage.up().runs("add_row"), 0);
    }
}
