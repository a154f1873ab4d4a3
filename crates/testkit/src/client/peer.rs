//! The servers behind a gateway, and the journal in which they note what they really saw.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::wait::{self, PATIENCE};

/// The fixture, or the scripted server, over HTTP. Killed when it is dropped.
pub struct HttpFixture {
    url: String,
    child: Child,
}

/// What a server noted: every message that arrived, one JSON line each, `cancelled` for work that was, and `waited` for a
/// call that waited for a file which is there now.
#[derive(Clone, Debug)]
pub struct Journal {
    path: PathBuf,
}

/// One note.
#[derive(Clone, Debug)]
pub struct Note {
    /// The method, `cancelled` or `waited`; none for an answer.
    pub method: Option<String>,
    /// The exact text that arrived.
    pub raw: String,
    /// The headers of its HTTP request, or `null`.
    pub headers: Value,
}

/// The fixture program, built beside `neighbour`, which is another program of the same build.
pub fn fixture_program(neighbour: &Path) -> anyhow::Result<PathBuf> {
    Ok(programs(neighbour)?.join("fixture"))
}

/// The scripted server, built beside `neighbour`.
pub fn scripted_program(neighbour: &Path) -> anyhow::Result<PathBuf> {
    Ok(programs(neighbour)?.join("scripted"))
}

fn programs(neighbour: &Path) -> anyhow::Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(neighbour).map_err(|error| format!("{error:#}")));
    built.clone().map_err(anyhow::Error::msg)
}

/// Cargo is asked each time: a program left over from an earlier build would tell old stories.
fn build(neighbour: &Path) -> anyhow::Result<PathBuf> {
    let folder = neighbour.parent().context("the program is in no directory")?;
    let target = folder.parent().context("the program is in no target directory")?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["build", "--quiet", "-p", "highwater-testkit", "--bin", "fixture", "--bin", "scripted"]);
    cargo.arg("--target-dir").arg(target);
    if folder.file_name() == Some(OsStr::new("release")) {
        cargo.arg("--release");
    }
    let output = cargo.stdin(Stdio::null()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the servers for tests cannot be built: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(folder.to_owned())
}

// === impl HttpFixture ===

impl HttpFixture {
    /// Starts the program with these arguments and waits until it listens.
    pub async fn start(program: &Path, arguments: &[&str], journal: &Journal) -> anyhow::Result<Self> {
        Self::start_at(program, "127.0.0.1:0", arguments, journal).await
    }

    /// The same at an address that another one had before.
    pub async fn start_at(
        program: &Path,
        address: &str,
        arguments: &[&str],
        journal: &Journal,
    ) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new(program);
        command.args(["--listen", address]).args(arguments).env("FIXTURE_LOG", journal.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start the server")?;
        let stdout = child.stdout.take().context("the server has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        let line = line.context("the server is not ready in time")??.context("the server ended")?;
        let url = line.strip_prefix("listening ").context("the server does not say where it listens")?;
        Ok(Self { url: url.to_owned(), child })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Kills it and waits until it is gone.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}

// === impl Journal ===

impl Journal {
    /// A journal at this path, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything noted so far.
    pub fn notes(&self) -> Vec<Note> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let word = |line: &Value, key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
        let note = |line: Value| Note {
            method: word(&line, "method"),
            raw: word(&line, "raw").unwrap_or_default(),
            headers: line.get("headers").cloned().unwrap_or_default(),
        };
        lines.map(note).collect()
    }

    /// The notes of one method.
    pub fn of(&self, method: &str) -> Vec<Note> {
        self.notes().into_iter().filter(|note| note.method.as_deref() == Some(method)).collect()
    }

    /// Waits for a note of this method whose text contains `part`.
    pub async fn wait(&self, method: &str, part: &str) -> anyhow::Result<Note> {
        let look = async || self.of(method).into_iter().find(|note| note.raw.contains(part));
        wait::until("a note", look).await.map_err(|_| {
            let lines: Vec<String> =
                self.notes().iter().map(|note| format!("  {:?} {}", note.method, note.raw)).collect();
            anyhow::anyhow!("no `{method}` with `{part}` was noted, only:\n{}", lines.join("\n"))
        })
    }
}
