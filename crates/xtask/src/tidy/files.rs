//! The files of the repository that people write, read once.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders that hold nothing that is committed.
const IGNORED: [&str; 6] = [".git", ".peers", "node_modules", "target", "artifacts", "found"];

/// Every text file of the repository.
pub(super) struct Files {
    pub(super) root: PathBuf,
    pub(super) files: Vec<File>,
}

pub(super) struct File {
    /// The path below the root, with slashes.
    pub(super) name: String,
    pub(super) text: String,
}

impl Files {
    pub(super) fn walk(root: &Path) -> Result<Self> {
        let mut files = Self { root: root.to_owned(), files: Vec::new() };
        files.add_folder(root)?;
        files.files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    pub(super) fn ending_in<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.name.ends_with(end))
    }

    fn add_folder(&mut self, folder: &Path) -> Result<()> {
        let entries =
            std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            let is_target = name.starts_with("target") && folder == self.root;
            if kind.is_dir() && !is_target && !IGNORED.contains(&name.as_str()) {
                self.add_folder(&entry.path())?;
            // In a linked worktree `.git` is a file, and says where the repository lies.
            } else if kind.is_file() && name != ".git" {
                self.add_file(&entry.path())?;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            // An editor or a test may have removed it since the folder was read.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
        };
        // What is not text has no lines to check.
        if let Ok(text) = String::from_utf8(bytes) {
            let name = path.strip_prefix(&self.root)?.to_string_lossy().into_owned();
            self.files.push(File { name, text });
        }
        Ok(())
    }
}
