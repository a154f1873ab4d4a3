//! Seeing a server and believing it are two acts: an approval lets its tools be used, and only belief lets what they claim
//! of themselves make a decision milder. Whether a call ran is read from the server's journal.

use highwater_testkit::client::Era;
use http::Method;
use serde_json::{Value, json};

use super::stage::{Stage, stranger, vouched};

/// A gateway with the server `up`, and an agent that may only read: its calls are made if somebody who is believed says
/// that the tool changes nothing.
struct Reader {
    stage: Stage,
    secret: String,
}

impl std::ops::Deref for Reader {
    type Target = Stage;

    fn deref(&self) -> &Stage {
        &self.stage
    }
}

async fn stage(up: Value) -> Reader {
    let stage = Stage::new(up).await;
    let grant = json!({ "permissions": ["call_tool_read"], "servers": ["*"] });
    let body = json!({ "name": "reader", "terms": { "grant": grant, "limits": {} } });
    let (status, made) = stage.api(Method::POST, "/api/v1/tokens", Some(&body)).await;
    assert_eq!(status, 201, "{made}");
    let secret = made["secret"].as_str().unwrap().to_owned();
    Reader { stage, secret }
}

/// Whether a call of the tool that says that it only reads is made.
async fn is_made(reader: &Reader) -> bool {
    let before = reader.asked("up", "tools/call");
    let client = reader.setup(Era::Modern).token(&reader.secret).without_stream().connect().await.unwrap();
    let answer = client.call("up__read_note", json!({})).await.unwrap();
    let made = reader.asked("up", "tools/call") > before;
    assert_eq!(answer.at("/result/content/0/text") == "done", made, "{}", answer.raw());
    made
}

async fn digest(stage: &Reader) -> String {
    stage.review("up").await["digest"].as_str().unwrap().to_owned()
}

async fn believed(stage: &Reader) -> (Value, Value) {
    let list: Vec<Value> = serde_json::from_str(&stage.said(&["list", "--json"]).await).unwrap();
    (stage.item("tool", "read_note").await["believed"].clone(), list[0]["believed"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_server_loosens_nothing_until_it_is_believed() {
    let mut stage = stage(stranger()).await;
    stage.approve("up").await;
    assert!(!is_made(&stage).await, "approved is not believed");
    assert_eq!(believed(&stage).await, (json!(false), json!(0)));
    // What it says that makes things stricter counts: `write_note` calls itself destructive.
    assert_eq!(stage.tool("up__write_note").await["annotations"]["destructiveHint"], true);
    let inspected = stage.said(&["inspect", "up"]).await;
    assert!(inspected.contains("would loosen") && inspected.contains("--believe"), "{inspected}");

    let said = stage.said(&["approve", "up", "--believe", "--seen", &digest(&stage).await]).await;
    assert!(said.starts_with("6 definitions of server `up` approved and believed\n"), "{said}");
    assert!(said.contains("`highwater servers describe up`"), "{said}");
    assert!(is_made(&stage).await);
    assert_eq!(believed(&stage).await, (json!(true), json!(2)));
    assert!(stage.said(&["list"]).await.contains("approved, 2 believed"));
    assert!(stage.said(&["inspect", "up"]).await.contains("approved by a person, its claims believed"));

    stage.stage.again().await;
    assert!(is_made(&stage).await, "belief lasts over restarts");
}

#[tokio::test(flavor = "multi_thread")]
async fn belief_is_taken_back_by_an_approval_without_it_and_by_a_refusal() {
    let stage = stage(stranger()).await;
    stage.believe("up").await;
    assert!(is_made(&stage).await);
    let said = stage.said(&["approve", "up", "--seen", &digest(&stage).await]).await;
    assert!(said.starts_with("6 definitions of server `up` approved, and no longer believed\n"), "{said}");
    assert!(!is_made(&stage).await);
    let what = |review: &Value| review["history"][0]["what"].clone();
    assert_eq!(what(&stage.review("up").await), "approved");

    let one = stage.item("tool", "read_note").await["digest"].as_str().unwrap().to_owned();
    stage.said(&["approve", "up", "--tool", "read_note", "--believe", "--seen", &one]).await;
    assert!(is_made(&stage).await);
    assert_eq!(believed(&stage).await, (json!(true), json!(1)));
    assert_eq!(what(&stage.review("up").await), "approved-believed");
    stage.said(&["reject", "up", "--tool", "read_note", "--seen", &one]).await;
    stage.said(&["approve", "up", "--tool", "read_note", "--seen", &one]).await;
    assert!(!is_made(&stage).await, "a refusal ends belief");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_interface_believes_only_if_that_is_said() {
    let stage = stage(stranger()).await;
    let seen = digest(&stage).await;
    let approve = "/api/v1/servers/up/approve";
    assert_eq!(stage.api(Method::POST, approve, Some(&json!({ "digest": seen }))).await.0, 200);
    assert!(!is_made(&stage).await);
    let body = json!({ "digest": seen, "believe": true });
    assert_eq!(stage.api(Method::POST, approve, Some(&body)).await.0, 200);
    assert!(is_made(&stage).await);
    let (_, servers) = stage.api(Method::GET, "/api/v1/servers", None).await;
    assert_eq!(servers[0]["believed"], 2, "{servers}");
    // The old word is not taken for anything.
    let old = json!({ "digest": seen, "unbelieved": false });
    assert_eq!(stage.api(Method::POST, approve, Some(&old)).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_the_operator_vouches_for_is_believed_whoever_approves_it() {
    let mut stage = stage(vouched()).await;
    assert!(is_made(&stage).await);
    stage.stage.pull(|definitions| definitions["tools"][0]["description"] = json!("Reads one note.")).await;
    assert!(!is_made(&stage).await, "what changed is held");
    stage.approve("up").await;
    assert!(is_made(&stage).await);
    assert_eq!(believed(&stage).await, (json!(true), json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_quarantine_exactly_what_was_believed_is_believed() {
    let mut stage = stage(json!({ "quarantine": false })).await;
    assert!(!is_made(&stage).await);
    stage.approve("up").await;
    assert!(!is_made(&stage).await);
    stage.believe("up").await;
    assert!(is_made(&stage).await);
    stage.stage.pull(|definitions| definitions["tools"][0]["title"] = json!("Read it")).await;
    assert!(!is_made(&stage).await);
    assert_eq!(believed(&stage).await, (json!(false), json!(1)));
}
