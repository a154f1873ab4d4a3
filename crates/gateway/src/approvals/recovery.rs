//! Starting over after all passkeys of a person were lost: slowly, in sight of everybody, and stopped by any old passkey.

use highwater_audit::ApprovalNote;
use highwater_core::approval::ApprovalReason;
use highwater_core::id::{ChallengeId, UserId};
use highwater_mcp::text::quote;
use highwater_notation::CanonicalArguments;
use highwater_passkey::ReservedAction;

use super::options::ChallengeEnvelope;
use super::view::{ResetView, WindowOpened};
use super::{ApprovalFault, ApprovalService};
use crate::gateway::now;

// === impl ApprovalService ===

impl ApprovalService {
    /// Begins a reset. Until it is due nothing that needs this person's passkey is approved.
    pub async fn begin_reset(&self, user: &UserId, by: &str) -> Result<ResetView, ApprovalFault> {
        let delay = self.settings().recovery_delay;
        let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.record(None, note("reset-begun", by, user))?;
        self.store.begin_reset(user, by, delay, now()).await?;
        let resets = self.store.resets().await?;
        let begun = resets.into_iter().find(|reset| reset.user == *user).ok_or(ApprovalFault::Unknown)?;
        self.tell_reset("reset.begun", user, Some(begun.due));
        Ok(ResetView::of(begun))
    }

    /// Completes a reset that is due: every passkey of the person is revoked, and an enrollment is opened.
    pub async fn complete_reset(&self, user: &UserId, by: &str) -> Result<WindowOpened, ApprovalFault> {
        let resets = self.store.resets().await?;
        let reset = resets.into_iter().find(|reset| reset.user == *user).ok_or(ApprovalFault::Unknown)?;
        if reset.due > now() {
            return Err(ApprovalFault::NotDue(reset.due));
        }
        self.record(None, note("reset-completed", by, user))?;
        if !self.store.complete_reset(user, by, now()).await? {
            return Err(ApprovalFault::NotDue(reset.due));
        }
        self.tell_reset("reset.completed", user, None);
        self.open_window(user, by).await
    }

    /// A challenge by which an old passkey stops a reset.
    pub async fn cancel_reset_challenge(&self, user: &UserId) -> Result<ChallengeEnvelope, ApprovalFault> {
        self.issue_own(ReservedAction::Recover, user, &stopping(user)?).await
    }

    /// Takes the signature over it.
    pub async fn cancel_reset(&self, challenge: &ChallengeId, response: &str) -> Result<(), ApprovalFault> {
        let act = self.sign_own(ReservedAction::Recover, challenge, response).await?;
        if act.arguments != stopping(&act.user)? {
            return Err(ApprovalReason::ArgumentHashMismatch.into());
        }
        let base = note("reset-cancelled", act.user.as_str(), &act.user);
        self.record(None, ApprovalNote { receipt: Some(&act.receipt.receipt().id), ..base })?;
        if !self.store.cancel_reset(&act.user).await? {
            return Err(ApprovalFault::Unknown);
        }
        self.tell_reset("reset.cancelled", &act.user, None);
        Ok(())
    }

    /// Resets under way.
    pub async fn resets(&self) -> Result<Vec<ResetView>, ApprovalFault> {
        Ok(self.store.resets().await?.into_iter().map(ResetView::of).collect())
    }

    /// Whether all passkeys of a person are being reset.
    pub(super) async fn is_resetting(&self, user: &UserId) -> Result<bool, ApprovalFault> {
        Ok(self.store.resets().await?.iter().any(|reset| reset.user == *user))
    }
}

/// What an old passkey signs to stop a reset.
fn stopping(user: &UserId) -> Result<CanonicalArguments, ApprovalFault> {
    let text = format!(r#"{{"stop":true,"user":{}}}"#, quote(user.as_str()));
    CanonicalArguments::read(Some(&text)).map_err(|_| ApprovalFault::Unknown)
}

fn note<'a>(act: &'a str, by: &'a str, user: &'a UserId) -> ApprovalNote<'a> {
    ApprovalNote { act, by, user: Some(user.as_str()), ..ApprovalNote::default() }
}
