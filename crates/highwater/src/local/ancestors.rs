//! The processes above a hook, as the system tells them. Who runs a hook is looked up by its gateway: what a process says of
//! itself is no evidence.

use std::fs;
use std::path::Path;

use highwater_hosts::ancestry::{Ancestry, Process, ancestry, host_at, outer_host_at};
use highwater_hosts::binding::HostProcess;

/// Longer chains are not followed.
const MAX_DEPTH: usize = 64;

/// How much of a command line is looked at: the program and the script that it runs.
const MAX_ARGUMENTS: usize = 2;

/// What stands above a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Above {
    /// The process of the host that ran it, if there is one.
    pub(crate) host: Option<HostProcess>,
    /// The process of the host whose tool started that one.
    pub(crate) outer: Option<HostProcess>,
    pub(crate) ancestry: Ancestry,
}

/// One process of the chain.
struct Ancestor {
    identity: HostProcess,
    process: Process,
}

// === impl Above ===

impl Above {
    /// What stands above a process; nothing is known where the system does not tell.
    pub(crate) fn process(id: Option<u32>) -> Self {
        let unknown = Self { host: None, outer: None, ancestry: Ancestry::Unknown };
        let Some(id) = id else { return unknown };
        let (chain, whole) = chain(Path::new("/proc"), id);
        let processes: Vec<Process> = chain.iter().map(|ancestor| ancestor.process.clone()).collect();
        let at = |at: Option<usize>| at.and_then(|at| chain.get(at)).map(|ancestor| ancestor.identity);
        let (host, outer) = (at(host_at(&processes)), at(outer_host_at(&processes)));
        Self { host, outer, ancestry: ancestry(&processes, whole) }
    }
}

/// The ancestors of a process, nearest first, and whether they reach the first process of the system.
fn chain(system: &Path, id: u32) -> (Vec<Ancestor>, bool) {
    let mut chain = Vec::new();
    let Some((mut parent, _)) = parent_and_start(system, id) else { return (chain, false) };
    while parent != 0 {
        let Some((next, started)) = parent_and_start(system, parent) else { return (chain, false) };
        if chain.len() >= MAX_DEPTH {
            return (chain, false);
        }
        let process = described(system, parent);
        chain.push(Ancestor { identity: HostProcess { id: parent, started }, process });
        parent = next;
    }
    (chain, true)
}

/// The parent of a process, and when the process was started, in ticks of the system's clock.
fn parent_and_start(system: &Path, id: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(system.join(id.to_string()).join("stat")).ok()?;
    // The name stands in brackets and may itself hold brackets and blanks.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

/// What a process runs. Of another account's processes only the command line can be read, and no host of ours is one.
fn described(system: &Path, id: u32) -> Process {
    let folder = system.join(id.to_string());
    let line = fs::read(folder.join("cmdline")).unwrap_or_default();
    let arguments = line.split(|byte| *byte == 0).take(MAX_ARGUMENTS);
    let arguments: Vec<String> =
        arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect();
    let program = fs::read_link(folder.join("exe")).map(|path| path.to_string_lossy().into_owned());
    let program = program.ok().or_else(|| arguments.first().cloned()).unwrap_or_default();
    Process { program, arguments }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A made-up `/proc` with one process after the other, the first of the system last.
    fn system(programs: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (at, line) in programs.iter().enumerate() {
            let id = programs.len() - at;
            let process = folder.path().join(id.to_string());
            fs::create_dir(&process).unwrap();
            let parent = id - 1;
            let stat =
                format!("{id} (a ) (b) S {parent} 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0\n", 100 + id);
            fs::write(process.join("stat"), stat).unwrap();
            fs::write(process.join("cmdline"), line.replace(' ', "\0")).unwrap();
            symlink(line.split(' ').next().unwrap(), process.join("exe")).unwrap();
        }
        folder
    }

    #[test]
    fn the_chain_is_followed_to_its_end() {
        let system = system(&[
            "/usr/bin/highwater hook",
            "/bin/sh -c x",
            "/usr/bin/claude",
            "/bin/bash",
            "/sbin/init",
        ]);
        let (found, whole) = chain(system.path(), 5);
        let programs: Vec<_> = found.iter().map(|ancestor| ancestor.process.program.as_str()).collect();
        assert_eq!(programs, ["/bin/sh", "/usr/bin/claude", "/bin/bash", "/sbin/init"]);
        assert!(whole);
        assert_eq!(found[1].identity, HostProcess { id: 3, started: 103 });
    }

    #[test]
    fn a_chain_that_breaks_off_is_not_whole() {
        let system = system(&["/usr/bin/highwater hook", "/usr/bin/claude", "/sbin/init"]);
        fs::remove_dir_all(system.path().join("1")).unwrap();
        let (found, whole) = chain(system.path(), 3);
        assert_eq!((found.len(), whole), (1, false));
        assert_eq!(chain(system.path(), 77).0.len(), 0);
    }
}
