//! Whether the log can be written, as far as is known.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::statvfs;
use rustix::process::geteuid;

use super::{AuditError, AuditLog, Shared};
use crate::clock;

/// With less room than this on its disk the log counts as not writable: the next records would not fit.
const LEAST_ROOM: u64 = 64 * 1024;

/// What went wrong, and since when.
#[derive(Debug, Default)]
pub(super) struct Health {
    failing: AtomicBool,
    trouble: Mutex<Option<Trouble>>,
}

#[derive(Debug)]
struct Trouble {
    /// In milliseconds since the epoch.
    since: u64,
    why: String,
    /// How often something could not be written.
    refused: u64,
}

// === impl Health ===

impl Health {
    /// Something could not be written.
    #[cold]
    pub(super) fn note(&self, error: &io::Error) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let since = clock::timestamp().0;
        let trouble = trouble.get_or_insert_with(|| Trouble { since, why: String::new(), refused: 0 });
        trouble.why = why(error);
        trouble.refused += 1;
        self.failing.store(true, Ordering::Relaxed);
    }

    /// What is wrong, if something is.
    fn trouble(&self) -> Option<String> {
        if !self.failing.load(Ordering::Relaxed) {
            return None;
        }
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|trouble| trouble.why.clone())
    }
}

// === impl AuditLog ===

impl AuditLog {
    /// Whether something can be recorded, for `/readyz`.
    pub fn check(&self) -> Result<(), AuditError> {
        let shared = &self.shared;
        let why = shared.health.trouble().or_else(|| {
            let room = room(&shared.folder).filter(|_| shared.segment().is_regular());
            room.is_some_and(|room| room.free < LEAST_ROOM).then(|| "the disk is full".to_owned())
        });
        match why {
            Some(why) => Err(AuditError::Unwritable { path: shared.folder.clone(), why }),
            None => Ok(()),
        }
    }
}

// === impl Shared ===

impl Shared {
    /// After a failure: tries whether something can be written again, by writing down that nothing could be.
    pub(super) fn resume(&self) {
        if !self.health.failing.load(Ordering::Relaxed)
            || room(&self.folder).is_some_and(|room| room.free < LEAST_ROOM)
        {
            return;
        }
        let mut trouble = self.health.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Trouble { since, why, refused }) = trouble.as_ref() else { return };
        let seconds = clock::timestamp().0.saturating_sub(*since).div_ceil(1_000);
        let detail = format!("nothing could be recorded for {seconds} s ({why}); {refused} writes failed");
        if self.write_event("resumed", &detail).is_ok() {
            tracing::warn!("audit log: {detail}; it can be written again");
            *trouble = None;
            self.health.failing.store(false, Ordering::Relaxed);
        }
    }
}

/// The disk on which something lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// How much more can be written.
    pub(super) free: u64,
    /// How much there is in all.
    pub(super) whole: u64,
}

// === impl Room ===

impl Room {
    /// Whether nine tenths of it are used: time for somebody to do something.
    pub(super) fn is_nearly_used_up(self) -> bool {
        self.free.saturating_mul(10) < self.whole
    }
}

/// The room on the disk of a folder, if that can be told.
pub(super) fn room(folder: &Path) -> Option<Room> {
    let found = statvfs(folder).ok()?;
    let free = if geteuid().is_root() { found.f_bfree } else { found.f_bavail };
    Some(Room {
        free: free.saturating_mul(found.f_frsize),
        whole: found.f_blocks.saturating_mul(found.f_frsize),
    })
}

/// What is wrong, without the names of files.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::WriteZero => "the disk is full".to_owned(),
        io::ErrorKind::FileTooLarge => "the file may not grow".to_owned(),
        io::ErrorKind::QuotaExceeded => "the quota is used up".to_owned(),
        io::ErrorKind::NotFound => "its file was removed and cannot be made again".to_owned(),
        kind => kind.to_string(),
    }
}
