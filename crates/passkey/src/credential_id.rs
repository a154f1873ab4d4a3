//! The id of a credential.

use std::fmt;

use highwater_notation::{decode_base64url, encode_base64url};

use super::authenticator_data::MAX_CREDENTIAL_ID;

/// The id of a credential: 1 to 1023 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialId(Box<[u8]>);

// === impl CredentialId ===

impl CredentialId {
    /// Takes an id of a length that there is.
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Option<Self> {
        let bytes = bytes.into();
        (1..=MAX_CREDENTIAL_ID).contains(&bytes.len()).then_some(Self(bytes))
    }

    /// Reads the form of the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::new(decode_base64url(text)?)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_base64url(&self.0))
    }
}

impl fmt::Debug for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
