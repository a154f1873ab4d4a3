//! Which installation this is. It is made once, and every signed action contains it.

use highwater_notation::Timestamp;
use highwater_passkey::ServerId;

/// One installation: what authenticators and browsers know it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Its id, shared by all replicas (S35, S36).
    pub server_id: ServerId,
    /// The relying party whose credentials are enrolled.
    pub rp_id: String,
    /// The page on which they are.
    pub origin: String,
    /// When it was made.
    pub created: Timestamp,
}
