//! Receipts: the gateway's own key, what is to be recorded, and what is. A receipt gets its place in the chain and its
//! signature inside the transaction that it is the receipt of.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use highwater_core::approval::ConsumeOutcome;
use highwater_notation::{Timestamp, to_iso};
use highwater_receipts::{ChainLink, Receipt, SignedReceipt, key_id};

use super::RequestState;
use crate::{DataDir, DataDirError, Secret};

/// The gateway's own key, with which it signs receipts.
pub struct ReceiptKey {
    pair: Ed25519KeyPair,
    public: [u8; 32],
    chain: String,
}

/// A receipt before it has its place, its time and its signature.
#[derive(Clone, Debug)]
pub struct ReceiptDraft {
    receipt: Receipt,
    key: Arc<ReceiptKey>,
}

/// A receipt as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    /// Its chain.
    pub chain: String,
    /// Its place there.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// Its one text.
    pub text: String,
}

/// What came of consuming a challenge.
#[derive(Clone, Debug)]
pub struct ChallengeUsed {
    /// Whether it is consumed, for [`highwater_core::approval::VerifiedApproval::spend`].
    pub outcome: ConsumeOutcome,
    /// Its receipt, if it is.
    pub receipt: Option<Box<SignedReceipt>>,
    /// Where the request stands that it belongs to.
    pub request: Option<RequestState>,
}

/// The row of a signed receipt.
#[derive(Debug)]
pub(crate) struct Filed {
    pub(crate) signed: SignedReceipt,
    pub(crate) text: String,
    pub(crate) digest: String,
}

// === impl ReceiptKey ===

impl ReceiptKey {
    /// The key that a seed of 32 bytes makes.
    pub fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let public: [u8; 32] = pair.public_key().as_ref().try_into().ok()?;
        Some(Self { pair, public, chain: key_id(&public) })
    }

    /// What others check receipts with.
    pub fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// The chain of this gateway: one for one key.
    pub fn chain(&self) -> &str {
        &self.chain
    }

    /// Signs a receipt as it is.
    pub fn sign(&self, receipt: Receipt) -> Option<SignedReceipt> {
        let signature = self.pair.sign(receipt.signing_input().as_bytes());
        let signature: [u8; 64] = signature.as_ref().try_into().ok()?;
        Some(SignedReceipt::new(receipt, &self.public, &signature))
    }
}

impl fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiptKey({})", self.chain)
    }
}

impl DataDir {
    /// The gateway's key for receipts, made on first use and readable by its owner alone.
    pub fn receipt_key(&self) -> Result<Arc<ReceiptKey>, DataDirError> {
        let text = self.secret(Secret::ReceiptKey)?;
        let key = Secret::ReceiptKey.key_bytes(&text).and_then(|seed| ReceiptKey::from_seed(&seed));
        key.map(Arc::new)
            .ok_or_else(|| DataDirError::NotASecret { path: self.secret_path(Secret::ReceiptKey) })
    }
}

// === impl ReceiptDraft ===

impl ReceiptDraft {
    /// What is to be recorded, and who signs it. Its place and the time of signing are the store's to say.
    pub fn new(receipt: Receipt, key: &Arc<ReceiptKey>) -> Self {
        Self { receipt, key: Arc::clone(key) }
    }

    pub(crate) fn chain(&self) -> &str {
        self.key.chain()
    }

    pub(crate) fn id(&self) -> &str {
        &self.receipt.id
    }

    /// Whether nothing that leads to its arguments may stay beside it.
    pub(crate) fn is_sealed(&self) -> bool {
        self.receipt.is_sealed() == Some(true)
    }

    /// Gives it its place and its time, and signs it.
    pub(crate) fn file(&self, seq: u64, head: &str, now: i64) -> Option<Filed> {
        let mut receipt = self.receipt.clone();
        let first = ChainLink::first(self.key.chain());
        receipt.chain = if seq == 0 { first } else { ChainLink { seq, prev_hash: head.to_owned(), ..first } };
        receipt.signed_at = to_iso(Timestamp(now.unsigned_abs()));
        let signed = self.key.sign(receipt)?;
        let (text, digest) = (signed.to_text(), signed.digest());
        Some(Filed { signed, text, digest })
    }
}
