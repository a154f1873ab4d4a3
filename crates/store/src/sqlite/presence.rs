//! Whether the file is still the one that was opened. What is committed to a file that was removed is lost with the process,
//! so nothing is done any more once it was.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::writer::Rescuer;
use crate::{StoreError, clock};

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// The files of a database, as they were when it was opened.
#[derive(Debug)]
pub(super) struct Presence {
    file: PathBuf,
    /// The file and the log beside it.
    known: [(PathBuf, Option<(u64, u64)>); 2],
    gone: AtomicBool,
    /// Whoever had it open has closed it: what becomes of it now is no concern of ours.
    closed: AtomicBool,
}

// === impl Presence ===

impl Presence {
    /// Takes note of the files of a database that was just written to.
    pub(super) fn of(file: &Path) -> Self {
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        let known = [file.to_owned(), PathBuf::from(log)].map(|path| {
            let identity = identity(&path);
            (path, identity)
        });
        Self { file: file.to_owned(), known, gone: AtomicBool::new(false), closed: AtomicBool::new(false) }
    }

    /// Whether the database can still be found by its name.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(StoreError::Gone { path: self.file.clone() });
        }
        Ok(())
    }

    /// Looks at it every second, on a thread that ends with it.
    pub(super) fn watch(self: &Arc<Self>, rescuer: Rescuer) -> io::Result<()> {
        let presence = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("store-watch".into());
        thread.spawn(move || watch(&presence, &rescuer))?;
        Ok(())
    }

    /// Nobody needs it any more.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    fn is_in_place(&self) -> bool {
        let is_known =
            |(path, known): &(PathBuf, Option<(u64, u64)>)| known.is_none() || identity(path) == *known;
        self.known.iter().all(is_known)
    }
}

fn watch(presence: &Weak<Presence>, rescuer: &Rescuer) {
    loop {
        std::thread::sleep(EVERY);
        let Some(presence) = presence.upgrade() else { return };
        if presence.closed.load(Ordering::Relaxed) {
            return;
        }
        let is_gone = !presence.is_in_place();
        let was_gone = presence.gone.swap(is_gone, Ordering::Relaxed);
        if is_gone && !was_gone {
            tell(&presence, rescuer);
        } else if was_gone && !is_gone {
            tracing::warn!(file = %presence.file.display(), "the session store is back in its place");
        }
    }
}

/// Says what is wrong, and saves what the open file still holds.
fn tell(presence: &Presence, rescuer: &Rescuer) {
    let mut name = presence.file.as_os_str().to_owned();
    name.push(format!(".rescued-{}", clock::now()));
    let rescued = PathBuf::from(name);
    let file = presence.file.display();
    match rescuer.rescue(&rescued) {
        Ok(()) => tracing::error!(
            "the session store `{file}` was removed or replaced while the gateway runs, so every call is refused; all that \
             it held is in `{}`: stop the gateway, move that to `{file}` and start again",
            rescued.display()
        ),
        Err(error) => tracing::error!(
            %error,
            "the session store `{file}` was removed or replaced while the gateway runs, so every call is refused; what it \
             held could not be saved elsewhere: put the file back, or stop the gateway and restore a backup"
        ),
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().as_ref().map(|found: &Metadata| (found.dev(), found.ino()))
}
