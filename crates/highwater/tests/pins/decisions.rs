//! What people decide: exactly what they saw, all of it or nothing, and on record.

use http::Method;
use serde_json::{Value, json};

use super::stage::{Stage, stranger, vouched};

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_something_else_does_nothing() {
    let mut stage = Stage::new(stranger()).await;
    let old = stage.review("up").await["digest"].as_str().unwrap().to_owned();
    stage.pull(|definitions| definitions["tools"][0]["description"] = json!("Reads a note!")).await;
    for seen in [old.as_str(), &old.to_uppercase(), &"0".repeat(64)] {
        for verb in ["approve", "reject"] {
            let output = stage.servers(&[verb, "up", "--seen", seen]).await;
            assert!(!output.status.success(), "{verb} {seen}");
        }
    }
    // Nobody is asked where there is no terminal.
    let output = stage.servers(&["approve", "up"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--seen"));
    assert_eq!(stage.servers(&["approve", "nobody", "--seen", &old]).await.status.code(), Some(1));
    assert_eq!(stage.review("up").await["state"], "quarantined");
    assert_eq!(stage.tools().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_stays_whoever_stands_for_the_server() {
    for wanted in [stranger(), vouched(), json!({ "quarantine": false })] {
        let mut stage = Stage::new(wanted.clone()).await;
        let digest = stage.review("up").await["digest"].as_str().unwrap().to_owned();
        stage.said(&["reject", "up", "--seen", &digest, "--reason", "not ours"]).await;
        stage.is_refused("up__read_note").await;
        stage.again().await;
        stage.is_refused("up__read_note").await;
        let review = stage.review("up").await;
        assert_eq!(
            (review["state"].as_str(), review["hold"].as_str()),
            (Some("rejected"), Some("server-rejected"))
        );
        let event = review["history"].as_array().unwrap().iter().find(|it| it["what"] == "rejected").unwrap();
        assert_eq!((event["person"].as_str(), event["reason"].as_str()), (Some("ada"), Some("not ours")));
        stage.approve("up").await;
        stage.runs("up__read_note").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_tool_is_decided_about_by_itself() {
    let stage = Stage::new(vouched()).await;
    stage.runs("up__read_note").await;
    let one = stage.item("tool", "read_note").await["digest"].as_str().unwrap().to_owned();
    stage.said(&["reject", "up", "--tool", "read_note", "--seen", &one]).await;
    stage.is_refused("up__read_note").await;
    stage.runs("up__write_note").await;
    // The whole server does not bring it back: a person refused it.
    stage.approve("up").await;
    stage.is_refused("up__read_note").await;
    stage.said(&["approve", "up", "--tool", "read_note", "--seen", &one]).await;
    stage.runs("up__read_note").await;
    assert_eq!(
        stage.servers(&["approve", "up", "--tool", "nothing", "--seen", &one]).await.status.code(),
        Some(1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_interface_decides_likewise_and_for_the_operator_alone() {
    let stage = Stage::new(stranger()).await;
    let (status, review) = stage.api(Method::GET, "/api/v1/servers/up", None).await;
    assert_eq!((status, review["state"].as_str()), (200, Some("quarantined")), "{review}");
    let approve = "/api/v1/servers/up/approve";
    assert_eq!(stage.api(Method::POST, approve, Some(&json!({}))).await.0, 400);
    let wrong = json!({ "digest": "0".repeat(64) });
    assert_eq!(stage.api(Method::POST, approve, Some(&wrong)).await.0, 409);
    let right = json!({ "digest": review["digest"], "person": "ada", "reason": "looked" });
    let agent = stage.gateway.agent_token().to_owned();
    let url = stage.gateway.endpoint().replace("/mcp", approve);
    let client = highwater_testkit::client::Setup::http(&url).token(&agent).connect_silently().await.unwrap();
    let reply = client.exchange(Method::POST, right.to_string(), &[]).await.unwrap();
    assert!(reply.status == 401 || reply.status == 403, "{}", reply.status);
    stage.is_refused("up__read_note").await;
    assert_eq!(stage.api(Method::POST, approve, Some(&right)).await, (200, json!({ "changed": 6 })));
    stage.runs("up__read_note").await;
    let item = stage.item("tool", "read_note").await;
    let items = json!({ "items": [{ "kind": "tool", "name": "read_note", "digest": item["digest"] }] });
    let (status, _) = stage.api(Method::POST, "/api/v1/servers/up/reject", Some(&items)).await;
    assert_eq!(status, 200);
    stage.is_refused("up__read_note").await;
    assert_eq!(stage.api(Method::GET, "/api/v1/servers/nobody", None).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_and_what_was_refused_is_on_record() {
    let stage = Stage::new(stranger()).await;
    let said = stage.is_refused("up__read_note").await;
    stage.approve("up").await;
    let folder = stage.gateway.home().data_dir().join("audit");
    let logs = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let lines: Vec<Value> = logs
        .flat_map(|log| log.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>())
        .collect();
    let review = lines.iter().find(|line| line["event"] == "review").unwrap();
    assert_eq!((review["by"].as_str(), review["what"].as_str()), (Some("ada"), Some("approved")), "{review}");
    let denied = lines.iter().find(|line| line["event"] == "decision").unwrap();
    assert_eq!(denied["findings"][0]["id"], "structural.quarantine", "{denied}");
    // The person who asks why is told, with the way out.
    let id = said.rsplit("(decision ").next().unwrap().trim_end_matches(')');
    let output = tokio::process::Command::new(super::stage::PROGRAM)
        .args(["explain", id, "--data-dir"])
        .arg(stage.gateway.home().data_dir())
        .output()
        .await
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("nobody has approved server `up` yet"), "{told}");
    assert!(told.contains("highwater servers approve up"), "{told}");
}
