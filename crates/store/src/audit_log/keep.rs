//! What becomes of closed segments: they are compressed and given an index, and the oldest go when they are old or when all
//! of them are too much. On a thread of its own, which no call waits for.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, UNIX_EPOCH};

use super::files::{self, SegmentFiles};
use super::health::room;
use super::index::Footer;
use super::{AuditError, AuditLog, SEGMENT_BYTES, Shared, pack};
use crate::clock;

/// How often closed segments are looked at where none is closed meanwhile.
const EVERY: Duration = Duration::from_secs(30);

/// The least that a segment holds, however little is kept in all.
const LEAST_SEGMENT: u64 = 64 * 1024;

/// Of how many segments what is kept consists at least: what is removed goes by whole ones.
const LEAST_SEGMENTS: u64 = 16;

/// For how many segments room is left: the one that is written, and the one that is being compressed.
const SPARE_SEGMENTS: u64 = 2;

/// Compressing takes as long for each record as a fifth of its call, so it waits until calls pause: until fewer bytes than
/// these are written in this time, or until this many closed segments wait.
const CALM_BYTES: u64 = 64 * 1024;
const CALM_TIME: Duration = Duration::from_millis(500);
const MOST_WAITING: usize = 4;

/// The longest that a segment is written to.
const LONGEST_SEGMENT: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept of the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditRetention {
    /// How long.
    pub keep: Duration,
    /// How many bytes at most, the oldest first to go.
    pub max: u64,
    /// Whether closed segments are compressed.
    pub compress: bool,
}

/// What is to be done, and how the thread that does it is woken.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    wish: Mutex<Option<AuditRetention>>,
    wake: OnceLock<SyncSender<()>>,
    /// Whether it was said that the disk or the log is nearly full.
    told: [AtomicBool; 2],
}

// === impl AuditRetention ===

impl AuditRetention {
    /// How large a segment becomes.
    fn segment_bytes(&self) -> u64 {
        (self.max / LEAST_SEGMENTS).clamp(LEAST_SEGMENT, SEGMENT_BYTES)
    }

    /// How much closed segments may hold.
    fn most_closed(&self) -> u64 {
        self.max.saturating_sub(SPARE_SEGMENTS * self.segment_bytes())
    }
}

// === impl AuditLog ===

impl AuditLog {
    /// Says what is kept, from now on.
    pub fn keep(&self, retention: AuditRetention) -> Result<(), AuditError> {
        let shared = &self.shared;
        shared.segment_bytes.store(retention.segment_bytes(), Ordering::Relaxed);
        *shared.keeping.wish.lock().unwrap_or_else(PoisonError::into_inner) = Some(retention);
        if shared.keeping.wake.get().is_none() {
            let (wake, woken) = sync_channel(1);
            if shared.keeping.wake.set(wake).is_ok() {
                let weak = Arc::downgrade(shared);
                let thread = std::thread::Builder::new().name("audit-keep".into());
                thread.spawn(move || in_background(&weak, &woken)).map_err(self.failed("look after"))?;
            }
        }
        shared.keeping.wake();
        Ok(())
    }
}

fn in_background(shared: &Weak<Shared>, woken: &Receiver<()>) {
    if let Some(shared) = shared.upgrade()
        && let Err(error) = files::remove_unfinished(&shared.folder)
    {
        tracing::warn!(%error, folder = %shared.folder.display(), "files that were never finished are left in the audit log");
    }
    loop {
        let waited = woken.recv_timeout(EVERY);
        let Some(shared) = shared.upgrade() else { return };
        if let Err(error) = shared.tidy() {
            tracing::warn!(%error, folder = %shared.folder.display(), "closed segments of the audit log are not looked after");
        }
        if waited == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

// === impl Keeping ===

impl Keeping {
    /// A segment was closed.
    pub(super) fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            // A thread that was woken already looks at everything.
            wake.try_send(()).ok();
        }
    }

    fn wish(&self) -> Option<AuditRetention> {
        *self.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Warns once, and again after it was better.
    fn warn(&self, which: usize, is_so: bool, say: impl FnOnce()) {
        let Some(told) = self.told.get(which) else { return };
        if told.swap(is_so, Ordering::Relaxed) != is_so && is_so {
            say();
        }
    }
}

// === impl Shared ===

impl Shared {
    /// How long a segment is written to, if anybody said how long it is kept.
    pub(super) fn longest_segment(&self) -> Option<Duration> {
        let keep = self.keeping.wish()?.keep;
        Some((keep / 10).clamp(Duration::from_secs(1), LONGEST_SEGMENT))
    }

    fn tidy(&self) -> io::Result<()> {
        let Some(wish) = self.keeping.wish() else { return Ok(()) };
        self.wait_for_calm()?;
        let current = self.segment().number;
        for (number, files) in files::list(&self.folder)?.range(..current) {
            let done = self.settle(*number, files, wish.compress);
            if let Err(error) = done {
                tracing::warn!(%error, segment = number, "a closed segment of the audit log could not be compressed");
            }
        }
        let all = files::list(&self.folder)?;
        let closed: BTreeMap<u64, SegmentFiles> =
            all.range(..current).map(|(n, f)| (*n, f.clone())).collect();
        self.remove_old(&closed, &wish)?;
        self.warn_of_room(&wish)
    }

    /// Waits until little is written, as long as few segments wait to be compressed.
    fn wait_for_calm(&self) -> io::Result<()> {
        loop {
            let (number, bytes) = self.written_to();
            if !(1..MOST_WAITING).contains(&self.waiting(number)?) {
                return Ok(());
            }
            std::thread::sleep(CALM_TIME);
            let (number_now, bytes_now) = self.written_to();
            if number_now == number && bytes_now.saturating_sub(bytes) < CALM_BYTES {
                return Ok(());
            }
        }
    }

    /// The segment that is written, and how much is in it.
    fn written_to(&self) -> (u64, u64) {
        let segment = self.segment();
        (segment.number, segment.bytes.load(Ordering::Relaxed))
    }

    /// How many closed segments are not compressed yet.
    fn waiting(&self, current: u64) -> io::Result<usize> {
        let all = files::list(&self.folder)?;
        Ok(all.range(..current).filter(|(_, files)| files.plain.is_some()).count())
    }

    /// Brings a closed segment into the form that it stays in.
    fn settle(&self, number: u64, files: &SegmentFiles, compress: bool) -> io::Result<()> {
        let folder = &self.folder;
        if !files.has_records() {
            // The records went, and their index was left.
            return fs::remove_file(files::index(folder, number));
        }
        if files.plain.is_some() {
            // What a link leads to is somebody else's to look after.
            if !fs::symlink_metadata(files::plain(folder, number))?.is_file() {
                return Ok(());
            }
            if compress {
                return pack::pack(folder, number);
            }
        }
        let has_index = match File::open(files::index(folder, number)) {
            Ok(file) => Footer::read(&file)?.is_some_and(|footer| footer.fits(files)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if has_index { Ok(()) } else { pack::index(folder, number, files) }
    }

    /// Removes whole segments, the oldest first, and says so on record before it does.
    fn remove_old(&self, closed: &BTreeMap<u64, SegmentFiles>, wish: &AuditRetention) -> io::Result<()> {
        let now = clock::timestamp().0;
        let oldest = now.saturating_sub(u64::try_from(wish.keep.as_millis()).unwrap_or(u64::MAX));
        let mut left: u64 = closed.values().map(SegmentFiles::bytes).sum();
        let (mut over, mut too_much) = (Vec::new(), Vec::new());
        for (number, files) in closed {
            let is_over = self.last_record(*number, files).is_some_and(|last| last < oldest);
            if left > wish.most_closed() && !is_over {
                too_much.push(*number);
            } else if is_over {
                over.push(*number);
            } else {
                break;
            }
            left = left.saturating_sub(files.bytes());
        }
        for (numbers, why) in [(over, "older than `audit.keep`"), (too_much, "more than `audit.max` in all")]
        {
            self.remove(&numbers, closed, why)?;
        }
        Ok(())
    }

    fn remove(&self, numbers: &[u64], closed: &BTreeMap<u64, SegmentFiles>, why: &str) -> io::Result<()> {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Ok(()) };
        let bytes: u64 =
            numbers.iter().filter_map(|number| closed.get(number)).map(SegmentFiles::bytes).sum();
        let count = numbers.len();
        let detail = format!("{count} segments, {first:06} to {last:06}, of {bytes} bytes: {why}");
        self.write_event("removed", &detail)?;
        tracing::info!("audit log: removed {detail}");
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).extend(numbers);
        for number in numbers {
            // The index last: without it the records would be read to make another.
            for path in [files::plain, files::packed, files::index].map(|path| path(&self.folder, *number)) {
                files::remove_if_there(path)?;
            }
        }
        files::sync_folder(&self.folder)
    }

    /// When the last record of a closed segment was written, in milliseconds since the epoch.
    fn last_record(&self, number: u64, files: &SegmentFiles) -> Option<u64> {
        let footer = File::open(files::index(&self.folder, number)).and_then(|file| Footer::read(&file));
        if let Ok(Some(footer)) = footer
            && footer.fits(files)
            && footer.span != (0, 0)
        {
            return Some(footer.span.1);
        }
        let path = if files.plain.is_some() { files::plain } else { files::packed };
        let written = fs::metadata(path(&self.folder, number)).ok()?.modified().ok()?;
        u64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
    }

    fn warn_of_room(&self, wish: &AuditRetention) -> io::Result<()> {
        let used: u64 = files::list(&self.folder)?.values().map(SegmentFiles::bytes).sum();
        let nearly = used.saturating_mul(10) >= wish.most_closed().saturating_mul(9);
        self.keeping.warn(0, nearly, || {
            tracing::warn!(
                used,
                max = wish.max,
                "the audit log has used nine tenths of `audit.max`: its oldest segments are removed when it is full"
            );
        });
        if let Some(room) = room(&self.folder) {
            self.keeping.warn(1, room.is_nearly_used_up(), || {
                tracing::warn!(
                    free = room.free,
                    "nine tenths of the disk under the audit log are used: when it is full every call is refused"
                );
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit_log::health::Room;

    #[test]
    fn of_a_disk_that_fills_people_are_told_once_and_before_it_is_full() {
        let keeping = Keeping::default();
        let mut told = Vec::new();
        for used in [0, 80, 90, 91, 95, 100, 50, 95] {
            let room = Room { free: 100 - used, whole: 100 };
            keeping.warn(1, room.is_nearly_used_up(), || told.push(used));
        }
        assert_eq!(told, [91, 95]);
    }
}
