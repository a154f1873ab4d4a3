//! What an approval service is made from.

use std::sync::Arc;

use highwater_store::{Installation, ReceiptKey};

/// What an approval service is made from.
pub struct ApprovalServiceParts {
    /// Which installation this is.
    pub installation: Installation,
    /// The gateway's own key.
    pub key: Arc<ReceiptKey>,
}
