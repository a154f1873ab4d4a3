//! The state of an example server: in memory, or in one JSON file that is replaced whole, so that a crash
//! leaves the old state or the new one.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::story::Refusal;

/// State that lasts as long as the process, or longer if it was given a directory.
#[derive(Debug)]
pub(crate) enum Saved<T> {
    /// Gone when the process ends.
    Memory(T),
    /// Read anew for every call, because several processes may share the directory.
    File(PathBuf),
}

// === impl Saved ===

impl<T: Clone + Serialize + DeserializeOwned> Saved<T> {
    /// Opens `DIRECTORY/NAME.json`, writing the seed there if there is no such file yet; without a directory
    /// the seed is kept in memory.
    pub(crate) fn open(directory: Option<&Path>, name: &str, seed: &str) -> anyhow::Result<Self> {
        let seed: T = serde_json::from_str(seed).with_context(|| format!("the built-in data of `{name}`"))?;
        let Some(directory) = directory else { return Ok(Self::Memory(seed)) };
        fs::create_dir_all(directory).with_context(|| format!("cannot create `{}`", directory.display()))?;
        let path = directory.join(format!("{name}.json"));
        let saved = Self::File(path.clone());
        let lock = lock(&path)?;
        if !path.exists() {
            write_whole(&path, &seed)?;
        }
        drop(lock);
        saved.view()?;
        Ok(saved)
    }

    /// The state as it is now.
    pub(crate) fn view(&self) -> anyhow::Result<Cow<'_, T>> {
        match self {
            Self::Memory(state) => Ok(Cow::Borrowed(state)),
            Self::File(path) => Ok(Cow::Owned(read_whole(path)?)),
        }
    }

    /// Changes the state. A refusal, or a file that cannot be written, leaves it as it was.
    pub(crate) fn change<R>(
        &mut self,
        edit: impl FnOnce(&mut T) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        match self {
            Self::Memory(state) => {
                let mut next = state.clone();
                let outcome = edit(&mut next)?;
                *state = next;
                Ok(outcome)
            }
            Self::File(path) => {
                let lock = lock(path)?;
                let mut next = read_whole(path)?;
                let outcome = edit(&mut next)?;
                write_whole(path, &next)?;
                drop(lock);
                Ok(outcome)
            }
        }
    }
}

/// Takes the lock that orders the writers of one data file. Closing the file releases it.
fn lock(path: &Path) -> anyhow::Result<File> {
    let path = path.with_extension("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| format!("cannot open `{}`", path.display()))?;
    file.lock().with_context(|| format!("cannot lock `{}`", path.display()))?;
    Ok(file)
}

fn read_whole<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("`{}` does not hold this server's data", path.display()))
}

fn write_whole<T: Serialize>(path: &Path, state: &T) -> anyhow::Result<()> {
    let fresh = path.with_extension("json.new");
    let write = || -> anyhow::Result<()> {
        let mut file = File::create(&fresh)?;
        serde_json::to_writer_pretty(&mut file, state)?;
        file.write_all(b"\n")?;
        // On the disk before it gets the name, or a power cut could leave an empty file under it.
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::Saved;
    use crate::example::story::Refusal;

    #[test]
    fn a_directory_keeps_the_state_and_memory_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = Saved::<Vec<u8>>::open(Some(directory.path()), "numbers", "[1]").unwrap();
        let mut second = Saved::<Vec<u8>>::open(Some(directory.path()), "numbers", "[9]").unwrap();
        first
            .change(|numbers| {
                numbers.push(2);
                Ok(())
            })
            .unwrap();
        second
            .change(|numbers| {
                numbers.push(3);
                Ok(())
            })
            .unwrap();
        assert_eq!(*first.view().unwrap(), vec![1, 2, 3], "two processes on one directory lose nothing");

        let mut passing = Saved::<Vec<u8>>::open(None, "numbers", "[1]").unwrap();
        passing
            .change(|numbers| {
                numbers.push(2);
                Ok(())
            })
            .unwrap();
        assert_eq!(*passing.view().unwrap(), vec![1, 2]);
        assert_eq!(*Saved::<Vec<u8>>::open(None, "numbers", "[1]").unwrap().view().unwrap(), vec![1]);
    }

    #[test]
    fn a_refused_change_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        for place in [None, Some(directory.path())] {
            let mut numbers = Saved::<Vec<u8>>::open(place, "numbers", "[1]").unwrap();
            let refused = numbers.change(|numbers| {
                numbers.clear();
                Err::<(), _>(Refusal::new("no"))
            });
            assert_eq!(refused, Err(Refusal::new("no")));
            assert_eq!(*numbers.view().unwrap(), vec![1]);
        }
    }

    #[test]
    fn a_foreign_file_is_refused_at_start_by_name() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("numbers.json"), "{\"not\": \"numbers\"}").unwrap();
        let error = Saved::<Vec<u8>>::open(Some(directory.path()), "numbers", "[1]").unwrap_err();
        assert!(error.to_string().contains("numbers.json` does not hold this server's data"), "{error}");
    }
}
