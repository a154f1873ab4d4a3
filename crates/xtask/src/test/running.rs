//! Programs of ours that run while a part does: the fixture server and the gateway.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::Background;

/// How long a program may take until it answers, on a loaded machine.
const START_LIMIT: Duration = Duration::from_secs(30);

/// How often a program that has not answered yet is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// The fixture server over HTTP.
pub(super) struct Fixture {
    pub(super) url: String,
    _process: Background,
}

/// A gateway with a configuration and a data directory of its own.
pub(super) struct Gateway {
    pub(super) url: String,
    pub(super) process: Background,
}

/// A configuration file and a data directory, both below one folder.
pub(super) struct Site {
    pub(super) config: PathBuf,
    pub(super) data: PathBuf,
}

impl Fixture {
    pub(super) fn start(program: &Path, log: &Path) -> Result<Self> {
        let (process, stdout) =
            Background::start(Command::new(program).args(["--listen", "127.0.0.1:0"]), log)?;
        let (sender, receiver) = mpsc::channel();
        let stdout = stdout.context("the fixture has no output")?;
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(url) = line.strip_prefix("listening ") {
                    sender.send(url.trim().to_owned()).ok();
                }
            }
        });
        match receiver.recv_timeout(START_LIMIT) {
            Ok(url) => Ok(Self { url, _process: process }),
            Err(_) => bail!("the fixture did not say where it listens\n{}", process.last_words()),
        }
    }
}

impl Site {
    /// Writes a configuration. JSON is YAML.
    pub(super) fn new(folder: &Path, config: &Value) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let site = Self { config: folder.join("highwater.yaml"), data: folder.join("data") };
        std::fs::write(&site.config, serde_json::to_string_pretty(config)?)
            .with_context(|| format!("cannot write `{}`", site.config.display()))?;
        Ok(site)
    }

    /// The arguments that make a `highwater` command use this site.
    pub(super) fn arguments(&self) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        vec!["--config".to_owned(), path(&self.config), "--data-dir".to_owned(), path(&self.data)]
    }

    /// The token that the gateway made for agents.
    pub(super) fn agent_token(&self) -> Result<String> {
        self.token("agent-token")
    }

    /// The token that the gateway made for whoever runs it.
    pub(super) fn operator_token(&self) -> Result<String> {
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
    /// Starts the gateway and waits until it says that it is healthy.
    pub(super) fn start(program: &Path, site: &Site, log: &Path) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(program);
        command.arg("serve").args(site.arguments()).args(["--listen", &address.to_string()]);
        let (process, stdout) = Background::start(&mut command, log)?;
        if let Some(mut stdout) = stdout {
            // What it prints for people is of no use here, but must be read.
            std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        }
        let gateway = Self { url: format!("http://{address}/mcp"), process };
        let deadline = Instant::now() + START_LIMIT;
        while !is_healthy(address) {
            if gateway.process.has_ended() {
                bail!("the gateway ended at start\n{}", gateway.process.last_words());
            }
            if Instant::now() > deadline {
                bail!("the gateway did not become healthy\n{}", gateway.process.last_words());
            }
            std::thread::sleep(ASK_AGAIN);
        }
        Ok(gateway)
    }
}

/// An address that nobody listens on at the moment.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn is_healthy(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, START_LIMIT)?;
        stream.set_read_timeout(Some(START_LIMIT))?;
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(4096).read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
}
