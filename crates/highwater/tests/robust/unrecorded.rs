//! What cannot be put on record does not happen.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, symlink};

use highwater_testkit::client::Era;
use serde_json::json;

use crate::stage::{Ground, failure};

#[tokio::test]
async fn with_a_full_disk_under_the_audit_log_nothing_reaches_a_server() {
    let ground = Ground::new();
    let audit = ground.home.data_dir().join("audit");
    DirBuilder::new().recursive(true).mode(0o700).create(&audit).unwrap();
    // Every write to it fails as on a full disk.
    symlink("/dev/full", audit.join("000001.jsonl")).unwrap();
    let servers = json!({ "a": ground.stdio("a") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let text = failure(&client.call("a__echo", json!({ "body": "unrecorded" })).await.unwrap());
        assert!(text.contains("not done") && text.contains("record"), "{text}");
        let prompt = client.request("prompts/get", json!({ "name": "a__test_simple_prompt" })).await.unwrap();
        assert_eq!(prompt.error_code(), Some(403_100), "{}", prompt.raw());
        if era == Era::Legacy {
            let level = client.request("logging/setLevel", json!({ "level": "debug" })).await.unwrap();
            assert_eq!(level.error_code(), Some(403_100), "{}", level.raw());
        }
        // What carries nothing out needs no record.
        let tools = client.request("tools/list", json!({})).await.unwrap();
        assert!(!tools.at("/result/tools").as_array().unwrap().is_empty());
    }
    let journal = stage.journal("a");
    assert!(journal.of("tools/call").is_empty(), "{:#?}", journal.notes());
    assert!(journal.of("prompts/get").is_empty(), "{:#?}", journal.notes());
    assert!(journal.of("logging/setLevel").is_empty(), "{:#?}", journal.notes());
    assert!(stage.gateway.log().contains("could not be recorded"), "{}", stage.gateway.log());
}
