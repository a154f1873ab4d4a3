//! Annotations, from the wire to the contract and back: every row of the mapping, every rule of reading, what is
//! said to clients and upstreams, and that nobody gets milder treatment by lying.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod contract;
mod emission;
mod harmless;
mod places;
mod properties;
mod replies;
mod requests;
mod resolution;
mod rows;
mod rows_of_proposals;
#[path = "../../../testkit/src/harmless.rs"]
#[expect(unreachable_pub, reason = "the test kit shows it to others")]
mod table;
mod worked_examples;
