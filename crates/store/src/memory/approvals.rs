//! What approvals mean, in the plainest words.

mod expired;
mod recovery;

use std::collections::BTreeMap;

use highwater_core::approval::{
    ChallengeRecord, ConsumeOutcome, Credential, CredentialStanding, GrantOutcome, MandateOutcome, Partial,
    PartialAnswer, PendingEnrollment, QuorumState, RoundOutcome,
};
use highwater_core::decide::Effect;
use highwater_core::id::{ApprovalId, ChallengeId, Principal, UserId};
use highwater_notation::Timestamp;
use highwater_passkey::{CredentialId, ToolName};
use highwater_receipts::SignedReceipt;

use crate::approval::{
    Added, ApprovalRequest, Asked, ChallengeUsed, EnrollmentWindow, Installation, MOST_CHALLENGES,
    MandateUsed, PausedTool, Put, ReceiptDraft, Recovery, RememberedAnswer, RequestState, Revocation,
    StoredCredential, StoredMandate, StoredReceipt,
};
use crate::operation::approval_model::{
    AddCredential, Ask, Confirm, Consume, ConsumeGrant, FoundChallenge, ListRequests, PutChallenge,
    TakeRound, UseMandate, mandate_refusal, who_signed,
};

/// Everything a database holds of approvals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Approvals {
    pub(crate) installation: Option<Installation>,
    pub(crate) handles: BTreeMap<UserId, [u8; 32]>,
    pub(crate) windows: BTreeMap<UserId, EnrollmentWindow>,
    pub(crate) enrollments: BTreeMap<Principal, PendingEnrollment>,
    pub(crate) recoveries: BTreeMap<UserId, Recovery>,
    credentials: BTreeMap<String, StoredCredential>,
    requests: BTreeMap<ApprovalId, ApprovalRequest>,
    declines: BTreeMap<(Principal, String), (u32, Timestamp)>,
    challenges: BTreeMap<ChallengeId, Challenge>,
    /// With the request each belongs to.
    pub(crate) receipts: Vec<(String, StoredReceipt)>,
    /// The next place and the digest of the last receipt.
    pub(crate) chains: BTreeMap<String, (u64, String)>,
    mandates: BTreeMap<String, StoredMandate>,
    pub(crate) remembered: BTreeMap<String, RememberedAnswer>,
    /// When each that was taken ends.
    rounds: BTreeMap<String, Timestamp>,
}

#[derive(Clone, Debug)]
struct Challenge {
    record: ChallengeRecord,
    approval: Option<ApprovalId>,
    credential: Option<CredentialId>,
}

fn millis(time: Timestamp) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

// === impl Approvals ===

impl Approvals {
    pub(crate) fn window(&self, user: &UserId, now: Timestamp) -> Option<&EnrollmentWindow> {
        self.windows.get(user).filter(|window| window.expires > now)
    }

    /// Whether there is a credential that was not revoked.
    pub(crate) fn has_credentials(&self) -> bool {
        self.credentials.values().any(|it| it.revoked.is_none())
    }

    pub(crate) fn add_credential(&mut self, asked: &AddCredential) -> Added {
        let new = &asked.new;
        let id = new.registration.id.to_string();
        if self.credentials.contains_key(&id) {
            return Added::AlreadyEnrolled;
        }
        let active = asked.standing == CredentialStanding::Active;
        let standing = StoredCredential::standing(active, false);
        let stored = StoredCredential {
            credential: Credential { standing, ..new.dormant() },
            aaguid: new.registration.aaguid,
            backed_up: new.registration.backed_up,
            format: new.registration.format.clone(),
            attestation: new.registration.attestation_object.clone(),
            client_data: new.registration.client_data.clone(),
            created: asked.now,
            enrolled_by: asked.enrolled_by.clone(),
            confirmed: active.then(|| (asked.now, asked.enrolled_by.clone())),
            revoked: None,
            name: String::new(),
        };
        self.credentials.insert(id, stored);
        Added::Done
    }

    pub(crate) fn confirm_credential(&mut self, id: &CredentialId, by: &str, now: Timestamp) -> bool {
        match self.credentials.get_mut(&id.to_string()) {
            Some(it) if it.credential.standing == CredentialStanding::Dormant => {
                it.credential.standing = CredentialStanding::Active;
                it.confirmed = Some((now, by.to_owned()));
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn revoke_credential(
        &mut self,
        id: &CredentialId,
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> bool {
        match self.credentials.get_mut(&id.to_string()) {
            Some(it) if it.revoked.is_none() => {
                it.credential.standing = CredentialStanding::Revoked;
                it.revoked = Some(Revocation { at: now, by: by.to_owned(), reason: reason.to_owned() });
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn rename_credential(&mut self, id: &CredentialId, name: &str) -> bool {
        match self.credentials.get_mut(&id.to_string()) {
            Some(it) if it.revoked.is_none() => {
                name.clone_into(&mut it.name);
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn list_credentials(&self, user: Option<&UserId>) -> Vec<StoredCredential> {
        let of = |it: &&StoredCredential| user.is_none_or(|user| it.credential.user == *user);
        let mut found: Vec<_> = self.credentials.values().filter(of).cloned().collect();
        found.sort_by_key(|it| (it.created, it.credential.id.to_string()));
        found
    }

    pub(crate) fn request(&self, id: &ApprovalId, now: i64) -> Option<ApprovalRequest> {
        self.requests.get(id).map(|found| at(found, now))
    }

    pub(crate) fn list_requests(&self, asked: &ListRequests) -> Vec<ApprovalRequest> {
        let filter = &asked.filter;
        let mut found: Vec<_> = self.requests.values().map(|it| at(it, millis(asked.now))).collect();
        found.retain(|it| {
            filter.user.as_ref().is_none_or(|user| it.user == *user)
                && filter.principal.as_ref().is_none_or(|principal| it.principal == *principal)
                && filter.state.is_none_or(|state| it.state == state)
        });
        found.sort_by_key(|it| (std::cmp::Reverse(it.created), it.id.clone()));
        found.truncate(asked.most as usize);
        found
    }

    pub(crate) fn ask(&mut self, asked: &Ask) -> Asked {
        let (new, now) = (&asked.new, millis(asked.now));
        if new.kind == Effect::Passkey && self.is_resetting(&new.user) {
            return Asked::Resetting;
        }
        let counted = self.declines.get(&(new.principal.clone(), new.tool.as_str().to_owned()));
        if counted.is_some_and(|(count, _)| *count >= asked.limits.pause_after) {
            return Asked::Paused;
        }
        let same: Vec<ApprovalRequest> = self
            .requests
            .values()
            .filter(|it| it.principal == new.principal && it.action == new.action && !it.cleared)
            .map(|it| at(it, now))
            .collect();
        let declined =
            same.iter().filter(|it| it.state == RequestState::Declined).filter_map(|it| it.decided);
        if let Some(last) = declined.max() {
            let until = Timestamp(last.0 + asked.limits.decline_memory_ms);
            if until > asked.now {
                return Asked::Declined { until };
            }
        }
        let same: Vec<ApprovalRequest> = same.into_iter().filter(|it| it.session == new.session).collect();
        if let Some(granted) = same.iter().find(|it| it.state == RequestState::Approved) {
            return Asked::Granted(granted.clone());
        }
        for waiting in same.iter().filter(|it| it.state == RequestState::Pending) {
            if asked.joins(waiting) {
                return Asked::Joined(waiting.clone());
            }
            self.end(&waiting.id, asked.now);
        }
        let pending = self
            .requests
            .values()
            .filter(|it| it.principal == new.principal && at(it, now).state == RequestState::Pending);
        if pending.count() >= asked.limits.pending as usize {
            return Asked::TooMany;
        }
        let new = asked.request(now);
        self.requests.insert(new.id.clone(), new.clone());
        Asked::New(new)
    }

    pub(crate) fn decline(&mut self, id: &ApprovalId, by: &str, now: Timestamp) -> bool {
        let Some(it) = self.requests.get_mut(id) else { return false };
        let open = match it.state {
            RequestState::Pending => it.expires > now,
            RequestState::Approved => true,
            RequestState::Consumed | RequestState::Declined | RequestState::Expired => false,
        };
        if open {
            it.state = RequestState::Declined;
            (it.decided, it.decided_by) = (Some(now), Some(by.to_owned()));
            let key = (it.principal.clone(), it.tool.as_str().to_owned());
            let counted = self.declines.entry(key).or_insert((0, now));
            *counted = (counted.0 + 1, now);
        }
        open
    }

    pub(crate) fn confirm(&mut self, asked: &Confirm) -> bool {
        if asked.user.as_ref().is_some_and(|user| self.is_resetting(user)) {
            return false;
        }
        let Some(it) = self.requests.get_mut(&asked.id) else { return false };
        if it.kind != Effect::Confirm || it.state != RequestState::Pending || it.expires <= asked.now {
            return false;
        }
        it.state = RequestState::Approved;
        (it.decided, it.decided_by) = (Some(asked.now), Some(asked.by.clone()));
        let (principal, tool) = (it.principal.clone(), it.tool.clone());
        self.forget_declines(&principal, &tool);
        true
    }

    pub(crate) fn end(&mut self, id: &ApprovalId, now: Timestamp) -> bool {
        match self.requests.get_mut(id) {
            Some(it) if matches!(it.state, RequestState::Pending | RequestState::Approved) => {
                (it.state, it.decided) = (RequestState::Expired, Some(now));
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn forget_declines(&mut self, principal: &Principal, tool: &ToolName) -> bool {
        self.declines.remove(&(principal.clone(), tool.as_str().to_owned())).is_some()
    }

    pub(crate) fn paused(&self, after: u32) -> Vec<PausedTool> {
        let paused = |((principal, tool), (declines, since)): (&(Principal, String), &(u32, Timestamp))| {
            let tool = ToolName::parse(tool).ok()?;
            let (principal, declines, since) = (principal.clone(), *declines, *since);
            (declines >= after).then_some(PausedTool { principal, tool, declines, since })
        };
        let mut found: Vec<_> = self.declines.iter().filter_map(paused).collect();
        found.sort_by_key(|it| std::cmp::Reverse(it.since));
        found
    }

    pub(crate) fn put_challenge(&mut self, asked: &PutChallenge) -> Put {
        let now = millis(asked.record.issued);
        if self.forbids(&asked.record.user, &asked.record.tool) {
            return Put::Resetting;
        }
        if let Some(approval) = &asked.approval {
            let waits = self.request(approval, now).is_some_and(|found| {
                found.state == RequestState::Pending
                    && found.action == asked.record.wire.action()
                    && found.principal == asked.record.principal
            });
            let count = self.challenges.values().filter(|it| it.approval.as_ref() == Some(approval)).count();
            if !waits || count >= MOST_CHALLENGES as usize {
                return Put::TooMany;
            }
        }
        let record = asked.record_at(now);
        let challenge =
            Challenge { record: record.clone(), approval: asked.approval.clone(), credential: None };
        self.challenges.insert(record.id.clone(), challenge);
        Put::Done(Box::new(record))
    }

    pub(crate) fn challenge_and_credential(
        &self,
        challenge: &ChallengeId,
        credential: Option<&CredentialId>,
    ) -> FoundChallenge {
        let Some(found) = self.challenges.get(challenge) else { return FoundChallenge::default() };
        FoundChallenge {
            challenge: Some((found.record.clone(), found.approval.clone())),
            credential: credential.and_then(|id| self.credentials.get(&id.to_string())).cloned(),
        }
    }

    /// On a copy, which counts if all of it works.
    pub(crate) fn consume(&mut self, asked: &Consume) -> ChallengeUsed {
        let mut after = self.clone();
        let used = after.try_consume(asked);
        if used.outcome == ConsumeOutcome::Consumed {
            *self = after;
        }
        used
    }

    fn try_consume(&mut self, asked: &Consume) -> ChallengeUsed {
        let refused = |outcome| ChallengeUsed::refused(outcome, None);
        let Some(challenge) = self.challenges.get_mut(&asked.challenge) else {
            return refused(ConsumeOutcome::Expired);
        };
        if challenge.record.consumed {
            return refused(ConsumeOutcome::AlreadyConsumed);
        }
        let mine = challenge.approval == asked.approval
            && (asked.approval.is_some() || challenge.record.principal == asked.principal)
            && challenge.record.wire.action() == asked.action;
        if !mine || challenge.record.expires <= asked.now {
            return refused(ConsumeOutcome::Expired);
        }
        challenge.record.consumed = true;
        challenge.credential = Some(asked.credential.clone());
        let tool = challenge.record.tool.clone();
        if self.forbids(&asked.user, &tool) {
            return refused(ConsumeOutcome::CredentialGone);
        }
        let credential = self.credentials.get_mut(&asked.credential.to_string());
        let Some(credential) = credential.filter(|it| it.credential.is_usable_by(&asked.user)) else {
            return refused(ConsumeOutcome::CredentialGone);
        };
        if !credential.credential.counter_may_become(asked.counter) {
            return refused(ConsumeOutcome::CounterRegressed);
        }
        credential.credential.counter = asked.counter;
        credential.backed_up = asked.backed_up;
        let mut request = None;
        if let Some(approval) = &asked.approval {
            match self.approve(asked, approval) {
                Ok(state) => request = Some(state),
                Err(used) => return used,
            }
        }
        let of = asked.approval.as_ref().map_or("", ApprovalId::as_str);
        let receipt = self.file(&asked.draft, of, asked.now);
        if asked.draft.is_sealed() {
            self.clear_challenge(&asked.challenge, millis(asked.now));
        }
        ChallengeUsed { outcome: ConsumeOutcome::Consumed, receipt, request }
    }

    fn approve(&mut self, asked: &Consume, approval: &ApprovalId) -> Result<RequestState, ChallengeUsed> {
        let Some(found) = self.request(approval, millis(asked.now)) else {
            return Err(ChallengeUsed::too_late(None));
        };
        if let Some(refused) = asked.refuses(&found) {
            return Err(refused);
        }
        let signed = self.signatures(approval);
        let quorum = ApprovalRequest::quorum(&found.user, &found.need);
        if quorum.state(&found.user, &signed) != QuorumState::Reached {
            return Ok(RequestState::Pending);
        }
        if let Some(it) = self.requests.get_mut(approval) {
            it.state = RequestState::Approved;
            (it.decided, it.decided_by) = (Some(asked.now), Some(who_signed(&signed)));
        }
        self.forget_declines(&found.principal, &found.tool);
        Ok(RequestState::Approved)
    }

    fn signatures(&self, approval: &ApprovalId) -> Vec<Partial> {
        let of = self.challenges.values().filter(|it| it.approval.as_ref() == Some(approval));
        let partial = |it: &Challenge| {
            let credential = self.credentials.get(&it.credential.as_ref()?.to_string())?;
            let said = if credential.revoked.is_some() {
                PartialAnswer::Revoked
            } else if self.is_resetting(&it.record.user) {
                PartialAnswer::Resetting
            } else {
                PartialAnswer::Signed
            };
            it.record.consumed.then(|| Partial { user: it.record.user.clone(), said })
        };
        of.filter_map(partial).collect()
    }

    fn file(&mut self, draft: &ReceiptDraft, of: &str, now: Timestamp) -> Option<Box<SignedReceipt>> {
        let (next, head) = self.chains.entry(draft.chain().to_owned()).or_default();
        let filed = draft.file(*next, head, millis(now))?;
        let (chain, seq) = (draft.chain().to_owned(), *next);
        (*next, *head) = (seq + 1, filed.digest);
        let receipt = StoredReceipt { chain, seq, id: draft.id().to_owned(), text: filed.text };
        self.receipts.push((of.to_owned(), receipt));
        Some(Box::new(filed.signed))
    }

    pub(crate) fn consume_grant(&mut self, asked: &ConsumeGrant) -> GrantOutcome {
        let found = self.request(&asked.id, millis(asked.now));
        let live = found.as_ref().filter(|it| {
            it.state == RequestState::Approved
                && it.principal == asked.principal
                && it.session == asked.session
                && it.action == asked.action
        });
        let Some(found) = live else { return asked.missed(found.as_ref()) };
        let outcome = asked.judge(found, &self.signatures(&asked.id));
        if let Some(it) = self.requests.get_mut(&asked.id) {
            if outcome == GrantOutcome::Consumed {
                it.state = RequestState::Consumed;
            } else {
                (it.state, it.decided) = (RequestState::Expired, Some(asked.now));
            }
            if it.sensitive {
                self.clear_request(&asked.id);
            }
        }
        outcome
    }

    pub(crate) fn put_mandate(&mut self, new: &StoredMandate) -> bool {
        let known = self.receipts.iter().any(|(_, receipt)| receipt.id == new.receipt);
        let taken = self.mandates.values().any(|it| it.id == new.id || it.receipt == new.receipt);
        let may = known && !taken;
        if may {
            self.mandates.insert(new.id.clone(), StoredMandate { revoked: None, ..new.clone() });
        }
        may
    }

    pub(crate) fn list_mandates(&self, agent: Option<&Principal>, most: u32) -> Vec<StoredMandate> {
        let of = |it: &&StoredMandate| agent.is_none_or(|agent| it.agent == *agent);
        let mut found: Vec<_> = self.mandates.values().filter(of).cloned().collect();
        found.sort_by_key(|it| (std::cmp::Reverse(it.expires), it.id.clone()));
        found.truncate(most as usize);
        found
    }

    pub(crate) fn revoke_mandate(&mut self, id: &str, by: &str, reason: &str, now: Timestamp) -> bool {
        match self.mandates.get_mut(id) {
            Some(it) if it.revoked.is_none() => {
                it.revoked = Some(Revocation { at: now, by: by.to_owned(), reason: reason.to_owned() });
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn use_mandate(&mut self, asked: &UseMandate) -> MandateUsed {
        let usable = |it: &&mut StoredMandate| {
            it.remaining > 0 && it.revoked.is_none() && it.not_before <= asked.now && it.expires > asked.now
        };
        let recoveries = &self.recoveries;
        let Some(mandate) = self.mandates.get_mut(&asked.id).filter(usable) else {
            let outcome = mandate_refusal(self.mandates.get(&asked.id));
            return MandateUsed { outcome, receipt: None };
        };
        if recoveries.contains_key(&mandate.user) {
            return MandateUsed { outcome: MandateOutcome::Resetting, receipt: None };
        }
        mandate.remaining -= 1;
        let outcome = MandateOutcome::Used { left: mandate.remaining };
        MandateUsed { outcome, receipt: self.file(&asked.draft, "", asked.now) }
    }

    pub(crate) fn take_round(&mut self, asked: &TakeRound) -> RoundOutcome {
        if asked.ends <= asked.now {
            return RoundOutcome::Expired;
        }
        if self.rounds.contains_key(&asked.id) {
            return RoundOutcome::AlreadyTaken;
        }
        self.rounds.insert(asked.id.clone(), asked.ends);
        RoundOutcome::Taken
    }

    pub(crate) fn list_remembered(
        &self,
        of: Option<&(Principal, ToolName)>,
        now: Timestamp,
    ) -> Vec<RememberedAnswer> {
        let wanted = |it: &&RememberedAnswer| {
            let of = of.is_none_or(|(principal, tool)| it.principal == *principal && it.tool == *tool);
            of && it.until > now
        };
        let mut found: Vec<_> = self.remembered.values().filter(wanted).cloned().collect();
        found.sort_by_key(|it| (std::cmp::Reverse(it.created), it.id.clone()));
        found
    }
}

fn at(found: &ApprovalRequest, now: i64) -> ApprovalRequest {
    let decided = found.decided.map_or(0, millis);
    let state = ApprovalRequest::state_at(found.state, millis(found.expires), decided, now);
    ApprovalRequest { state, ..found.clone() }
}
