//! The process between us and a child. It adopts every orphan of the child's tree, waits for the child, for us
//! and for signals, and leaves nothing of the tree behind.
//!
//! It runs no runtime and holds no memory to speak of: one `poll` on our pidfd and on a socket into which
//! signals write. What it does not survive is being killed itself; then we end its process group.

mod orders;
mod tree;

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, pidfd_open,
    set_child_subreaper, wait,
};

use orders::Orders;
pub(crate) use tree::Tree;

/// A child that was ended by signal N makes the guard exit with this plus N, as shells do.
pub const SIGNAL_BASE: i32 = 128;

/// How long a tree that was asked to end may take. Asked a second time, it is ended at once.
pub const ASKED_GRACE: Duration = Duration::from_secs(5);

/// How long a tree may take when we are gone: enough for a client of a container to pass the word on.
const ORPHANED_GRACE: Duration = Duration::from_millis(500);

/// The waits between two looks at a tree that is being ended.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The exit code when the program cannot be executed, and when the orders make no sense.
const CANNOT_START: u8 = 126;

/// Runs the guard: `--parent PID -- COMMAND ARGS…`. Returns when the child's whole tree is gone.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let outcome = Orders::read(arguments).and_then(|orders| Guard::start(&orders)?.watch());
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("highwater guard: {error}");
            ExitCode::from(CANNOT_START)
        }
    }
}

struct Guard {
    parent: OwnedFd,
    signals: UnixStream,
    children: UnixStream,
    child: Pid,
    tree: Tree,
    /// How the child ended, once it has.
    ended: Option<WaitStatus>,
    /// When the tree is ended by force, once it has been asked to end.
    deadline: Option<Instant>,
}

// === impl Guard ===

impl Guard {
    fn start(orders: &Orders) -> Result<Self, String> {
        let says = |what: &'static str| move |error: rustix::io::Errno| format!("{what}: {error}");
        set_child_subreaper(Some(getpid())).map_err(says("orphans cannot be adopted"))?;
        let parent =
            pidfd_open(orders.parent, PidfdFlags::empty()).map_err(says("the gateway cannot be watched"))?;
        // Checked after the pidfd is open: from here on an end of the gateway cannot be missed.
        if getppid() != Some(orders.parent) {
            return Err("the gateway ended before its child was started".to_owned());
        }
        let signals =
            bell(&[signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP])
                .map_err(|error| format!("signals cannot be received: {error}"))?;
        let children = bell(&[signal_hook::consts::SIGCHLD])
            .map_err(|error| format!("signals cannot be received: {error}"))?;
        let child = Command::new(&orders.command)
            .args(&orders.args)
            .spawn()
            .map_err(|error| format!("cannot start `{}`: {error}", orders.command.display()))?;
        let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("the child has no id")?;
        let guard =
            Self { parent, signals, children, child, tree: Tree::of(getpid()), ended: None, deadline: None };
        release_pipes();
        Ok(guard)
    }

    fn watch(mut self) -> Result<ExitCode, String> {
        let mut watch_parent = true;
        while self.ended.is_none() {
            let timeout = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if timeout == Some(Duration::ZERO) {
                break;
            }
            let gone = self.sleep(timeout, watch_parent)?;
            self.reap();
            if gone {
                watch_parent = false;
                self.ask_to_end(ORPHANED_GRACE);
            }
            match drain(&mut self.signals) {
                0 => {}
                _ if self.deadline.is_some() && watch_parent => break,
                _ => self.ask_to_end(ASKED_GRACE),
            }
        }
        self.end_tree();
        Ok(self.exit_code())
    }

    /// Sleeps until something happens; true if the gateway has ended.
    fn sleep(&self, timeout: Option<Duration>, watch_parent: bool) -> Result<bool, String> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut fds =
            vec![PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
        if watch_parent {
            fds.push(PollFd::new(&self.parent, PollFlags::IN));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(fds.get(2).is_some_and(|parent| !parent.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(format!("cannot wait: {error}")),
        }
    }

    fn ask_to_end(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self.signal(Signal::TERM);
    }

    /// Signals the whole tree and says whether anybody was left. A child that `/proc` does not show is reached
    /// all the same: it has not been reaped, so its id is still its own.
    fn signal(&self, signal: Signal) -> bool {
        let reached = self.tree.signal(signal) > 0;
        if !reached && self.ended.is_none() {
            return kill_process(self.child, signal).is_ok();
        }
        reached
    }

    /// Takes every ended child and adopted orphan off the system's list, and notes how the child itself ended.
    fn reap(&mut self) {
        drain(&mut self.children);
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.child {
                self.ended = Some(status);
            }
        }
    }

    /// Kills until nobody is left. New ones may be born while we look, so it looks again.
    fn end_tree(&mut self) {
        let mut pause = FIRST_PAUSE;
        while self.signal(Signal::KILL) {
            // Woken by the next death; the bound is for a process that was born after we looked.
            drop(self.sleep(Some(pause), false));
            self.reap();
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.reap();
    }

    fn exit_code(&self) -> ExitCode {
        let code = match self.ended {
            Some(status) => status
                .exit_status()
                .or_else(|| status.terminating_signal().map(|signal| SIGNAL_BASE + signal))
                .and_then(|code| u8::try_from(code).ok()),
            None => None,
        };
        ExitCode::from(code.unwrap_or(CANNOT_START))
    }
}

/// A socket that becomes readable when one of the signals arrives.
fn bell(signals: &[i32]) -> std::io::Result<UnixStream> {
    let (hears, rings) = UnixStream::pair()?;
    hears.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, rings.try_clone()?)?;
    }
    Ok(hears)
}

/// Empties the socket and says how often it rang.
fn drain(bell: &mut UnixStream) -> usize {
    let mut rung = 0;
    let mut buffer = [0_u8; 64];
    while let Ok(count @ 1..) = bell.read(&mut buffer) {
        rung += count;
    }
    rung
}

/// Lets go of the child's stdin and stdout: while we held them, the child's own end of them could not be seen
/// from the other side. Stderr stays for our own complaints.
fn release_pipes() {
    let released = std::fs::File::options().read(true).write(true).open("/dev/null").and_then(|null| {
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        Ok(())
    });
    if let Err(error) = released {
        eprintln!("highwater guard: the pipes stay open: {error}");
    }
}
