//! The segment that is written: one file, to whose end whole lines are appended.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use super::files;

/// How much is copied at once out of a file that was removed.
const COPIED_AT_ONCE: usize = 256 * 1024;

/// The open file.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    path: PathBuf,
    file: File,
    identity: (u64, u64),
    pub(super) bytes: AtomicU64,
    /// Whether something was written since the last flush.
    dirty: AtomicBool,
    end: Mutex<End>,
}

/// How the file ends. Held while writing, so that every writer knows how the one before it ended.
#[derive(Debug)]
struct End {
    /// The file ends within a line, because a write failed half-way: the next one starts a new line.
    torn: bool,
    /// The file was removed and no other could be begun: nothing more is written to it.
    gone: bool,
}

/// The beginning of a record.
#[derive(Deserialize)]
struct Beginning {
    time: u64,
}

// === impl Segment ===

impl Segment {
    pub(super) fn open(folder: &Path, number: u64) -> io::Result<Self> {
        let path = files::plain(folder, number);
        let mut file = OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(&path)?;
        let found = file.metadata()?;
        let bytes = found.len();
        let torn = bytes > 0 && {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            last != *b"\n"
        };
        Ok(Self {
            number,
            path,
            file,
            identity: identity(&found),
            bytes: AtomicU64::new(bytes),
            dirty: AtomicBool::new(false),
            end: Mutex::new(End { torn, gone: false }),
        })
    }

    /// Writes whole lines to the end.
    pub(super) fn append(&self, lines: &mut Vec<u8>) -> io::Result<()> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.gone {
            return Err(io::ErrorKind::NotFound.into());
        }
        if end.torn {
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
            end.torn = *last != b'\n';
        }
        // A part is there, and the disk has no room for the rest.
        if written == lines.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        if self.dirty.swap(false, Ordering::AcqRel) { self.file.sync_data() } else { Ok(()) }
    }

    /// Whether its file is still the one that others find by its name.
    pub(super) fn is_in_place(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity)
    }

    /// Whether a segment of this number is written to a file, and not to a pipe or a device.
    pub(super) fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.is_file())
    }

    /// From now on nothing is written to it, or again.
    pub(super) fn refuse(&self, gone: bool) {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).gone = gone;
    }

    /// Takes over the records of a segment whose file has no name any more. What was moved elsewhere keeps its own.
    pub(super) fn take_over(&self, removed: &Self) -> io::Result<u64> {
        let found = removed.file.metadata()?;
        if !found.is_file() || found.nlink() > 0 {
            return Ok(0);
        }
        let (mut copied, mut part) = (0, vec![0; COPIED_AT_ONCE]);
        loop {
            let read = removed.file.read_at(&mut part, copied)?;
            let Some(lines) = part.get(..read).filter(|lines| !lines.is_empty()) else { break };
            io::Write::write_all(&mut &self.file, lines)?;
            copied += read as u64;
        }
        self.bytes.fetch_add(copied, Ordering::Relaxed);
        self.dirty.store(true, Ordering::Release);
        let torn = removed.end.lock().unwrap_or_else(PoisonError::into_inner).torn;
        self.end.lock().unwrap_or_else(PoisonError::into_inner).torn = torn;
        Ok(copied)
    }

    /// When its first record was written, in milliseconds since the epoch; nothing while there is none.
    pub(super) fn began(&self) -> Option<u64> {
        if self.bytes.load(Ordering::Relaxed) == 0 || !self.is_regular() {
            return None;
        }
        let mut line = Vec::new();
        BufReader::new(File::open(&self.path).ok()?).read_until(b'\n', &mut line).ok()?;
        let first: Option<Beginning> = serde_json::from_slice(&line).ok();
        let written = || u64::try_from(self.file.metadata().ok()?.mtime()).ok()?.checked_mul(1_000);
        first.map(|first| first.time).or_else(written)
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// One write to the end of a file opened for appending.
fn append_at_end(file: &File, line: &[u8]) -> io::Result<usize> {
    // Linux appends whatever the offset, and without the lock that guards a shared one. A pipe, as to a program that
    // forwards the log, has no offset at all.
    #[cfg(target_os = "linux")]
    match FileExt::write_at(file, line, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotSeekable => {}
        written => return written,
    }
    io::Write::write(&mut &*file, line)
}
