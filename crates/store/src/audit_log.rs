//! The audit log: JSON lines, appended and handed to the operating system before the caller goes on.
//!
//! A record survives the death of the process the moment `append` returns; a background flush every second
//! bounds what a power cut can take. There is no queue that could be lost: who has something to record waits for the
//! write, alone or with others.
//!
//! `segment` is the file that is written, `watch` what is done every second and `keep` what is done with closed segments:
//! compressed, given an index, and removed when they are old. `reader` reads all of it from outside.

mod batch;
mod build;
mod files;
mod health;
mod index;
mod keep;
mod pack;
mod reader;
mod segment;
mod watch;

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use highwater_audit::{AuditEvent, Happened};
use thiserror::Error;

pub use self::batch::Appending;
use self::batch::{BATCHES, Batch};
use self::health::Health;
pub use self::index::Key;
pub use self::keep::AuditRetention;
use self::keep::Keeping;
pub use self::reader::{AuditReader, BlockPlace, RecordPlace};
use self::segment::Segment;
use crate::{DataDir, clock};

/// The folder below the data directory.
const FOLDER: &str = "audit";

/// A segment that has grown this large is closed and the next begun: what is looked for in the one that is written has no
/// index yet, and what is removed goes in such pieces.
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;

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
    shared: Arc<Shared>,
    batches: [Mutex<Batch>; BATCHES],
}

/// What writers share with the threads in the background.
#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// Writers and the flush share it; only the change to the next segment is exclusive.
    segment: RwLock<Segment>,
    /// How large a segment becomes.
    segment_bytes: AtomicU64,
    health: Health,
    keeping: Keeping,
    /// The segments that were removed because they were old.
    removed: Mutex<BTreeSet<u64>>,
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
    /// Something is known to be wrong.
    #[error("nothing can be recorded in `{path}`: {why}")]
    Unwritable {
        /// Where.
        path: PathBuf,
        /// What is wrong, without names of files.
        why: String,
    },
}

// === impl AuditLog ===

impl AuditLog {
    /// Opens the log for appending. Closed segments stay as they are until [`keep`](Self::keep) says what becomes of them.
    pub fn open(dir: &DataDir) -> Result<Self, AuditError> {
        let folder = dir.path().join(FOLDER);
        let failed = |doing| {
            let path = folder.clone();
            move |source| AuditError::Io { doing, path, source }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed("create"))?;
        let all = files::list(&folder).map_err(failed("list"))?;
        let last = all.iter().rev().find(|(_, files)| files.has_records());
        let number = match last {
            None => 1,
            // One that was compressed is closed.
            Some((number, files)) if files.packed.is_some() => number + 1,
            Some((number, _)) => *number,
        };
        let segment = Segment::open(&folder, number).map_err(failed("open"))?;
        let shared = Arc::new(Shared {
            folder: folder.clone(),
            segment: RwLock::new(segment),
            segment_bytes: AtomicU64::new(SEGMENT_BYTES),
            health: Health::default(),
            keeping: Keeping::default(),
            removed: Mutex::default(),
        });
        watch::in_background(Arc::downgrade(&shared)).map_err(failed("watch over"))?;
        Ok(Self { shared, batches: Default::default() })
    }

    /// Appends one event. When this returns, the event outlives the process.
    pub fn append(&self, event: &AuditEvent<'_>) -> Result<Appended, AuditError> {
        let mut line = Vec::with_capacity(1024);
        event.write(&mut line);
        self.write_lines(&mut line).map_err(self.failed("write to"))?;
        Ok(Appended { _private: () })
    }

    fn write_lines(&self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.shared.write_lines(lines)
    }

    /// Forces everything written so far to disk.
    pub fn flush(&self) -> Result<(), AuditError> {
        self.shared.segment().flush().map_err(self.failed("flush"))
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> AuditError {
        move |source| AuditError::Io { doing, path: self.shared.folder.clone(), source }
    }
}

// === impl Shared ===

impl Shared {
    fn write_lines(&self, lines: &mut Vec<u8>) -> io::Result<()> {
        let written = self.make_room().and_then(|()| self.segment().append(lines));
        if let Err(error) = &written {
            self.health.note(error);
        }
        written
    }

    /// Begins the next segment if this one is large enough.
    fn make_room(&self) -> io::Result<()> {
        let most = self.segment_bytes.load(Ordering::Relaxed);
        if self.segment().bytes.load(Ordering::Relaxed) <= most {
            return Ok(());
        }
        let mut segment = self.segment.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been first.
        if segment.bytes.load(Ordering::Relaxed) > most { self.begin_next(&mut segment) } else { Ok(()) }
    }

    fn begin_next(&self, segment: &mut Segment) -> io::Result<()> {
        segment.flush()?;
        *segment = Segment::open(&self.folder, segment.number + 1)?;
        self.keeping.wake();
        Ok(())
    }

    fn segment(&self) -> RwLockReadGuard<'_, Segment> {
        self.segment.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down something about the log itself.
    fn note_on_record(&self, act: &str, detail: &str) {
        if let Err(error) = self.write_event(act, detail) {
            self.health.note(&error);
            tracing::error!(%error, act, detail, "what became of the audit log could not be recorded in it");
        }
    }

    fn write_event(&self, act: &str, detail: &str) -> io::Result<()> {
        let happened = Happened::Log { act, detail };
        let mut line = Vec::new();
        AuditEvent { time: clock::timestamp(), id: None, happened }.write(&mut line);
        self.segment().append(&mut line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_audit::{Ended, Happened, Outcome};
    use highwater_core::id::DecisionId;
    use highwater_notation::Timestamp;
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
