//! A gateway for one test: the program itself, with a configuration and a data directory of its own.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{Era, Setup};
use crate::sockets;
use crate::wait::{PATIENCE, until_true};

/// How much of its log is kept.
const KEPT_LOG: usize = 1 << 20;

/// Where a gateway lives: its configuration and its data directory. Whatever still runs there when this is
/// dropped is ended.
pub struct Home {
    program: PathBuf,
    folder: TempDir,
    environment: Vec<(String, String)>,
}

/// `highwater serve`, ready for clients. Killed when it is dropped.
pub struct Gateway {
    child: Child,
    endpoint: String,
    agent_token: String,
    operator_token: String,
    log: Arc<Mutex<String>>,
    home: Home,
}

/// A gateway that just became ready.
struct Started {
    child: Child,
    endpoint: String,
    agent_token: String,
    operator_token: String,
    log: Arc<Mutex<String>>,
}

// === impl Home ===

impl Home {
    /// A home for the program, with this configuration.
    pub fn new(program: impl Into<PathBuf>, config: &str) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("hw").tempdir().context("no temporary directory")?;
        let home = Self { program: program.into(), folder, environment: Vec::new() };
        home.configure(config)?;
        Ok(home)
    }

    /// A variable for the environment of every process started from here.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same home, whose commands are run by another program.
    pub fn by(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// The temporary directory, for whatever else the test keeps.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn config_file(&self) -> PathBuf {
        self.path().join("highwater.yaml")
    }

    pub fn data_dir(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Writes another configuration, whole or not at all. Servers are used as they are, unless it is about that: a
    /// configuration that does not speak of `quarantine` switches it off, and so it is with `approvals`.
    pub fn configure(&self, config: &str) -> anyhow::Result<()> {
        let config = open(config);
        let beside = self.path().join("highwater.yaml.new");
        std::fs::write(&beside, config).context("the configuration cannot be written")?;
        std::fs::rename(&beside, self.config_file()).context("the configuration cannot be written")
    }

    /// A command of the program in these places, such as `serve`, `stdio` or `servers`.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name).arg("--data-dir").arg(self.data_dir());
        if matches!(name, "serve" | "stdio") {
            command.arg("--config").arg(self.config_file());
        }
        command.env_remove("RUST_LOG").envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A client of `highwater stdio`, which joins the gateway of this home or starts one.
    pub fn stdio(&self, era: Era) -> Setup {
        Setup::stdio(self.command("stdio")).era(era)
    }

    /// What the gateway of this home says of itself, if one runs.
    pub fn running(&self) -> Option<Value> {
        serde_json::from_str(&std::fs::read_to_string(self.data_dir().join("gateway.json")).ok()?).ok()
    }

    /// The log of a gateway that `highwater stdio` started, or whatever else was written there.
    pub fn background_log(&self) -> String {
        let logs = std::fs::read_dir(self.data_dir()).into_iter().flatten().flatten();
        let logs = logs.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
        logs.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect()
    }

    /// Starts `highwater serve` on a port of the system's choice and waits until it is ready.
    pub async fn serve(self) -> anyhow::Result<Gateway> {
        Gateway::start(self).await
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let pid = self.running().and_then(|running| running.get("pid")?.as_i64());
        if let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()) {
            end(pid);
        }
    }
}

// === impl Started ===

impl Started {
    /// Starts `highwater serve` and waits until it is ready.
    async fn of(home: &Home) -> anyhow::Result<Self> {
        let mut command = home.command("serve");
        command.args(["--listen", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start the gateway")?;
        let stdout = child.stdout.take().context("the gateway has no output")?;
        let stderr = child.stderr.take().context("the gateway has no error stream")?;
        let log = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&log);
        let logging = tokio::spawn(async move {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < KEPT_LOG {
                    kept.push_str(&line);
                    kept.push('\n');
                }
            }
        });
        let mut lines = BufReader::new(stdout).lines();
        let mut words = [None, None, None];
        while words.iter().any(Option::is_none) {
            let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
            let Some(line) = line.context("the gateway is not ready in time")?? else {
                // Its last words may still be on their way.
                tokio::time::timeout(PATIENCE, logging).await.ok();
                bail!("the gateway ended: {}", log.lock().unwrap_or_else(PoisonError::into_inner));
            };
            for (word, name) in words.iter_mut().zip(["endpoint", "agent token", "operator token"]) {
                let value = line.strip_prefix(name).and_then(|rest| rest.split_whitespace().next());
                *word = word.take().or(value.map(str::to_owned));
            }
        }
        let [Some(endpoint), Some(agent_token), Some(operator_token)] = words else {
            bail!("the gateway said too little")
        };
        // Read to the end, so that it never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { child, endpoint, agent_token, operator_token, log })
    }
}

// === impl Gateway ===

impl Gateway {
    async fn start(home: Home) -> anyhow::Result<Self> {
        let Started { child, endpoint, agent_token, operator_token, log } = Started::of(&home).await?;
        Ok(Self { child, endpoint, agent_token, operator_token, log, home })
    }

    /// Kills the gateway, wherever it is.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Starts it again in the same home after it has ended. It may listen on another port.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        let Started { child, endpoint, agent_token, operator_token, log } = Started::of(&self.home).await?;
        (self.child, self.endpoint, self.log) = (child, endpoint, log);
        (self.agent_token, self.operator_token) = (agent_token, operator_token);
        Ok(())
    }

    /// The URL of the default virtual server.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub fn agent_token(&self) -> &str {
        &self.agent_token
    }

    pub fn operator_token(&self) -> &str {
        &self.operator_token
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// A client over HTTP, with the agent token.
    pub fn http(&self, era: Era) -> Setup {
        Setup::http(&self.endpoint).token(&self.agent_token).era(era)
    }

    /// A client of `highwater stdio`, joined to this gateway.
    pub fn stdio(&self, era: Era) -> Setup {
        self.home.stdio(era)
    }

    /// What the gateway logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a signal to the gateway.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(rustix::process::Pid::from_raw).context("the gateway has ended")?;
        Ok(rustix::process::kill_process(pid, signal)?)
    }

    /// Waits until the gateway has ended.
    pub async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        Ok(ended.context("the gateway does not end")??)
    }

    /// Waits until the gateway has closed every connection of its clients, and so knows that they have left.
    pub async fn abandoned(&self) -> anyhow::Result<()> {
        let pid = self.pid().context("the gateway has ended")?;
        let port = self.endpoint.split(['/', ':']).find_map(|part| part.parse::<u16>().ok());
        let port = port.context("the endpoint names no port")?;
        until_true("every connection is closed", || sockets::served(pid, port) == 0).await
    }

    /// Asks the gateway to stop and waits for it.
    pub async fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.ended().await
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            end(pid);
        }
    }
}

/// A configuration under which servers need no approval and nobody is asked on a page, unless it speaks of that: the
/// page has one port, and tests run beside each other.
fn open(config: &str) -> String {
    // What is no configuration at all stays what it is.
    if !config.contains("servers") {
        return config.to_owned();
    }
    let mut added = Vec::new();
    if !config.contains("quarantine") {
        added.push(("quarantine", Value::Bool(false)));
    }
    if !config.contains("approvals") {
        added.push(("approvals", json!({ "listen": "none" })));
    }
    match serde_json::from_str::<Value>(config) {
        Ok(Value::Object(mut members)) => {
            members.extend(added.into_iter().map(|(key, value)| (key.to_owned(), value)));
            Value::Object(members).to_string()
        }
        _ => added
            .iter()
            .fold(config.trim_end().to_owned(), |config, (key, value)| format!("{config}\n{key}: {value}\n")),
    }
}

/// Ends a process of ours and waits until it is gone, so that nothing writes into a directory that is removed.
fn end(pid: i32) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(pid) else { return };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // One that has ended by itself is what we want.
    pidfd_send_signal(&process, Signal::KILL).ok();
    let patience = Timespec { tv_sec: i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)).ok();
}
