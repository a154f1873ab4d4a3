//! A copy of a data directory that can be checked and put back: the files, and a manifest with the digest of each.
//!
//! `make` copies beside a gateway that runs, `restore` puts a copy into a directory on which none does.

mod make;
mod manifest;
mod restore;

pub(crate) use make::make;
pub(crate) use manifest::Manifest;
pub(crate) use restore::restore;

/// The manifest below a copy.
const MANIFEST: &str = "manifest.json";

/// The files below a copy.
const FILES: &str = "data";

/// What belongs to a process and not to the data: no copy has it.
fn is_passing(name: &str) -> bool {
    matches!(name, "lock" | "gateway.json" | "gateway.sock" | "gateway.log" | "gateway.log.1")
        || name.ends_with(".new")
        || name.ends_with("-wal")
        || name.ends_with("-shm")
}
