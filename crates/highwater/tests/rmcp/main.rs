//! The official Rust SDK as a foreign peer on both sides of the shipped program: as a client of both eras over both
//! transports, in front of real servers, and as a server of both eras behind it.
//!
//! The tests run on one thread each: the SDK gives every notification a task of its own, and only there do these run
//! in the order in which the notifications came.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![expect(
    deprecated,
    reason = "sampling, roots, logging and subscribing are deprecated, and must work all the same"
)]

mod client;
mod greeting;
mod harbour;
mod real_servers;
mod stage;
mod upstream;
