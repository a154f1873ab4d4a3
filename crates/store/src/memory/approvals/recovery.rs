//! Starting over: what counts for nothing meanwhile.

use highwater_core::id::UserId;
use highwater_notation::Timestamp;
use highwater_passkey::{CredentialId, ToolName};

use super::Approvals;
use crate::approval::{Recovery, RequestState};
use crate::operation::approval_model::{STARTED_OVER, stops_reset};

impl Approvals {
    pub(super) fn is_resetting(&self, user: &UserId) -> bool {
        self.recoveries.contains_key(user)
    }

    /// Whether a person's passkey may not sign this now.
    pub(super) fn forbids(&self, user: &UserId, tool: &ToolName) -> bool {
        !stops_reset(tool) && self.is_resetting(user)
    }

    pub(crate) fn begin_recovery(&mut self, new: Recovery) -> bool {
        if self.is_resetting(&new.user) {
            return false;
        }
        let challenges = self.challenges.values_mut().map(|it| &mut it.record);
        for open in challenges.filter(|it| it.user == new.user && !it.consumed) {
            open.expires = Timestamp(0);
        }
        let requests = self.requests.values_mut();
        for granted in requests.filter(|it| it.user == new.user && it.state == RequestState::Approved) {
            (granted.state, granted.decided) = (RequestState::Expired, Some(new.begun));
        }
        self.recoveries.insert(new.user.clone(), new);
        true
    }

    pub(crate) fn end_recovery(&mut self, user: &UserId, by: &str, now: Timestamp) -> bool {
        if self.recoveries.get(user).is_none_or(|recovery| recovery.due > now) {
            return false;
        }
        self.recoveries.remove(user);
        let of_them: Vec<CredentialId> =
            self.list_credentials(Some(user)).into_iter().map(|it| it.credential.id).collect();
        for id in of_them {
            self.revoke_credential(&id, by, STARTED_OVER, now);
        }
        let signed = self.mandates.values().filter(|it| it.user == *user).map(|it| it.id.clone());
        for id in signed.collect::<Vec<_>>() {
            self.revoke_mandate(&id, by, STARTED_OVER, now);
        }
        true
    }
}
