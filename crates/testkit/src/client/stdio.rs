//! A client on the standard streams of a child process.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex as AsyncMutex;

use super::core::Core;
use super::message::Message;

/// How much of what the child says on standard error is kept.
const KEPT_ERRORS: usize = 64 * 1024;

pub(super) struct StdioLine {
    input: AsyncMutex<Option<ChildStdin>>,
    child: AsyncMutex<Child>,
    errors: Arc<Mutex<String>>,
}

// === impl StdioLine ===

impl StdioLine {
    /// Starts the child and reads what it says. It is killed when the client is dropped.
    pub(super) fn start(mut command: Command, core: &Arc<Core>) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start the server")?;
        let input = child.stdin.take().context("the child has no input")?;
        let output = child.stdout.take().context("the child has no output")?;
        let stderr = child.stderr.take().context("the child has no error stream")?;
        let errors = Arc::new(Mutex::new(String::new()));
        tokio::spawn(read(output, Arc::clone(core)));
        tokio::spawn(keep(stderr, Arc::clone(&errors)));
        Ok(Self { input: AsyncMutex::new(Some(input)), child: AsyncMutex::new(child), errors })
    }

    /// Writes bytes as they are.
    pub(super) async fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut input = self.input.lock().await;
        let input = input.as_mut().context("the input is closed")?;
        input.write_all(bytes).await.context("the server reads no more")?;
        input.flush().await.context("the server reads no more")
    }

    /// Closes the input.
    pub(super) async fn close(&self) {
        self.input.lock().await.take();
    }

    pub(super) async fn wait(&self, patience: Duration) -> anyhow::Result<ExitStatus> {
        let mut child = self.child.lock().await;
        let ended = tokio::time::timeout(patience, child.wait()).await;
        Ok(ended.with_context(|| format!("it did not end within {patience:?}"))??)
    }

    pub(super) async fn pid(&self) -> Option<u32> {
        self.child.lock().await.id()
    }

    pub(super) fn errors(&self) -> String {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn read(output: ChildStdout, core: Arc<Core>) {
    let mut lines = BufReader::new(output).lines();
    loop {
        match lines.next_line().await {
            Ok(Some(line)) => match Message::parse(&line) {
                Ok(message) => core.arrived(message, None),
                Err(error) => {
                    core.inbox.close(&format!("{error:#}"));
                    return;
                }
            },
            Ok(None) => return core.inbox.close("the server closed its output"),
            Err(error) => return core.inbox.close(&format!("the output cannot be read: {error}")),
        }
    }
}

async fn keep(mut stderr: ChildStderr, errors: Arc<Mutex<String>>) {
    let mut chunk = vec![0_u8; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let text = String::from_utf8_lossy(chunk.get(..count).unwrap_or_default()).into_owned();
        let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() < KEPT_ERRORS {
            errors.push_str(&text);
        }
    }
}
