//! Puts a copy into a data directory on which no gateway runs. What was there before is moved aside, never removed; and the
//! directory is there as a whole, or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use highwater_notation::Timestamp;
use highwater_store::{DataDir, Store, StoreOptions, StorePlace};

use super::make::{private_file, private_folder};
use super::manifest::Manifest;
use super::{FILES, is_passing};
use crate::exit::Failure;
use crate::life::runtime;
use crate::wire::Held;

/// A copy that was put back.
pub(crate) struct Restored {
    pub(crate) manifest: Manifest,
    /// Where what was there before is now.
    pub(crate) aside: Option<PathBuf>,
}

/// Checks a copy and puts it into a data directory, which must be empty unless `force` says otherwise.
pub(crate) fn restore(from: &Path, data: &Path, force: bool, now: Timestamp) -> Result<Restored, Failure> {
    let manifest = Manifest::verified(from)?;
    let exists = data.exists();
    // Held until the end, so that no gateway begins meanwhile.
    let held = match exists {
        true => Some(Held::take(data)?.ok_or_else(|| Held::taken(data))?),
        false => None,
    };
    let is_empty = !exists || holds_nothing(data)?;
    if !is_empty && !force {
        return Err(Failure::failed(format_args!("`{}` is not empty", data.display())).help(
            "name another directory with `--data-dir`; with `--force` what is there is moved aside and the backup takes its \
             place",
        ));
    }
    let unfinished = beside(data, &format!("restoring-{}", std::process::id()));
    if let Some(parent) = data.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create `{}`", parent.display()))?;
    }
    let put = put(from, &unfinished, &manifest);
    if let Err(failure) = put {
        // What is half there is nobody's.
        fs::remove_dir_all(&unfinished).ok();
        return Err(failure);
    }
    let aside = match exists {
        true if is_empty => {
            fs::remove_dir_all(data).with_context(|| format!("cannot replace `{}`", data.display()))?;
            None
        }
        true => {
            let aside = beside(data, &format!("before-{}", now.0));
            fs::rename(data, &aside).with_context(|| format!("cannot move `{}` aside", data.display()))?;
            Some(aside)
        }
        false => None,
    };
    fs::rename(&unfinished, data).with_context(|| format!("cannot create `{}`", data.display()))?;
    drop(held);
    Ok(Restored { manifest, aside })
}

/// Copies the files and makes the session store one that comes from a backup: what was read since then is not in it, so
/// every session counts as having read everything.
fn put(from: &Path, to: &Path, manifest: &Manifest) -> Result<(), Failure> {
    private_folder(to)?;
    for file in &manifest.files {
        let target = to.join(&file.path);
        if let Some(parent) = target.parent() {
            private_folder(parent)?;
        }
        let source = from.join(FILES).join(&file.path);
        let copied = fs::File::open(&source).map_err(anyhow::Error::from).and_then(|mut source| {
            let mut target = private_file(&target)?;
            io::copy(&mut source, &mut target)?;
            target.sync_all()?;
            Ok(())
        });
        copied.with_context(|| format!("cannot restore `{}`", target.display()))?;
    }
    if manifest.has_store {
        let place = StorePlace::Sqlite(DataDir::open(to).map_err(Failure::failed)?);
        let options = StoreOptions { restored: true, ..StoreOptions::default() };
        runtime()?.block_on(async {
            let store = Store::open(&place, &options).await.map_err(Failure::failed)?;
            store.close().await.map_err(Failure::failed)
        })?;
    }
    Ok(())
}

/// Whether nothing is in a directory but what a gateway leaves behind.
fn holds_nothing(data: &Path) -> anyhow::Result<bool> {
    let entries = fs::read_dir(data).with_context(|| format!("cannot list `{}`", data.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list `{}`", data.display()))?;
        if !entry.file_name().to_str().is_some_and(is_passing) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A name beside a directory, on the same disk.
fn beside(data: &Path, end: &str) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}
