//! What keeps other names, other sites and other windows away.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Stand;
use super::backend::{CONFIRM, PASSKEY};

const DOCUMENT: &str = "/approve/pass";

#[tokio::test]
async fn every_answer_carries_the_whole_set_of_headers() {
    let stand = Stand::open().await;
    let foreign = stand.get(DOCUMENT).with("host", "evil.example");
    for ask in [
        stand.get(DOCUMENT),
        stand.get("/page.js"),
        stand.get("/nothing"),
        stand.post("/sign-in", "", "{}"),
        foreign,
    ] {
        let reply = stand.send(&ask).await;
        let path = &ask.path;
        let policy = reply.header("content-security-policy").unwrap();
        assert_eq!(
            policy,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
             trusted-types 'none'",
            "{path}"
        );
        for (name, value) in [
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-embedder-policy", "require-corp"),
            ("cross-origin-resource-policy", "same-origin"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{path} {name}");
        }
        let permissions = reply.header("permissions-policy").unwrap();
        assert!(permissions.contains("publickey-credentials-get=(self)"), "{permissions}");
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn a_rebound_name_gets_421_and_a_loopback_address_is_sent_to_localhost() {
    let stand = Stand::open().await;
    for host in ["evil.example".to_owned(), format!("evil.example:{}", stand.port), "localhost".to_owned()] {
        let reply = stand.send(&stand.get(DOCUMENT).with("host", &host)).await;
        assert_eq!(reply.status, 421, "{host}");
        assert!(!reply.body.contains("files"));
    }
    for host in [format!("127.0.0.1:{}", stand.port), format!("[::1]:{}", stand.port)] {
        let reply = stand.send(&stand.get(DOCUMENT).with("host", &host)).await;
        assert_eq!(reply.status, 307);
        assert_eq!(reply.header("location"), Some(format!("{}{DOCUMENT}", stand.origin()).as_str()));
        let posted = stand.post("/approve/conf/confirm", "", "{}").with("host", &host);
        assert_eq!(stand.send(&posted).await.status, 421);
    }
}

#[tokio::test]
async fn a_target_that_names_another_host_than_the_host_header_is_refused() {
    let stand = Stand::open().await;
    let absolute = format!("{}{DOCUMENT}", stand.origin());
    assert_eq!(stand.send(&stand.get(&absolute)).await.status, 200);
    for target in [format!("http://evil.example{DOCUMENT}"), format!("http://localhost{DOCUMENT}")] {
        let reply = stand.send(&stand.get(&target)).await;
        assert_eq!(reply.status, 400, "{target}");
        assert!(!reply.body.contains("files"));
    }
}

#[tokio::test]
async fn one_connection_takes_one_request_after_the_other() {
    let stand = Stand::open().await;
    let mut stream = TcpStream::connect(("127.0.0.1", stand.port)).await.unwrap();
    let asset =
        |more: &str| format!("GET /page.svg HTTP/1.1\r\nhost: localhost:{}\r\n{more}\r\n", stand.port);
    let requests = asset("") + &asset("") + &asset("connection: close\r\n");
    stream.write_all(requests.as_bytes()).await.unwrap();
    let mut replies = String::new();
    stream.read_to_string(&mut replies).await.unwrap();
    assert_eq!(replies.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{replies}");
    assert_eq!(replies.matches("</svg>").count(), 3);
}

#[tokio::test]
async fn a_document_is_shown_in_a_window_of_its_own_and_nowhere_else() {
    let stand = Stand::open().await;
    assert_eq!(stand.send(&stand.get(DOCUMENT)).await.status, 200);
    for place in ["iframe", "frame", "embed", "object", "empty", "image"] {
        let reply = stand.send(&stand.get(DOCUMENT).with("sec-fetch-dest", place)).await;
        assert_eq!(reply.status, 403, "{place}");
    }
    assert_eq!(stand.send(&stand.get(DOCUMENT).without("sec-fetch-dest")).await.status, 403);
}

#[tokio::test]
async fn only_a_document_of_ours_changes_anything() {
    let stand = Stand::open().await;
    let (cookie, secret) = stand.operator().await;
    let csrf = stand.csrf(&cookie).await;
    let path = format!("/approve/{CONFIRM}/confirm");
    let whole = || {
        let ask = stand.post(&path, &csrf, "{}");
        ask.with("cookie", &cookie).with("highwater-page-secret", &secret)
    };
    let other_port = format!("http://localhost:{}", stand.port.wrapping_add(1));
    let address = format!("http://127.0.0.1:{}", stand.port);
    for (what, ask) in [
        ("another port of this machine", whole().with("origin", &other_port)),
        ("an address", whole().with("origin", &address)),
        ("no origin", whole().without("origin")),
        ("an opaque origin", whole().with("origin", "null")),
        ("another site", whole().with("sec-fetch-site", "cross-site")),
        ("the same site", whole().with("sec-fetch-site", "same-site")),
        ("no site", whole().without("sec-fetch-site")),
        ("another token", whole().with("highwater-csrf", "x")),
        ("no token", whole().without("highwater-csrf")),
        ("a form", whole().with("content-type", "text/plain")),
        ("no cookie", whole().without("cookie")),
    ] {
        let reply = stand.send(&ask).await;
        assert!(matches!(reply.status, 403 | 415), "{what}: {} {}", reply.status, reply.body);
    }
    assert!(!stand.counter.asked().iter().any(|asked| asked.starts_with("confirm")));
    assert_eq!(stand.send(&whole()).await.status, 200);
    assert_eq!(stand.counter.asked().last().unwrap(), "confirm conf operator page None");
}

#[tokio::test]
async fn events_are_for_the_page_itself() {
    let stand = Stand::open().await;
    let (cookie, _) = stand.operator().await;
    for path in [format!("/approve/{PASSKEY}/events"), "/inbox/events".to_owned()] {
        let ask = stand.get(&path).with("cookie", &cookie);
        assert_eq!(stand.send(&ask).await.status, 403, "{path}");
    }
    let nobody = stand.get("/inbox/events").with("sec-fetch-site", "same-origin");
    assert_eq!(stand.send(&nobody).await.status, 403);
}

#[tokio::test]
async fn who_asks_too_often_about_one_request_has_to_wait() {
    let stand = Stand::open().await;
    let (cookie, _) = stand.operator().await;
    let csrf = stand.csrf(&cookie).await;
    let mut statuses = Vec::new();
    for _ in 0..41 {
        let ask = stand.post(&format!("/approve/{PASSKEY}/challenge"), &csrf, "{}").with("cookie", &cookie);
        statuses.push(stand.send(&ask).await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 40);
    assert_eq!(statuses.last(), Some(&429));
    let other = stand.post(&format!("/approve/{CONFIRM}/decline"), &csrf, "{}").with("cookie", &cookie);
    assert_eq!(stand.send(&other).await.status, 200, "another request is counted by itself");
}

#[tokio::test]
async fn a_body_that_is_too_large_or_not_understood_is_refused() {
    let stand = Stand::open().await;
    let csrf = stand.csrf("").await;
    let large = format!(r#"{{"token":"{}"}}"#, "x".repeat(300 * 1024));
    assert_eq!(stand.send(&stand.post("/sign-in", &csrf, &large)).await.status, 413);
    for odd in ["", "[]", r#"{"token":"a","other":1}"#, "{}", r#"{"token":"a","challengeId":"b"}"#] {
        assert_eq!(stand.send(&stand.post("/sign-in", &csrf, odd)).await.status, 400, "{odd}");
    }
    assert_eq!(stand.send(&stand.post("/nothing", &csrf, "{}")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn d13_a_thousand_strangers_keep_nobody_from_signing_in_or_answering() {
    let stand = Stand::open().await;
    let (cookie, secret) = stand.operator().await;
    let nobody = stand.csrf("").await;
    let csrf = stand.csrf(&cookie).await;
    // A thousand at once: each asks at every door, and a good part stays and says nothing.
    let mut crowd = tokio::task::JoinSet::new();
    for number in 0..1000 {
        let (port, csrf) = (stand.port, nobody.clone());
        crowd.spawn(async move {
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            let path =
                ["/sign-in/challenge", "/sign-in", "/enroll/begin", "/approve/pass/challenge"][number % 4];
            let body = if number % 4 == 1 { r#"{"token":"hwo_guess"}"# } else { "{}" };
            let text = format!(
                "POST {path} HTTP/1.1\r\nhost: localhost:{port}\r\norigin: http://localhost:{port}\r\n\
                 sec-fetch-site: same-origin\r\ncontent-type: application/json\r\nhighwater-csrf: {csrf}\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _sent = stream.write_all(text.as_bytes()).await;
            let mut answer = [0; 64];
            let _read = stream.read(&mut answer).await;
            std::future::pending::<()>().await;
        });
    }
    for _ in 0..30 {
        let challenge = stand.send(&stand.post("/sign-in/challenge", &nobody, "{}")).await;
        assert_eq!(challenge.status, 200, "{}", challenge.body);
        let signed = r#"{"challengeId":"c","response":{"id":"k"}}"#;
        assert_eq!(stand.send(&stand.post("/sign-in", &nobody, signed)).await.status, 200);
        stand.operator().await;
        let decline = stand.post(&format!("/approve/{PASSKEY}/decline"), &csrf, "{}").with("cookie", &cookie);
        assert_eq!(stand.send(&decline).await.status, 200);
    }
    let confirm = stand.post(&format!("/approve/{CONFIRM}/confirm"), &csrf, "{}").with("cookie", &cookie);
    assert_eq!(stand.send(&confirm.with("highwater-page-secret", &secret)).await.status, 200);
    crowd.abort_all();
}

#[tokio::test]
async fn strangers_have_a_limit_of_their_own() {
    let stand = Stand::open().await;
    let csrf = stand.csrf("").await;
    let mut last = 0;
    for _ in 0..61 {
        last = stand.send(&stand.post("/enroll/begin", &csrf, r#"{"user":"owner"}"#)).await.status;
    }
    assert_eq!(last, 429);
}
