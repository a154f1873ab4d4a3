//! Sealing: receipts of calls whose arguments may be sensitive are for the auditor alone, if the operator named one.

use highwater_core::annotation::Contract;
use highwater_core::id::{ApprovalId, UpstreamId};
use highwater_core::label::Label;
use highwater_receipts::{Receipt, may_be_sensitive};
use highwater_store::ReceiptDraft;

use super::{ApprovalFault, ApprovalService, Around, random};

// === impl ApprovalService ===

impl ApprovalService {
    /// Whether receipts of a call are sealed. `tool` is the server's own name of it, where it is a tool. The operator's
    /// word on a tool goes before what labels and contracts say.
    pub(crate) fn seals(
        &self,
        server: &UpstreamId,
        tool: Option<&str>,
        session: &Label,
        contract: &Contract,
    ) -> bool {
        let settings = self.settings();
        settings.auditor_key.is_some()
            && tool
                .and_then(|tool| settings.tool(server, tool)?.sensitive)
                .unwrap_or_else(|| may_be_sensitive(session, contract))
    }

    /// A receipt as it is to be stored.
    pub(super) fn drafted(&self, receipt: Receipt, around: &Around) -> Result<ReceiptDraft, ApprovalFault> {
        let receipt = if around.sealed {
            let key = self.settings().auditor_key.ok_or(ApprovalFault::Unsealable)?;
            let once = [random()?, random()?, random()?, random()?];
            receipt.sealed(&key, &once).ok_or(ApprovalFault::Unsealable)?
        } else {
            receipt
        };
        Ok(ReceiptDraft::new(receipt, &self.key))
    }

    /// The ids of the receipts of those who signed a request.
    pub(crate) async fn receipts_for(&self, request: &ApprovalId) -> Result<Vec<String>, ApprovalFault> {
        Ok(self.store.receipts_of(request).await?.into_iter().map(|receipt| receipt.id).collect())
    }
}
