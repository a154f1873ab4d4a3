//! Steps of a task that a person's yes has begun. What is given to a task decides what its call does, and no step can be
//! shown and signed: whatever it brings, nothing is given.

use highwater_testkit::client::peer::Journal;
use highwater_testkit::client::{Answer, Era, Request};
use serde_json::json;

use super::extras::{EXTRAS, Extra, PLAIN, SECRET};
use super::scene::Scene;
use crate::rounds::nobody_is_asked;
use crate::stage::{DELETE, waits};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A step with something more in it.
fn step(method: &str, task: &str, extra: &Extra) -> Request {
    let answers =
        if method == "tasks/update" { r#","inputResponses":{"who":{"action":"accept"}}"# } else { "" };
    let more = if extra.params.is_empty() { String::new() } else { format!(",{}", extra.params) };
    let params = format!(r#"{{"taskId":"{task}"{answers}{more}}}"#);
    Request::new(method).raw_params(&params).raw_meta(extra.meta).once()
}

fn refused(answer: &Answer, what: &str) {
    let is_refused = answer.error_code().is_some() || answer.is_tool_error();
    assert!(is_refused, "{what}: {}", answer.raw());
}

#[tokio::test]
async fn nothing_is_given_to_a_task_that_a_yes_has_begun() {
    let mut scene = Scene::new(Era::Modern, "50ms", false, |config| {
        let file = config["servers"]["files"]["args"][1].as_str().unwrap();
        let made =
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"task","taskId":"t-1","status":"working"}}"#;
        let mut said: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        said["tools/call delete"] = json!([made]);
        said["tasks/get"] = json!([made.replace(r#""task","taskId""#, r#""complete","taskId""#)]);
        said["tasks/update"] = said["tasks/get"].clone();
        std::fs::write(file, said.to_string()).unwrap();
    })
    .await;
    let capabilities = json!({ "extensions": { TASKS: {} } });
    let client = scene.stage.setup(Era::Modern).capabilities(capabilities).connect().await.unwrap();
    let arguments = json!({ "path": "a" });
    let id = waits(&client.call(DELETE, arguments.clone()).await.unwrap());
    assert_eq!(scene.stage.person.sign(&id, &scene.stage.passkey).await.0, 200);
    let made = client.send(Request::call(DELETE, &arguments).once()).await.unwrap();
    let task = made.at("/result/taskId").as_str().unwrap_or_else(|| panic!("{}", made.raw())).to_owned();
    let journal = Journal::at(scene.stage.gateway.home().path().join("journal.jsonl"));
    // Asking after it gives it nothing and is no act.
    let asked = client.send(step("tasks/get", &task, &PLAIN)).await.unwrap();
    assert!(asked.error_code().is_none(), "{}", asked.raw());
    for extra in EXTRAS.iter().chain([&PLAIN]) {
        refused(&client.send(step("tasks/update", &task, extra)).await.unwrap(), extra.name);
    }
    // Another task, and the task after a page of a stranger's and under another definition.
    let mut other = task.clone();
    other.pop();
    refused(&client.send(step("tasks/update", &other, &PLAIN)).await.unwrap(), "another task");
    scene.read_page(&client).await;
    refused(&client.send(step("tasks/update", &task, &PLAIN)).await.unwrap(), "strangers");
    assert!(scene.redescribe(&client).await, "the gateway was started again");
    let capabilities = json!({ "extensions": { TASKS: {} } });
    let client = scene.stage.setup(Era::Modern).capabilities(capabilities).connect().await.unwrap();
    refused(&client.send(step("tasks/update", &task, &PLAIN)).await.unwrap(), "definition");
    nobody_is_asked(&scene.stage).await;
    assert_eq!(journal.of("tasks/update").len(), 0);
    let told = journal.notes().iter().filter(|note| note.raw.contains(SECRET)).count();
    assert_eq!(told, 0, "nothing that nobody saw");
}
