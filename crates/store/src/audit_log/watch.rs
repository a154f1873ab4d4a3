//! What is done every second: what was written goes to disk, and the log is found again if somebody removed it.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, Weak};
use std::time::Duration;

use super::segment::Segment;
use super::{Shared, files};
use crate::clock;

/// How often.
const EVERY: Duration = Duration::from_secs(1);

/// Which folder it was, and when something in it came or went.
type FolderStamp = (u64, u64, i64, i64);

/// What is known from the last time.
#[derive(Default)]
struct Watch {
    /// The folder as it was.
    folder: Option<FolderStamp>,
    /// The segments that were there.
    segments: BTreeSet<u64>,
    /// The segment that is written, and when it began.
    began: Option<(u64, u64)>,
    /// Whether it was said already that no segment can be begun.
    told: bool,
}

/// Starts the thread. It ends with the log.
pub(super) fn in_background(shared: Weak<Shared>) -> io::Result<()> {
    std::thread::Builder::new().name("audit-flush".into()).spawn(move || {
        let mut watch = Watch::default();
        loop {
            std::thread::sleep(EVERY);
            let Some(shared) = shared.upgrade() else { return };
            watch.look(&shared);
        }
    })?;
    Ok(())
}

// === impl Watch ===

impl Watch {
    fn look(&mut self, shared: &Shared) {
        // Only a change of segment waits for this, and that flushes anyway.
        if let Err(error) = shared.segment().flush() {
            tracing::error!(%error, "the audit log could not be forced to disk");
        }
        let in_place = shared.segment().is_in_place();
        if in_place {
            if self.told {
                // Somebody put it back.
                shared.segment().refuse(false);
                self.told = false;
            }
        } else {
            self.begin_again(shared);
        }
        self.miss_segments(shared);
        shared.resume();
        self.rotate_by_age(shared);
    }

    /// The file that is written has another name now, or none.
    fn begin_again(&mut self, shared: &Shared) {
        let number = shared.segment().number;
        match shared.begin_again() {
            Ok(copied) => {
                self.told = false;
                self.segments.remove(&number);
                let kept = match copied {
                    0 => String::new(),
                    copied => format!("; its {copied} bytes were still open and are in the new one"),
                };
                let detail = format!("the segment that was being written was removed or replaced{kept}");
                tracing::error!(folder = %shared.folder.display(), "audit log: {detail}");
                shared.note_on_record("reopened", &detail);
            }
            Err(error) => {
                // What the system said is in the log; what is wrong is this.
                shared.health.note(&io::ErrorKind::NotFound.into());
                if !std::mem::replace(&mut self.told, true) {
                    tracing::error!(
                        folder = %shared.folder.display(),
                        %error,
                        "the audit log was removed and cannot be begun again: every call is refused until it can be"
                    );
                }
            }
        }
    }

    /// Says which closed segments somebody took away.
    fn miss_segments(&mut self, shared: &Shared) {
        let Ok(found) = std::fs::metadata(&shared.folder) else { return };
        let stamp = (found.dev(), found.ino(), found.mtime(), found.mtime_nsec());
        if self.folder == Some(stamp) {
            return;
        }
        let Ok(files) = files::list(&shared.folder) else { return };
        let there: BTreeSet<u64> =
            files.iter().filter(|(_, files)| files.has_records()).map(|(number, _)| *number).collect();
        let removed = shared.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_missing = |number: &&u64| {
            !there.contains(number) && !removed.contains(number) && !files::is_there(&shared.folder, **number)
        };
        // The one that is written is told of where it is begun again.
        let current = shared.segment().number;
        let missing: Vec<u64> =
            self.segments.iter().filter(|number| **number < current).filter(is_missing).copied().collect();
        drop(removed);
        if !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(|number| format!("{number:06}")).collect();
            let detail = format!("closed segments were taken away by somebody else: {}", names.join(", "));
            tracing::error!(folder = %shared.folder.display(), "audit log: {detail}");
            shared.note_on_record("missing", &detail);
        }
        (self.folder, self.segments) = (Some(stamp), there);
    }

    /// Closes a segment that is old enough, so that what is in it can be kept as long as it should be and no longer.
    fn rotate_by_age(&mut self, shared: &Shared) {
        let Some(longest) = shared.longest_segment() else { return };
        let (number, began) = {
            let segment = shared.segment();
            match self.began {
                Some((number, began)) if number == segment.number => (number, Some(began)),
                _ => (segment.number, segment.began()),
            }
        };
        self.began = began.map(|began| (number, began));
        let now = clock::timestamp().0;
        let is_old = |began: u64| u128::from(now.saturating_sub(began)) >= longest.as_millis();
        if began.is_some_and(is_old)
            && let Err(error) = shared.close_segment(number)
        {
            tracing::error!(%error, "the audit log could not begin its next segment");
        }
    }
}

// === impl Shared ===

impl Shared {
    /// Begins a segment in place of one that is not where it was, and says how much was taken over from it. Nothing is
    /// written meanwhile, and nothing after a failure.
    fn begin_again(&self) -> io::Result<u64> {
        let mut segment = self.segment.write().unwrap_or_else(PoisonError::into_inner);
        segment.refuse(true);
        // Not the data directory: whoever removed that took more than this log.
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let last = files::last(&self.folder)?.unwrap_or_default();
        let next = Segment::open(&self.folder, last.max(segment.number) + 1)?;
        let copied = next.take_over(&segment)?;
        *segment = next;
        Ok(copied)
    }

    /// Closes a segment if it is still the one that is written.
    fn close_segment(&self, number: u64) -> io::Result<()> {
        let mut segment = self.segment.write().unwrap_or_else(PoisonError::into_inner);
        if segment.number == number && segment.bytes.load(Ordering::Relaxed) > 0 {
            self.begin_next(&mut segment)?;
        }
        Ok(())
    }
}
