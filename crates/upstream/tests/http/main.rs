//! Upstreams behind HTTP, with the conformance fixture as the server: the same stories over Streamable HTTP of
//! both eras and over HTTP+SSE. What the server saw is read from its own journal.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code fails by panicking"
)]

mod sessions;
mod stories;
mod support;
mod trouble;
