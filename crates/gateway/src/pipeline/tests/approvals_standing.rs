//! What was agreed to before a call came, or comes with it: remembered answers, mandates, signatures of the client's own;
//! and replies that wait at the page.

use serde_json::{Value, json};

use super::approver::Approver;
use super::{
    ACT, ClientOptions, ERAS, FETCH, INBOX, SEND, Script, Setup, Stage, forms, pages, refusal, text, yes,
};
use crate::approvals::RememberScope;

const KEY: &str = "io.modelcontextprotocol/verified-approval";

async fn stage(effect: &str) -> (Stage, Approver) {
    let rule = json!({ "name": "ask", "effect": effect, "when": { "tool.id": ACT } });
    let delegable = json!({ "up:act": { "delegable": true } });
    let setup = Setup::usual().rule(rule).with_page();
    let stage = setup.with(|config| config["approvals"]["tools"] = delegable).open().await;
    let approver = Approver::enrolled(&stage).await;
    (stage, approver)
}

fn act(path: &str) -> Value {
    json!({ "name": ACT, "arguments": { "path": path } })
}

/// Calls with forms, saying this; the answer, and what was asked.
async fn call(stage: &Stage, context: &str, params: Value, answer: Value) -> (Value, Vec<Value>) {
    let who = ClientOptions {
        era: ERAS[0],
        capabilities: forms(),
        context: Some(context),
        ..ClientOptions::default()
    };
    let running = stage.agent(who).start("tools/call", params);
    let outcome = running.finish_answering(|_, _| Some(answer.clone())).await;
    (outcome.answer, outcome.before)
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_found_behind_every_gateway_that_shares_the_store_and_used_at_one() {
    let rule = json!({ "name": "ask", "effect": "passkey", "when": { "tool.id": ACT } });
    let memory = highwater_store::Memory::new(true);
    let open = || Setup::usual().rule(rule.clone()).with_page().on(&memory).open();
    let (here, there) = (open().await, open().await);
    let approver = Approver::enrolled(&there).await;
    let (agent, same) = (here.of_era(ERAS[1]), there.of_era(ERAS[1]));
    refusal(&agent.send("tools/call", act("a")).await.answer);
    approver.sign(&approver.asked().await.id).await.unwrap();
    text(&same.send("tools/call", act("a")).await.answer);
    refusal(&agent.send("tools/call", act("a")).await.answer);
    assert_eq!((here.up().runs("act"), there.up().runs("act")), (0, 1));
}

#[tokio::test]
async fn a_yes_in_a_form_covers_the_same_call_until_the_conversation_ends_and_no_other() {
    let (stage, _approver) = stage("confirm").await;
    let remember =
        |scope: &str| json!({ "action": "accept", "content": { "allow": true, "remember": scope } });
    let (answer, asked) = call(&stage, "one", act("a"), remember("session")).await;
    text(&answer);
    let offered = &asked[0]["params"]["requestedSchema"]["properties"]["remember"];
    assert_eq!(offered["enum"], json!(["once", "session"]), "{asked:?}");
    let words = "session: exactly this call of `up__act` with `path` “a”, until this conversation ends";
    assert!(offered["description"].as_str().unwrap().contains(words), "{offered}");
    let (answer, asked) = call(&stage, "one", act("a"), yes()).await;
    text(&answer);
    assert!(asked.is_empty(), "{asked:?}");
    let no = json!({ "action": "decline" });
    for (context, path) in [("one", "b"), ("two", "a")] {
        let (_, asked) = call(&stage, context, act(path), no.clone()).await;
        assert_eq!(asked.len(), 1, "{context} {path}");
    }
    // What a form may not offer counts once.
    for scope in ["tool-with-targets", "until-definition-changes", "host"] {
        let (answer, _) = call(&stage, "three", act("c"), remember(scope)).await;
        text(&answer);
        let (_, asked) = call(&stage, "three", act("c"), yes()).await;
        assert_eq!(asked.len(), 1, "{scope}");
    }
}

#[tokio::test]
async fn a_yes_on_the_page_may_outlast_the_conversation() {
    for scope in [RememberScope::ToolWithTargets, RememberScope::UntilDefinitionChanges] {
        let (stage, approver) = stage("confirm").await;
        let of = |context| ClientOptions { era: ERAS[1], context: Some(context), ..ClientOptions::default() };
        let running = stage.agent(of("one")).start("tools/call", act("a"));
        approver.confirm(&approver.asked().await.id, Some(scope)).await.unwrap();
        text(&running.finish().await.answer);
        let other = stage.agent(of("two"));
        text(&other.send("tools/call", act("a")).await.answer);
        let running = other.start("tools/call", act("b"));
        approver.decline(&approver.asked().await.id).await;
        refusal(&running.finish().await.answer);
    }
}

#[tokio::test]
async fn a_remembered_yes_ends_with_the_definition_and_with_what_the_session_holds() {
    for changes in [true, false] {
        let (stage, approver) = stage("confirm").await;
        let agent = stage.of_era(ERAS[1]);
        let running = agent.start("tools/call", act("a"));
        approver.confirm(&approver.asked().await.id, Some(RememberScope::ToolWithTargets)).await.unwrap();
        text(&running.finish().await.answer);
        text(&agent.send("tools/call", act("a")).await.answer);
        if changes {
            stage.up().tools.lock().unwrap()[3]["description"] = json!("Does more.");
            stage.restock("up").await;
        } else {
            text(&agent.call(INBOX, json!({})).await);
        }
        let running = agent.start("tools/call", act("a"));
        approver.decline(&approver.asked().await.id).await;
        refusal(&running.finish().await.answer);
        assert_eq!(stage.up().runs("act"), 2);
    }
}

#[tokio::test]
async fn a_yes_to_a_page_may_cover_its_host_until_the_conversation_ends() {
    let schema = json!({ "type": "object", "properties": { "url": { "type": "string" } } });
    let web = Script::of([json!({ "name": "fetch", "inputSchema": schema })]);
    let setup = Setup::usual().server("web", web).with_page();
    let stage = setup.with(|config| config["servers"]["web"]["profile"] = json!("public")).open().await;
    let approver = Approver::enrolled(&stage).await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(INBOX, json!({})).await);
    let page = |path: &str| json!({ "name": "web__fetch", "arguments": { "url": format!("https://example.com/{path}") } });
    text(&agent.send("tools/call", page("first")).await.answer);
    let running = agent.start("tools/call", page("second"));
    approver.confirm(&approver.asked().await.id, Some(RememberScope::Host)).await.unwrap();
    text(&running.finish().await.answer);
    for path in ["third", "a/fourth"] {
        text(&agent.send("tools/call", page(path)).await.answer);
    }
    assert_eq!((stage.server("web").runs("fetch"), approver.waiting().await), (4, 0));
    for path in ["fifth?q=1", "fifth#x"] {
        let running = agent.start("tools/call", page(path));
        approver.decline(&approver.asked().await.id).await;
        refusal(&running.finish().await.answer);
    }
    assert_eq!(stage.server("web").runs("fetch"), 4);
}

#[tokio::test]
async fn what_another_session_wrote_with_another_tool_of_the_server_ends_no_mandate() {
    let (stage, approver) = stage("passkey").await;
    let fetch = json!({ "name": FETCH, "arguments": {} });
    text(&call(&stage, "tainted", fetch, yes()).await.0);
    let send = json!({ "name": SEND, "arguments": { "to": "ada", "text": "what a stranger wanted to be written here" } });
    let (answer, asked) = call(&stage, "tainted", send, yes()).await;
    text(&answer);
    assert_eq!(asked.len(), 1, "the session was tainted when it wrote");
    approver.delegate(ACT, 2).await;
    let agent = stage.of_era(ERAS[1]);
    for path in ["build/a", "build/b"] {
        text(&agent.send("tools/call", act(path)).await.answer);
        assert!(!stage.label(&agent).contains(&"integrity:none"), "{:?}", stage.label(&agent));
    }
    assert_eq!(stage.up().runs("act"), 2);
}

#[tokio::test]
async fn a_mandate_carries_what_it_covers_so_often_and_leaves_a_receipt_each_time() {
    let (stage, approver) = stage("passkey").await;
    // Only a tool that was listed can be delegated.
    stage.of_era(ERAS[1]).send("tools/list", json!({})).await;
    approver.delegate(ACT, 2).await;
    let before = approver.receipts().await;
    let agent = stage.of_era(ERAS[1]);
    for path in ["build/a", "build/b"] {
        text(&agent.send("tools/call", act(path)).await.answer);
    }
    assert_eq!((stage.up().runs("act"), approver.receipts().await), (2, before + 2));
    for path in ["build/c", "src/a"] {
        let running = agent.start("tools/call", act(path));
        approver.decline(&approver.asked().await.id).await;
        refusal(&running.finish().await.answer);
    }
    assert_eq!(stage.up().runs("act"), 2, "it is used up, and another path was never in it");
    assert_eq!(stage.events().iter().filter(|told| *told == "approved tools/call").count(), 2);
}

#[tokio::test]
async fn a_mandate_does_not_carry_a_session_that_has_heard_strangers() {
    let (stage, approver) = stage("passkey").await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(FETCH, json!({})).await);
    approver.delegate(ACT, 2).await;
    let running = agent.start("tools/call", act("build/a"));
    approver.decline(&approver.asked().await.id).await;
    refusal(&running.finish().await.answer);
    assert_eq!(stage.up().runs("act"), 0);
}

#[tokio::test]
async fn a_signature_that_comes_with_its_call_opens_exactly_that_call_once() {
    for era in ERAS {
        let (stage, approver) = stage("passkey").await;
        let agent = stage.agent(ClientOptions { era, speaks_approval: true, ..ClientOptions::default() });
        // Without one it is told that it is missing.
        let missing = agent.send("tools/call", act("a")).await.answer;
        assert_eq!(missing["error"]["data"]["reason"], "missing_evidence", "{missing}");
        let asking = json!({ "toolName": ACT, "arguments": { "path": "a" } });
        let challenge = agent.send("approval/challenge/create", asking).await.answer["result"].clone();
        let evidence = approver.evidence(&challenge);
        let with = |path: &str| {
            let mut params = act(path);
            params["_meta"] = json!({ KEY: evidence });
            params
        };
        let other = agent.send("tools/call", with("b")).await.answer;
        assert_eq!(other["error"]["data"]["reason"], "argument_hash_mismatch", "{other}");
        text(&agent.send("tools/call", with("a")).await.answer);
        let again = agent.send("tools/call", with("a")).await.answer;
        assert_eq!(again["error"]["data"]["reason"], "challenge_consumed", "{again}");
        assert_eq!(stage.up().runs("act"), 1);
        assert!(!stage.up().journal()[0].text.contains(KEY), "our evidence reaches no server");
    }
}

#[tokio::test]
async fn a_reply_that_a_person_must_see_waits_at_the_page_and_is_fetched_once() {
    let rule = json!({ "name": "strangers", "effect": "confirm", "phase": "result",
        "when": { "tool.id": FETCH, "response.annotations.openWorldHint": { "in": [true, false] } } });
    for released in [true, false] {
        let stage = Setup::usual().rule(rule.clone()).with_page().open().await;
        let approver = Approver::enrolled(&stage).await;
        let agent = stage.modern(pages());
        let params = json!({ "name": FETCH, "arguments": {} });
        let asked = agent.send("tools/call", params.clone()).await.answer;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        assert!(stage.label(&agent).is_empty(), "nothing of the reply is out");
        let request = approver.asked().await;
        if released {
            approver.confirm(&request.id, None).await.unwrap();
        } else {
            approver.decline(&request.id).await;
        }
        let opened = json!({ "highwater_approval": { "action": "accept" } });
        let answer = agent.answer("tools/call", &params, &asked, opened.clone()).await;
        assert_eq!(answer["result"]["isError"] != true, released, "{answer}");
        let again = agent.answer("tools/call", &params, &asked, opened).await;
        assert!(refusal(&again).contains("expired"), "{again}");
        assert_eq!(stage.up().runs("fetch"), 1);
        assert_eq!(!stage.label(&agent).is_empty(), released);
        let end = if released { "delivered" } else { "withheld" };
        assert_eq!(stage.events().pop().unwrap(), end);
    }
}

#[tokio::test]
async fn of_a_sensitive_call_no_digest_is_on_record_and_no_argument_is_kept() {
    let key = "hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo";
    for sealed in [true, false] {
        let rule = json!({ "name": "ask", "effect": "passkey", "when": { "tool.id": ACT } });
        let stage = Setup::usual().rule(rule).with_page().with(|config| {
            config["approvals"]["auditor_key"] = json!(key);
            config["approvals"]["tools"] = json!({ "up:act": { "sensitive": sealed } });
        });
        let stage = stage.open().await;
        let approver = Approver::enrolled(&stage).await;
        let running = stage.of_era(ERAS[1]).start("tools/call", act("4711"));
        let request = approver.asked().await;
        assert_eq!(request.arguments, r#"{"path":"4711"}"#, "the approver sees them");
        approver.sign(&request.id).await.unwrap();
        text(&running.finish().await.answer);
        let about_call = stage.audit().into_iter().filter(|record| record["target"] == "act");
        assert!(about_call.clone().count() >= 2);
        for record in about_call {
            assert_eq!(record["digest"].is_null(), sealed, "{record}");
        }
        let told = stage
            .audit()
            .into_iter()
            .filter(|record| record["event"] == "asked" || record["event"] == "answered");
        for record in told {
            assert_eq!(record["question"].is_null(), sealed, "{record}");
        }
        let view = approver.approval_service.view(&request.id).await.unwrap().unwrap();
        assert_eq!(view.arguments.is_empty(), sealed, "{}", view.arguments);
    }
}
