//! How people are asked, by what each client can do: held, sent to the page, or told to call again. What they agreed to
//! runs once, as it was signed, for whoever waits. Through the shipped program, with a real server and a real page.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod attention;
mod bound;
mod changed;
mod defects;
mod forms;
mod held;
mod killed;
mod killed_questions;
mod mandated;
mod person;
mod recorded;
mod released;
mod remembered;
mod reset;
mod rounds;
mod rounds_heard;
mod rounds_lasting;
mod scopes;
mod sealed;
mod sent;
mod stage;
mod told;
#[path = "../support/traces.rs"]
mod traces;
