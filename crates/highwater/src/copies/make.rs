//! Makes a copy, whether a gateway runs or not: first the files and the audit log, then the session store, so that it is never
//! older than what the log tells of it.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use highwater_notation::Timestamp;
use highwater_store::{DataDir, Store};

use super::manifest::{CopiedFile, Manifest};
use super::{FILES, MANIFEST, is_passing};
use crate::exit::Failure;

/// How often the log is listed again for segments that were compressed while they were copied.
const PASSES: u32 = 8;

/// A copy that was made.
pub(crate) struct Made {
    pub(crate) manifest: Manifest,
}

/// Copies a data directory to a place where nothing is yet.
pub(crate) fn make(data: &Path, to: &Path, now: Timestamp) -> Result<Made, Failure> {
    if !data.is_dir() {
        return Err(Failure::failed(format_args!("there is no data directory `{}`", data.display()))
            .help("name the directory of the gateway with `--data-dir`"));
    }
    if to.starts_with(data) {
        return Err(
            Failure::usage("a backup cannot lie in the directory that it is of").help("name another place")
        );
    }
    let dir = DataDir::open(data).map_err(Failure::failed)?;
    let is_empty = match fs::read_dir(to) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_empty {
        return Err(Failure::failed(format_args!("`{}` is there already, and is not empty", to.display()))
            .help("name a place where nothing is"));
    }
    let files = to.join(FILES);
    private_folder(&files)?;
    let mut copied = BTreeSet::new();
    copy_folder(data, &files, Path::new(""), &mut copied)?;
    // A segment that was compressed meanwhile has another name.
    for _ in 0..PASSES {
        let before = copied.len();
        copy_folder(data, &files, Path::new(AUDIT), &mut copied)?;
        if copied.len() == before {
            break;
        }
    }
    let has_store = Store::copy(&dir, &files).map_err(Failure::failed)?;
    if has_store && let Some(name) = Store::file(&dir).file_name() {
        copied.insert(PathBuf::from(name));
    }
    let mut entries = Vec::new();
    for path in copied {
        let Some(path) = path.to_str() else { continue };
        entries.push(CopiedFile::of(to, path.to_owned())?);
    }
    let manifest = Manifest::new(now, has_store, entries);
    let text = serde_json::to_string_pretty(&manifest).context("the manifest cannot be written")?;
    let mut file = private_file(&to.join(MANIFEST))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .context("the manifest cannot be written")?;
    Ok(Made { manifest })
}

/// The folder of the audit log.
const AUDIT: &str = "audit";

/// Copies what is below a folder and was not copied yet.
fn copy_folder(data: &Path, to: &Path, below: &Path, copied: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let folder = data.join(below);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("cannot list `{}`", folder.display()))?,
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list `{}`", folder.display()))?;
        let name = entry.file_name();
        let Some(text) = name.to_str().filter(|name| !is_passing(name)) else { continue };
        let path = below.join(&name);
        // The store is copied by itself.
        if below.as_os_str().is_empty() && text.starts_with("highwater.db") {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                private_folder(&to.join(&path))?;
                copy_folder(data, to, &path, copied)?;
            }
            Ok(kind) if kind.is_file() && !copied.contains(&path) => {
                let is_log = text.ends_with(".jsonl");
                let done = copy_file(&data.join(&path), &to.join(&path), is_log)
                    .with_context(|| format!("cannot copy `{}`", data.join(&path).display()))?;
                if done {
                    copied.insert(path);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Copies a file; says whether it was still there. Of lines only whole ones are taken: the last may be being written.
fn copy_file(from: &Path, to: &Path, is_log: bool) -> anyhow::Result<bool> {
    let mut source = match File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        source => source?,
    };
    let mut target = private_file(to)?;
    if is_log {
        let length = source.metadata()?.len();
        let mut lines = Vec::new();
        source.take(length).read_to_end(&mut lines)?;
        let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        lines.truncate(whole);
        target.write_all(&lines)?;
    } else {
        io::copy(&mut source, &mut target)?;
    }
    target.sync_all()?;
    Ok(true)
}

pub(super) fn private_folder(path: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot create `{}`", path.display()))
}

pub(super) fn private_file(path: &Path) -> anyhow::Result<File> {
    let made = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path);
    made.with_context(|| format!("cannot create `{}`", path.display()))
}
