//! The audit log: JSON lines, appended and handed to the operating system before the caller goes on.
//!
//! A record survives the death of the process the moment `append` returns; a background flush every second
//! bounds what a power cut can take. There is no queue that could be lost: who has something to record waits for the
//! write, alone or with others.

mod batch;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::Duration;

use highwater_core::audit::AuditEvent;
use thiserror::Error;

pub use self::batch::Appending;
use self::batch::{BATCHES, Batch};
use crate::DataDir;

/// A segment that has grown this large is closed and the next begun, so that old ones can be moved away.
const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// How often written records are forced to disk.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Room for the records of most batches, which is kept.
const USUAL_LINE: usize = 16 * 1024;

/// Proof that an event is in the log. Only the log can make it.
///
/// ```compile_fail
/// use highwater_store::Appended;
/// let forged = Appended { _private: () };
/// ```
#[derive(Debug)]
pub struct Appended {
    _private: (),
}

/// The log of one data directory.
#[derive(Debug)]
pub struct AuditLog {
    folder: PathBuf,
    /// Writers and the flush share it; only the change to the next segment is exclusive.
    segment: Arc<RwLock<Segment>>,
    batches: [Mutex<Batch>; BATCHES],
}

#[derive(Debug)]
struct Segment {
    number: u64,
    file: File,
    bytes: AtomicU64,
    /// Whether something was written since the last flush.
    dirty: AtomicBool,
    /// Whether the file ends within a line, because a write failed half-way: the next one starts a new line. Held while
    /// writing, so that every writer knows how the one before it ended.
    torn: Mutex<bool>,
}

/// The event is not in the log, so what it speaks of must not happen.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The operating system refused.
    #[error("cannot {doing} the audit log in `{path}`: {source}")]
    Io {
        /// What we tried.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

// === impl AuditLog ===

impl AuditLog {
    /// Opens the log for appending.
    pub fn open(dir: &DataDir) -> Result<Self, AuditError> {
        let folder = dir.path().join("audit");
        let failed = |doing| {
            let path = folder.clone();
            move |source| AuditError::Io { doing, path, source }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed("create"))?;
        let number = last_segment(&folder).map_err(failed("list"))?.unwrap_or(1);
        let segment = Segment::open(&folder, number).map_err(failed("open"))?;
        let segment = Arc::new(RwLock::new(segment));
        flush_in_background(Arc::downgrade(&segment)).map_err(failed("watch over"))?;
        Ok(Self { folder, segment, batches: Default::default() })
    }

    /// Appends one event. When this returns, the event outlives the process.
    pub fn append(&self, event: &AuditEvent<'_>) -> Result<Appended, AuditError> {
        let mut line = Vec::with_capacity(1024);
        event.write(&mut line);
        self.write_lines(&mut line).map_err(self.failed("write to"))?;
        Ok(Appended { _private: () })
    }

    fn write_lines(&self, lines: &mut Vec<u8>) -> io::Result<()> {
        if self.segment().bytes.load(Ordering::Relaxed) > SEGMENT_BYTES {
            self.begin_next_segment()?;
        }
        self.segment().append(lines)
    }

    /// Forces everything written so far to disk.
    pub fn flush(&self) -> Result<(), AuditError> {
        self.segment().flush().map_err(self.failed("flush"))
    }

    fn begin_next_segment(&self) -> io::Result<()> {
        let mut segment = self.segment.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been first.
        if segment.bytes.load(Ordering::Relaxed) > SEGMENT_BYTES {
            segment.flush()?;
            *segment = Segment::open(&self.folder, segment.number + 1)?;
        }
        Ok(())
    }

    fn segment(&self) -> RwLockReadGuard<'_, Segment> {
        self.segment.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> AuditError {
        move |source| AuditError::Io { doing, path: self.folder.clone(), source }
    }
}

// === impl Segment ===

impl Segment {
    fn open(folder: &Path, number: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(folder.join(format!("{number:06}.jsonl")))?;
        let bytes = file.metadata()?.len();
        let torn = bytes > 0 && {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            last != *b"\n"
        };
        let (bytes, torn) = (AtomicU64::new(bytes), Mutex::new(torn));
        Ok(Self { number, file, bytes, dirty: AtomicBool::new(false), torn })
    }

    /// Writes whole lines to the end.
    fn append(&self, lines: &mut Vec<u8>) -> io::Result<()> {
        let mut torn = self.torn.lock().unwrap_or_else(PoisonError::into_inner);
        if *torn {
            lines.insert(0, b'\n');
        }
        self.dirty.store(true, Ordering::Release);
        // One write, so that what is there of a record is there in one piece.
        let written = loop {
            match append_at_end(&self.file, lines) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written?,
            }
        };
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        // A write that fails as a whole leaves the end of the file as it was.
        if let Some(last) = written.checked_sub(1).and_then(|last| lines.get(last)) {
            *torn = *last != b'\n';
        }
        // A part is there, and the disk has no room for the rest.
        if written == lines.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn flush(&self) -> io::Result<()> {
        if self.dirty.swap(false, Ordering::AcqRel) { self.file.sync_data() } else { Ok(()) }
    }
}

/// One write to the end of a file opened for appending.
fn append_at_end(file: &File, line: &[u8]) -> io::Result<usize> {
    // Linux appends whatever the offset, and without the lock that guards a shared one. A pipe, as to a program that
    // forwards the log, has no offset at all.
    #[cfg(target_os = "linux")]
    match std::os::unix::fs::FileExt::write_at(file, line, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotSeekable => {}
        written => return written,
    }
    io::Write::write(&mut &*file, line)
}

fn last_segment(folder: &Path) -> io::Result<Option<u64>> {
    let mut last = None;
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl")).and_then(|n| n.parse().ok());
        last = last.max(number);
    }
    Ok(last)
}

fn flush_in_background(segment: Weak<RwLock<Segment>>) -> io::Result<()> {
    std::thread::Builder::new().name("audit-flush".into()).spawn(move || {
        loop {
            std::thread::sleep(FLUSH_EVERY);
            let Some(segment) = segment.upgrade() else { return };
            // Only a change of segment waits for this, and that flushes anyway.
            let flushed = segment.read().unwrap_or_else(PoisonError::into_inner).flush();
            if let Err(error) = flushed {
                tracing::error!(%error, "the audit log could not be forced to disk");
            }
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::audit::{Ended, Happened, Outcome};
    use highwater_core::id::{DecisionId, Timestamp};
    use tempfile::TempDir;

    pub(super) fn event(id: &DecisionId) -> AuditEvent<'_> {
        AuditEvent {
            time: Timestamp(1),
            id: Some(id),
            happened: Happened::Outcome(Ended {
                outcome: Outcome::Delivered,
                bytes: 2,
                millis: 3,
                detail: None,
                judgement: None,
                label: None,
                raised: false,
                provenance: None,
                marks: &[],
            }),
        }
    }

    pub(super) fn open() -> (TempDir, DataDir, AuditLog) {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        let log = AuditLog::open(&dir).unwrap();
        (folder, dir, log)
    }

    fn append(log: &AuditLog, id: &str) {
        log.append(&event(&DecisionId::new(id))).unwrap();
    }

    pub(super) fn lines(dir: &DataDir) -> Vec<String> {
        let text = std::fs::read_to_string(dir.path().join("audit/000001.jsonl")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_event_is_in_the_file_when_append_returns() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        append(&AuditLog::open(&dir).unwrap(), "hwd_1");
        assert_eq!(
            lines(&dir),
            [r#"{"v":2,"time":1,"id":"hwd_1","event":"outcome","outcome":"delivered","bytes":2,"millis":3}"#]
        );
    }

    #[test]
    fn records_of_many_writers_never_mix() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        let log = AuditLog::open(&dir).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    (0..250).for_each(|number| append(log, &format!("hwd_{writer}_{number}")))
                });
            }
        });
        let lines = lines(&dir);
        assert_eq!(lines.len(), 1000);
        assert!(lines.iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }

    #[test]
    fn a_torn_last_line_costs_itself_and_not_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        append(&AuditLog::open(&dir).unwrap(), "hwd_1");
        let path = dir.path().join("audit/000001.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.trim_end().strip_suffix('}').unwrap()).unwrap();
        append(&AuditLog::open(&dir).unwrap(), "hwd_2");
        let lines = lines(&dir);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains("hwd_2"));
    }
}
