//! What a copy consists of: each file with its length and its digest.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};

use anyhow::Context;
use aws_lc_rs::digest;
use highwater_notation::Timestamp;
use serde::{Deserialize, Serialize};

use super::{FILES, MANIFEST};
use crate::exit::Failure;

/// The version of the shape of a copy.
const FORMAT: u32 = 1;

/// How much of a file is read at once.
const READ: usize = 256 * 1024;

/// What is written beside the files of a copy, last of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// The version of the program that made it.
    pub(crate) highwater: String,
    /// When.
    pub(crate) made: Timestamp,
    /// Whether the session store is in it. It is not where it lies in PostgreSQL.
    pub(crate) has_store: bool,
    pub(crate) files: Vec<CopiedFile>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopiedFile {
    /// Its path below the data directory.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// SHA-256, in hexadecimal.
    pub(crate) sha256: String,
}

// === impl Manifest ===

impl Manifest {
    pub(super) fn new(made: Timestamp, has_store: bool, files: Vec<CopiedFile>) -> Self {
        Self { format: FORMAT, highwater: env!("CARGO_PKG_VERSION").to_owned(), made, has_store, files }
    }

    /// How many bytes its files have.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Reads the manifest of a copy and holds every file against it.
    pub(super) fn verified(copy: &Path) -> Result<Self, Failure> {
        let path = copy.join(MANIFEST);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::failed(format_args!(
                    "`{}` is no backup: it has no `{MANIFEST}`",
                    copy.display()
                ))
                .help(
                    "a backup that was broken off has none either; name one that `highwater backup` finished",
                ));
            }
            text => text.with_context(|| format!("cannot read `{}`", path.display()))?,
        };
        let manifest: Self = serde_json::from_str(&text)
            .map_err(|error| Failure::unverified(format_args!("`{}` is damaged: {error}", path.display())))?;
        if manifest.format != FORMAT {
            return Err(Failure::failed(format_args!(
                "the backup was made by Highwater {} in a form that this one does not know",
                manifest.highwater
            ))
            .help("restore it with that version"));
        }
        for file in &manifest.files {
            file.verify(copy)?;
        }
        Ok(manifest)
    }
}

// === impl CopiedFile ===

impl CopiedFile {
    /// A file as it is in a copy.
    pub(super) fn of(copy: &Path, path: String) -> anyhow::Result<Self> {
        let file = copy.join(FILES).join(&path);
        let (bytes, sha256) =
            digest_of(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        Ok(Self { path, bytes, sha256 })
    }

    fn verify(&self, copy: &Path) -> Result<(), Failure> {
        let path = Path::new(&self.path);
        // Whoever changes a manifest must not be able to write anywhere else.
        if !path.components().all(|part| matches!(part, Component::Normal(_))) || self.path.is_empty() {
            return Err(Failure::unverified(format_args!(
                "`{}` leads out of the backup",
                self.path.escape_debug()
            )));
        }
        let file = copy.join(FILES).join(path);
        let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
        if !is_file {
            return Err(Failure::unverified(format_args!("`{}` is missing", file.display())));
        }
        let (bytes, sha256) =
            digest_of(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        if bytes != self.bytes || sha256 != self.sha256 {
            return Err(Failure::unverified(format_args!("`{}` is not as it was copied", file.display())));
        }
        Ok(())
    }
}

fn digest_of(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut context, mut bytes) = (digest::Context::new(&digest::SHA256), 0);
    let mut part = vec![0; READ];
    loop {
        let read = file.read(&mut part)?;
        let Some(read) = part.get(..read).filter(|read| !read.is_empty()) else { break };
        context.update(read);
        bytes += read.len() as u64;
    }
    let hex: Vec<String> = context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((bytes, hex.concat()))
}
