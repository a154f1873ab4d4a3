//! How far a principal is believed: the six levels, and what the operator says of each server.

mod level;
mod server;

pub use level::TrustLevel;
pub use server::ServerTrust;
