//! Talking to servers. An `Upstream` has two ways in: `perform` takes a `PermittedAction`, `control` takes a
//! `ControlMessage` that we made ourselves and that holds no client text. There is no third. Beside them, `fetch` and
//! `deliver` get and hand in one document at a URL that the operator wrote down; no server speaks there, and no client.
//!
//! Below them, a *link* is one live conversation with the server over one transport: a child's pipes,
//! Streamable HTTP, or HTTP+SSE of 2024-11-05. Links are made on first use, thrown away when they break and
//! made anew on next use.

mod box_cold;
mod call_events;
mod client_session;
pub mod control;
pub mod error;
pub mod event;
mod fetch;
mod greeting;
mod http;
mod link;
mod listing;
mod notification;
mod perform;
mod spec;
mod stdio;
mod upstream;

pub use box_cold::box_cold;
pub use client_session::{ClientSession, Party};
pub use fetch::{deliver, fetch};
pub use http::trust_also;
pub use link::Greeting;
pub use perform::{Perform, Performing};
pub use spec::{EraSetting, RememberedEra, Retries, ServerSpec, Timeouts, Transport};
pub use upstream::{
    Beside, CallClient, Connection, DefinitionGuard, Health, HealthState, Remember, Reply, Upstream, World,
    WriteTurn,
};
