//! Every server lists what the protocol and the annotation vocabulary ask for, and its replies keep to it.

use serde_json::{Value, json};

use super::client::{BOTH, Client, plain};
use crate::example::{ExampleArgs, ExampleServer, Switch, schema};

const ALL: [ExampleServer; 4] =
    [ExampleServer::Mail, ExampleServer::Files, ExampleServer::Repo, ExampleServer::Web];

/// One call of every tool that succeeds on fresh data.
fn good_calls(which: ExampleServer) -> Vec<(&'static str, Value)> {
    match which {
        ExampleServer::Mail => vec![
            ("list_messages", json!({"folder": "inbox", "limit": 3})),
            ("read_message", json!({"id": "m-2"})),
            ("search_messages", json!({"query": "salary"})),
            ("send_message", json!({"to": "jonas@larkfield.example", "subject": "Hi", "body": "Yes."})),
            ("move_message", json!({"id": "m-3", "folder": "archive"})),
            ("delete_message", json!({"id": "m-4"})),
        ],
        ExampleServer::Files => vec![
            ("list_files", json!({})),
            ("read_file", json!({"path": "finance/salaries-2026.csv"})),
            ("write_file", json!({"path": "team/new.md", "text": "New"})),
            ("delete_file", json!({"path": "team/roadmap.md"})),
        ],
        ExampleServer::Repo => vec![
            ("list_repositories", json!({})),
            ("list_issues", json!({"repo": "website", "state": "all"})),
            ("get_issue", json!({"owner": "mara", "repo": "website", "number": 1})),
            ("get_file_contents", json!({"repo": "private-notes", "path": "README.md"})),
            ("get_public_file", json!({"repo": "docs", "path": "README.md"})),
            ("get_private_file", json!({"repo": "private-notes", "path": "README.md"})),
            (
                "create_or_update_file",
                json!({"repo": "docs", "path": "a.md", "branch": "new", "content": "A", "message": "Add a"}),
            ),
            ("create_issue_comment", json!({"repo": "docs", "number": 1, "body": "Fixed"})),
            ("create_pull_request", json!({"repo": "docs", "title": "Add a", "head": "new"})),
        ],
        ExampleServer::Web => vec![
            ("fetch_page", json!({"url": "https://forum.example/thread/42"})),
            ("search_web", json!({"query": "water"})),
            ("submit_form", json!({"url": "https://forum.example/thread/42", "fields": {"comment": "Six."}})),
        ],
    }
}

fn every_server() -> Vec<(ExampleServer, ExampleArgs)> {
    let split = ExampleArgs { split_tools: true, ..plain() };
    ALL.into_iter().map(|which| (which, plain())).chain([(ExampleServer::Repo, split)]).collect()
}

fn words(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

fn assert_words(value: &Value, known: &[&str], place: &str) {
    let words = words(value);
    assert!(!words.is_empty(), "{place}");
    for word in words {
        assert!(known.contains(&word.as_str().unwrap()), "{place}: {word}");
    }
}

#[test]
fn every_tool_is_fully_described_and_annotated() {
    for (which, args) in every_server() {
        for era in BOTH {
            let tools = Client::of(era, which, &args).ask("tools/list", json!({}))["tools"].take();
            for tool in tools.as_array().unwrap() {
                let name = tool["name"].as_str().unwrap();
                for key in ["title", "description"] {
                    assert!(tool[key].as_str().is_some_and(|text| !text.is_empty()), "{name}.{key}");
                }
                for key in ["inputSchema", "outputSchema"] {
                    assert_eq!(tool[key]["type"], "object", "{name}.{key}");
                    assert_eq!(tool[key]["additionalProperties"], false, "{name}.{key}");
                }
                let said = &tool["annotations"];
                assert_eq!(said["title"], tool["title"], "{name}");
                for hint in ["readOnlyHint", "idempotentHint"] {
                    assert!(said[hint].is_boolean(), "{name}.{hint}");
                }
                let reaches_out = words(&said["inputMetadata"]["destination"]).contains(&json!("public"))
                    && words(&said["returnMetadata"]["source"]).contains(&json!("untrustedPublic"));
                assert_eq!(
                    said["openWorldHint"] == true,
                    reaches_out,
                    "{name}: in both directions, or not said"
                );
                let classes = ["none", "user", "pii", "financial", "credentials"];
                let input = &said["inputMetadata"];
                assert_eq!(input.as_object().unwrap().len(), 3, "{name}: no members but the three");
                assert_words(
                    &input["destination"],
                    &["ephemeral", "system", "user", "internal", "public"],
                    name,
                );
                assert_words(&input["sensitivity"], &classes, name);
                assert_words(&input["outcomes"], &["benign", "consequential", "irreversible"], name);
                let returns = &said["returnMetadata"];
                assert_eq!(returns.as_object().unwrap().len(), 2, "{name}: no members but the two");
                let sources = ["untrustedPublic", "trustedPublic", "internal", "user", "system"];
                assert_words(&returns["source"], &sources, name);
                assert_words(&returns["sensitivity"], &classes, name);
                let read_only = said["readOnlyHint"] == true;
                assert_eq!(read_only, input["outcomes"] == "benign", "{name}: hint and outcome agree");
            }
        }
    }
}

#[test]
fn every_reply_keeps_to_its_schema_and_its_static_declaration() {
    for (which, args) in every_server() {
        for era in BOTH {
            let mut client = Client::of(era, which, &args);
            let tools = client.ask("tools/list", json!({}))["tools"].take();
            let mut seen = Vec::new();
            for (name, arguments) in good_calls(which) {
                let Some(tool) = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name) else {
                    continue;
                };
                let result = client.call(name, arguments);
                assert_eq!(
                    schema::check(&tool["outputSchema"], &result["structuredContent"]),
                    Ok(()),
                    "{name}"
                );
                let declared = &tool["annotations"]["returnMetadata"];
                let said = &result["_meta"]["annotations"];
                if said["openWorldHint"] == true {
                    assert!(words(&declared["source"]).contains(&json!("untrustedPublic")), "{name}");
                    assert_ne!(tool["annotations"]["openWorldHint"], false, "{name}");
                }
                for class in words(&said["sensitivity"]) {
                    assert!(words(&declared["sensitivity"]).contains(&class), "{name}: {class}");
                }
                assert!(!said["attribution"].as_array().unwrap().is_empty(), "{name}");
                seen.push(tool["name"].clone());
            }
            assert_eq!(seen.len(), tools.as_array().unwrap().len(), "every tool was called");
        }
    }
}

#[test]
fn a_resolution_stays_inside_the_static_declaration() {
    for (which, args) in every_server() {
        for era in BOTH {
            let mut client = Client::of(era, which, &ExampleArgs { resolve: true, ..args.clone() });
            let tools = client.ask("tools/list", json!({}))["tools"].take();
            for (name, arguments) in good_calls(which) {
                let Some(tool) = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name) else {
                    continue;
                };
                assert_eq!(tool["resolve"], true);
                assert_eq!(tool["_meta"]["io.modelcontextprotocol/tool-resolution"]["resolvable"], true);
                let before = &tool["annotations"];
                let resolved = client.resolved(name, arguments);
                for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                    assert_eq!(resolved[hint].is_boolean(), before[hint].is_boolean(), "{name}: {hint}");
                }
                assert!(before["openWorldHint"] != false || resolved["openWorldHint"] == false, "{name}");
                for pointer in [
                    "/inputMetadata/destination",
                    "/inputMetadata/outcomes",
                    "/returnMetadata/source",
                    "/returnMetadata/sensitivity",
                ] {
                    let possible = words(before.pointer(pointer).unwrap());
                    for word in words(resolved.pointer(pointer).unwrap()) {
                        assert!(possible.contains(&word), "{name} {pointer}: {word}");
                    }
                }
            }
        }
    }
}

#[test]
fn without_result_labels_no_reply_says_what_its_data_is() {
    for which in ALL {
        let args = ExampleArgs { result_labels: Switch::Off, ..plain() };
        let mut client = Client::legacy(which, &args);
        for (name, arguments) in good_calls(which) {
            if !matches!(name, "get_public_file" | "get_private_file") {
                assert!(client.call(name, arguments).get("_meta").is_none(), "{name}");
            }
        }
    }
}
