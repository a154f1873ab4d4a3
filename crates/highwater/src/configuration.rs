//! Reading configuration files, with the files they name.

use std::path::{Path, PathBuf};

use highwater_config::{Checked, Diagnostics, Surroundings};

use crate::environment::variable;
use crate::exit::Failure;

/// Reads a configuration file and the rule files it names.
///
/// The outer failure is that the file cannot be read, the inner one what is wrong with it.
pub(crate) fn check(file: &Path) -> Result<Result<Checked, Diagnostics>, Failure> {
    let name = file.display().to_string();
    let content = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format_args!("cannot read `{name}`: {error}")))?;
    let files = |path: &str| std::fs::read_to_string(beside(file, path)).map_err(|error| error.to_string());
    let surroundings = Surroundings { environment: &variable, files: &files };
    Ok(highwater_config::check(&name, &content, &surroundings))
}

/// Where a file is that the configuration names.
pub(crate) fn beside(file: &Path, path: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(path)
}
