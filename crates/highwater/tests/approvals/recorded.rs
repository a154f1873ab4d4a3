//! Who comes to the page is on record, and who is turned away from it.

use serde_json::{Value, json};

use crate::stage::{BRIEFLY, Stage};

#[tokio::test]
async fn whoever_signs_in_on_the_page_is_on_record_and_so_is_who_is_turned_away() {
    // The operator signs in by the token.
    let mut stage = Stage::new(BRIEFLY).await;
    let (status, said) = stage.person.stranger().post("/sign-in", &json!({ "token": "hwo_guessed" })).await;
    assert_eq!(status, 403, "{said}");
    stage.person.with_passkey(&stage.passkey).await;
    stage.gateway.stop().await.unwrap();
    let log = stage.gateway.home().data_dir().join("audit/000001.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &str, act: &str| {
        let found = records.iter().filter(|it| it["event"] == event && it["act"] == act);
        found.cloned().collect::<Vec<_>>()
    };
    let (mut by_token, turned_away) = (of("access", "signed-in"), of("access", "wrong-token"));
    // The interface for people is asked with the same token.
    by_token.retain(|it| it["what"] != "api");
    assert_eq!((by_token.len(), turned_away.len()), (1, 1), "{log}");
    assert_eq!(by_token[0]["what"], "page, by the operator token", "{log}");
    assert_eq!((&by_token[0]["from"], &turned_away[0]["from"]), (&json!("127.0.0.1"), &json!("127.0.0.1")));
    assert_eq!(of("approval", "signed-in")[0]["user"], "owner", "{log}");
    assert!(!log.contains("hwo_guessed"), "no token is on record");
}
