//! The page over real connections, in front of a counter that writes down what it is asked: the hardening, and what is
//! shown to whom.

mod backend;
mod bundle;
mod documents;
mod hardening;
mod sessions;

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use self::backend::Written;
use super::{Page, PageOrigin, listen};

/// A page on a port of its own.
struct Stand {
    port: u16,
    counter: Arc<Written>,
    _stop: watch::Sender<bool>,
}

/// One request, as bytes will be made of it.
struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

// === impl Stand ===

impl Stand {
    async fn open() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let counter = Arc::new(Written::default());
        let origin = PageOrigin::new(port, None).unwrap();
        let page = Page::new(Arc::clone(&counter), origin).unwrap();
        let (stop, stopping) = watch::channel(false);
        tokio::spawn(listen(page, vec![listener], stopping));
        Self { port, counter, _stop: stop }
    }

    fn origin(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// What a browser sends when somebody opens a link.
    fn get(&self, path: &str) -> Ask {
        let headers = vec![
            ("host", format!("localhost:{}", self.port)),
            ("sec-fetch-site", "cross-site".to_owned()),
            ("sec-fetch-dest", "document".to_owned()),
        ];
        Ask { method: "GET", path: path.to_owned(), headers, body: String::new() }
    }

    /// What the module sends.
    fn post(&self, path: &str, csrf: &str, body: &str) -> Ask {
        let headers = vec![
            ("host", format!("localhost:{}", self.port)),
            ("origin", self.origin()),
            ("sec-fetch-site", "same-origin".to_owned()),
            ("sec-fetch-dest", "empty".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("highwater-csrf", csrf.to_owned()),
        ];
        Ask { method: "POST", path: path.to_owned(), headers, body: body.to_owned() }
    }

    async fn send(&self, ask: &Ask) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let mut text = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", ask.method, ask.path);
        for (name, value) in &ask.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{}", ask.body.len(), ask.body));
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let whole = String::from_utf8(bytes).unwrap();
        let (head, body) = whole.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// The token of a document, as somebody with this cookie is given it.
    async fn csrf(&self, cookie: &str) -> String {
        let page = self.send(&self.get("/enroll").with("cookie", cookie)).await;
        let (_, rest) = page.body.split_once("data-csrf=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }

    /// Signs in with the operator's token: the cookie and the secret.
    async fn operator(&self) -> (String, String) {
        let body = format!(r#"{{"token":"{}"}}"#, backend::OPERATOR);
        let reply = self.send(&self.post("/sign-in", &self.csrf("").await, &body)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let (_, cookie) = reply.head.split_once("set-cookie: ").unwrap();
        let said: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
        let secret = said["secret"].as_str().unwrap().to_owned();
        (cookie.split(';').next().unwrap().to_owned(), secret)
    }
}

// === impl Ask ===

impl Ask {
    /// The same with another header, or another value of it.
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }
}

// === impl Reply ===

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(key, _)| *key == name)
            .map(|it| it.1)
    }
}
