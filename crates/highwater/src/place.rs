//! Where things are: the configuration file and the data directory, named on the command line or found.

use std::path::{Path, PathBuf};

use crate::environment::directory;
use crate::exit::Failure;

/// The name of the configuration file where it is looked for.
const CONFIG_NAME: &str = "highwater.yaml";

/// Where the configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigSource {
    /// A file.
    File(PathBuf),
    /// There is none: the built-in example.
    Example,
}

/// Which configuration and which data directory.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Places {
    /// The configuration file. Without it: `./highwater.yaml`, then `highwater/highwater.yaml` in
    /// `$XDG_CONFIG_HOME` or `~/.config`, then the built-in example servers.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    data: DataPlace,
}

/// Which data directory.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DataPlace {
    /// Where tokens, audit log and state are kept. Without it: `highwater` in `$XDG_DATA_HOME` or
    /// `~/.local/share`.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

// === impl Places ===

impl Places {
    /// The configuration named, or the one found.
    pub(crate) fn config(&self) -> ConfigSource {
        match self.config.clone().or_else(found_config) {
            Some(file) => ConfigSource::File(file),
            None => ConfigSource::Example,
        }
    }

    /// Whether a configuration file was named.
    pub(crate) fn names_config(&self) -> bool {
        self.config.is_some()
    }

    /// The data directory, as an absolute path.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, Failure> {
        self.data.path()
    }

    /// The options that lead another process to the same places, whatever its working directory.
    pub(crate) fn options(&self) -> Result<Vec<String>, Failure> {
        let mut options = self.config_option()?;
        if self.data.data_dir.is_some() {
            options.extend(["--data-dir".to_owned(), text(&self.data_dir()?)?]);
        }
        Ok(options)
    }

    /// The option that leads another process to the same configuration, whatever its working directory.
    pub(crate) fn config_option(&self) -> Result<Vec<String>, Failure> {
        match self.config() {
            // A file that was found in the working directory must be named for somebody who is elsewhere.
            ConfigSource::File(file) if self.config.is_some() || file == Path::new(CONFIG_NAME) => {
                Ok(vec!["--config".to_owned(), text(&absolute(&file)?)?])
            }
            ConfigSource::File(_) | ConfigSource::Example => Ok(Vec::new()),
        }
    }
}

// === impl DataPlace ===

impl DataPlace {
    /// The data directory, as an absolute path.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        match &self.data_dir {
            Some(named) => absolute(named),
            None => {
                base("XDG_DATA_HOME", ".local/share").map(|base| base.join("highwater")).ok_or_else(|| {
                    Failure::usage("neither `XDG_DATA_HOME` nor `HOME` says where data belongs")
                        .help("name a directory with `--data-dir`")
                })
            }
        }
    }
}

/// The configuration file that is used when none is named.
pub(crate) fn found_config() -> Option<PathBuf> {
    let here = PathBuf::from(CONFIG_NAME);
    let of_user = base("XDG_CONFIG_HOME", ".config").map(|base| base.join("highwater").join(CONFIG_NAME));
    [Some(here), of_user].into_iter().flatten().find(|path| path.is_file())
}

/// The same path for every working directory.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::usage(format_args!("`{}` leads nowhere: {error}", path.display())))
}

/// A path as text, for places that take nothing else.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Failure::usage(format_args!("the path `{}` is not UTF-8", path.display()))),
    }
}

fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
    directory(variable).or_else(|| directory("HOME").map(|home| home.join(below_home)))
}
