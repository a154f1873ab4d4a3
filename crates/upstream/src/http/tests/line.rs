//! HTTP/1.1 as servers really speak it, written byte by byte onto a socket.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ::http::{HeaderMap, Method};
use highwater_core::id::UpstreamId;
use highwater_http1::body::BodyBuffer;
use highwater_http1::conn::Conn;
use highwater_http1::outgoing::Outgoing;
use highwater_http1::request_head::RequestTemplate;
use hyper_rustls::HttpsConnectorBuilder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower_service::Service as _;

use super::SOON;
use crate::error::{Cause, UpstreamError};
use crate::http::answer_head::Content;
use crate::http::body::{Events, collect};
use crate::http::pool::Answered;
use crate::http::stream::Stream;
use crate::http::wire::Wire;

const LIMIT: usize = 4 << 20;

async fn listen() -> (TcpListener, Arc<Wire>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
    let headers = [("authorization".to_owned(), "Bearer x".to_owned())];
    (
        listener,
        Arc::new(Wire::new(&UpstreamId::new("raw"), &url, &headers, SOON, 8, &Arc::default()).unwrap()),
    )
}

async fn post(wire: &Wire, body: &str) -> Result<Answered, UpstreamError> {
    let head = Wire::post_head(wire.uri(), &wire.post_headers());
    tokio::time::timeout(SOON, wire.post(&head, body.as_bytes().to_vec())).await.expect("an answer in time")
}

async fn text(answered: Answered) -> Result<String, Cause> {
    let body = tokio::time::timeout(SOON, collect(answered.body, LIMIT)).await.expect("a body in time")?;
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

/// Reads one request; head and body.
async fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut seen = Vec::new();
    loop {
        if let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(seen[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if seen.len() >= end + 4 + length {
                return Some((head, String::from_utf8(seen[end + 4..].to_vec()).unwrap()));
            }
        }
        if stream.read_buf(&mut seen).await.unwrap() == 0 {
            return None;
        }
    }
}

/// Answers the first request with these pieces, each in a packet of its own, and closes.
async fn once(pieces: Vec<Vec<u8>>) -> (Result<Answered, UpstreamError>, tokio::task::JoinHandle<()>) {
    let (listener, wire) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        request(&mut stream).await.unwrap();
        for piece in pieces {
            if stream.write_all(&piece).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
    });
    (post(&wire, "{}").await, server)
}

#[tokio::test]
async fn an_answer_is_the_same_however_it_is_cut() {
    for (answer, body) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello",
            "hello",
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200\r\ncontent-type:application/json\r\ncontent-length:0\r\n\r\n",
            "",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x\r\nlo\r\n0\r\nT: x\r\n\r\n",
            "hello",
        ),
        ("HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\nhello", "hello"),
        ("HTTP/1.1 204 No Content\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n", ""),
    ] {
        let whole = vec![answer.as_bytes().to_vec()];
        let bytes = answer.bytes().map(|byte| vec![byte]).collect();
        for pieces in [whole, bytes] {
            let (answered, _server) = once(pieces).await;
            let answered = answered.unwrap();
            assert_eq!(answered.head.content, Content::Json, "{answer}");
            assert_eq!(text(answered).await.as_deref(), Ok(body), "{answer}");
        }
    }
}

#[tokio::test]
async fn what_is_not_http_or_ends_early_is_an_error_and_counts_as_sent() {
    for answer in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n",
        "hello\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
        "HTTP/1.1 200 OK\ncontent-length: 5\n\nhello",
        "HTTP/1.1 200 OK\r\nx: y\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nx: y\rcontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    ] {
        let (answered, _server) = once(vec![answer.as_bytes().to_vec()]).await;
        let error = answered.err().unwrap_or_else(|| panic!("{answer} is an answer"));
        assert!(error.sent && matches!(error.cause, Cause::Gone(_)), "{answer}: {error}");
    }
    let endless = vec![b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'x'; 100 << 10]];
    assert!(once(endless).await.0.is_err_and(|error| error.sent));
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a\rb\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nbad trailer\r\n\r\n",
    ] {
        let (answered, _server) = once(vec![answer.as_bytes().to_vec()]).await;
        assert!(matches!(text(answered.unwrap()).await, Err(Cause::Gone(_))), "{answer}");
    }
}

#[tokio::test]
async fn a_connection_is_used_again_unless_that_could_go_wrong() {
    for (answer, again) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true),
        ("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok", true),
        ("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", false),
        ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", false),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno",
            false,
        ),
    ] {
        let (listener, wire) = listen().await;
        let server = tokio::spawn(async move {
            let mut connections = 0;
            let mut asked = 0;
            while asked < 2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                connections += 1;
                while asked < 2
                    && let Some((head, body)) = request(&mut stream).await
                {
                    asked += 1;
                    assert!(head.starts_with("POST /mcp?a=b HTTP/1.1\r\nhost: 127.0.0.1:"), "{head}");
                    assert!(head.contains("\r\nauthorization: Bearer x\r\n"), "{head}");
                    assert_eq!(body, format!("{{\"n\":{asked}}}"));
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
            connections
        });
        for number in 1..=2 {
            let answered = post(&wire, &format!("{{\"n\":{number}}}")).await.unwrap();
            assert_eq!(text(answered).await.as_deref(), Ok("ok"), "{answer}");
        }
        assert_eq!(server.await.unwrap(), if again { 1 } else { 2 }, "{answer}");
    }
}

/// Many servers write the end of a stream by itself. Their system keeps it back until what came before is acknowledged, and
/// ours is in no hurry with that.
#[tokio::test]
async fn the_end_of_a_stream_that_comes_apart_from_its_answer_is_asked_for() {
    const CALLS: usize = 60;
    const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n";
    let (listener, wire) = listen().await;
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                while request(&mut stream).await.is_some() {
                    for part in [ANSWER, "0\r\n\r\n"] {
                        stream.write_all(part.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    for _ in 0..CALLS {
        let mut events = Events::new(post(&wire, "{}").await.unwrap().body, LIMIT);
        assert_eq!(events.next(LIMIT).await.unwrap().unwrap().data, "1");
        events.finish();
        // Hardly any time passes, but what has come is seen, on a busy machine as well.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    }
    serving.abort();
    let connections = connections.load(Ordering::Relaxed);
    assert!(connections <= CALLS / 10, "{connections} connections for {CALLS} calls, one after the other");
}

#[tokio::test]
async fn what_a_server_says_unasked_is_nobody_s_answer() {
    let (listener, wire) = listen().await;
    let (taken, taking) = oneshot::channel();
    let (said, saying) = oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        request(&mut first).await.unwrap();
        first.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        taking.await.unwrap();
        first.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil").await.unwrap();
        said.send(()).unwrap();
        let (mut second, _) = listener.accept().await.unwrap();
        request(&mut second).await.unwrap();
        second.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood").await.unwrap();
    });
    assert_eq!(text(post(&wire, "1").await.unwrap()).await.as_deref(), Ok("ok"));
    taken.send(()).unwrap();
    saying.await.unwrap();
    // However short, so that the runtime asks the system what has come.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(text(post(&wire, "2").await.unwrap()).await.as_deref(), Ok("good"));
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_may_answer_before_it_has_heard_everything() {
    let body = "x".repeat(8 << 20);
    // One that hangs up on the rest, and one that hears it out.
    for hears_out in [false, true] {
        let (listener, wire) = listen().await;
        let length = body.len();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut some = vec![0; 1000];
            stream.read_exact(&mut some).await.unwrap();
            stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\n").await.unwrap();
            if hears_out {
                let mut heard = some.len();
                while heard < length {
                    heard += stream.read(&mut some).await.unwrap();
                }
            }
            stream.write_all(b"why").await.unwrap();
            stream
        });
        let answered = post(&wire, &body).await.unwrap();
        assert_eq!(answered.head.status, 413);
        assert_eq!(text(answered).await.as_deref(), Ok("why"));
        server.await.unwrap();
    }
}

#[tokio::test]
async fn a_long_answer_arrives_whole_and_a_longer_one_not_at_all() {
    for (length, chunked) in [(3 << 20, false), (3 << 20, true), (LIMIT + 1, false), (LIMIT + 1, true)] {
        let (listener, wire) = listen().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            request(&mut stream).await.unwrap();
            let body: Vec<u8> = (0..length).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
            let head = match chunked {
                true => format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n"),
                false => format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n"),
            };
            // Whoever refuses it closes.
            let sent =
                stream.write_all(head.as_bytes()).await.is_ok() && stream.write_all(&body).await.is_ok();
            if sent && chunked {
                stream.write_all(b"\r\n0\r\n\r\n").await.ok();
            }
            String::from_utf8(body).unwrap()
        });
        let got = text(post(&wire, "{}").await.unwrap()).await;
        let sent = server.await.unwrap();
        match got {
            Ok(text) => assert!(length <= LIMIT && text == sent, "{length} {chunked}"),
            Err(cause) => assert!(length > LIMIT && cause == Cause::TooLarge { limit: LIMIT }, "{cause}"),
        }
    }
}

#[tokio::test]
async fn behind_tls_it_is_the_same() {
    let pem = include_bytes!("localhost.pem");
    let certificate = CertificateDer::from_pem_slice(pem).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
    let server = rustls::ServerConfig::builder().with_no_client_auth();
    let server = server.with_single_cert(vec![certificate.clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    let (listener, _) = listen().await;
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        for length in [0, 2 << 20] {
            let mut seen =
                vec![
                    0;
                    length + b"POST / HTTP/1.1\r\ncontent-length: \r\n\r\n".len() + length.to_string().len()
                ];
            stream.read_exact(&mut seen).await.unwrap();
            assert!(seen.ends_with(&vec![b'x'; length]) && seen.starts_with(b"POST / HTTP/1.1\r\n"));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", length + 1);
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&vec![b'y'; length + 1]).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let mut connector =
        HttpsConnectorBuilder::new().with_tls_config(client).https_only().enable_http1().build();
    let connected = connector.call(format!("https://localhost:{port}").parse().unwrap()).await.unwrap();
    let mut conn = Conn::new(Stream::from(connected));
    for length in [0, 2 << 20] {
        let head = RequestTemplate::new(&Method::POST, &"/".parse().unwrap(), &HeaderMap::new());
        conn.queue(Outgoing::request(&head, vec![b'x'; length]));
        let mut head = poll_fn(|context| conn.poll_response_head(context)).await.unwrap();
        assert_eq!(head.status, 200);
        let mut read = BodyBuffer::default();
        let whole = poll_fn(|context| conn.poll_whole_body(context, &mut head.body, &mut read, LIMIT));
        assert_eq!(whole.await.unwrap(), vec![b'y'; length + 1]);
        assert!(conn.is_at_rest());
    }
    serving.await.unwrap();
}
