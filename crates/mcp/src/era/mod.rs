//! The two eras of MCP and what each adds to a message. *Legacy* versions have an `initialize` handshake,
//! *modern* ones carry version and capabilities on every request.

mod bridge;
pub mod reply;

pub use bridge::{ClientMeta, ClientView, notification_params, request_params};

/// The modern version we speak.
pub const MODERN_VERSION: &str = "2026-07-28";

/// Legacy versions we speak, newest first. The first is what we offer and what we fall back to.
pub const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Which era a peer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// With `initialize`.
    Legacy,
    /// Stateless, from 2026-07-28 on.
    Modern,
}

/// Keys of `_meta` that the modern era puts on requests and results.
pub mod meta_key {
    /// The version a request is made in.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// What the client calls itself.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Which log messages the request wants.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// What the server calls itself.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// Which listen request a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Which request progress belongs to.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// What every request may carry, in whatever order. None of it says anything of the content or the context.
    pub const FORMAL: &[&str] =
        &[PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL, PROGRESS_TOKEN];
    /// The prefix of our own keys. Stripped from whatever arrives, so that nobody speaks in our name.
    pub const OURS: &str = "dev.highwater/";
}
