//! The commands, one file each: its arguments and what it does. Only here is anything written to standard output.

pub(crate) mod approvals;
pub(crate) mod check;
pub(crate) mod docs;
pub(crate) mod example_server;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod manifest;
pub(crate) mod marks;
pub(crate) mod receipts;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod stdio;
pub(crate) mod stdio_gateway;
pub(crate) mod test;
pub(crate) mod token;

use std::io::{self, Write};

use clap::Args;

use crate::environment::variable;
use crate::place::DataPlace;

/// What each command takes that asks the running gateway.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    data: DataPlace,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

/// Writes to standard output. A reader that has gone away, such as `head`, has seen enough.
pub(crate) fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        tracing::debug!(%error, "standard output is closed");
    }
}

/// Who goes on record for what a person does.
pub(crate) fn named(person: Option<&str>) -> String {
    person
        .map(str::to_owned)
        .or_else(|| variable("USER"))
        .or_else(|| variable("LOGNAME"))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "operator".to_owned())
}
