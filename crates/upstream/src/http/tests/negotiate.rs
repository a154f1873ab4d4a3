//! First meetings: every kind of server, and the ones that do not want to meet.

use std::time::Duration;

use highwater_mcp::era::Era;

use super::server::{Reply, Seen, Server, chunked, empty, error, event, events, json, result, stream, whole};
use super::{Gateway, spec};
use crate::error::{Cause, NoConnection};
use crate::http::HttpLink;
use crate::spec::{EraSetting, RememberedEra, Transport};

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"be nice","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m"}}}"#;
const INITIALIZED: &str =
    r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"l","version":"1"}}"#;

fn legacy(seen: &Seen) -> Reply {
    match seen.method().as_str() {
        "initialize" => result(seen, INITIALIZED),
        "notifications/initialized" => empty(202),
        _ => empty(405),
    }
}

#[tokio::test]
async fn a_modern_server_is_known_by_its_discover_answer() {
    let server = Server::start(|seen| async move { result(&seen, DISCOVERED) }).await;
    let (link, era) = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.unwrap();
    assert_eq!(era, RememberedEra::Modern);
    let greeting = link.greeting();
    assert_eq!((greeting.era, greeting.version.as_str()), (Era::Modern, "2026-07-28"));
    assert_eq!(greeting.instructions.as_deref(), Some(br#""be nice""#.as_slice()));
    assert_eq!(greeting.server_info.as_deref(), Some(br#"{"name":"m"}"#.as_slice()));
    let seen = &server.seen()[0];
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("mcp-method"), Some("server/discover"));
    assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(
        seen.header("host"),
        server.url().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"))
    );
    assert!(seen.body.contains(r#""io.modelcontextprotocol/clientInfo":{"name":"highwater","version":"0"}"#));
}

#[tokio::test]
async fn a_discover_answer_may_come_on_a_stream() {
    let server = Server::start(|seen| async move {
        events(&event(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{DISCOVERED}}}"#, seen.id())))
    })
    .await;
    let (_, era) = Gateway::new().connect(&spec(&server, EraSetting::Modern)).await.unwrap();
    assert_eq!(era, RememberedEra::Modern);
}

#[tokio::test]
async fn whatever_a_legacy_server_says_to_the_probe_it_is_greeted() {
    let answers: &[fn(&Seen) -> Reply] = &[
        |seen| error(200, seen.id(), -32601),
        |seen| error(200, seen.id(), -32602),
        |_| error(400, "null", -32000),
        |_| whole(404, "text/html", "Cannot POST /mcp"),
        |_| empty(405),
        |_| empty(500),
        |_| whole(400, "text/plain", "Bad Request: no session"),
        |seen| result(seen, "{}"),
        |_| json(200, "not json"),
        |_| empty(202),
        |seen| {
            json(
                400,
                &format!(
                    r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32022,"message":"","data":{{"supported":["2025-06-18"]}}}}}}"#,
                    seen.id()
                ),
            )
        },
    ];
    for (row, answer) in answers.iter().enumerate() {
        let server = Server::start(move |seen| async move {
            if seen.method() == "server/discover" { answer(&seen) } else { legacy(&seen) }
        })
        .await;
        let (link, era) = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.unwrap();
        assert_eq!(era, RememberedEra::Legacy, "row {row}");
        assert_eq!(link.greeting().version, "2025-06-18");
        let seen: Vec<String> = server.seen().iter().take(3).map(Seen::line).collect();
        assert_eq!(seen, ["POST server/discover", "POST initialize", "POST notifications/initialized"]);
    }
}

#[tokio::test]
async fn a_silent_probe_is_given_up_and_the_server_greeted() {
    let server = Server::start(|seen| async move {
        if seen.method() == "server/discover" { std::future::pending().await } else { legacy(&seen) }
    })
    .await;
    let mut spec = spec(&server, EraSetting::Auto);
    spec.timeouts.probe = Duration::from_millis(50);
    let (_, era) = Gateway::new().connect(&spec).await.unwrap();
    assert_eq!(era, RememberedEra::Legacy);
}

#[tokio::test]
async fn not_found_with_method_not_found_is_the_modern_way_to_know_no_discover() {
    let server = Server::start(|seen| async move { error(404, seen.id(), -32601) }).await;
    let (link, era) = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.unwrap();
    assert_eq!(era, RememberedEra::Modern);
    assert_eq!(link.greeting().era, Era::Modern);
}

#[tokio::test]
async fn statuses_about_access_and_redirects_are_told_and_nothing_else_is_tried() {
    for status in [301, 302, 307, 308, 401, 403, 429, 503] {
        let server = Server::start(move |_| async move {
            let mut reply = error(status, "null", -32000);
            reply.headers_mut().insert("location", "http://127.0.0.1:1/".parse().unwrap());
            reply
        })
        .await;
        let error = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.err().unwrap();
        assert_eq!((error.cause, error.sent), (Cause::Status(status), false));
        assert_eq!(server.seen().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn what_went_wrong_with_initialize_is_told_when_nothing_helps() {
    let server = Server::start(|_| async { empty(404) }).await;
    let error = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.err().unwrap();
    assert_eq!((error.cause, error.sent), (Cause::Status(404), false));
    let seen: Vec<String> = server.seen().iter().map(Seen::line).collect();
    assert_eq!(seen, ["POST server/discover", "POST initialize", "GET"]);
}

#[tokio::test]
async fn a_version_that_nobody_speaks_here_is_refused() {
    let discovered = DISCOVERED.replace("2026-07-28", "2031-01-01");
    let server = Server::start(move |seen| {
        let reply = result(&seen, &discovered);
        async move { reply }
    })
    .await;
    let error = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "server `mail` sent a message that breaks the protocol: it speaks no version that is spoken here"
    );
    let server = Server::start(|seen| async move {
        result(&seen, r#"{"protocolVersion":"2026-07-28","capabilities":{}}"#)
    })
    .await;
    let error = Gateway::new().connect(&spec(&server, EraSetting::Legacy)).await.err().unwrap();
    assert!(matches!(error.cause, Cause::Malformed(_)), "{error}");
}

#[tokio::test]
async fn what_is_remembered_is_tried_first_and_found_out_anew_when_untrue() {
    let server = Server::start(|seen| async move { legacy(&seen) }).await;
    let gateway = Gateway::new();
    let auto = spec(&server, EraSetting::Auto);
    let (_link, era) =
        HttpLink::connect(&auto, &gateway.elsewhere(), Some(RememberedEra::Legacy)).await.unwrap();
    assert_eq!((era, server.seen()[0].line().as_str()), (RememberedEra::Legacy, "POST initialize"));

    let server = Server::start(|seen| async move {
        if seen.method() == "server/discover" {
            result(&seen, DISCOVERED)
        } else {
            error(404, seen.id(), -32601)
        }
    })
    .await;
    for wrong in [RememberedEra::Legacy, RememberedEra::Sse] {
        let auto = spec(&server, EraSetting::Auto);
        let (_, era) = HttpLink::connect(&auto, &gateway.elsewhere(), Some(wrong)).await.unwrap();
        assert_eq!(era, RememberedEra::Modern);
    }
}

#[tokio::test]
async fn an_sse_server_is_found_last() {
    let server = Server::start(|seen| async move {
        if seen.verb == "GET" {
            let (pen, reply) = stream();
            tokio::spawn(async move {
                pen.write("event: endpoint\ndata: /messages?session=1\n\n").await;
                pen.abandoned().await;
            });
            return reply;
        }
        empty(405)
    })
    .await;
    let error = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.err().unwrap();
    // This one names its endpoint and then refuses to be greeted there.
    assert_eq!(error.cause, Cause::Status(405));
    assert_eq!(server.seen().last().unwrap().path, "/messages?session=1");
}

#[tokio::test]
async fn a_server_that_says_nothing_at_all_costs_its_start_time() {
    let server = Server::start(|_| std::future::pending()).await;
    let mut spec = spec(&server, EraSetting::Auto);
    spec.timeouts.start = Duration::from_millis(100);
    let error = Gateway::new().connect(&spec).await.err().unwrap();
    assert_eq!((error.cause, error.sent), (Cause::SilentStart(Duration::from_millis(100)), false));
}

#[tokio::test]
async fn a_server_that_dribbles_costs_its_start_time_too() {
    let server = Server::start(|_| async {
        let (pen, reply) = chunked("application/json");
        tokio::spawn(async move {
            pen.write("{").await;
            pen.abandoned().await;
        });
        reply
    })
    .await;
    let mut spec = spec(&server, EraSetting::Modern);
    spec.timeouts.start = Duration::from_millis(100);
    let error = Gateway::new().connect(&spec).await.err().unwrap();
    assert_eq!(error.cause, Cause::SilentStart(Duration::from_millis(100)));
}

#[tokio::test]
async fn nobody_home_is_told_in_our_words() {
    let gateway = Gateway::new();
    let server = Server::start(|_| async { empty(200) }).await;
    let mut gone = spec(&server, EraSetting::Auto);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    gone.transport = Transport::Http { url: format!("http://127.0.0.1:{port}/"), headers: Vec::new() };
    let error = gateway.connect(&gone).await.err().unwrap();
    assert_eq!(error.cause, Cause::NoConnection(NoConnection::Refused));
    assert!(!error.sent);
    for (url, told) in [
        ("ftp://127.0.0.1/", "its URL is neither `http` nor `https`"),
        ("/mcp", "its URL names no host"),
        ("http://user:word@127.0.0.1/", "its URL holds a user name, which belongs into `headers`"),
        ("http://exa mple/", "its URL is not valid"),
    ] {
        let mut spec = gone.clone();
        spec.transport = Transport::Http { url: url.to_owned(), headers: Vec::new() };
        let error = gateway.connect(&spec).await.err().unwrap();
        assert_eq!(error.cause, Cause::Unreachable(told.to_owned()), "{url}");
    }
}

#[tokio::test]
async fn an_https_url_to_a_server_without_tls_fails_at_the_handshake() {
    let server = Server::start(|_| async { empty(200) }).await;
    let mut spec = spec(&server, EraSetting::Auto);
    let url = server.url().replace("http://", "https://");
    spec.transport = Transport::Http { url, headers: Vec::new() };
    let error = Gateway::new().connect(&spec).await.err().unwrap();
    assert_eq!(error.cause, Cause::NoConnection(NoConnection::Tls));
    assert_eq!(server.seen().len(), 0);
}
