//! The files of a log: which segments there are, in which form, and what they are called.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is on disk of one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentFiles {
    /// The length of the lines as they were written, if they are there.
    pub(super) plain: Option<u64>,
    /// The length of the compressed lines, if they are there.
    pub(super) packed: Option<u64>,
    /// The length of the index.
    pub(super) index: Option<u64>,
}

/// A file that is being written beside the place where it will stand. It is removed unless it is finished.
pub(super) struct Unfinished {
    path: PathBuf,
    becomes: PathBuf,
}

/// Ends the name of a file that is still being written.
const UNFINISHED: &str = ".new";

/// How many this process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

// === impl Unfinished ===

impl Unfinished {
    /// Begins a file that is to stand there. Its name is its own: the index of a segment may be made by several at once,
    /// by a gateway and by those who explain a decision beside it.
    pub(super) fn create(becomes: PathBuf) -> io::Result<(Self, File)> {
        let mut name = becomes.as_os_str().to_owned();
        name.push(format!(".{}-{}{UNFINISHED}", std::process::id(), BEGUN.fetch_add(1, Ordering::Relaxed)));
        let path = PathBuf::from(name);
        let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path)?;
        Ok((Self { path, becomes }, file))
    }

    /// Puts the file, which is on disk as a whole, into its place.
    pub(super) fn finish(self) -> io::Result<()> {
        fs::rename(&self.path, &self.becomes)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A finished one has another name by now.
        fs::remove_file(&self.path).ok();
    }
}

// === impl SegmentFiles ===

impl SegmentFiles {
    /// Whether its records are there.
    pub(super) fn has_records(&self) -> bool {
        self.plain.is_some() || self.packed.is_some()
    }

    /// How much room it takes.
    pub(super) fn bytes(&self) -> u64 {
        [self.plain, self.packed, self.index].into_iter().flatten().sum()
    }
}

/// The lines of a segment.
pub(super) fn plain(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:06}.jsonl"))
}

/// The compressed lines of a segment.
pub(super) fn packed(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:06}.jsonl.gz"))
}

/// The index of a segment.
pub(super) fn index(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:06}.index"))
}

/// All segments, by their numbers.
pub(super) fn list(folder: &Path) -> io::Result<BTreeMap<u64, SegmentFiles>> {
    let mut all: BTreeMap<u64, SegmentFiles> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some((number, end)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        // What a link leads to counts, and what is gone meanwhile does not.
        let Ok(found) = fs::metadata(entry.path()) else { continue };
        let files = all.entry(number).or_default();
        match end {
            "jsonl" => files.plain = Some(found.len()),
            "jsonl.gz" => files.packed = Some(found.len()),
            "index" => files.index = Some(found.len()),
            _ => {}
        }
    }
    all.retain(|_, files| *files != SegmentFiles::default());
    Ok(all)
}

/// The number of the newest segment, if there is any.
pub(super) fn last(folder: &Path) -> io::Result<Option<u64>> {
    Ok(list(folder)?.into_iter().rev().find(|(_, files)| files.has_records()).map(|(number, _)| number))
}

/// Whether the records of a segment are there. The lines are looked for first: they go only after the compressed ones came.
pub(super) fn is_there(folder: &Path, number: u64) -> bool {
    plain(folder, number).exists() || packed(folder, number).exists()
}

/// Removes what processes that were killed left unfinished. Whoever is writing such a file at this moment cannot finish it,
/// which for an index means that the next reader makes it.
pub(super) fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_unfinished = path.to_str().is_some_and(|path| path.ends_with(UNFINISHED));
        if is_unfinished {
            remove_if_there(path)?;
        }
    }
    Ok(())
}

/// Removes a file that somebody else may have removed meanwhile.
pub(super) fn remove_if_there(path: PathBuf) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes the names in a folder survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
