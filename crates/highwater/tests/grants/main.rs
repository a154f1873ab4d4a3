//! What tokens grant, through the shipped program: every permission set against every way to reach a server, limits,
//! revocation, other people's sessions, and that nothing reaches a server without a decision on record. Whether something
//! reached the server is read from the server's own journal.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kill;
mod limits;
mod lists;
mod matrix;
mod others;
mod replicas;
mod revocation;
mod routes;
mod search;
mod stage;
mod trust;
