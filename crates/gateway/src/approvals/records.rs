//! What can be taken away from the approval service: receipts, and the enrollment records they are checked with.

use highwater_core::approval::CredentialStanding;
use highwater_notation::{encode_base64url, to_iso};
use highwater_passkey::attested_by;
use highwater_receipts::SignedReceipt;
use serde_json::{Value, json};

use super::{ApprovalFault, ApprovalService};

// === impl ApprovalService ===

impl ApprovalService {
    /// Receipts of this gateway's chain, from a place on.
    pub async fn receipts(&self, from: u64, most: u32) -> Result<Vec<SignedReceipt>, ApprovalFault> {
        let stored = self.store.receipts(self.key.chain(), from, most).await?;
        Ok(stored.iter().filter_map(|stored| SignedReceipt::parse(&stored.text)).collect())
    }

    /// One receipt.
    pub async fn receipt(&self, id: &str) -> Result<Option<SignedReceipt>, ApprovalFault> {
        let stored = self.store.receipt(id).await?;
        Ok(stored.and_then(|stored| SignedReceipt::parse(&stored.text)))
    }

    /// Every passkey with everything that was kept of its enrollment, for whoever checks receipts.
    pub async fn enrollments(&self) -> Result<Vec<Value>, ApprovalFault> {
        let stored = self.store.credentials(None).await?;
        Ok(stored
            .iter()
            .map(|stored| {
                let credential = &stored.credential;
                json!({
                    "credentialId": credential.id.to_string(),
                    "publicKeyCose": encode_base64url(credential.key.as_cose()),
                    "user": credential.user,
                    "transports": credential.transports.names(),
                    "format": stored.format,
                    "attestedBy": attested_by(&stored.attestation),
                    "attestationObject": encode_base64url(&stored.attestation),
                    "clientDataJSON": encode_base64url(&stored.client_data),
                    "createdAt": to_iso(stored.created),
                    "enrolledBy": stored.enrolled_by,
                    "confirmedAt": stored.confirmed.as_ref().map(|(at, _)| to_iso(*at)),
                    "confirmedBy": stored.confirmed.as_ref().map(|(_, by)| by),
                    "revokedAt": stored.revoked.as_ref().map(|revoked| to_iso(revoked.at)),
                    "active": credential.standing == CredentialStanding::Active,
                })
            })
            .collect())
    }
}
