//! Hooks of agent hosts through the shipped program: commands that a host runs and calls that it makes on its own connection,
//! with what real hosts sent. The host is a process of its name that nobody's tool has started.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod failing;
mod forged;
mod host;
mod recorded;
#[path = "../judgement/stage.rs"]
#[expect(dead_code, reason = "shared with the tests of judgement, which need more of it")]
mod stage;
mod told;
