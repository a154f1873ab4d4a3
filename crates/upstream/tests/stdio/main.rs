//! Upstreams that are children of ours, with a scripted server as the child.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code fails by panicking"
)]

mod calls;
mod silence;
mod subscriptions;
mod support;
mod trouble;
