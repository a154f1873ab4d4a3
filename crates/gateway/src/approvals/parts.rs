//! What a desk is made from.

use std::sync::Arc;

use highwater_store::{Installation, ReceiptKey};

/// What a desk is made from.
pub struct DeskParts {
    /// Which installation this is.
    pub installation: Installation,
    /// The gateway's own key.
    pub key: Arc<ReceiptKey>,
}
