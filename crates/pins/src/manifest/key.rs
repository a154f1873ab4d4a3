//! The public key of a publisher.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// An Ed25519 key that manifests are checked with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ManifestKey([u8; 32]);

// === impl ManifestKey ===

impl ManifestKey {
    /// The key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads base64url without padding, as the `x` of a JWK has it.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// As [`ManifestKey::parse`] reads it.
    pub fn as_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// What it is called: the thumbprint of its JWK (RFC 7638).
    pub fn id(&self) -> String {
        let jwk = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, self.as_text());
        URL_SAFE_NO_PAD.encode(digest(&SHA256, jwk.as_bytes()))
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }
}
