//! Who a client is, before it connects.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::question::{self, Handler, Question, Reply};
use super::{Client, Era, LEGACY};
use crate::wait::PATIENCE;

/// A client to be connected.
pub struct Setup {
    pub(super) way: Way,
    pub(super) era: Era,
    pub(super) version: String,
    pub(super) name: String,
    pub(super) capabilities: Value,
    pub(super) handler: Handler,
    pub(super) patience: Duration,
    pub(super) standing_stream: bool,
}

pub(super) enum Way {
    Stdio(Box<Command>),
    Http { url: String, token: Option<String> },
}

// === impl Setup ===

impl Setup {
    /// A client that starts its server.
    pub fn stdio(command: Command) -> Self {
        Self::new(Way::Stdio(Box::new(command)))
    }

    /// A client of a server at a URL.
    pub fn http(url: &str) -> Self {
        Self::new(Way::Http { url: url.to_owned(), token: None })
    }

    fn new(way: Way) -> Self {
        Self {
            way,
            era: Era::Legacy,
            version: LEGACY.to_owned(),
            name: "test".to_owned(),
            capabilities: json!({}),
            handler: question::refusing(),
            patience: PATIENCE,
            standing_stream: true,
        }
    }

    /// The era to speak; without this, legacy.
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// The version a legacy client asks for.
    pub fn version(mut self, version: &str) -> Self {
        self.version = version.to_owned();
        self
    }

    /// What a legacy client calls itself.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// The bearer token for HTTP.
    pub fn token(mut self, bearer: &str) -> Self {
        if let Way::Http { token, .. } = &mut self.way {
            *token = Some(bearer.to_owned());
        }
        self
    }

    /// What the client can do, as it declares it.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// How the client answers questions of the server. It must not block.
    pub fn answering(mut self, handler: impl Fn(&Question) -> Reply + Send + Sync + 'static) -> Self {
        self.handler = Arc::new(handler);
        self
    }

    /// How long to wait for anything.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Leaves the stream that a legacy HTTP client keeps open unopened.
    pub fn without_stream(mut self) -> Self {
        self.standing_stream = false;
        self
    }

    /// Connects: a legacy client shakes hands and opens its stream, a modern one asks what there is.
    pub async fn connect(self) -> anyhow::Result<Client> {
        Client::connect(self, true).await
    }

    /// Connects and says nothing.
    pub async fn connect_silently(self) -> anyhow::Result<Client> {
        Client::connect(self, false).await
    }
}
