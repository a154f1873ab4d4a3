//! What is over: its time ran out, it is cleared, or it counts no more.

use highwater_core::approval::ChallengeRecord;
use highwater_core::decide::QuestionDigest;
use highwater_core::id::{ApprovalId, ChallengeId};
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::{ActionHash, Nonce, WireChallenge};

use super::{Approvals, at, millis};
use crate::approval::RequestState;
use crate::operation::approval_model::{Expire, KEPT_CHALLENGES_MS, KEPT_REQUESTS_MS, KEPT_ROUNDS_MS, stamp};

impl Approvals {
    pub(crate) fn expire(&mut self, asked: &Expire) -> Vec<ApprovalId> {
        let now = millis(asked.now);
        let mut ended = Vec::new();
        let memory = asked.decline_memory_ms;
        let mut cleared = Vec::new();
        for it in self.requests.values_mut() {
            if at(it, now).state != it.state {
                (it.state, it.decided) = (RequestState::Expired, Some(asked.now));
                ended.push(it.id.clone());
            }
            let over = match it.state {
                RequestState::Consumed | RequestState::Expired => true,
                RequestState::Declined => it.decided.is_some_and(|at| at.0 + memory <= asked.now.0),
                RequestState::Pending | RequestState::Approved => false,
            };
            if it.sensitive && !it.cleared && over {
                cleared.push(it.id.clone());
            }
        }
        cleared.iter().for_each(|id| self.clear_request(id));
        for it in self.challenges.values_mut() {
            if it.record.consumed || it.record.expires <= asked.now {
                clear(&mut it.record);
            }
        }
        self.challenges.retain(|_, it| millis(it.record.issued) >= now - KEPT_CHALLENGES_MS);
        self.requests.retain(|_, it| {
            millis(it.created) >= now - KEPT_REQUESTS_MS
                || matches!(it.state, RequestState::Pending | RequestState::Approved)
        });
        self.remembered.retain(|_, it| it.until > asked.now);
        self.rounds.retain(|_, ends| millis(*ends) >= now - KEPT_ROUNDS_MS);
        ended
    }

    /// Clears a request with all challenges of it.
    pub(super) fn clear_request(&mut self, id: &ApprovalId) {
        if let Some(it) = self.requests.get_mut(id) {
            it.cleared = true;
            it.arguments = nothing();
            it.action = ActionHash::from([0; 32]);
            it.question = QuestionDigest::CLEARED;
            it.shown = "".into();
        }
        for it in self.challenges.values_mut().filter(|it| it.approval.as_ref() == Some(id)) {
            clear(&mut it.record);
            if !it.record.consumed {
                it.record.expires = Timestamp(0);
            }
        }
    }

    pub(crate) fn clear_challenge(&mut self, id: &ChallengeId, now: i64) -> bool {
        match self.challenges.get_mut(id) {
            Some(it) if it.record.consumed || it.record.expires <= stamp(now) => {
                clear(&mut it.record);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Nothing outstanding counts any more.
    pub(crate) fn void(&mut self) {
        for it in self.requests.values_mut() {
            if matches!(it.state, RequestState::Pending | RequestState::Approved) {
                it.state = RequestState::Expired;
            }
        }
        for it in self.challenges.values_mut().filter(|it| !it.record.consumed) {
            it.record.expires = Timestamp(0);
        }
        self.enrollments.clear();
        self.windows.clear();
    }
}

fn clear(record: &mut ChallengeRecord) {
    record.arguments = nothing();
    record.wire = WireChallenge::new(Nonce([0; 32]), ActionHash::from([0; 32]));
}

fn nothing() -> CanonicalArguments {
    CanonicalArguments::none()
}
