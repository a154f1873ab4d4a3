//! Acts that stay on this machine: free after strangers' text only where what they touch can be told.

use serde_json::{Value, json};

use super::{Script, Setup, forms, text};

const PAGE: &str = "web__get_page";
const ADD: &str = "files__add_file";

/// A file server that is believed: what it adds destroys nothing.
fn files() -> Script {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" }, "id": { "type": "string" } },
                         "additionalProperties": false });
    let hints = json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": false });
    Script::of([json!({ "name": "add_file", "inputSchema": schema, "annotations": hints })])
}

fn web() -> Script {
    let hints = json!({ "readOnlyHint": true, "openWorldHint": true });
    Script::of([json!({ "name": "get_page", "inputSchema": { "type": "object" }, "annotations": hints })])
}

/// Whether the call is done without a question after a page was read.
async fn is_free(arguments: Value) -> bool {
    let setup = Setup::new().server("files", files()).server("web", web());
    let stage = setup.with(|config| config["servers"]["files"]["profile"] = json!("local")).open().await;
    let agent = stage.modern(forms());
    text(&agent.call(PAGE, json!({})).await);
    agent.call(ADD, arguments).await;
    stage.server("files").runs("add_file") == 1
}

#[tokio::test]
async fn a_file_that_is_added_where_nothing_runs_it_is_no_question() {
    assert!(is_free(json!({ "path": "/home/ada/letters/may.txt" })).await);
    assert!(is_free(json!({ "path": "/home/ada/letters/may.txt", "id": "family/may" })).await);
}

#[tokio::test]
async fn a_path_that_cannot_be_told_is_asked_about() {
    for path in [".git/hooks/post-checkout", "letters/may.txt", "$HOME/.profile", "~ada/.profile", "%2e%2e/x"]
    {
        assert!(!is_free(json!({ "path": path })).await, "{path}");
    }
    assert!(!is_free(json!({ "path": "/home/ada/a.txt", "id": ".git/hooks/post-checkout" })).await);
}
