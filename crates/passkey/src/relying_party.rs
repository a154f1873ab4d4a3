//! Who asks for signatures: one installation with its id, its name before authenticators, and the pages that may ask.

use aws_lc_rs::digest::{SHA256, digest};

use super::signed::ServerId;

/// The gateway as a relying party.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    rp_id: Box<str>,
    rp_id_hash: [u8; 32],
    origins: Vec<Box<str>>,
    server: ServerId,
}

// === impl RelyingParty ===

impl RelyingParty {
    /// `origins` are exact, port included: any page on `localhost` may ask for an assertion under the same `rp_id`, and
    /// the origin alone tells them apart.
    pub fn new(
        rp_id: impl Into<Box<str>>,
        origins: impl IntoIterator<Item = impl Into<Box<str>>>,
        server: ServerId,
    ) -> Self {
        let rp_id = rp_id.into();
        let mut rp_id_hash = [0; 32];
        rp_id_hash.copy_from_slice(digest(&SHA256, rp_id.as_bytes()).as_ref());
        Self { rp_id_hash, rp_id, origins: origins.into_iter().map(Into::into).collect(), server }
    }

    /// The name before authenticators.
    pub fn rp_id(&self) -> &str {
        &self.rp_id
    }

    /// What authenticators sign of that name.
    pub(super) fn rp_id_hash(&self) -> &[u8; 32] {
        &self.rp_id_hash
    }

    /// Whether a page of this origin may ask.
    pub(super) fn knows_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| &**known == origin)
    }

    /// The id of the installation, which every signed action contains.
    pub fn server(&self) -> &ServerId {
        &self.server
    }
}
