//! The audit log of a data directory, read from the outside.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use highwater_core::audit::Record;

/// The segments of one log, oldest first.
pub(crate) struct Log {
    segments: Vec<PathBuf>,
}

/// Where a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    segment: usize,
    line: usize,
}

// === impl Log ===

impl Log {
    /// The log of a data directory; empty if nothing was ever recorded there.
    pub(crate) fn of(data: &Path) -> anyhow::Result<Self> {
        let folder = data.join("audit");
        let doing = || format!("cannot list `{}`", folder.display());
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { segments: Vec::new() });
            }
            Err(error) => return Err(error).with_context(doing),
        };
        let mut segments = Vec::new();
        for entry in entries {
            let path = entry.with_context(doing)?.path();
            if path.extension().is_some_and(|end| end == "jsonl") {
                segments.push(path);
            }
        }
        // Their names are numbers of one width.
        segments.sort();
        Ok(Self { segments })
    }

    /// Shows every line to `look`, oldest first, until it has seen enough.
    pub(crate) fn walk(&self, mut look: impl FnMut(Place, &str) -> ControlFlow<()>) -> anyhow::Result<()> {
        for segment in 0..self.segments.len() {
            if self.read(segment, &mut look)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The segments, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = usize> {
        (0..self.segments.len()).rev()
    }

    /// Shows every line of one segment, oldest first.
    pub(super) fn walk_segment(
        &self,
        segment: usize,
        mut look: impl FnMut(Place, &str),
    ) -> anyhow::Result<()> {
        let all = |place, line: &str| {
            look(place, line);
            ControlFlow::Continue(())
        };
        self.read(segment, all).map(|_| ())
    }

    fn read(
        &self,
        segment: usize,
        mut look: impl FnMut(Place, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<ControlFlow<()>> {
        let Some(path) = self.segments.get(segment) else { return Ok(ControlFlow::Continue(())) };
        let doing = || format!("cannot read `{}`", path.display());
        let mut file = BufReader::with_capacity(1 << 18, File::open(path).with_context(doing)?);
        let mut bytes = Vec::new();
        for line in 0.. {
            bytes.clear();
            if file.read_until(b'\n', &mut bytes).with_context(doing)? == 0 {
                break;
            }
            // A line that was torn by a full disk is not a record.
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            if look(Place { segment, line }, text).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The record on a line. What cannot be read as one is passed over: a torn line, or the shape of another version.
pub(crate) fn record(line: &str) -> Option<Record> {
    Record::read(line).ok()
}
