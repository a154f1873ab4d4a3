//! The log: on standard error always, since standard output belongs to the protocol or to the answer.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::environment::variable;
use crate::exit::Failure;

/// Starts the log. `wanted` is what the command line says; then `RUST_LOG` counts, then `usual`.
pub(crate) fn start(wanted: Option<&str>, usual: &str) -> Result<(), Failure> {
    let from_environment = variable("RUST_LOG").filter(|filter| !filter.trim().is_empty());
    let filter = wanted.or(from_environment.as_deref()).unwrap_or(usual);
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(format_args!("`{filter}` is not a log level: {error}"))
            .help("use one of `off`, `error`, `warn`, `info`, `debug`, `trace`")
    })?;
    let colour = std::io::stderr().is_terminal() && variable("NO_COLOR").is_none_or(|value| value.is_empty());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour).init();
    Ok(())
}
