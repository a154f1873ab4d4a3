//! The ways in, each with one manner to say something and to hear the answer.

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::{Client, Era, LEGACY, MODERN};
use http::Method;
use serde_json::{Value, json};

/// What a modern request says of itself, as the first member of its parameters.
pub(crate) const MODERN_META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"#;

/// A connected client that sends bytes as they are.
pub(crate) struct Front {
    client: Client,
    era: Era,
    over_http: bool,
}

/// An answer, and the HTTP status it came with.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: Option<u16>,
    pub(crate) message: Value,
}

// === impl Front ===

impl Front {
    pub(crate) async fn http(gateway: &Gateway, era: Era) -> Self {
        let setup = gateway.http(era).without_stream();
        let client = match era {
            Era::Legacy => setup.connect().await.unwrap(),
            Era::Modern => setup.connect_silently().await.unwrap(),
        };
        Self { client, era, over_http: true }
    }

    /// A client of `highwater stdio`, which joins the home's gateway or starts one.
    pub(crate) async fn stdio(home: &Home, era: Era) -> Self {
        let client = home.stdio(era).connect_silently().await.unwrap();
        let front = Self { client, era, over_http: false };
        if era == Era::Legacy {
            let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
            let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
            let heard = front.say(hello.to_string().as_bytes()).await;
            assert_eq!(heard.message["id"], "hello", "{heard:?}");
            front.client.notify("notifications/initialized", None).await.unwrap();
        }
        front
    }

    pub(crate) fn era(&self) -> Era {
        self.era
    }

    /// Says something and hears what comes back.
    pub(crate) async fn say(&self, bytes: &[u8]) -> Heard {
        if !self.over_http {
            self.client.write(&[bytes, b"\n"].concat()).await.unwrap();
            return self.hear().await;
        }
        let modern =
            [("mcp-method", "tools/call"), ("mcp-name", "up__echo"), ("mcp-protocol-version", MODERN)];
        let headers = if self.era == Era::Modern { &modern[..] } else { &[] };
        let reply = self.client.exchange(Method::POST, bytes.to_vec(), headers).await.unwrap();
        let message = serde_json::from_str(&reply.body)
            .unwrap_or_else(|error| panic!("status {}, {error}: {}", reply.status, reply.body));
        Heard { status: Some(reply.status), message }
    }

    /// Over stdio: the next answer.
    pub(crate) async fn hear(&self) -> Heard {
        let message = self.client.next_response().await.unwrap();
        Heard { status: None, message: message.json().unwrap() }
    }

    /// Calls `echo` and checks that the answer is the caller's own.
    pub(crate) async fn assert_usable(&self, number: usize) {
        let payload = format!("usable-{number}");
        let call = call(self.era, &format!(r#""name":"up__echo","arguments":{{"body":"{payload}"}}"#));
        let heard = self.say(call.as_bytes()).await;
        assert_eq!(heard.message["id"], 7, "{heard:?}");
        assert_eq!(heard.message["result"]["structuredContent"]["body"], payload.as_str(), "{heard:?}");
    }

    /// Leaves; a stdio client's process must end well.
    pub(crate) async fn close(self) {
        if let Some(status) = self.client.close().await.unwrap() {
            assert!(status.success(), "{status}");
        }
    }
}

/// A call with these members of `params`.
pub(crate) fn call(era: Era, members: &str) -> String {
    let meta = meta(era);
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{meta}{members}}}}}"#)
}

pub(crate) fn meta(era: Era) -> &'static str {
    match era {
        Era::Legacy => "",
        Era::Modern => MODERN_META,
    }
}
