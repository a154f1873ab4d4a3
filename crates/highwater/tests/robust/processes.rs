//! Processes as the system shows them. Those of a test are known by a path of its own in their environment.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use highwater_testkit::wait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::stage::until;

/// One process, held so that its id cannot come to mean another.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) command: String,
    held: OwnedFd,
}

// === impl Process ===

impl Process {
    pub(crate) fn kill(&self) {
        pidfd_send_signal(&self.held, Signal::KILL).unwrap();
    }

    pub(crate) fn has_ended(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.held, PollFlags::IN)], Some(&now)).unwrap() > 0
    }

    /// Waits until the process has ended.
    pub(crate) async fn gone(&self) {
        let what = format!("`{}` ({}) ends", self.command, self.pid);
        until(&what, || self.has_ended()).await;
    }

    fn is_guard(&self) -> bool {
        self.command.split(' ').nth(1) == Some("guard")
    }
}

/// Every process whose environment or command line names this path.
pub(crate) fn naming(path: &Path) -> Vec<Process> {
    let path = path.to_str().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let read = |what: &str| {
            let bytes = std::fs::read(entry.path().join(what)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let command = read("cmdline");
        if !command.contains(path) && !read("environ").contains(path) {
            continue;
        }
        let held = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        if let Some(held) = held {
            let process = Process { pid, command: command.trim_end().to_owned(), held };
            if !process.has_ended() {
                found.push(process);
            }
        }
    }
    found
}

/// Waits until no process names this path any more.
pub(crate) async fn none_naming(path: &Path) {
    let gone = wait::until_true("no process", || naming(path).is_empty()).await;
    gone.unwrap_or_else(|error| {
        let left: BTreeMap<i32, String> =
            naming(path).into_iter().map(|process| (process.pid, process.command)).collect();
        panic!("{error:#}: still there: {left:#?}")
    });
}

/// The guard and the server that write this journal, once both run and the guard has become what it is.
pub(crate) async fn of_server(journal: &Path) -> (Process, Process) {
    let both = wait::until("guard and server", async || {
        let (mut guards, mut servers): (Vec<_>, Vec<_>) =
            naming(journal).into_iter().partition(Process::is_guard);
        let ([_], [_]) = (&guards[..], &servers[..]) else { return None };
        Some((guards.remove(0), servers.remove(0)))
    });
    both.await.unwrap_or_else(|error| panic!("{error:#}: {:#?}", naming(journal)))
}
