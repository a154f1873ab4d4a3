//! Running the program: in a place of its own, with bounded patience.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use highwater_testkit::wait::PATIENCE;
use serde_json::Value;

/// How often to look again where there is nothing to wait for.
const LOOK: Duration = Duration::from_millis(10);

/// A home directory for the program, empty at first.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

/// A running program. Ended by force when dropped.
pub(crate) struct Running {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// The working directory, which is also the home.
    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Where data goes unless said otherwise.
    pub(crate) fn data(&self) -> PathBuf {
        self.home().join(".local/share/highwater")
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// What the running gateway says of itself.
    pub(crate) fn gateway(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.data().join("gateway.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
        command.args(arguments).current_dir(self.home()).env_clear();
        command.env("HOME", self.home()).env("PATH", env!("PATH")).env("SECRET_OF_TEST", "swordfish");
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs a command to its end, with these variables as well.
    pub(crate) fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let environment = environment.iter().copied();
        self.command(arguments).envs(environment).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts a command that stays.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Self::started(self.command(arguments))
    }

    /// The same, with these variables as well.
    pub(crate) fn start_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Running {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        Self::started(command)
    }

    /// The same, in another group of users where that is allowed.
    pub(crate) fn start_in_group(&self, arguments: &[&str], group: u32) -> Running {
        let mut command = self.command(arguments);
        if rustix::process::geteuid().is_root() {
            command.gid(group);
        }
        Self::started(command)
    }

    fn started(mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Running {
            stdin: child.stdin.take(),
            lines: lines(child.stdout.take().unwrap()),
            errors: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    /// Processes other than us whose command line names this place.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let place = self.home().to_str().unwrap();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A process that has just ended has no command line any more.
            let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(place) {
                found.push((pid, line));
            }
        }
        found
    }

    /// Waits until no process of this place is left.
    pub(crate) fn wait_until_quiet(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "still running: {:#?}", self.processes());
            thread::sleep(LOOK);
        }
    }
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// The next line of standard output; `None` at its end.
    pub(crate) fn line(&self) -> Option<String> {
        next(&self.lines)
    }

    /// Reads standard output up to a line with this in it, and gives all of it.
    pub(crate) fn lines_until(&self, wanted: &str) -> String {
        until(&self.lines, wanted)
    }

    /// Reads standard error up to a line with this in it, and gives all of it.
    pub(crate) fn errors_until(&self, wanted: &str) -> String {
        until(&self.errors, wanted)
    }

    /// Reads standard error to its end.
    pub(crate) fn rest_of_errors(&self) -> String {
        std::iter::from_fn(|| next(&self.errors)).map(|line| line + "\n").collect()
    }

    /// Sends one message and, if it is a request, gives the reply to it.
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
        if message["id"].is_null() {
            return Value::Null;
        }
        loop {
            let line = self.line().expect("a reply");
            let reply: Value = serde_json::from_str(&line).unwrap();
            if reply["id"] == message["id"] {
                return reply;
            }
        }
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the program does not end");
            thread::sleep(LOOK);
        }
    }

    /// Tells the program that nothing more comes, and waits for its end.
    pub(crate) fn leave(&mut self) -> ExitStatus {
        self.stdin = None;
        self.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn next(lines: &Receiver<String>) -> Option<String> {
    match lines.recv_timeout(PATIENCE) {
        Ok(line) => Some(line),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => panic!("nothing was said"),
    }
}

fn until(lines: &Receiver<String>, wanted: &str) -> String {
    let mut read = String::new();
    loop {
        let Some(line) = next(lines) else { panic!("`{wanted}` was never said, but this was:\n{read}") };
        read.push_str(&line);
        read.push('\n');
        if line.contains(wanted) {
            return read;
        }
    }
}
