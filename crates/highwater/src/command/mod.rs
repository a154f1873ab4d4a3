//! The commands, one file each: its arguments and what it does. Only here is anything written to standard output.

pub(crate) mod check;
pub(crate) mod docs;
pub(crate) mod example_server;
pub(crate) mod explain;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod session;
pub(crate) mod stdio;
pub(crate) mod stdio_gateway;
pub(crate) mod test;
pub(crate) mod token;

use std::io::{self, Write};

/// Writes to standard output. A reader that has gone away, such as `head`, has seen enough.
pub(crate) fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        tracing::debug!(%error, "standard output is closed");
    }
}
