//! Everything below one process, read from `/proc` at the moment of asking.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The descendants of one process. Orphans among them are adopted by it, so none gets away by losing its
/// parent or by starting a session of its own.
pub(crate) struct Tree {
    root: i32,
}

// === impl Tree ===

impl Tree {
    pub(crate) fn of(root: Pid) -> Self {
        Self { root: root.as_raw_nonzero().get() }
    }

    /// Signals every living descendant and says how many there were.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        let descendants = self.descendants();
        descendants.iter().filter(|pid| self.reach(**pid, &descendants, signal)).count()
    }

    /// Whether any of them was stopped, and not by a debugger.
    pub(crate) fn has_stopped(&self) -> bool {
        let is_stopped = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            state(&stat) == Some("T")
        };
        self.descendants().iter().any(is_stopped)
    }

    fn descendants(&self) -> HashSet<i32> {
        let parents = parents();
        let mut found = HashSet::new();
        // A child's id may be smaller than its parent's, so one pass is not enough.
        loop {
            let before = found.len();
            for (pid, parent) in &parents {
                if *parent == self.root || found.contains(parent) {
                    found.insert(*pid);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// Signals one process if it still belongs here. Ids are reused, so it is held first and looked at again;
    /// one whose parent ended meanwhile is ours by adoption.
    fn reach(&self, pid: i32, tree: &HashSet<i32>, signal: Signal) -> bool {
        let Some(held) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            return false;
        };
        let ours = living_parent(pid).is_some_and(|parent| parent == self.root || tree.contains(&parent));
        ours && pidfd_send_signal(held, signal).is_ok()
    }
}

/// Each living process and its parent.
fn parents() -> HashMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, living_parent(pid)?)))
        .collect()
}

/// The parent of a process that has not ended yet.
fn living_parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    read_stat(&stat)
}

/// Reads state and parent. The name before them is the program's own choice and may hold anything, so the last
/// parenthesis counts.
fn read_stat(stat: &str) -> Option<i32> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then_some(parent)
}

/// The state of a process, as one letter.
fn state(stat: &str) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_hide_the_parent() {
        assert_eq!(read_stat("7 (sh) S 3 7 7 0"), Some(3));
        assert_eq!(read_stat("7 (a) R 1 (b) S 3 7 7 0"), Some(3));
        assert_eq!(read_stat("7 (sh) Z 3 7 7 0"), None);
        assert_eq!(read_stat("garbage"), None);
    }

    #[test]
    fn a_child_is_a_descendant_and_an_ended_one_is_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let tree = Tree::of(rustix::process::getpid());
        let id = i32::try_from(child.id()).unwrap();
        assert!(tree.descendants().contains(&id));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!tree.descendants().contains(&id));
    }

    #[test]
    fn a_child_that_was_stopped_is_told_from_one_that_sleeps() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let has_stopped =
            || state(&std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap()) == Some("T");
        assert!(!has_stopped());
        rustix::process::kill_process(pid, Signal::STOP).unwrap();
        while !has_stopped() {
            std::thread::yield_now();
        }
        assert!(Tree::of(rustix::process::getpid()).has_stopped());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
