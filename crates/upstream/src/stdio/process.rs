//! The child itself: its start, the tasks that tend its pipes, its end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use highwater_sandbox::{Child, Launch, LaunchError, Pipes, Reins, Searched};
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::timeout;

use super::conversation::Conversation;
use super::heartbeat::WatchedOutput;
use super::lines::Lines;
use super::writer::Writer;
use crate::error::{Cause, UpstreamError};
use crate::link::LinkWorld;
use crate::spec::{ServerSpec, Transport};

/// How long the pipe of an ended child is read on: its last answer may still be in it.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long a child that closed its output may take to end before it is told to.
const FAREWELL: Duration = Duration::from_millis(300);
/// What is left to a guard that was told to end its tree at once.
const FORCED: Duration = Duration::from_secs(1);

/// A running child and the talk with it. Dropped, it is told to end.
pub(super) struct Process {
    pub(super) conversation: Arc<Conversation>,
    reins: Reins,
    pid: u32,
    ended: watch::Receiver<bool>,
}

// === impl Process ===

impl Process {
    /// Starts the child.
    pub(super) fn start(spec: &ServerSpec, wire: &LinkWorld) -> Result<Self, UpstreamError> {
        let refuse = |why: String| wire.fail(Cause::NotStarted(why), false);
        let Transport::Stdio { command, args, env, cwd } = &spec.transport else {
            return Err(refuse("it is no program".to_owned()));
        };
        let launch = Launch {
            command: command.clone(),
            args: args.clone(),
            env: whole_environment(&wire.world.safe_env, env),
            cwd: cwd.clone(),
            guard: PathBuf::clone(&wire.world.guard),
        };
        wire.stderr_tail.begin();
        let mut child =
            highwater_sandbox::spawn(&launch).map_err(|error| wire.fail(why_not(error), false))?;
        let Some(Pipes { stdin, stdout, stderr }) = child.take_pipes() else {
            return Err(refuse("it has no pipes".to_owned()));
        };
        let (writer, rest) = Writer::new(stdin).map_err(|error| refuse(error.to_string()))?;
        let (stderr_tail, upstream, secrets) =
            (Arc::clone(&wire.stderr_tail), wire.upstream.clone(), env.clone());
        tokio::spawn(async move { stderr_tail.drain(&upstream, &secrets, stderr).await });
        let conversation = Arc::new(Conversation::new(wire.clone(), writer, spec.max_reply));
        let (reins, pid) = (child.reins(), child.pid());
        let (tell_end, ended) = watch::channel(false);
        tokio::spawn(tend(child, stdout, spec.max_reply, Arc::clone(&conversation), tell_end));
        tokio::spawn(feed(rest, Arc::clone(&conversation), ended.clone()));
        Ok(Self { conversation, reins, pid, ended })
    }

    /// The guard's process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Becomes true when the child has ended.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.clone()
    }

    /// Ends the child: closes its input, then asks, then insists. Takes `grace` and a second at most.
    pub(super) async fn end(&self, grace: Duration) {
        self.conversation.calls.end(&Cause::ShuttingDown);
        self.conversation.writer.close();
        if self.ends_within(grace / 2).await {
            return;
        }
        self.reins.ask_to_end();
        if self.ends_within(grace / 2).await {
            return;
        }
        self.reins.ask_to_end();
        if !self.ends_within(FORCED).await {
            self.reins.kill();
        }
    }

    /// Ends a child that does not answer, with its whole tree; its calls fail for this reason.
    pub(super) async fn give_up(&self, cause: &Cause, grace: Duration) {
        self.conversation.calls.end(cause);
        self.end(grace).await;
    }

    /// Whether the system says that something of the child's tree was stopped, so that it does no work.
    pub(super) fn has_stopped(&self) -> bool {
        self.reins.has_stopped()
    }

    async fn ends_within(&self, patience: Duration) -> bool {
        let mut ended = self.ended.clone();
        timeout(patience, ended.wait_for(|ended| *ended)).await.is_ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.conversation.calls.end(&Cause::ShuttingDown);
        self.conversation.writer.close();
        self.reins.ask_to_end();
    }
}

/// Reads a child's output to its end and fails its calls when there will be no more.
async fn tend(
    mut child: Child,
    stdout: ChildStdout,
    max_reply: usize,
    conversation: Arc<Conversation>,
    tell_end: watch::Sender<bool>,
) {
    let listener = Arc::clone(&conversation);
    let mut reading = tokio::spawn(async move {
        let stdout = WatchedOutput::new(stdout, Arc::clone(&listener.heard));
        let mut lines = Lines::new(stdout, max_reply);
        while let Some(line) = lines.next().await {
            listener.hear(line);
        }
    });
    let ending = tokio::select! {
        ending = child.wait() => {
            if timeout(LAST_WORDS, &mut reading).await.is_err() {
                reading.abort();
            }
            ending
        }
        _ = &mut reading => match timeout(FAREWELL, child.wait()).await {
            Ok(ending) => ending,
            Err(_) => {
                conversation.calls.end(&Cause::Gone("it closed its output".to_owned()));
                child.reins().ask_to_end();
                child.wait().await
            }
        },
    };
    tracing::debug!(upstream = %conversation.wire.upstream, %ending, "the server's process ended");
    conversation.calls.end(&Cause::Gone(ending.to_string()));
    conversation.writer.close();
    tell_end.send_replace(true);
}

/// Writes what had to wait. A child that closes its input cannot be talked to; one that is ending will tell
/// why in a moment.
async fn feed(
    rest: impl Future<Output = ()>,
    conversation: Arc<Conversation>,
    mut ended: watch::Receiver<bool>,
) {
    rest.await;
    if timeout(FAREWELL, ended.wait_for(|ended| *ended)).await.is_err() {
        conversation.calls.end(&Cause::Gone("it closed its input".to_owned()));
    }
}

fn why_not(error: LaunchError) -> Cause {
    match error {
        LaunchError::NotFound { command, searched, hint } => {
            let searched = match searched {
                Searched::AsPath => None,
                Searched::On(path) => Some(path),
            };
            Cause::NoProgram { command, searched, hint }
        }
        error @ (LaunchError::NotExecutable { .. }
        | LaunchError::NoDirectory(_)
        | LaunchError::Refused(_)) => Cause::NotStarted(error.to_string()),
    }
}

fn whole_environment(safe: &[(String, String)], own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = safe.iter().cloned().collect();
    env.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    env
}
