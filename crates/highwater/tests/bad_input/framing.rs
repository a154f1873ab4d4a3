//! Where one request ends and the next begins: what two readers could see differently is refused, and what is merely
//! unusual is read as the protocol says.

use std::time::Duration;

use highwater_testkit::client::gateway::Gateway;
use highwater_testkit::client::{Era, MODERN};
use highwater_testkit::wait::PATIENCE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fronts::call;
use crate::raw_http::{Head, RawReply, address, connect};
use crate::stage::{NEVER, assert_only_calls, gateway};

/// A call that stands for itself.
fn message(body: &str) -> String {
    call(Era::Modern, &format!(r#""name":"up__echo","arguments":{{"body":"{body}"}}"#))
}

fn post(gateway: &Gateway) -> Head {
    Head::post(gateway)
        .with("MCP-Protocol-Version", MODERN)
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", "up__echo")
}

fn whole(gateway: &Gateway, body: &str) -> String {
    let head = post(gateway).with("Content-Length", &body.len().to_string());
    format!("{}{body}", head.text())
}

fn assert_echo(reply: &RawReply, body: &str) {
    assert_eq!(reply.json()["result"]["structuredContent"]["body"], body, "{reply:?}");
}

/// All that comes until the other side closes.
async fn to_the_end(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("the connection is closed").unwrap();
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn a_request_whose_end_is_not_clear_is_refused_and_nothing_behind_it_is_read() {
    let (gateway, journal) = gateway().await;
    let body = message(NEVER);
    let length = body.len().to_string();
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let hidden = whole(&gateway, &body);
    let head = |name: &str, value: &str| post(&gateway).with(name, value);
    let old = |head: Head| head.text().replacen("HTTP/1.1", "HTTP/1.0", 1);
    let chunked = head("Transfer-Encoding", "chunked").text();
    let in_chunks = |size_end: &str, trailers: &str| {
        format!("{chunked}{:x}{size_end}\r\n{body}\r\n0\r\n{trailers}\r\n", body.len())
    };
    let cases = [
        (
            "a length and chunks",
            head("Content-Length", "5").and("Transfer-Encoding", "chunked").text() + "0\r\n\r\n",
        ),
        (
            "chunks and a length",
            head("Transfer-Encoding", "chunked").and("Content-Length", &length).text() + &chunks,
        ),
        ("two lengths", head("Content-Length", "5").and("Content-Length", &length).text() + &body),
        ("a list of lengths", head("Content-Length", &format!("{length}, {length}")).text() + &body),
        ("a length with a sign", head("Content-Length", &format!("+{length}")).text() + &body),
        ("two codings", head("Transfer-Encoding", "gzip, chunked").text() + &chunks),
        ("another coding", head("Transfer-Encoding", "identity").text() + &body),
        ("a coding spelt oddly", head("Transfer-Encoding", "xchunked").text() + &chunks),
        (
            "chunks twice",
            head("Transfer-Encoding", "chunked").and("Transfer-Encoding", "chunked").text() + &chunks,
        ),
        ("chunks in an old version", old(head("Transfer-Encoding", "chunked")) + &chunks),
        ("a chunk without a size", head("Transfer-Encoding", "chunked").text() + "\r\n" + &body),
        (
            "a chunk of another size",
            head("Transfer-Encoding", "chunked").text() + "5\r\n" + &body + "\r\n0\r\n\r\n",
        ),
        ("a bare CR behind the size of a chunk", in_chunks("\r", "")),
        ("a bare CR in an extension", in_chunks(";a\rb", "")),
        ("a trailer without a name", in_chunks("", "bad trailer\r\n")),
        ("a trailer that is a request", in_chunks("", "POST /mcp HTTP/1.1\r\n")),
        ("a bare CR in a trailer", in_chunks("", "a: b\rc: d\r\n")),
        ("bare LF throughout the head", post(&gateway).text().replace("\r\n", "\n")),
        ("a bare LF behind a header", post(&gateway).text().replacen("\r\nAccept", "\nAccept", 1)),
        ("a bare LF before the request", format!("\n{hidden}")),
        ("a bare CR before the request", format!("\r{hidden}")),
        ("a bare CR behind a header", post(&gateway).text().replacen("\r\nAccept", "\rAccept", 1)),
        ("a header before its name", post(&gateway).text().replacen("Accept", " Accept", 1)),
        ("a blank before the colon", post(&gateway).text().replacen("Accept:", "Accept :", 1)),
        ("another protocol", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("no protocol", "hello\r\n\r\n".to_owned()),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n".to_owned()),
        (
            "too many headers",
            (0..200).fold(post(&gateway), |head, n| head.and(&format!("x-{n}"), "1")).text(),
        ),
        ("a head without an end", format!("POST /mcp HTTP/1.1\r\nx: {}", "x".repeat(100 << 10))),
    ];
    let mut taken = Vec::new();
    for (name, request) in cases {
        let mut stream = connect(&gateway).await;
        stream.write_all(format!("{request}{hidden}").as_bytes()).await.ok();
        let reply = RawReply::read(&mut stream).await;
        if reply.status == 200 {
            taken.push(name);
            continue;
        }
        assert!(matches!(reply.status, 400 | 431 | 505), "{name}: {reply:?}");
        assert!(!reply.body.trim().is_empty(), "{name}: {reply:?}");
        assert_eq!(reply.header("connection"), Some("close"), "{name}: {reply:?}");
        stream.shutdown().await.ok();
        assert!(!to_the_end(&mut stream).await.contains("HTTP/1.1 200"), "{name}");
    }
    assert_eq!(taken, Vec::<&str>::new(), "these were taken for requests");
    assert_only_calls(&journal, 0);
}

#[tokio::test]
async fn a_target_that_names_another_host_is_refused_and_nothing_behind_it_is_read() {
    let (gateway, journal) = gateway().await;
    let request = whole(&gateway, &message(NEVER));
    let host = address(&gateway);
    for target in [
        "http://evil.example/mcp".to_owned(),
        "http://localhost:1/mcp".to_owned(),
        format!("http://user@{host}/mcp"),
        format!("http://{host}?/mcp"),
        format!("ftp://{host}/mcp"),
        "mcp".to_owned(),
        "*".to_owned(),
    ] {
        let mut stream = connect(&gateway).await;
        let other = request.replacen(" /mcp ", &format!(" {target} "), 1);
        stream.write_all(format!("{other}{request}").as_bytes()).await.ok();
        let reply = RawReply::read(&mut stream).await;
        assert_eq!((reply.status, reply.header("connection")), (400, Some("close")), "{target}: {reply:?}");
        stream.shutdown().await.ok();
        assert!(!to_the_end(&mut stream).await.contains("HTTP/1.1 200"), "{target}");
    }
    assert_only_calls(&journal, 0);
}

#[tokio::test]
async fn requests_behind_one_another_are_answered_in_their_order() {
    let (gateway, journal) = gateway().await;
    let mut stream = connect(&gateway).await;
    let all: String = (0..5).map(|number| whole(&gateway, &message(&format!("m{number}")))).collect();
    stream.write_all(all.as_bytes()).await.unwrap();
    stream
        .write_all(
            Head::new("GET", "/healthz")
                .with("Host", "localhost")
                .with("Connection", "close")
                .text()
                .as_bytes(),
        )
        .await
        .unwrap();
    let answers = to_the_end(&mut stream).await;
    let places: Vec<usize> = (0..5).map(|n| answers.find(&format!("\"m{n}\"")).expect("an answer")).collect();
    assert!(places.is_sorted(), "{answers}");
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 6, "{answers}");
    assert!(answers.ends_with("ok\n"), "{answers}");
    assert_only_calls(&journal, 5);
}

#[tokio::test]
async fn a_request_is_the_same_however_it_is_cut() {
    let (gateway, journal) = gateway().await;
    let body = message("cut");
    let (first, second) = body.split_at(40);
    let chunks = format!("28;x=y\r\n{first}\r\n{:X}\r\n{second}\r\n0\r\nT: x\r\n\r\n", second.len());
    let chunked = post(&gateway).with("Transfer-Encoding", "Chunked").text() + &chunks;
    let absolute =
        whole(&gateway, &body).replacen(" /mcp ", &format!(" http://{}/mcp?x=y ", address(&gateway)), 1);
    let requests = [whole(&gateway, &body), chunked, absolute];
    for request in &requests {
        let mut stream = connect(&gateway).await;
        stream.set_nodelay(true).unwrap();
        // Twice over one connection: whole, and in small pieces.
        stream.write_all(request.as_bytes()).await.unwrap();
        assert_echo(&RawReply::read(&mut stream).await, "cut");
        for piece in request.as_bytes().chunks(7) {
            stream.write_all(piece).await.unwrap();
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        assert_echo(&RawReply::read(&mut stream).await, "cut");
    }
    assert_only_calls(&journal, 2 * requests.len());
}

#[tokio::test]
async fn a_client_that_waits_for_a_word_gets_it_only_if_its_body_is_welcome() {
    let (gateway, journal) = gateway().await;
    let body = message("waited");
    let head = post(&gateway).with("Expect", "100-continue");
    let mut stream = connect(&gateway).await;
    stream
        .write_all(head.clone().with("Content-Length", &body.len().to_string()).text().as_bytes())
        .await
        .unwrap();
    let word = RawReply::read(&mut stream).await;
    assert_eq!(word.status, 100, "{word:?}");
    stream.write_all(body.as_bytes()).await.unwrap();
    assert_echo(&RawReply::read(&mut stream).await, "waited");

    for (unwelcome, status) in [
        (head.clone().with("Content-Length", "99999999"), 413),
        (head.clone().with("Content-Length", "10").without("Authorization"), 401),
    ] {
        let mut stream = connect(&gateway).await;
        stream.write_all(unwelcome.text().as_bytes()).await.unwrap();
        let reply = RawReply::read(&mut stream).await;
        assert_eq!((reply.status, reply.header("connection")), (status, Some("close")), "{reply:?}");
    }
    assert_only_calls(&journal, 1);
}

#[tokio::test]
async fn a_connection_goes_on_after_a_refusal_whose_body_was_short() {
    let (gateway, journal) = gateway().await;
    let mut stream = connect(&gateway).await;
    let body = message(NEVER);
    let refused = post(&gateway).without("Authorization").with("Content-Length", &body.len().to_string());
    stream.write_all(format!("{}{body}", refused.text()).as_bytes()).await.unwrap();
    assert_eq!(RawReply::read(&mut stream).await.status, 401);
    stream.write_all(whole(&gateway, &message("next")).as_bytes()).await.unwrap();
    assert_echo(&RawReply::read(&mut stream).await, "next");
    assert_only_calls(&journal, 1);
}

#[tokio::test]
async fn old_clients_and_those_who_ask_for_heads_alone_get_what_they_understand() {
    let (gateway, _) = gateway().await;
    let page = |method: &str| Head::new(method, "/healthz").with("Host", "localhost");
    let mut stream = connect(&gateway).await;
    stream.write_all(page("HEAD").text().as_bytes()).await.unwrap();
    stream.write_all(page("GET").with("Connection", "close").text().as_bytes()).await.unwrap();
    let both = to_the_end(&mut stream).await;
    assert_eq!(both.matches("content-length: 3\r\n").count(), 2, "{both}");
    assert_eq!(both.matches("ok\n").count(), 1, "{both}");
    assert_eq!(both.matches("\r\ndate: ").count(), 2, "{both}");

    let mut stream = connect(&gateway).await;
    stream.write_all(page("GET").text().replacen("HTTP/1.1", "HTTP/1.0", 1).as_bytes()).await.unwrap();
    let old = to_the_end(&mut stream).await;
    assert!(old.contains("connection: close\r\n") && old.ends_with("\r\n\r\nok\n"), "{old}");
    // One that wants the connection kept is told that it is.
    let mut stream = connect(&gateway).await;
    let kept = page("GET").with("Connection", "keep-alive").text().replacen("HTTP/1.1", "HTTP/1.0", 1);
    for blank in ["", "\r\n\r\n"] {
        stream.write_all(format!("{blank}{kept}").as_bytes()).await.unwrap();
        let reply = RawReply::read(&mut stream).await;
        assert_eq!((reply.status, reply.header("connection")), (200, Some("keep-alive")), "{reply:?}");
    }

    // Without chunks a stream of events ends with its connection.
    let body = message("streamed");
    let events = post(&gateway).with("Accept", "text/event-stream, application/json");
    let events = events.with("Content-Length", &body.len().to_string());
    let mut stream = connect(&gateway).await;
    let request = format!("{}{body}", events.text()).replacen("HTTP/1.1", "HTTP/1.0", 1);
    stream.write_all(request.as_bytes()).await.unwrap();
    let old = to_the_end(&mut stream).await;
    assert!(!old.contains("chunked") && old.contains("\r\n\r\ndata: ") && old.contains("streamed"), "{old}");
}
