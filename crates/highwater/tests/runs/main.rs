//! What annotations enable, read from the servers' own logs: calls that are sent again after a failure and calls that
//! never are, reads that run side by side, writes that run one after another.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod http;
mod http_server;
mod order;
mod risk;
mod stage;
mod stdio;
