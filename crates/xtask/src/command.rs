//! Running other programs: quietly, without input, and never without a limit.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// How long a program that has ended may keep its output open through children it left behind.
const STRAGGLER_LIMIT: Duration = Duration::from_secs(10);

/// How long a program may take to end after it was asked to.
const FAREWELL_LIMIT: Duration = Duration::from_secs(10);

/// What a program did: how it ended, and everything it wrote to both of its outputs.
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) output: String,
}

/// Runs a program to its end and keeps what it prints.
///
/// A program that outlives `limit`, or leaves children that hold its output open, has failed; what it
/// printed until then is in the outcome.
pub(crate) fn quiet(command: &mut Command, limit: Duration) -> Result<Outcome> {
    let (reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))?;
    // The command keeps its ends of the pipe until it is told to let go.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (collected, closed) = collect(reader);
    let pid = child.id();
    let mut notes = String::new();
    let status = match wait_in_thread(child).recv_timeout(limit) {
        Ok(status) => Some(status?),
        Err(_) => {
            signal(pid, Signal::KILL);
            notes.push_str(&format!("\n`{}` was ended after {} s", shown(command), limit.as_secs()));
            None
        }
    };
    let straggler = closed.recv_timeout(STRAGGLER_LIMIT).is_err();
    if straggler {
        notes.push_str(&format!("\n`{}` left processes behind that hold its output open", shown(command)));
    }
    let bytes = collected.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let output = String::from_utf8_lossy(&bytes).into_owned() + &notes;
    Ok(Outcome { success: status.is_some_and(|status| status.success()) && !straggler, output })
}

/// Runs a program and returns what it printed on its standard output; its standard error is shown when
/// it fails.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let name = shown(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("cannot start `{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{name}` did not print text"))
}

/// Whether a program of this name can be started.
pub(crate) fn exists(program: &str) -> bool {
    search_path().iter().any(|folder| folder.join(program).is_file())
}

/// The folders in which programs are looked for.
#[expect(clippy::disallowed_methods, reason = "child processes get our search path with one folder in front")]
pub(crate) fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// A program that runs beside us, logs to a file, and is asked to end when this value is dropped.
pub(crate) struct Background {
    pid: u32,
    ended: Receiver<std::io::Result<ExitStatus>>,
    pub(crate) log: PathBuf,
}

impl Background {
    /// Starts a program whose standard output is the caller's and whose standard error goes to `log`.
    pub(crate) fn start(
        command: &mut Command,
        log: &Path,
    ) -> Result<(Self, Option<std::process::ChildStdout>)> {
        let file = std::fs::File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))?;
        let stdout = child.stdout.take();
        let background = Self { pid: child.id(), ended: wait_in_thread(child), log: log.to_owned() };
        Ok((background, stdout))
    }

    /// Whether the program has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.ended.try_recv(), Err(mpsc::TryRecvError::Empty))
    }

    /// The end of the program's log, for a message that says why something failed.
    pub(crate) fn last_words(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(40)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        signal(self.pid, Signal::TERM);
        if self.ended.recv_timeout(FAREWELL_LIMIT).is_err() {
            eprintln!("process {} did not end when asked to and was killed", self.pid);
            signal(self.pid, Signal::KILL);
        }
    }
}

/// The program and its arguments as one would type them.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn wait_in_thread(mut child: Child) -> Receiver<std::io::Result<ExitStatus>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait()));
    receiver
}

/// Collects a pipe's bytes in the background; the channel speaks when the pipe is closed.
fn collect(mut reader: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, Receiver<()>) {
    let collected = Arc::new(Mutex::new(Vec::new()));
    let (sender, receiver) = mpsc::channel();
    let sink = Arc::clone(&collected);
    std::thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            let part = buffer.get(..count).unwrap_or_default();
            sink.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(part);
        }
        sender.send(())
    });
    (collected, receiver)
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // A process that has just ended is what we wanted.
        kill_process(pid, signal).ok();
    }
}
