//! What gates and approvals name of a pinned definition: its digest, and why it may not be used.

use std::fmt;

use highwater_notation::{from_hex, to_hex, vocabulary};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

vocabulary! {
    /// Why something may not be used.
    Hold {
        /// What was approved could not be read, so nothing counts as approved.
        Unreadable = "unreadable",
        /// Nobody has seen the server yet.
        ServerNew = "server-new",
        /// Under this name there is another server than the one that was approved.
        ServerChanged = "server-changed",
        /// A person refused the server.
        ServerRejected = "server-rejected",
        /// The server's manifest is missing, expired, replayed, or not signed by whom it should be.
        ManifestInvalid = "manifest-invalid",
        /// The definition is not the one that the manifest signs.
        ManifestMismatch = "manifest-mismatch",
        /// Nobody has seen it yet.
        New = "new",
        /// It is not what was approved.
        Changed = "changed",
        /// A person refused it.
        Rejected = "rejected",
    }
}

/// SHA-256 over the canonical form of a definition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinDigest([u8; 32]);

// === impl PinDigest ===

impl PinDigest {
    /// A digest that was computed elsewhere.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the hexadecimal form, and no other.
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }
}

impl fmt::Display for PinDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for PinDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for PinDigest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PinDigest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no digest"))
    }
}

// === impl Hold ===

impl Hold {
    /// Whether everything of the server is held.
    pub const fn of_server(self) -> bool {
        match self {
            Self::Unreadable
            | Self::ServerNew
            | Self::ServerChanged
            | Self::ServerRejected
            | Self::ManifestInvalid => true,
            Self::ManifestMismatch | Self::New | Self::Changed | Self::Rejected => false,
        }
    }

    /// The same for people, after "it is held:".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unreadable => "what was approved of its server could not be read",
            Self::ServerNew => "nobody has approved its server yet",
            Self::ServerChanged => "its server is not the one that was approved",
            Self::ServerRejected => "a person refused its server",
            Self::ManifestInvalid => "the manifest of its server does not count",
            Self::ManifestMismatch => "it is not what the manifest of its server signs",
            Self::New => "nobody has approved it yet",
            Self::Changed => "it is not what was approved",
            Self::Rejected => "a person refused it",
        }
    }
}
