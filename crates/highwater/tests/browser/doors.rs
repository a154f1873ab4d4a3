//! Other ways to the page: addresses, frames, other ports, rebound names.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use highwater_testkit::client::Request;
use highwater_testkit::webdriver::Authenticator;
use serde_json::json;

use super::stage::Stage;

const WIPE: &str = "files__wipe";

/// Another server on this machine that shows one document to everybody.
fn neighbour(document: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = [0; 2048];
            if stream.read(&mut asked).unwrap_or(0) == 0 {
                continue;
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                document.len()
            );
            stream.write_all(head.as_bytes()).ok();
            stream.write_all(document.as_bytes()).ok();
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_at_an_address_sends_to_localhost_where_the_ceremony_works() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    let request = stage.pending().await;
    let path = format!("/approve/{}", request["id"].as_str().unwrap());
    stage.browser.open(&format!("http://127.0.0.1:{}{path}", stage.port)).await.unwrap();
    assert_eq!(stage.browser.url().await.unwrap(), format!("{}{path}", stage.origin()));
    stage.press_approve().await;
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_framed_page_shows_nothing() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let _held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    let request = stage.pending().await;
    let url = format!("{}/approve/{}", stage.origin(), request["id"].as_str().unwrap());
    let document = format!("<!doctype html><iframe id=f src=\"{url}\"></iframe><p id=ready>here</p>");
    // The same site, so that even the cookie would come along.
    let port = neighbour(document);
    stage.browser.open(&format!("http://localhost:{port}/")).await.unwrap();
    let frames = stage.browser.cdp("Page.getFrameTree", json!({})).await.unwrap();
    let inner = &frames["frameTree"]["childFrames"][0]["frame"];
    let shown = inner["unreachableUrl"].as_str().unwrap_or_default();
    assert_eq!(shown, url, "the browser refuses to show it: {inner}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_port_of_this_machine_can_neither_read_nor_answer_nor_sign() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "/a" });
    let challenge = stage.challenge(&client, WIPE, &arguments).await;
    let port = neighbour("<!doctype html><p>a development server</p>".to_owned());
    stage.browser.open(&format!("http://localhost:{port}/")).await.unwrap();
    let read = "return (await fetch(given[0], { credentials: 'include' })).status";
    let failed = stage.browser.run_async(read, json!([format!("{}/inbox", stage.origin())])).await;
    assert!(failed.unwrap_err().to_string().contains("TypeError"), "it may not be read");
    let post = "await fetch(given[0], { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }); \
                return 'sent'";
    let held = stage.client().await;
    let held = held.begin(Request::call(WIPE, &json!({ "path": "/b" }))).await.unwrap();
    let request = stage.pending().await;
    let decline = format!("{}/approve/{}/decline", stage.origin(), request["id"].as_str().unwrap());
    stage.browser.run_async(post, json!([decline])).await.ok();
    assert_eq!(stage.pending().await["state"], "pending", "a request of another port declines nothing");
    // rpId `localhost` ignores the port, so the authenticator signs; the origin gives it away.
    let signed = stage.sign(&challenge).await.unwrap();
    let evidence = super::stage::evidence(&challenge, &signed);
    let answer = client.send(super::stage::call(WIPE, &arguments, &evidence)).await.unwrap();
    assert_eq!(super::stage::reason(&answer), "signature_verification_failed");
    assert!(answer.raw().contains("origin"), "{}", answer.raw());
    assert_eq!(stage.runs("path"), 0);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebound_name_gets_421() {
    let stage = Stage::open().await;
    let ask = |host: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", stage.port)).unwrap();
        let request = format!(
            "GET /inbox HTTP/1.1\r\nhost: {host}\r\nsec-fetch-dest: document\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(ask(&format!("localhost:{}", stage.port)), "200");
    assert_eq!(ask(&format!("[::1]:{}", stage.port)), "307");
    for host in ["evil.example", "localhost", "localhost:1"] {
        assert_eq!(ask(host), "421", "{host}");
    }
    // And in a browser whose resolver was led here.
    let rebound = format!("http://rebound.localhost:{}/inbox", stage.port);
    stage.browser.open(&rebound).await.unwrap();
    assert!(stage.browser.text("body").await.unwrap().contains("not served here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_script_of_another_page_finds_a_way_to_build_markup() {
    let stage = Stage::open().await;
    stage.go("/enroll").await;
    let script =
        "try { document.body.innerHTML = '<b>x</b>'; return 'built' } catch (error) { return error.name }";
    assert_eq!(stage.browser.run(script, json!([])).await.unwrap(), "TypeError");
}
