//! The log: on standard error always, since standard output belongs to the protocol or to the answer.

use std::io::IsTerminal;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::environment::variable;
use crate::exit::Failure;

/// Starts the log. `wanted` is what the command line says; then `RUST_LOG` counts, then `usual`.
pub(crate) fn start(wanted: Option<&str>, usual: &str) -> Result<(), Failure> {
    let from_environment = variable("RUST_LOG").filter(|filter| !filter.trim().is_empty());
    let filter = wanted.or(from_environment.as_deref()).unwrap_or(usual);
    let filter: Targets = filter.parse().ok().filter(|_| is_plain(filter)).ok_or_else(|| {
        Failure::usage(format_args!("`{filter}` is not a log level"))
            .help("use one of `off`, `error`, `warn`, `info`, `debug`, `trace`")
    })?;
    let colour = std::io::stderr().is_terminal() && variable("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colour);
    tracing_subscriber::registry().with(filter).with(lines).init();
    Ok(())
}

/// Whether a filter names levels and targets alone. Whatever else stood in one would be taken for a target's name.
fn is_plain(filter: &str) -> bool {
    filter
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ':' | '=' | ',' | ' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_level_and_no_target_is_refused() {
        for filter in ["info", "warn,highwater_upstream=debug", "off", "highwater_gateway::front=trace, info"]
        {
            assert!(is_plain(filter) && filter.parse::<Targets>().is_ok(), "{filter}");
        }
        for filter in ["[", "info,[span]", "[call{id=1}]=debug", "highwater=loud", "a=b=c"] {
            assert!(!is_plain(filter) || filter.parse::<Targets>().is_err(), "{filter}");
        }
    }
}
