//! Gateways for these tests, and the ways in which the SDK's client gets there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use highwater_testkit::client::gateway::{Gateway, Home};
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};

use super::client::{Client, Hand, soon};

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// How the client's messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Http,
    Stdio,
}

/// How the client begins: the SDK's own three modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `initialize`, in which the SDK asks for 2026-07-28.
    Initialize,
    /// `server/discover`.
    Discover,
    /// `server/discover`, and `initialize` if that is not known.
    Auto,
}

/// Every way with every era.
pub(crate) const CLIENTS: [(Way, Mode); 4] = [
    (Way::Http, Mode::Initialize),
    (Way::Http, Mode::Discover),
    (Way::Stdio, Mode::Initialize),
    (Way::Stdio, Mode::Discover),
];

/// A place with a gateway in it: one that serves HTTP, or one that the first `highwater stdio` will start.
pub(crate) enum Stage {
    Served(Box<Gateway>),
    Empty(Home),
}

// === impl Mode ===

impl Mode {
    fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Self::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        }
    }
}

// === impl Stage ===

impl Stage {
    /// A gateway over HTTP, which clients over stdio can join.
    pub(crate) async fn served(config: &Value) -> Self {
        Self::Served(Box::new(home(config).serve().await.unwrap()))
    }

    /// No gateway yet: the first client over stdio starts it.
    pub(crate) fn empty(config: &Value) -> Self {
        Self::Empty(home(config))
    }

    pub(crate) fn home(&self) -> &Home {
        match self {
            Self::Served(gateway) => gateway.home(),
            Self::Empty(home) => home,
        }
    }

    /// Connects a client.
    pub(crate) async fn client(&self, way: Way, mode: Mode) -> Client {
        let client = match way {
            Way::Http => self.http_client(mode, &self.agent_token()).await,
            Way::Stdio => self.stdio_client(mode).await,
        };
        client.unwrap_or_else(|error| panic!("{way:?}, {mode:?}: {error:?}"))
    }

    /// Connects a client over HTTP with this token.
    pub(crate) async fn http_client(&self, mode: Mode, token: &str) -> Result<Client, ClientInitializeError> {
        let Self::Served(gateway) = self else { panic!("nobody serves HTTP here") };
        let config = StreamableHttpClientTransportConfig::with_uri(gateway.endpoint()).auth_header(token);
        let transport = StreamableHttpClientTransport::from_config(config);
        let (hand, heard) = Hand::new();
        let service = soon("connecting", hand.serve_with_lifecycle(transport, mode.lifecycle())).await?;
        Ok(Client::new(service, heard))
    }

    async fn stdio_client(&self, mode: Mode) -> Result<Client, ClientInitializeError> {
        let command = self.home().command("stdio");
        let (transport, _) = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn().unwrap();
        let (hand, heard) = Hand::new();
        let service = soon("connecting", hand.serve_with_lifecycle(transport, mode.lifecycle())).await?;
        Ok(Client::new(service, heard))
    }

    /// The token as a user finds it.
    pub(crate) fn agent_token(&self) -> String {
        let path = self.home().data_dir().join("agent-token");
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = match self {
                Self::Served(gateway) => gateway.log(),
                Self::Empty(home) => home.background_log(),
            };
            eprintln!("the gateway's log:\n{log}");
        }
    }
}

fn home(config: &Value) -> Home {
    // JSON is YAML.
    Home::new(PROGRAM, &config.to_string()).unwrap()
}

/// The four real servers: two that speak the legacy era only, two that speak both.
pub(crate) fn real_servers(folder: &Path) -> Value {
    let node = peer("node/node_modules/.bin/node");
    let package = |name: &str| peer(&format!("node/node_modules/@modelcontextprotocol/{name}/dist/index.js"));
    // They take seconds to start, and far longer on a busy machine.
    let timeouts = json!({ "start": "5m", "probe": "2m" });
    json!({ "flow": "observe", "servers": {
        // Vouched for, so that what it declares is what clients are told.
        "everything": {
            "command": node, "args": [package("server-everything"), "stdio"], "trust": { "verified": true },
            "timeouts": timeouts,
        },
        "filesystem": {
            "command": node, "args": [package("server-filesystem"), folder], "timeouts": timeouts,
        },
        "git": { "command": peer("python/servers/bin/mcp-server-git"), "timeouts": timeouts },
        "time": {
            "command": peer("python/servers/bin/mcp-server-time"), "args": ["--local-timezone", "UTC"],
            "timeouts": timeouts,
        },
    } })
}

/// A foreign program where `cargo xtask` installs it.
fn peer(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let peer = root.join(".peers").join(path);
    assert!(peer.exists(), "`.peers/{path}` is not installed; run: cargo xtask test --only peers");
    peer
}

/// Makes a repository with one commit.
pub(crate) fn repository(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(folder).output();
        let output = output.expect("git does not start; run: cargo xtask test --only peers");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["init", "--quiet"]);
    run(&[
        "-c",
        "user.name=Shipwright",
        "-c",
        "user.email=shipwright@example.com",
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "Lay the keel",
    ]);
}
