//! What the kernel says about processes and the machine: CPU time, resident memory, and how much of the
//! machine others used meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

/// Linux reports process times to user space in hundredths of a second on every machine it runs on.
const NANOS_PER_TICK: u64 = 10_000_000;

/// The CPU time that a group of processes has used so far.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuTime {
    /// Exact, by thread, but gone when the thread ends.
    threads: BTreeMap<(u32, u32), u64>,
    /// Coarse, by process, with ended threads in it.
    processes: BTreeMap<u32, u64>,
}

/// How the whole machine has spent its time so far, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MachineTime {
    busy: u64,
    total: u64,
}

/// The run queue as others left it before we began.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Load {
    pub(super) one_minute: f64,
    pub(super) cores: usize,
}

// === impl CpuTime ===

impl CpuTime {
    /// Reads the time used by these processes; one that has ended counts as nothing.
    pub(super) fn of(pids: &[u32]) -> Self {
        let mut time = Self::default();
        for &pid in pids {
            if let Some(ticks) = process_ticks(pid) {
                time.processes.insert(pid, ticks * NANOS_PER_TICK);
            }
            let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            for task in tasks.flatten() {
                let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
                let ran = fs::read_to_string(task.path().join("schedstat")).ok();
                let ran = ran.as_deref().and_then(|line| line.split_whitespace().next()?.parse().ok());
                if let (Some(thread), Some(ran)) = (thread, ran) {
                    time.threads.insert((pid, thread), ran);
                }
            }
        }
        time
    }

    /// Nanoseconds used since `before`. Threads are summed for resolution; where that falls behind the coarse
    /// figure by more than its rounding, threads have ended in between and the coarse figure is the true one.
    pub(super) fn since(&self, before: &Self) -> u64 {
        let exact = grown(&self.threads, &before.threads);
        let coarse = grown(&self.processes, &before.processes);
        let rounding = 2 * NANOS_PER_TICK * self.processes.len() as u64;
        if coarse > exact + rounding { coarse } else { exact }
    }
}

/// Nanoseconds that the threads of this name in a process have used so far.
pub(super) fn thread_time(pid: u32, name: &str) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_name = tasks
        .filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name));
    let ran = of_name.filter_map(|task| {
        fs::read_to_string(task.path().join("schedstat")).ok()?.split_whitespace().next()?.parse::<u64>().ok()
    });
    ran.sum()
}

fn grown<K: Ord>(after: &BTreeMap<K, u64>, before: &BTreeMap<K, u64>) -> u64 {
    after.iter().map(|(key, value)| value.saturating_sub(before.get(key).copied().unwrap_or(0))).sum()
}

fn process_ticks(pid: u32) -> Option<u64> {
    let fields = stat_fields(pid)?;
    // Counted from the state, which is the first field after the name: utime and stime are the 12th and 13th.
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// The fields of `/proc/PID/stat` after the name, which may itself hold spaces and brackets.
fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = line.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// The process and everything it has started that still runs.
pub(super) fn with_descendants(root: u32) -> Vec<u32> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let parent = pid.and_then(stat_fields).and_then(|fields| fields.get(1)?.parse::<u32>().ok());
        if let (Some(pid), Some(parent)) = (pid, parent) {
            parents.insert(pid, parent);
        }
    }
    let mut family = BTreeSet::from([root]);
    // Each pass reaches one generation further.
    loop {
        let before = family.len();
        family.extend(
            parents
                .iter()
                .filter(|(_, parent)| family.contains(parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if family.len() == before {
            return family.into_iter().collect();
        }
    }
}

/// Resident memory of a process and its descendants, in MiB.
pub(super) fn resident_mib(root: u32) -> Option<f64> {
    let mut kib = 0;
    for pid in with_descendants(root) {
        let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        kib += line.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(kib as f64 / 1024.0)
}

// === impl MachineTime ===

impl MachineTime {
    pub(super) fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        let field = |index: usize| ticks.get(index).copied().unwrap_or(0);
        // user, nice, system and steal. Interrupts are left out: on the loopback they are our own packets.
        Self { busy: field(0) + field(1) + field(2) + field(7), total: ticks.iter().take(8).sum() }
    }

    /// The share of the machine that others used since `before`, given what our own processes used.
    pub(super) fn foreign_share_since(&self, before: &Self, ours_nanos: u64) -> f64 {
        let total = self.total.saturating_sub(before.total);
        if total == 0 {
            return 0.0;
        }
        let busy = self.busy.saturating_sub(before.busy) as f64;
        let ours = ours_nanos as f64 / NANOS_PER_TICK as f64;
        ((busy - ours) / total as f64).max(0.0)
    }
}

// === impl Load ===

impl Load {
    pub(super) fn now() -> Self {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let one_minute = text.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0.0);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { one_minute, cores }
    }

    /// Whether somebody else was busy here just before.
    pub(super) fn is_high(&self) -> bool {
        self.one_minute > 0.25 * self.cores as f64
    }
}

/// The processor's name and the kernel's version, for the record.
pub(super) fn description() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{processor}, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_this_process_is_seen() {
        let me = [std::process::id()];
        let before = CpuTime::of(&me);
        let mut sum = 0_u64;
        while CpuTime::of(&me).since(&before) < 3_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(sum > 0);
    }

    #[test]
    fn threads_that_ended_are_not_forgotten() {
        let before = CpuTime::default();
        let after = CpuTime {
            threads: BTreeMap::from([((1, 1), 5_000_000)]),
            processes: BTreeMap::from([(1, 900_000_000)]),
        };
        assert_eq!(after.since(&before), 900_000_000);
        let rounded = CpuTime { processes: BTreeMap::from([(1, 10_000_000)]), ..after };
        assert_eq!(rounded.since(&before), 5_000_000);
    }

    #[test]
    fn what_others_used_is_the_rest() {
        let before = MachineTime { busy: 100, total: 1_000 };
        let after = MachineTime { busy: 200, total: 1_400 };
        // 100 ticks busy of 400, of which 60 ticks were ours.
        let share = after.foreign_share_since(&before, 60 * NANOS_PER_TICK);
        assert!((share - 0.1).abs() < 1e-9, "{share}");
    }

    #[test]
    fn this_process_is_resident() {
        assert!(resident_mib(std::process::id()).unwrap() > 0.5);
    }
}
