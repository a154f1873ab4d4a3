//! Where things are: the root of the repository, cargo's target folder, the folder of installed peers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};

/// This repository on this machine.
pub(crate) struct Repository {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) metadata: Metadata,
}

impl Repository {
    /// Finds the repository that cargo was called for or, without cargo, the one this was built from.
    #[expect(clippy::disallowed_methods, reason = "cargo says in the environment which crate it runs")]
    pub(crate) fn open() -> Result<Self> {
        let own = || env!("CARGO_MANIFEST_DIR").into();
        let folder: PathBuf = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(own, PathBuf::from);
        let metadata = MetadataCommand::new()
            .manifest_path(folder.join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("cannot read the workspace")?;
        Ok(Self {
            root: metadata.workspace_root.clone().into_std_path_buf(),
            target: metadata.target_directory.clone().into_std_path_buf(),
            metadata,
        })
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The ignored folder that holds foreign programs.
    pub(crate) fn peers(&self) -> PathBuf {
        self.root.join(".peers")
    }

    /// A folder for the logs and results of the last run of one part, emptied now.
    pub(crate) fn results(&self, part: &str) -> Result<PathBuf> {
        let folder = self.target.join("xtask").join(part);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot empty `{}`", folder.display()))?;
        }
        self.kept_results(part)
    }

    /// The same folder with what is in it.
    pub(crate) fn kept_results(&self, part: &str) -> Result<PathBuf> {
        let folder = self.target.join("xtask").join(part);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        Ok(folder)
    }

    /// A cargo command in the root.
    ///
    /// Variables that `cargo run` gave to this program are taken away, so that build scripts see the same
    /// environment as in a plain `cargo build` and nothing is built twice.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.root);
        for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_BIN_NAME", "CARGO_CRATE_NAME"] {
            command.env_remove(name);
        }
        for name in ["NAME", "VERSION", "AUTHORS", "DESCRIPTION", "HOMEPAGE", "LICENSE", "REPOSITORY"] {
            command.env_remove(format!("CARGO_PKG_{name}"));
        }
        command
    }

    /// A path below the root as people write it.
    pub(crate) fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}
