//! It does not break: servers die, hang, flood and lie, clients leave in the middle, the gateway is told to stop or is
//! killed. Through the shipped program, with real processes.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod audit;
mod bounds;
mod chaos;
mod clients_leave;
mod http_server_away;
mod processes;
mod record;
mod reloading;
mod second_start;
mod shared_children;
mod stage;
mod starting;
mod stopping;
mod switchboard;
mod unrecorded;
mod upstream_dies;
mod upstream_lies;
mod upstream_misbehaves;
mod wedged;
