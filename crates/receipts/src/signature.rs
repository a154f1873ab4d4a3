//! The gateway's signature under a receipt, and the one text that a signed receipt has.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use highwater_notation::{Json, decode_array, encode_base64url, to_hex};
use highwater_passkey::object;
use serde::{Deserialize, Serialize};

use super::body::{ChainLink, Receipt};

/// A receipt with the gateway's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedReceipt {
    /// What is signed.
    #[serde(flatten)]
    receipt: Receipt,
    /// Key id, a full stop, Ed25519 over the canonical text of everything else.
    gateway_sig: String,
}

/// The id of a gateway's key: the beginning of its SHA-256.
pub fn key_id(public_key: &[u8; 32]) -> String {
    to_hex(digest(&SHA256, public_key).as_ref().split_at(8).0)
}

// === impl SignedReceipt ===

impl SignedReceipt {
    /// Puts the signature over [`Receipt::signing_input`] under a receipt.
    pub fn new(receipt: Receipt, public_key: &[u8; 32], signature: &[u8; 64]) -> Self {
        Self { receipt, gateway_sig: format!("{}.{}", key_id(public_key), encode_base64url(signature)) }
    }

    /// Reads the text of a receipt. There is one text for one receipt: whatever is spelled otherwise, left out or added
    /// makes it none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        object::<Self>(text).filter(|read| read.to_text() == text)
    }

    /// Its one text.
    pub fn to_text(&self) -> String {
        // Nothing in it can fail to be written.
        Json::from(serde_json::to_value(self).unwrap_or_default()).to_string()
    }

    /// What is signed.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// SHA-256 over its text, in hexadecimal: what the next in the chain and the audit log say of it.
    pub fn digest(&self) -> String {
        to_hex(digest(&SHA256, self.to_text().as_bytes()).as_ref())
    }

    /// The place of the next receipt.
    pub fn next(&self) -> ChainLink {
        let ChainLink { id, seq, .. } = &self.receipt.chain;
        ChainLink { id: id.clone(), seq: seq + 1, prev_hash: self.digest() }
    }

    /// Whether the gateway with this key signed it.
    pub(super) fn is_signed_by(&self, public_key: &[u8; 32]) -> bool {
        let Some((id, signature)) = self.gateway_sig.split_once('.') else { return false };
        let Some(signature) = decode_array::<64>(signature) else { return false };
        id == key_id(public_key)
            && UnparsedPublicKey::new(&ED25519, public_key)
                .verify(self.receipt.signing_input().as_bytes(), &signature)
                .is_ok()
    }
}
