//! A URL of the operator's is told what waits and what was decided: the names and nothing else, signed, and never in
//! anybody's way.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use highwater_testkit::client::Era;
use highwater_testkit::wait::{until, until_true};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, Stage, WRITE, done, waits};

/// What a listener got: its path, its headers, its body.
type Heard = (String, HashMap<String, String>, String);

/// Somebody who listens, and answers with these lines of status in turn, the last one for ever.
struct Listener {
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Listener {
    fn answering(lines: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?key=of-the-url", listener.local_addr().unwrap());
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let notes = Arc::clone(&heard);
        std::thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                let Ok(connection) = connection else { continue };
                let mut reader = BufReader::new(connection);
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let path = line.split(' ').nth(1).unwrap().to_owned();
                let mut headers = HashMap::new();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let Some((name, value)) = line.trim().split_once(": ") else { break };
                    headers.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                notes.lock().unwrap().push((path, headers, String::from_utf8(body).unwrap()));
                let status = lines.get(number).or(lines.last()).unwrap();
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                reader.get_mut().write_all(answer.as_bytes()).ok();
            }
        });
        Self { url, heard }
    }

    /// The first so many messages, once they have come.
    async fn heard(&self, count: usize) -> Vec<Heard> {
        let heard = until("the messages are heard", async || {
            Some(self.heard.lock().unwrap().clone()).filter(|heard| heard.len() >= count)
        });
        heard.await.unwrap_or_else(|error| panic!("{error:#}: {:?}", self.heard.lock().unwrap()))
    }
}

async fn stage(url: &str) -> Stage {
    // The secret of the text of the Standard Webhooks.
    let webhook = json!({ "url": url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    Stage::standing(BRIEFLY, |config| config["approvals"]["webhook"] = webhook).await
}

#[tokio::test]
async fn what_waits_and_what_was_decided_is_told_in_names_alone() {
    let listener = Listener::answering(&["204 No Content"]);
    let stage = stage(&listener.url).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "the-diary" })).await.unwrap());
    assert_eq!(stage.person.confirm(&id, None).await.0, 200);
    done(&client.call(WRITE, json!({ "path": "the-diary" })).await.unwrap());
    let signed = waits(&client.call(DELETE, json!({ "path": "the-diary" })).await.unwrap());
    assert_eq!(stage.person.sign(&signed, &stage.passkey).await.0, 200);
    let refused = waits(&client.call(WRITE, json!({ "path": "the-letters" })).await.unwrap());
    let (status, said) = stage.api(Method::POST, &format!("{refused}/deny"), Some(&json!({}))).await;
    assert_eq!(status, 200, "{said}");
    let (status, said) = stage.api(Method::POST, "reset", Some(&json!({ "user": "owner" }))).await;
    assert_eq!(status, 201, "{said}");

    let heard = listener.heard(7).await;
    let told: Vec<Value> = heard.iter().map(|(.., body)| serde_json::from_str(body).unwrap()).collect();
    let words: Vec<(&str, &str)> = told
        .iter()
        .map(|told| (told["type"].as_str().unwrap(), told["data"]["request"].as_str().unwrap_or_default()))
        .collect();
    let expected = [
        ("approval.requested", &*id),
        ("approval.approved", &id),
        ("approval.requested", &signed),
        ("approval.approved", &signed),
        ("approval.requested", &refused),
        ("approval.declined", &refused),
        ("reset.begun", ""),
    ];
    assert_eq!(words, expected);
    let data = &told[0]["data"];
    let url = format!("{}/approve/{id}", stage.person.origin());
    assert_eq!(
        (&data["tool"], &data["server"], &data["user"], &data["kind"], &data["url"]),
        (&json!(WRITE), &json!("files"), &json!("owner"), &json!("confirm"), &json!(url))
    );
    assert!(data["expires"].as_str().unwrap().ends_with('Z'), "{data}");
    assert_eq!(told[2]["data"]["kind"], "passkey");
    assert!(told[6]["data"]["due"].as_str().unwrap().ends_with('Z'), "{}", told[6]);
    for (path, headers, body) in &heard {
        assert_eq!(path, "/hook?key=of-the-url");
        assert!(!body.contains("diary") && !body.contains("letters"), "no arguments: {body}");
        assert_eq!(headers["content-type"], "application/json");
        assert!(headers["webhook-id"].starts_with("msg_"), "{headers:?}");
        assert!(headers["webhook-timestamp"].parse::<u64>().is_ok(), "{headers:?}");
        assert!(headers["webhook-signature"].starts_with("v1,"), "{headers:?}");
    }
}

#[tokio::test]
async fn a_message_that_fails_is_sent_once_more_and_no_redirection_is_followed() {
    let elsewhere = Listener::answering(&["200 OK"]);
    let moved: &'static str = format!("307 Temporary Redirect\r\nlocation: {}", elsewhere.url).leak();
    let listener = Listener::answering(vec!["500 Internal Server Error", "200 OK", moved].leak());
    let stage = stage(&listener.url).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    listener.heard(2).await;
    assert_eq!(stage.person.confirm(&id, None).await.0, 200);
    done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    // The second message is sent twice as well, to the same place, and then given up.
    let heard = listener.heard(4).await;
    for pair in heard.chunks(2) {
        assert_eq!((&pair[0].1["webhook-id"], &pair[0].2), (&pair[1].1["webhook-id"], &pair[1].2));
    }
    until_true("it is given up", || stage.gateway.log().contains("the webhook was not told")).await.unwrap();
    let log = stage.gateway.log();
    assert!(!log.contains("of-the-url"), "{log}");
    assert_eq!(elsewhere.heard.lock().unwrap().len(), 0);
    assert_eq!(listener.heard.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_webhook_that_never_answers_is_in_nobodys_way() {
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let stage = stage(&format!("http://{}/", silent.local_addr().unwrap())).await;
    let client = stage.client(Era::Modern).await;
    for path in ["a", "b", "c"] {
        let id = waits(&client.call(WRITE, json!({ "path": path })).await.unwrap());
        assert_eq!(stage.person.confirm(&id, None).await.0, 200);
        done(&client.call(WRITE, json!({ "path": path })).await.unwrap());
    }
    assert_eq!(stage.ran("write"), 3);
}
