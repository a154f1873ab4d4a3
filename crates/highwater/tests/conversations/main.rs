//! What a conversation is, where nobody says so: a label survives the end of whatever carried it, a silence makes it
//! pending, and a person's word ends it. Through the shipped program.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod begun;
mod days;
mod laundering;
mod pending;
#[path = "../approvals/person.rs"]
#[expect(dead_code, reason = "shared with the tests of approvals, which need more of it")]
mod person;
mod revived;
#[path = "../judgement/stage.rs"]
mod stage;
