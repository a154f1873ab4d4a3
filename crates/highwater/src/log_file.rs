//! The log of a gateway as a file in its data directory: one JSON object a line, of a bounded size. `highwater logs` reads
//! it. Where `serve` runs at a terminal, it prints the same there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A log above this size is put aside, in place of the one that was put aside before.
const LARGEST: u64 = 4 << 20;

/// How much is kept of what is logged before it is known where to.
const LARGEST_BEFORE: usize = 64 << 10;

/// The one log of this process.
static LOG: LogFile = LogFile { state: Mutex::new(LogTarget::Before(Vec::new())) };

/// Where a gateway logs to.
pub(crate) fn current(data: &Path) -> PathBuf {
    data.join("gateway.log")
}

/// What was logged before that.
pub(crate) fn earlier(data: &Path) -> PathBuf {
    data.join("gateway.log.1")
}

/// Takes what is logged.
#[derive(Clone, Copy)]
pub(crate) struct Sink;

/// The log of a process.
struct LogFile {
    state: Mutex<LogTarget>,
}

enum LogTarget {
    /// It is not known yet where the data directory is, or whose.
    Before(Vec<u8>),
    Open(Open),
    /// It cannot be written.
    Broken,
}

struct Open {
    file: File,
    size: u64,
    data: PathBuf,
}

/// From here on the log goes to the data directory, which must be ours alone.
pub(crate) fn open(data: &Path) {
    let mut state = LOG.state();
    let LogTarget::Before(before) = &*state else { return };
    let opened = Open::of(data).and_then(|mut open| open.write(before).map(|()| open));
    let failure = opened.as_ref().err().map(ToString::to_string);
    *state = opened.map_or(LogTarget::Broken, LogTarget::Open);
    drop(state);
    if let Some(error) = failure {
        tracing::warn!(error, "`gateway.log` cannot be written, so `highwater logs` has nothing to show");
    }
}

// === impl LogFile ===

impl LogFile {
    fn state(&self) -> MutexGuard<'_, LogTarget> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Open ===

impl Open {
    fn of(data: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(current(data))?;
        let size = file.metadata()?.len();
        Ok(Self { file, size, data: data.to_owned() })
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let length = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if self.size > 0 && self.size.saturating_add(length) > LARGEST {
            fs::rename(current(&self.data), earlier(&self.data))?;
            *self = Self::of(&self.data)?;
        }
        self.file.write_all(lines)?;
        self.size = self.size.saturating_add(length);
        Ok(())
    }
}

// === impl Sink ===

impl Write for Sink {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = LOG.state();
        match &mut *state {
            LogTarget::Before(before) if before.len() + line.len() <= LARGEST_BEFORE => {
                before.extend_from_slice(line)
            }
            LogTarget::Before(_) | LogTarget::Broken => {}
            // A log that cannot be written stops nothing; standard error still has it.
            LogTarget::Open(open) => {
                if open.write(line).is_err() {
                    *state = LogTarget::Broken;
                }
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_full_is_put_aside_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut open = Open::of(folder.path()).unwrap();
        let line = [b"x".repeat(1 << 20), b"\n".to_vec()].concat();
        for _ in 0..9 {
            open.write(&line).unwrap();
        }
        let size = |path: PathBuf| fs::metadata(path).unwrap().len();
        assert!(size(current(folder.path())) <= LARGEST && size(earlier(folder.path())) <= LARGEST);
        assert!(size(current(folder.path())) > 0);
    }
}
