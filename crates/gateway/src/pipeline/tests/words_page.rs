//! What people read on the page about values, and what a yes may cover of things that were listed.

use std::pin::pin;

use serde_json::{Value, json};

use super::approver::Approver;
use super::tools::{doer, reader};
use super::{Agent, ClientOptions, Script, Setup, Stage, Step, text};
use crate::approvals::{RememberScope, RequestView};

const LIST: &str = "files__list_files";
const ARCHIVE: &str = "files__archive_file";
const READ: &str = "files__read_file";
const PAY: &str = "files__send_money";

/// Files of which strangers may write the contents.
fn files() -> Script {
    let id = json!({ "type": "string" });
    let mut archive = doer("archive_file", "internal", "consequential");
    archive["inputSchema"]["properties"] = json!({ "file_id": id });
    let mut read = reader("read_file", "untrustedPublic", "none");
    read["inputSchema"]["properties"] = json!({ "path": id });
    let mut pay = doer("send_money", "public", "consequential");
    pay["inputSchema"]["properties"] = json!({ "recipient": id, "amount": { "type": "number" } });
    let script = Script::of([reader("list_files", "untrustedPublic", "none"), read, archive, pay]);
    let listed: Vec<Value> = ["Budget plan 2026", "Holiday photos", "Old invoices", "Draft of a letter"]
        .iter()
        .enumerate()
        .map(|(number, name)| json!({ "id": format!("f{number}"), "name": name }))
        .collect();
    script.on("list_files", [Step::say(&json!({ "files": listed }).to_string())]);
    script.on("read_file", [Step::say("Please pay 98.70 to UK12345678901234567890.")]);
    script
}

async fn stage() -> (Stage, Approver) {
    let stage = Setup::new().server("files", files()).with_page().open().await;
    let approver = Approver::enrolled(&stage).await;
    (stage, approver)
}

fn agent(stage: &Stage) -> Agent {
    stage.agent(ClientOptions { context: Some("talk"), ..ClientOptions::default() })
}

/// Calls a tool and gives the request if somebody is asked, who says yes with this scope.
async fn called(
    agent: &Agent,
    approver: &Approver,
    tool: &str,
    arguments: Value,
    scope: Option<RememberScope>,
) -> Option<RequestView> {
    let mut finished = pin!(agent.start_call(tool, arguments).finish());
    let request = tokio::select! {
        outcome = &mut finished => {
            text(&outcome.answer);
            return None;
        }
        request = approver.asked() => request,
    };
    approver.confirm(&request.id, scope).await.unwrap();
    text(&finished.await.answer);
    Some(request)
}

fn archive(id: &str) -> Value {
    json!({ "file_id": id })
}

#[tokio::test]
async fn the_second_question_offers_everything_that_the_server_listed() {
    let (stage, approver) = stage().await;
    let agent = agent(&stage);
    stage
        .gateway
        .evidence
        .hear_words(agent.session(), "1", "Archive every file that is older than a year")
        .await;
    text(&agent.call(LIST, json!({})).await);
    let first = called(&agent, &approver, ARCHIVE, archive("f1"), None).await.expect("nobody said which");
    assert!(!first.remember.contains(&RememberScope::Listed), "{:?}", first.remember);
    let listed = &first.context.listed;
    assert_eq!((listed.len(), &*listed[0].argument, &*listed[0].name), (1, "file_id", "holiday photos"));
    assert_eq!(listed[0].tool.as_deref(), Some(LIST));
    let says = first.context.values.first().expect("why it is asked");
    assert!(
        says.contains("`file_id` is not in your request; it is the id of something that stands in"),
        "{says}"
    );

    let scope = Some(RememberScope::Listed);
    let second = called(&agent, &approver, ARCHIVE, archive("f2"), scope).await.expect("another thing");
    let words = second.context.rememberable.unwrap().words(RememberScope::Listed);
    assert!(words.contains("these 4 things") && words.contains("“old invoices”"), "{words}");

    // Everything on the list, and nothing else.
    assert!(called(&agent, &approver, ARCHIVE, archive("f3"), None).await.is_none());
    assert!(called(&agent, &approver, ARCHIVE, archive("f9"), None).await.is_some());
    // Until the user says something new.
    stage.gateway.evidence.hear_words(agent.session(), "2", "Thank you").await;
    assert!(called(&agent, &approver, ARCHIVE, archive("f3"), None).await.is_some());
    assert_eq!(stage.server("files").runs("archive_file"), 5);
}

#[tokio::test]
async fn a_value_that_the_request_leaves_to_something_says_so() {
    let (stage, approver) = stage().await;
    let agent = agent(&stage);
    stage.gateway.evidence.hear_words(agent.session(), "1", "Pay the bill in bills/december.txt").await;
    text(&agent.call(READ, json!({ "path": "bills/december.txt" })).await);
    let money = json!({ "recipient": "UK12345678901234567890", "amount": 98.70 });
    let request =
        called(&agent, &approver, PAY, money, None).await.expect("the request leaves it to the file");
    let says = request.context.values.join("\n");
    assert!(
        says.contains(
            "`recipient` is not in your request; it first stands in the reply of `files__read_file` to \
             `bills/december.txt`, which your request names"
        ),
        "{says}"
    );
}
