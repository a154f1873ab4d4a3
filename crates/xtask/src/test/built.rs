//! Builds the workspace once, programs and tests together, so that every part runs the same artefacts.
//!
//! The tests are run from here and not by `cargo test -p …`: choosing packages would change the features
//! of shared dependencies and compile them again.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Message, Target, TargetKind};

use crate::repository::Repository;

/// The programs and test programs of the workspace.
pub(super) struct Built {
    programs: BTreeMap<String, PathBuf>,
    pub(super) tests: Vec<TestProgram>,
}

/// One compiled test program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestProgram {
    /// The folder below `crates`.
    pub(super) crate_name: String,
    pub(super) name: String,
    /// Whether it is a file of `tests/`, and not the tests beside the code.
    pub(super) is_outside: bool,
    pub(super) path: PathBuf,
    folder: PathBuf,
}

impl Built {
    pub(super) fn make(repository: &Repository) -> Result<Self> {
        let mut command = repository.cargo();
        command.args(["build", "--quiet", "--workspace", "--bins", "--tests"]);
        command.arg("--message-format=json-render-diagnostics");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("cargo has no output")?;
        let mut built = Self { programs: BTreeMap::new(), tests: Vec::new() };
        for message in Message::parse_stream(BufReader::new(stdout)) {
            let Message::CompilerArtifact(artifact) = message? else { continue };
            let Some(executable) = artifact.executable else { continue };
            let executable = executable.into_std_path_buf();
            if artifact.profile.test {
                built.tests.push(TestProgram::new(
                    &artifact.target,
                    artifact.manifest_path.as_std_path(),
                    executable,
                )?);
            } else if is_kind(&artifact.target, TargetKind::Bin) {
                built.programs.insert(artifact.target.name, executable);
            }
        }
        if !child.wait()?.success() {
            bail!("the workspace does not build");
        }
        built.tests.sort();
        Ok(built)
    }

    /// A program of the workspace by its name.
    pub(super) fn program(&self, name: &str) -> Result<PathBuf> {
        self.programs.get(name).cloned().with_context(|| format!("the workspace has no program `{name}`"))
    }
}

impl TestProgram {
    fn new(target: &Target, manifest: &std::path::Path, path: PathBuf) -> Result<Self> {
        let folder = manifest.parent().context("a manifest is in a folder")?;
        let crate_name = folder.file_name().context("a crate is in a folder")?;
        Ok(Self {
            crate_name: crate_name.to_string_lossy().into_owned(),
            name: target.name.clone(),
            is_outside: is_kind(target, TargetKind::Test),
            path,
            folder: folder.to_owned(),
        })
    }

    /// The command that runs it as cargo would.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

fn is_kind(target: &Target, kind: TargetKind) -> bool {
    target.kind.contains(&kind)
}
