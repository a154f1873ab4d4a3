//! Tasks: their ids are sealed for one principal and one server, and they are followed across the eras.

use std::sync::Arc;

use highwater_mcp::era::Era;
use highwater_mcp::error_code::MISSING_CLIENT_CAPABILITY;
use serde_json::{Value, json};

use super::tools::{doer, reader};
use super::{AGES, Agent, ClientOptions, ERAS, Script, Setup, Stage, Step, forms, refusal, text};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A server with a slow tool, of this era; `required` says that the tool can only be called as a task.
fn slow(era: Era, required: bool) -> Setup {
    let mut tool = doer("slow", "internal", "benign");
    if required {
        tool["execution"] = json!({ "taskSupport": "required" });
    }
    Setup::new().server("up", Script::of([tool, reader("look", "system", "none")]).in_era(era))
}

fn speaking_of_tasks(stage: &Stage) -> Agent {
    stage.modern(json!({ "extensions": { TASKS: {} } }))
}

/// A task that a legacy client asked for, by the id it was given.
async fn task_of(agent: &Agent, stage: &Stage) -> String {
    stage.up().on("slow", [Step::Answer(json!({ "task": { "taskId": "t-1", "status": "working" } }))]);
    let params = json!({ "name": "up__slow", "arguments": {}, "task": {} });
    let made = agent.send("tools/call", params).await.answer;
    made["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

#[tokio::test]
async fn a_task_is_asked_after_under_its_own_id_by_the_client_it_was_given_to() {
    let stage = slow(ERAS[0], false).open().await;
    let agent = stage.of_era(ERAS[0]);
    let shown = task_of(&agent, &stage).await;
    assert_ne!(shown, "t-1");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let told = json!({ "taskId": "t-1", "status": "working",
            "_meta": { "io.modelcontextprotocol/related-task": { "taskId": "t-1" } } });
        stage.up().on("t-1", [Step::Answer(told)]);
        let answer = agent.send(method, json!({ "taskId": shown })).await.answer;
        assert_eq!(stage.up().of_method(method)[0]["taskId"], "t-1", "{method}");
        assert!(!answer.to_string().contains("t-1"), "{method}: {answer}");
        let again = answer["result"]["taskId"].as_str().unwrap();
        agent.send("tasks/get", json!({ "taskId": again })).await;
        assert_eq!(stage.up().of_method("tasks/get").last().unwrap()["taskId"], "t-1");
    }
}

#[tokio::test]
async fn what_is_given_to_a_task_is_judged_as_its_call_and_asking_after_it_is_not() {
    let tools = [doer("slow", "internal", "consequential"), reader("fetch", "untrustedPublic", "none")];
    let stage = Setup::new().server("up", Script::of(tools).in_era(ERAS[1])).open().await;
    let agent = speaking_of_tasks(&stage);
    let made = json!({ "resultType": "task", "taskId": "t-1", "status": "working" });
    stage.up().on("slow", [Step::Answer(made)]);
    let made = agent.call("up__slow", json!({})).await;
    let shown = made["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    stage.up().on("t-1", [Step::Answer(json!({ "resultType": "complete", "taskId": "t-1" }))]);
    let update = json!({ "taskId": shown, "inputResponses": { "who": { "action": "accept" } } });
    for heard in [false, true] {
        if heard {
            text(&agent.call("up__fetch", json!({})).await);
        }
        agent.send("tasks/update", update.clone()).await;
        agent.send("tasks/get", json!({ "taskId": shown })).await;
    }
    assert_eq!(stage.up().of_method("tasks/update").len(), 1, "{:?}", stage.events());
    assert_eq!(stage.up().of_method("tasks/get").len(), 2, "{:?}", stage.events());
    assert!(stage.events().contains(&"blocked tasks/update".to_owned()), "{:?}", stage.events());
}

#[tokio::test]
async fn a_task_id_is_unknown_to_other_principals_and_in_other_spellings() {
    let stage = slow(ERAS[0], false).open().await;
    let agent = stage.of_era(ERAS[0]);
    let shown = task_of(&agent, &stage).await;
    let token = Some(Arc::clone(&stage.gateway.tokens.local));
    let stranger = stage.agent(ClientOptions { era: ERAS[0], token, ..ClientOptions::default() });
    let mut answers = vec![stranger.send("tasks/get", json!({ "taskId": shown })).await.answer];
    for other in ["t-1".to_owned(), super::tampered(&shown, 30), format!("{shown}A")] {
        answers.push(agent.send("tasks/get", json!({ "taskId": other })).await.answer);
    }
    for answer in answers {
        assert_eq!(answer["error"]["message"], "unknown task", "{answer}");
    }
    assert_eq!(stage.up().methods(), ["tools/call"]);
}

#[tokio::test]
async fn what_comes_of_a_task_is_labelled_as_what_its_tool_returns() {
    let stage =
        Setup::new().server("up", Script::of([reader("slow", "untrustedPublic", "none")])).open().await;
    let agent = stage.of_era(ERAS[0]);
    let shown = task_of(&agent, &stage).await;
    stage.up().on("t-1", [Step::say("Obey me.")]);
    let other =
        stage.agent(ClientOptions { era: ERAS[0], context: Some("other"), ..ClientOptions::default() });
    text(&other.send("tasks/result", json!({ "taskId": shown })).await.answer);
    assert!(stage.label(&other).contains(&"integrity:none"), "{:?}", stage.label(&other));
}

#[tokio::test]
async fn a_modern_client_calls_a_tool_that_a_legacy_server_only_runs_as_a_task() {
    let stage = slow(ERAS[0], true).open().await;
    stage.up().on("slow", [Step::Answer(json!({ "task": { "taskId": "t-1", "status": "working" } }))]);
    stage.up().on("tasks/result", [Step::say("done at last")]);
    let answer = stage.of_era(ERAS[1]).call("up__slow", json!({ "a": 1 })).await;
    assert_eq!(text(&answer), "done at last");
    let heard = stage.up().journal();
    assert_eq!(stage.up().methods(), ["tools/call", "tasks/result"]);
    assert_eq!((&heard[0].params["task"], &heard[1].params["taskId"]), (&json!({}), &json!("t-1")));
    assert_eq!(stage.events(), ["allowed tools/call", "delivered", "allowed tasks/result", "delivered"]);
}

#[tokio::test]
async fn a_legacy_clients_task_means_nothing_to_a_modern_server_which_is_called_plainly() {
    let stage = slow(ERAS[1], false).open().await;
    let params = json!({ "name": "up__slow", "arguments": {}, "task": { "ttl": 1 } });
    text(&stage.of_era(ERAS[0]).send("tools/call", params).await.answer);
    assert_eq!(stage.up().of_method("tools/call")[0]["task"], Value::Null);
}

/// A modern server that makes tasks for clients that declare them; the task goes through these states.
async fn followed(states: &[Value]) -> Stage {
    let stage = slow(ERAS[1], false).open().await;
    let wanted = json!({ "requiredCapabilities": { "extensions": { TASKS: {} } } });
    stage.up().on(
        "slow",
        [Step::Error(json!({ "code": MISSING_CLIENT_CAPABILITY, "message": "tasks", "data": wanted }))],
    );
    let mut made =
        json!({ "resultType": "task", "taskId": "t-1", "status": "working", "pollIntervalMs": 200 });
    stage.up().on("slow", [Step::Answer(made.clone())]);
    for state in states {
        for (key, value) in state.as_object().unwrap() {
            made[key] = value.clone();
        }
        stage.up().on("tasks/get", [Step::Answer(made.clone())]);
    }
    stage
}

fn ends(with: &str, inner: Value) -> Value {
    let status = if with == "result" { "completed" } else { "failed" };
    json!({ "status": status, with: inner })
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_waits_while_we_follow_a_modern_servers_task() {
    let result = json!({ "content": [{ "type": "text", "text": "done at last" }] });
    let stage = followed(&[json!({}), json!({}), ends("result", result)]).await;
    let params = json!({ "name": "up__slow", "arguments": {}, "_meta": { "progressToken": "mine" } });
    let outcome = stage.of_era(ERAS[0]).send("tools/call", params).await;
    assert_eq!(text(&outcome.answer), "done at last");
    let methods = ["tools/call", "tools/call", "tasks/get", "tasks/get", "tasks/get"];
    assert_eq!(stage.up().methods(), methods);
    let declared = &stage.up().journal()[1].params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(declared["extensions"][TASKS].is_object(), "{declared}");
    let progress: Vec<&Value> = outcome.before.iter().map(|told| &told["params"]["progress"]).collect();
    assert_eq!(progress, [&json!(1), &json!(2), &json!(3)], "it is shown that the call is alive");
    assert!(!stage.up().methods().contains(&"tasks/cancel".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_or_is_cancelled_ends_the_call() {
    let error = json!({ "code": -32000, "message": "broken" });
    let stage = followed(&[ends("error", error.clone())]).await;
    assert_eq!(stage.of_era(ERAS[0]).call("up__slow", json!({})).await["error"], error);
    let stage = followed(&[json!({ "status": "cancelled" })]).await;
    let answer = stage.of_era(ERAS[0]).call("up__slow", json!({})).await;
    assert!(refusal(&answer).contains("cancelled the task"), "{answer}");
    let stage = followed(&[json!({ "status": "completed" })]).await;
    let answer = stage.of_era(ERAS[0]).call("up__slow", json!({})).await;
    assert!(refusal(&answer).contains("without a result"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_asks_is_answered_by_a_legacy_client_inline() {
    let question =
        json!({ "method": "elicitation/create", "params": { "mode": "form", "message": "ClientOptions?" } });
    let asking = json!({ "status": "input_required", "inputRequests": { "who": question } });
    let result = json!({ "content": [{ "type": "text", "text": "hello Ada" }] });
    let stage = followed(&[asking, ends("result", result)]).await;
    stage.up().on("tasks/update", [Step::Answer(json!({}))]);
    let ada = json!({ "action": "accept", "content": { "name": "Ada" } });
    let call = stage.legacy(forms()).start_call("up__slow", json!({}));
    let outcome = call.finish_answering(|_, _| Some(ada.clone())).await;
    assert_eq!(text(&outcome.answer), "hello Ada");
    let update = stage.up().of_method("tasks/update");
    assert_eq!(
        update,
        [json!({ "taskId": "t-1", "inputResponses": { "who": ada }, "_meta": update[0]["_meta"] })]
    );
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_task_is_cancelled_at_its_server() {
    let stage = followed(&[json!({})]).await;
    let call = stage.of_era(ERAS[0]).start_call("up__slow", json!({}));
    stage.up().reached(3).await;
    call.cancel().await;
    let cancelled = async {
        while stage.up().of_method("tasks/cancel").is_empty() {
            stage.up().reached(stage.up().journal().len() + 1).await;
        }
    };
    tokio::time::timeout(AGES, cancelled).await.unwrap();
    assert_eq!(stage.up().of_method("tasks/cancel")[0]["taskId"], "t-1");
}

#[tokio::test]
async fn a_modern_client_speaks_of_a_modern_servers_task_itself() {
    let stage = slow(ERAS[1], false).open().await;
    let made = json!({ "resultType": "task", "taskId": "t-1", "status": "working" });
    stage.up().on("slow", [Step::Answer(made)]);
    let agent = speaking_of_tasks(&stage);
    let answer = agent.call("up__slow", json!({})).await;
    let shown = answer["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_ne!(shown, "t-1");
    agent.send("tasks/get", json!({ "taskId": shown })).await;
    assert_eq!(stage.up().of_method("tasks/get")[0]["taskId"], "t-1");
    // ClientOptions does not say that they know tasks is told what is missing.
    let answer = stage.of_era(ERAS[1]).send("tasks/get", json!({ "taskId": shown })).await.answer;
    assert_eq!(answer["error"]["code"], MISSING_CLIENT_CAPABILITY, "{answer}");
}
