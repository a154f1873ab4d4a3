//! The program as people and clients meet it: its words, its exit codes, and gateways that run.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should say so and stop"
)]

mod backup;
mod check;
mod explain;
mod help;
mod http;
mod log;
mod marks;
mod memory;
mod names;
mod overview;
mod program;
mod receipts;
mod reload;
mod report;
mod serve;
mod session;
mod stdio;
mod stop;
mod terminal;
mod test;
mod token;
mod trouble;
mod volume;
