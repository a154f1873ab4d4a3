//! What must never reach a server: messages that two readers could take differently, requests that contradict
//! themselves or come from somewhere else, and configurations that mean nothing. Through the shipped program.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod cases;
mod config;
mod framing;
mod fronts;
mod header_mismatch;
mod hidden_names;
mod http_requests;
mod messages;
mod oversized;
mod raw_http;
mod requests;
mod stage;
