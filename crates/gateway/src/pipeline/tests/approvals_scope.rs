//! What a yes covers beyond one call: the replies that it was to bring, and one recipient, folder or channel until the
//! conversation ends.

use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};

use super::approver::Approver;
use super::{Agent, ERAS, FETCH, LOOK, Script, Setup, Stage, refusal, text};
use crate::approvals::{By, RememberScope};

const RAW: &str = "raw__poke";
const PAGE: &str = "web__get_page";

/// A server of which nobody has said anything, whose one tool a rule asks about.
async fn unlabelled(effect: &str) -> (Stage, Approver) {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let raw = Script::of([json!({ "name": "poke", "inputSchema": schema })]);
    let rule = json!({ "name": "ask", "effect": effect, "when": { "tool.id": RAW } });
    let setup = Setup::usual().server("raw", raw).rule(rule).with_page().with(|config| {
        config["servers"]["raw"] = json!({ "command": "scripted", "quarantine": false });
        config["approvals"]["tools"] = json!({ "raw:poke": { "delegable": true } });
    });
    let stage = setup.open().await;
    let approver = Approver::enrolled(&stage).await;
    (stage, approver)
}

fn poke(path: &str) -> Value {
    json!({ "name": RAW, "arguments": { "path": path } })
}

/// Calls, and says yes with this scope if somebody is asked, who then must read this. Whether somebody was.
async fn call(agent: &Agent, approver: &Approver, params: Value, scope: RememberScope, reads: &str) -> bool {
    let mut finished = pin!(agent.start("tools/call", params).finish());
    let request = tokio::select! {
        outcome = &mut finished => {
            text(&outcome.answer);
            return false;
        }
        request = approver.asked() => request,
    };
    let words = request.context.rememberable.as_ref().map(|same| same.words(scope)).unwrap_or_default();
    assert!(request.remember.contains(&scope), "{:?}", request.remember);
    assert!(words.contains(reads), "{words}");
    approver.confirm(&request.id, Some(scope)).await.unwrap();
    text(&finished.await.answer);
    true
}

/// That somebody is asked, who says no, and not so often that nobody is asked any more.
async fn asks(agent: &Agent, approver: &Approver, params: Value) {
    let tool = params["name"].as_str().unwrap().to_owned();
    let running = agent.start("tools/call", params);
    let asked = tokio::time::timeout(Duration::from_secs(10), approver.asked());
    approver.decline(&asked.await.expect("nobody is asked").id).await;
    refusal(&running.finish().await.answer);
    approver.approval_service.resume("agent", &tool, By::Operator("test")).await.unwrap();
}

#[tokio::test]
async fn a_remembered_yes_outlives_the_reply_that_its_contract_predicts_and_no_other_strangers() {
    let (stage, approver) = unlabelled("confirm").await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(LOOK, json!({})).await);
    let mut asked = Vec::new();
    for number in 0..4 {
        // Told where it is new.
        let reads = if number == 0 { "which count as strangers' text and may hold private data" } else { "" };
        asked.push(call(&agent, &approver, poke("a"), RememberScope::Session, reads).await);
    }
    assert_eq!(asked, [true, false, false, false]);
    assert!(stage.label(&agent).contains(&"integrity:none"), "{:?}", stage.label(&agent));
    asks(&agent, &approver, poke("b")).await;
    // Strangers that nobody spoke of.
    text(&agent.call(FETCH, json!({})).await);
    asks(&agent, &approver, poke("a")).await;
    assert_eq!(stage.server("raw").runs("poke"), 4);
}

#[tokio::test]
async fn a_mandate_outlives_the_replies_that_its_contract_predicts_and_no_other_strangers() {
    let (stage, approver) = unlabelled("passkey").await;
    let agent = stage.of_era(ERAS[1]);
    agent.send("tools/list", json!({})).await;
    approver.delegate(RAW, 5).await;
    for path in ["build/a", "build/b", "build/c"] {
        text(&agent.send("tools/call", poke(path)).await.answer);
    }
    assert!(stage.label(&agent).contains(&"integrity:none"));
    text(&agent.call(FETCH, json!({})).await);
    asks(&agent, &approver, poke("build/d")).await;
    assert_eq!(stage.server("raw").runs("poke"), 3);
}

#[tokio::test]
async fn a_mandate_answers_a_confirmation_too() {
    let (stage, approver) = unlabelled("confirm").await;
    let agent = stage.of_era(ERAS[1]);
    agent.send("tools/list", json!({})).await;
    approver.delegate(RAW, 2).await;
    for path in ["build/a", "build/b"] {
        text(&agent.send("tools/call", poke(path)).await.answer);
    }
    asks(&agent, &approver, poke("build/c")).await;
    assert_eq!(stage.server("raw").runs("poke"), 2);
}

/// A mail account, a chat, a file server and the web, with two folders that are in no project.
struct Desktop {
    folder: tempfile::TempDir,
}

// === impl Desktop ===

impl Desktop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in ["letters/2026", "plans", "src/app"] {
            std::fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, below: &str) -> String {
        self.folder.path().canonicalize().unwrap().join(below).to_str().unwrap().to_owned()
    }

    /// `silent` servers answer with nothing that is private.
    async fn open(&self, silent: bool) -> (Stage, Approver) {
        let text = || json!({ "type": "string" });
        let mail = tool(
            "send_mail",
            json!({ "to": text(), "subject": text(), "body": text(), "cc": text() }),
            json!({}),
        );
        let edit = json!({ "type": "object", "properties": { "oldText": text(), "newText": text() } });
        let edits = json!({ "path": text(), "edits": { "type": "array", "items": edit }, "dryRun": { "type": "boolean" } });
        let hints = json!({ "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false });
        let files = tool("edit_file", edits, hints);
        let chat = tool("post_message", json!({ "channel": text(), "text": text() }), json!({}));
        let open = json!({ "readOnlyHint": true, "openWorldHint": true });
        let setup = Setup::new().server("web", Script::of([tool("get_page", json!({}), open)]));
        let setup = setup.server("mail", Script::of([mail])).server("files", Script::of([files]));
        let setup = setup.server("chat", Script::of([chat])).with_page().with(|config| {
            config["projects"] = json!([self.path("src/app")]);
            for (name, profile) in [("mail", "private"), ("files", "local"), ("chat", "private")] {
                config["servers"][name]["profile"] = json!(profile);
                if silent {
                    config["servers"][name]["labels"] =
                        json!({ "*": { "returnMetadata": { "source": "system", "sensitivity": "none" } } });
                }
            }
        });
        let stage = setup.open().await;
        let approver = Approver::enrolled(&stage).await;
        (stage, approver)
    }

    fn edit(&self, number: usize) -> Value {
        let path = if number.is_multiple_of(2) { "letters/2026" } else { "plans" };
        let path = self.path(&format!("{path}/{number}.txt"));
        let edits = json!([{ "oldText": "a", "newText": format!("{number}") }]);
        json!({ "name": "files__edit_file", "arguments": { "path": path, "edits": edits, "dryRun": false } })
    }
}

fn tool(name: &str, properties: Value, annotations: Value) -> Value {
    json!({ "name": name, "annotations": annotations,
            "inputSchema": { "type": "object", "properties": properties, "additionalProperties": false } })
}

fn mail(number: usize) -> Value {
    let to = if number.is_multiple_of(2) { "ada@example.com" } else { "ben@example.com" };
    mail_to(to, &format!("news {number}"))
}

fn mail_to(to: &str, body: &str) -> Value {
    json!({ "name": "mail__send_mail", "arguments": { "to": to, "subject": "news", "body": body } })
}

fn post(number: usize) -> Value {
    json!({ "name": "chat__post_message", "arguments": { "channel": "#team", "text": format!("post {number}") } })
}

#[tokio::test]
async fn after_a_strangers_page_sixty_acts_with_five_recipients_folders_and_channels_are_five_questions() {
    for silent in [false, true] {
        let desktop = Desktop::new();
        let (stage, approver) = desktop.open(silent).await;
        let agent = stage.of_era(ERAS[1]);
        text(&agent.call(PAGE, json!({})).await);
        let (session, folder) = (RememberScope::Session, RememberScope::Folder);
        let mails =
            (0..20).map(|number| (number, mail(number), session, "whatever `body` and `subject` say"));
        let edits = (0..30).map(|number| (number, desktop.edit(number), folder, "of files below"));
        let posts = (0..10).map(|number| (number, post(number), session, "`channel` “#team”"));
        let mut calls: Vec<_> = mails.chain(edits).chain(posts).collect();
        if silent {
            // Where no reply brings data, the order is nothing to a yes.
            calls.sort_by_key(|(number, ..)| *number);
        }
        let mut questions = 0;
        for (_, params, scope, reads) in calls {
            questions += usize::from(call(&agent, &approver, params, scope, reads).await);
        }
        assert_eq!(questions, 5, "{silent}");
        let runs = |server: &str, tool: &str| stage.server(server).runs(tool);
        assert_eq!(
            (runs("mail", "send_mail"), runs("files", "edit_file"), runs("chat", "post_message")),
            (20, 30, 10)
        );
        // One recipient more, a copy for somebody, another folder, and what is run or loaded unasked.
        asks(&agent, &approver, mail_to("eve@example.com", "news")).await;
        let mut copied = mail(0);
        copied["arguments"]["cc"] = json!("eve@example.com");
        asks(&agent, &approver, copied).await;
        std::os::unix::fs::symlink("../other", desktop.path("letters/2026/link")).unwrap();
        for path in
            ["letters/a.txt", "plans/../other/a.txt", "letters/2026/.envrc", "letters/2026/link/a.txt"]
        {
            let mut edit = desktop.edit(0);
            edit["arguments"]["path"] = json!(desktop.path(path));
            asks(&agent, &approver, edit).await;
        }
        let mut other = desktop.edit(0);
        other["arguments"]["dryRun"] = json!(true);
        asks(&agent, &approver, other).await;
    }
}

/// An agent that nobody watches, with permits for two recipients.
fn headless(permits: Value) -> Setup {
    let text = || json!({ "type": "string" });
    let mail = tool(
        "send_mail",
        json!({ "to": text(), "body": text(), "copies": { "type": "integer" } }),
        json!({}),
    );
    let open = json!({ "readOnlyHint": true, "openWorldHint": true });
    let setup = Setup::usual().server("web", Script::of([tool("get_page", json!({}), open)]));
    setup.server("mail", Script::of([mail])).with(|config| {
        config["permits"] = permits;
        config["servers"]["mail"]["labels"] = json!({ "send_mail": {
            "roles": { "copies": "scalar" }, "returnMetadata": { "source": "system", "sensitivity": "none" } } });
    })
}

fn permit(until: &str) -> Value {
    json!({ "nightly-mail": { "token": "agent", "tool": "mail:send_mail", "until": until, "arguments": {
        "to": { "enum": ["ada@example.com", "ben@example.com"] }, "body": { "max_length": 20 },
        "copies": { "min": 1, "max": 3 },
    } } })
}

fn send(to: &str, body: &str, copies: Value) -> Value {
    json!({ "to": to, "body": body, "copies": copies })
}

#[tokio::test]
async fn after_strangers_text_an_agent_alone_does_what_its_permit_lists_and_nothing_beside_it() {
    // With a page and without: nobody need be there.
    for with_page in [false, true] {
        let setup = headless(permit("2999-01-01"));
        let stage = if with_page { setup.with_page() } else { setup }.open().await;
        let agent = stage.of_era(ERAS[1]);
        text(&agent.call(PAGE, json!({})).await);
        for (to, copies) in [("ada@example.com", json!(1)), ("ben@example.com", json!(3.0))] {
            text(&agent.call("mail__send_mail", send(to, "all is well", copies)).await);
        }
        let long = "a".repeat(21);
        for beside in [
            send("eve@example.com", "all is well", json!(1)),
            send("ada@example.com", &long, json!(1)),
            send("ada@example.com", "all is well", json!(4)),
            send("ada@example.com", "all is well", json!(0)),
            send("ada@example.com", "all is well", json!("1")),
            send("ada@example.com", "all is well", json!(1.5)),
            json!({ "to": "ada@example.com", "body": "all is well" }),
            json!({ "to": "ada@example.com", "body": "all is well", "copies": 1, "cc": "eve@example.com" }),
        ] {
            let mut finished = pin!(agent.start_call("mail__send_mail", beside.clone()).finish());
            // Where there is a page, somebody is asked there; without one it is refused at once.
            if tokio::time::timeout(Duration::from_millis(50), &mut finished)
                .await
                .is_ok_and(|it| it.answer["result"]["isError"] != true)
            {
                panic!("{beside} ran");
            }
        }
        assert_eq!(stage.server("mail").runs("send_mail"), 2);
        let uses = stage.audit().into_iter().filter(|record| record["by"] == "permit nightly-mail");
        assert_eq!(uses.count(), 2, "{:?}", stage.audit());
    }
}

#[tokio::test]
async fn a_permit_answers_no_passkey_nothing_of_every_call_no_credentials_and_nothing_after_its_end() {
    let run = |setup: Setup, first: Option<&'static str>| async move {
        let stage = setup.open().await;
        let agent = stage.of_era(ERAS[1]);
        text(&agent.call(PAGE, json!({})).await);
        if let Some(first) = first {
            text(&agent.call(first, json!({})).await);
        }
        agent.call("mail__send_mail", send("ada@example.com", "all is well", json!(1))).await;
        stage.server("mail").runs("send_mail")
    };
    let usual = || headless(permit("2999-01-01"));
    assert_eq!(run(usual(), None).await, 1);
    assert_eq!(run(headless(permit("2020-01-01")), None).await, 0, "it is over");
    let passkey = json!({ "name": "sign", "effect": "passkey", "when": { "tool.id": "mail__send_mail" } });
    assert_eq!(run(usual().rule(passkey), None).await, 0, "a passkey is wanted");
    let confirm = json!({ "name": "look", "effect": "confirm", "when": { "tool.id": "mail__send_mail" } });
    assert_eq!(run(usual().rule(confirm), None).await, 1, "a rule of the operator's own");
    let every = usual().with(|config| {
        config["servers"]["mail"]["labels"]["send_mail"]["approval"] = json!("confirm");
    });
    assert_eq!(run(every, None).await, 0, "a person is wanted at every call");
    let keys = usual().with(|config| {
        config["servers"]["up"]["labels"] =
            json!({ "look": { "returnMetadata": { "source": "user", "sensitivity": "credentials" } } });
        config["servers"]["mail"]["labels"]["send_mail"]["inputMetadata"] =
            json!({ "destination": "user", "sensitivity": ["credentials"], "outcomes": "consequential" });
        config["clearance"] = json!({ "user": "any" });
    });
    assert_eq!(run(keys, Some(LOOK)).await, 0, "the session holds credentials");
    let other =
        headless(json!({ "p": { "token": "other", "tool": "mail:send_mail", "until": "2999-01-01" } }));
    assert_eq!(run(other, None).await, 0, "it is for another token");
}
