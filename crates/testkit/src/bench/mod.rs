//! The parts `cargo xtask bench` measures with: an upstream that costs next to nothing, a reverse proxy that
//! does nothing but forward ("the floor"), a load generator that checks every answer, and a host that times
//! how long a program takes to answer. xtask has no network code, so each is a binary of this crate.

pub mod answer;
pub mod client;
pub mod floor;
pub mod host;
pub mod host_hooks;
pub mod load;
pub mod payload;
mod pieces;
mod replies;
pub mod serve;
#[cfg(test)]
mod tests;
pub mod upstream;

use std::fmt;

use clap::ValueEnum;

/// The legacy protocol version the benchmark speaks: sessions and a handshake.
pub const LEGACY_VERSION: &str = "2025-11-25";
/// The modern protocol version the benchmark speaks: everything on every request.
pub const MODERN_VERSION: &str = "2026-07-28";
/// No body the benchmark reads may be larger: a listing of 10,000 tools takes about 6 MiB.
pub const LARGEST_BODY: usize = 32 * 1024 * 1024;

/// Which of MCP's two eras is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Era {
    Legacy,
    Modern,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}
