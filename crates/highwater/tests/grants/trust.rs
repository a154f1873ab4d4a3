//! The MCP trust policy document at work: what replies and resources are worth, what never reaches a server, and where the
//! record says content comes from.

use std::path::Path;

use highwater_testkit::client::peer::{HttpFixture, Journal, scripted_program};
use highwater_testkit::client::{Client, Era};
use http::Method;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::stage::{PROGRAM, Stage, config, home};

/// What is known of the tools, so that only trust decides: benign, from the system, nothing private.
fn labels() -> Value {
    let known = json!({
        "inputMetadata": { "destination": "ephemeral", "sensitivity": "any", "outcomes": "benign" },
        "returnMetadata": { "source": "system", "sensitivity": "none" },
    });
    json!({ "look": known, "plain": known })
}

/// A gateway whose server `a` has this trust block under `mcp_servers`, as the document writes it.
async fn with_trust(block: Value, flow: &str) -> Stage {
    let home = home(&json!({}));
    let mut config = config(home.path());
    config["flow"] = json!(flow);
    config["servers"]["a"].as_object_mut().unwrap().remove("trust");
    config["servers"]["a"]["labels"] = labels();
    config["servers"]["a"]["resource_labels"] =
        json!({ "*": { "returnMetadata": { "source": "system", "sensitivity": "none" } } });
    config["mcp_servers"] = json!({ "a": block });
    home.configure(&config.to_string()).unwrap();
    Stage::in_home(home).await
}

async fn integrity(stage: &Stage) -> String {
    let (_, sessions) = stage.api(Method::GET, "/api/v1/sessions", None).await;
    let sessions = sessions.as_array().unwrap();
    sessions
        .first()
        .map_or_else(|| "owner".to_owned(), |it| it["label"]["integrity"].as_str().unwrap().to_owned())
}

async fn agent(stage: &Stage) -> Client {
    stage.client(Era::Modern, stage.gateway.agent_token()).await
}

#[tokio::test]
async fn what_content_is_worth_follows_the_rows_of_the_document() {
    let tool = ("tools/call", json!({ "name": "a__look", "arguments": {} }));
    let resource = ("resources/read", json!({ "uri": "a+note://one" }));
    for (block, asked, worth) in [
        (json!({ "server_trust": "tool", "verified": true }), &tool, "tool"),
        (json!({ "server_trust": "owner", "verified": true }), &tool, "owner"),
        (json!({ "server_trust": "owner", "verified": false }), &tool, "none"),
        (json!({ "server_trust": "owner", "resource_trust": "owner" }), &tool, "none"),
        (json!({}), &tool, "none"),
        (json!({ "label": "nothing else" }), &resource, "none"),
        (json!({ "server_trust": "owner", "verified": true }), &resource, "none"),
        (json!({ "resource_trust": "tool", "verified": true }), &resource, "tool"),
        (json!({ "resource_trust": "owner", "verified": false }), &resource, "none"),
    ] {
        let stage = with_trust(block.clone(), "observe").await;
        let answer = agent(&stage).await.request(asked.0, asked.1.clone()).await.unwrap();
        assert!(answer.error_code().is_none(), "{}", answer.raw());
        assert_eq!(integrity(&stage).await, worth, "{} of {block}", asked.0);
    }
}

#[tokio::test]
async fn a_tool_off_the_list_never_reaches_its_server() {
    for (allowed, look, plain) in
        [(json!(null), 1, 1), (json!(["look"]), 1, 0), (json!([]), 0, 0), (json!(["other"]), 0, 0)]
    {
        let block = json!({ "server_trust": "tool", "verified": true, "allowed_tools": allowed });
        let stage = with_trust(block, "observe").await;
        let client = agent(&stage).await;
        for tool in ["a__look", "a__plain", "b__look"] {
            client.call(tool, json!({})).await.unwrap();
        }
        assert_eq!(stage.reached("a", "tools/call", "\"look\""), look, "{allowed}");
        assert_eq!(stage.reached("a", "tools/call", "\"plain\""), plain, "{allowed}");
        // Another server's tool of the same name is none of this list's business.
        assert_eq!(stage.reached("b", "tools/call", "\"look\""), 1, "{allowed}");
        let listed = client.request("tools/list", json!({})).await.unwrap();
        for (tool, times) in [("a__look", look), ("a__plain", plain), ("b__look", 1)] {
            assert_eq!(listed.raw().contains(&format!("\"{tool}\"")), times == 1, "{tool} with {allowed}");
        }
        let blocked = stage.record().into_iter().filter(|event| {
            event["findings"]
                .as_array()
                .is_some_and(|all| all.iter().any(|it| it["id"] == "structural.allow-list"))
        });
        assert_eq!(blocked.count(), 2 - look - plain, "{allowed}");
    }
}

#[tokio::test]
async fn instructions_in_a_resource_decide_no_act() {
    let home = home(&json!({}));
    let mut config = config(home.path());
    config["flow"] = json!("balanced");
    config["mcp_servers"] = json!({ "a": { "server_trust": "tool", "verified": true } });
    config["servers"]["a"].as_object_mut().unwrap().remove("trust");
    config["servers"]["a"]["labels"] = json!({ "change": {
        "inputMetadata": { "destination": "internal", "sensitivity": "any", "outcomes": "consequential" },
        "returnMetadata": { "source": "system", "sensitivity": "none" } } });
    config["servers"]["a"]["resource_labels"] =
        json!({ "*": { "returnMetadata": { "source": "system", "sensitivity": "none" } } });
    home.configure(&config.to_string()).unwrap();
    let stage = Stage::in_home(home).await;
    let client = agent(&stage).await;
    let before = client.call("a__change", json!({})).await.unwrap();
    assert!(!before.is_tool_error(), "{}", before.raw());
    client.request("resources/read", json!({ "uri": "a+note://one" })).await.unwrap().ok().unwrap();
    let after = client.call("a__change", json!({})).await.unwrap();
    assert!(after.is_tool_error(), "{}", after.raw());
    assert_eq!(stage.reached("a", "tools/call", "\"change\""), 1);
}

#[tokio::test]
async fn every_record_says_where_content_comes_from() {
    let home = home(&json!({}));
    let mut config = config(home.path());
    let journal = Journal::at(home.path().join("web.jsonl"));
    let script = home.path().join("script.json");
    let arguments = ["--script", script.to_str().unwrap(), "--journal", journal.path().to_str().unwrap()];
    let program = scripted_program(Path::new(PROGRAM)).unwrap();
    let web = HttpFixture::start(&program, &arguments, &journal).await.unwrap();
    // As the document keys it: by URL.
    config["servers"]["web"] = json!({ "url": web.url(), "era": "legacy" });
    config["mcp_servers"] = json!({ web.url(): {
        "server_trust": "owner", "resource_trust": "none", "verified": false, "label": "Community Search" } });
    home.configure(&config.to_string()).unwrap();
    let stage = Stage::in_home(home).await;
    let client = agent(&stage).await;
    client.call("web__look", json!({})).await.unwrap().ok().unwrap();
    client.call("a__look", json!({})).await.unwrap().ok().unwrap();
    client.request("resources/read", json!({ "uri": "web+note://one" })).await.unwrap().ok().unwrap();
    client.request("prompts/get", json!({ "name": "a__ask" })).await.unwrap().ok().unwrap();
    let record = stage.record();
    let told: Vec<&Value> =
        record.iter().filter(|event| event["event"] == "decision" || event["event"] == "outcome").collect();
    assert_eq!(told.len(), 8, "{told:#?}");
    let url = web.url();
    let expected = [
        ("NONE", format!("mcp:{url}:look"), url, "tool_name", "look"),
        ("TOOL", "mcp:a:look".to_owned(), "a", "tool_name", "look"),
        ("NONE", format!("mcp_resource:{url}:note://one"), url, "resource_uri", "note://one"),
        ("TOOL", "mcp:a:ask".to_owned(), "a", "prompt_name", "ask"),
    ];
    for (pair, (level, source, server, key, name)) in told.chunks(2).zip(expected) {
        for event in pair {
            let mut trust = json!({ "level": level, "source": source });
            if server == url {
                trust["label"] = json!("Community Search");
            }
            assert_eq!(event["trust"], trust, "{event}");
            assert_eq!(event["metadata"], json!({ "mcp_server": server, key: name }), "{event}");
        }
    }
}

#[tokio::test]
async fn a_server_that_no_policy_names_has_no_trust() {
    let home = home(&json!({}));
    let mut config = config(home.path());
    config["servers"]["a"].as_object_mut().unwrap().remove("trust");
    config["servers"]["a"]["labels"] = labels();
    home.configure(&config.to_string()).unwrap();
    let stage = Stage::in_home(home).await;
    agent(&stage).await.call("a__look", json!({})).await.unwrap().ok().unwrap();
    assert_eq!(integrity(&stage).await, "none");
    let record = stage.record();
    let decision = record.iter().find(|event| event["event"] == "decision").unwrap();
    assert_eq!(decision["trust"]["level"], "NONE", "{decision}");
}

#[test]
fn nothing_is_sent_in_the_clear_to_another_machine() {
    for (url, code) in [
        ("http://mcp.example.com/v1", 2),
        ("http://192.168.1.4/mcp", 2),
        ("https://mcp.example.com/v1", 0),
        ("http://127.0.0.1:9/mcp", 0),
    ] {
        let home = home(&json!({ "servers": { "web": { "url": url } }, "virtual_servers": {} }));
        let checked = std::process::Command::new(PROGRAM)
            .args(["check", "--config"])
            .arg(home.config_file())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert_eq!(checked.status.code(), Some(code), "{url}: {said}");
        assert_eq!(said.contains("unencrypted"), code == 2, "{url}: {said}");
    }
}

/// A server whose certificate nobody vouches for; gives its port and, for each who came, whether they stayed.
async fn self_signed() -> (u16, tokio::sync::mpsc::UnboundedReceiver<bool>) {
    let pem = include_bytes!("self_signed.pem");
    let certificate = CertificateDer::from_pem_slice(pem).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (came, seen) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stayed = match acceptor.accept(stream).await {
                // The alert comes after our side of the handshake; what counts is whether anything is said.
                Ok(mut stream) => matches!(stream.read(&mut [0; 1]).await, Ok(1..)),
                Err(_) => false,
            };
            if came.send(stayed).is_err() {
                return;
            }
        }
    });
    (port, seen)
}

#[tokio::test]
async fn a_server_with_a_certificate_that_nobody_vouches_for_is_told_nothing() {
    let (port, mut seen) = self_signed().await;
    let home = home(&json!({}));
    let mut config = config(home.path());
    // Whatever the operator believes of it: who it is must be shown first.
    let trust = json!({ "server_trust": "owner", "verified": true });
    config["servers"]["web"] = json!({ "url": format!("https://localhost:{port}/mcp"), "trust": trust });
    home.configure(&config.to_string()).unwrap();
    let stage = Stage::in_home(home).await;
    let answer = agent(&stage).await.call("web__look", json!({})).await.unwrap();
    assert!(answer.is_tool_error() || answer.error_code().is_some(), "{}", answer.raw());
    assert!(!seen.recv().await.unwrap(), "something was said to a server that could be anybody");
    while let Ok(stayed) = seen.try_recv() {
        assert!(!stayed, "something was said to a server that could be anybody");
    }
    let (_, servers) = stage.api(Method::GET, "/api/v1/servers", None).await;
    assert!(servers.to_string().contains("the TLS handshake failed"), "{servers}");
}
