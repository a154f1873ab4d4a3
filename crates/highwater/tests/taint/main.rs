//! A gateway that is killed loses no taint: whatever a client was given before is in the label when the gateway is back.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod audit_pipe;
mod killed;
#[path = "../support/labelled.rs"]
mod labelled;
