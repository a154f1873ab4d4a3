//! Our side of a child: starting it under its guard, its pipes, its end.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use thiserror::Error;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::guard::{self, Tree};
use crate::resolve::{Missing, hint, resolve};

/// What to start, and with what.
#[derive(Clone)]
pub struct Launch {
    /// The program: a path, or a name that is looked for on the `PATH` in `env`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment. Nothing of ours is inherited.
    pub env: BTreeMap<String, String>,
    /// Where it starts; our own working directory if nothing is said.
    pub cwd: Option<PathBuf>,
    /// The executable whose `guard` command stands over it; our own.
    pub guard: PathBuf,
}

/// Why nothing was started.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The command leads to no file.
    #[error("`{command}` was not found{searched}{hint}")]
    NotFound {
        /// The command as written.
        command: String,
        /// Where it was looked for.
        searched: Searched,
        /// Where it may come from.
        hint: &'static str,
    },
    /// There is a file, but it is no program.
    #[error("`{command}` is not executable")]
    NotExecutable {
        /// The command as written.
        command: String,
    },
    /// The working directory does not exist.
    #[error("the working directory `{}` does not exist", .0.display())]
    NoDirectory(PathBuf),
    /// The system refused.
    #[error("the system refused to start it: {0}")]
    Refused(#[from] std::io::Error),
}

/// Where a command was looked for.
#[derive(Debug)]
pub enum Searched {
    /// It is a path.
    AsPath,
    /// In these directories.
    On(String),
}

/// A running child with its guard. Dropped, the whole tree is asked to end, and ended if it does not.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    reins: Reins,
}

/// The child's three pipes.
#[derive(Debug)]
pub struct Pipes {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it says.
    pub stdout: ChildStdout,
    /// What it grumbles.
    pub stderr: ChildStderr,
}

/// The means to end a child from anywhere. Harmless once it has ended.
#[derive(Clone, Debug)]
pub struct Reins {
    guard: Arc<OwnedFd>,
    pid: Pid,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// The system did not say.
    Unknown,
}

/// Whether a variable of our own environment may be given to every child: what programs need to find their
/// way, and nothing that could be a secret.
pub fn is_safe_variable(name: &str) -> bool {
    matches!(name, "PATH" | "HOME" | "USER" | "LOGNAME" | "LANG" | "TERM" | "TMPDIR" | "SHELL" | "TZ")
        || name.starts_with("LC_")
}

/// Starts a child under a guard. It must be called inside a tokio runtime.
pub fn spawn(launch: &Launch) -> Result<Child, LaunchError> {
    if let Some(cwd) = &launch.cwd
        && !cwd.is_dir()
    {
        return Err(LaunchError::NoDirectory(cwd.clone()));
    }
    let path = launch.env.get("PATH").map(String::as_str);
    resolve(&launch.command, path, launch.cwd.as_deref()).map_err(|missing| explain(missing, launch))?;

    let mut command = Command::new(&launch.guard);
    command.arg("guard").arg("--parent").arg(std::process::id().to_string()).arg("--");
    command.arg(&launch.command).args(&launch.args);
    command.env_clear().envs(&launch.env);
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    // A group of its own: a Ctrl-C meant for us must not reach the child, and the group can be ended whole.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = command.spawn()?;
    Child::watched(process)
}

fn explain(missing: Missing, launch: &Launch) -> LaunchError {
    let command = launch.command.clone();
    match missing {
        Missing::NotExecutable => LaunchError::NotExecutable { command },
        Missing::Absent => {
            let searched = match launch.env.get("PATH") {
                _ if command.contains('/') => Searched::AsPath,
                Some(path) => Searched::On(path.clone()),
                None => Searched::On(String::new()),
            };
            let hint = hint(&command);
            LaunchError::NotFound { command, searched, hint }
        }
    }
}

// === impl Searched ===

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsPath => Ok(()),
            Self::On(path) if path.is_empty() => f.write_str("; its environment has no PATH"),
            Self::On(path) => write!(f, " on its PATH `{path}`"),
        }
    }
}

// === impl Child ===

impl Child {
    fn watched(process: tokio::process::Child) -> Result<Self, LaunchError> {
        let pid = process
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| std::io::Error::other("the child ended before it was known"))?;
        let guard = pidfd_open(pid, PidfdFlags::empty()).map_err(std::io::Error::from)?;
        Ok(Self { process, reins: Reins { guard: Arc::new(guard), pid } })
    }

    /// The guard's process id, which is also the id of the tree's process group.
    pub fn pid(&self) -> u32 {
        self.reins.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The pipes; they can be taken once.
    pub fn take_pipes(&mut self) -> Option<Pipes> {
        Some(Pipes {
            stdin: self.process.stdin.take()?,
            stdout: self.process.stdout.take()?,
            stderr: self.process.stderr.take()?,
        })
    }

    /// The means to end it from elsewhere.
    pub fn reins(&self) -> Reins {
        self.reins.clone()
    }

    /// Waits until the child has ended and its tree with it.
    pub async fn wait(&mut self) -> Ending {
        match self.process.wait().await {
            Ok(status) => {
                // A guard exits; one that was killed leaves its tree behind. While anything of the tree lives,
                // the group's id cannot belong to anybody else.
                if status.code().is_none() {
                    self.reins.kill_group();
                }
                Ending::of(status)
            }
            Err(error) => {
                tracing::warn!(%error, "the end of a child cannot be learnt");
                Ending::Unknown
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Never `kill_on_drop`: a guard that is killed leaves its tree behind.
        self.reins.ask_to_end();
    }
}

// === impl Reins ===

impl Reins {
    /// Asks the tree to end; the guard ends it by force after its grace period, and at once if asked again.
    pub fn ask_to_end(&self) {
        // The only failure is that it has ended already.
        if let Err(error) = pidfd_send_signal(&self.guard, Signal::TERM) {
            tracing::trace!(%error, "nothing to end");
        }
    }

    /// Whether the system says that anything of the tree was stopped, so that it does no work.
    pub fn has_stopped(&self) -> bool {
        Tree::of(self.pid).has_stopped()
    }

    /// The last resort, for a guard that does not do its duty: ends every process of the group, guard included.
    /// Children that left the group escape this.
    pub fn kill(&self) {
        // A guard that has been reaped may have given its id away; a live pidfd says that it has not.
        if pidfd_send_signal(&self.guard, Signal::KILL).is_ok() {
            self.kill_group();
        }
    }

    fn kill_group(&self) {
        if let Err(error) = kill_process_group(self.pid, Signal::KILL) {
            tracing::trace!(%error, "nothing left to end");
        }
    }
}

// === impl Ending ===

impl Ending {
    fn of(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        match (status.code(), status.signal()) {
            (Some(code), _) if code > guard::SIGNAL_BASE => Self::Signalled(code - guard::SIGNAL_BASE),
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(signal) => write!(f, "killed by signal {signal}"),
            Self::Unknown => f.write_str("for an unknown reason"),
        }
    }
}
