//! Programs of ours that run while a part does: the fixture server and the gateway.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::command::Background;

/// How long a program may take until it answers: far more than a loaded machine needs.
const START_LIMIT: Duration = Duration::from_secs(3 * 60);

/// How long until a list that lacks something is asked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The version of the client that waits for servers.
const VERSION: &str = "2025-11-25";

/// A fixture server over HTTP.
pub(super) struct Fixture {
    pub(super) url: String,
    _process: Background,
}

/// A gateway with a configuration and a data directory of its own.
pub(crate) struct Gateway {
    pub(crate) url: String,
    pub(crate) process: Background,
}

/// A configuration file and a data directory, both below one folder.
pub(crate) struct Site {
    pub(crate) config: PathBuf,
    pub(crate) data: PathBuf,
}

impl Fixture {
    /// Starts a program that says where it listens.
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let (process, stdout) = Background::start(command, log)?;
        let said = said_after(stdout.context("the fixture has no output")?, "listening ");
        match said.recv_timeout(START_LIMIT) {
            Ok(url) => Ok(Self { url, _process: process }),
            Err(_) => bail!("the fixture did not say where it listens\n{}", process.last_words()),
        }
    }
}

impl Site {
    /// Writes a configuration. JSON is YAML.
    pub(crate) fn new(folder: &Path, config: &Value) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let site = Self::below(folder);
        std::fs::write(&site.config, serde_json::to_string_pretty(config)?)
            .with_context(|| format!("cannot write `{}`", site.config.display()))?;
        Ok(site)
    }

    /// The site whose configuration was written below this folder.
    pub(crate) fn below(folder: &Path) -> Self {
        Self { config: folder.join("highwater.yaml"), data: folder.join("data") }
    }

    /// The arguments that make a `highwater` command use this site.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        vec!["--config".to_owned(), path(&self.config), "--data-dir".to_owned(), path(&self.data)]
    }

    /// The token that the gateway made for agents.
    pub(crate) fn agent_token(&self) -> Result<String> {
        self.token("agent-token")
    }

    /// The token that the gateway made for whoever runs it.
    pub(crate) fn operator_token(&self) -> Result<String> {
        self.token("operator-token")
    }

    fn token(&self, file: &str) -> Result<String> {
        let path = self.data.join(file);
        let token =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(token.trim().to_owned())
    }
}

impl Gateway {
    /// Starts the gateway on a port of the system's choice and waits until it is healthy.
    pub(crate) fn start(program: &Path, site: &Site, log: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("serve").args(site.arguments()).args(["--listen", "127.0.0.1:0"]);
        let (process, stdout) = Background::start(&mut command, log)?;
        let said = said_after(stdout.context("the gateway has no output")?, "endpoint");
        let Ok(url) = said.recv_timeout(START_LIMIT) else {
            bail!("the gateway did not say where it listens\n{}", process.last_words());
        };
        if !is_healthy(&url)? {
            bail!("the gateway is not healthy\n{}", process.last_words());
        }
        Ok(Self { url, process })
    }
}

impl Gateway {
    /// Waits until a tool is listed: servers are slow to start on a busy machine, and a list does not wait for them for ever.
    /// Who asks can do everything that a client can, so that no server is started again for one that can do more.
    pub(super) fn wait_for_tool(&self, tool: &str) -> Result<()> {
        let able = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} });
        let client = json!({ "name": "xtask", "version": "1.0.0" });
        let params = json!({ "protocolVersion": VERSION, "capabilities": able, "clientInfo": client });
        let met =
            self.post("", &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))?;
        let session = met.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:"));
        let session = session.with_context(|| format!("no session was begun: {met}"))?;
        let headers = format!("{session}\r\nMCP-Protocol-Version: {VERSION}\r\n");
        let begun = Instant::now();
        for id in 1.. {
            let list = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
            if self.post(&headers, &list)?.contains(&format!("\"{tool}\"")) {
                return Ok(());
            }
            if begun.elapsed() > START_LIMIT {
                break;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        bail!("`{tool}` is not listed\n{}", self.process.last_words())
    }

    /// Sends a message to the endpoint and gives the whole answer, head and all.
    fn post(&self, headers: &str, message: &Value) -> Result<String> {
        let (address, mut stream) = connect(&self.url)?;
        let body = message.to_string();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

/// What a program says behind this word at the beginning of a line. It is read to its end, so that it never waits for us.
fn said_after(stdout: ChildStdout, word: &'static str) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(said) = line.strip_prefix(word).and_then(|rest| rest.split_whitespace().next()) {
                sender.send(said.to_owned()).ok();
            }
        }
    });
    receiver
}

/// Whether a gateway with this endpoint says that it is healthy.
fn is_healthy(url: &str) -> Result<bool> {
    let (address, mut stream) = connect(url)?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(4096).read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200 "))
}

/// A connection to where an endpoint is.
fn connect(url: &str) -> Result<(SocketAddr, TcpStream)> {
    let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let address: SocketAddr = address.context("an endpoint without an address")?.parse()?;
    let stream = TcpStream::connect_timeout(&address, START_LIMIT)?;
    stream.set_read_timeout(Some(START_LIMIT))?;
    Ok((address, stream))
}
