//! What the rest of the program asks about approvals.

use highwater_core::approval::{
    ChallengeRecord, CredentialStanding, GrantOutcome, NewCredential, PendingEnrollment, RoundOutcome,
    VerifiedApproval,
};
use highwater_core::id::{ApprovalId, ChallengeId, Principal, SessionKey, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::Timestamp;
use highwater_passkey::{ActionHash, CredentialId, ServerId, ToolName};
use tokio::sync::broadcast;

use super::{
    Added, ApprovalRequest, AskLimits, Asked, ChallengeUsed, CodeTried, EnrollmentWindow, Installation,
    MandateUsed, PausedTool, Put, ReceiptDraft, Recovery, RememberedAnswer, RequestFilter, StoredCredential,
    StoredMandate, StoredReceipt,
};
use crate::operation::approval as operation;
use crate::random::{random_bytes, random_uuid};
use crate::{Store, StoreError, clock};

/// The most rows that one list gives.
const LIST_LIMIT: u32 = 1000;

// === impl Store ===

impl Store {
    /// The time by which things expire: the database's own where replicas share one.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        if !self.is_shared() {
            return Ok(clock::timestamp());
        }
        self.0.perform(operation::ReadClock(clock::now())).await.map(operation::stamp)
    }

    /// The installation, made on first use. Credentials are of one relying party and one page, so others are refused once
    /// there is a credential.
    pub async fn installation(&self, rp_id: &str, origin: &str) -> Result<Installation, StoreError> {
        let foreign = |_| StoreError::Foreign { what: "an installation without an id" };
        let wanted = Installation {
            server_id: ServerId::new(&random_uuid()?).map_err(foreign)?,
            rp_id: rp_id.to_owned(),
            origin: origin.to_owned(),
            created: clock::timestamp(),
        };
        let found = self.0.perform(operation::Install(wanted)).await?;
        if found.rp_id != rp_id || found.origin != origin {
            let (rp_id, origin) = (found.rp_id.into(), found.origin.into());
            return Err(StoreError::OtherOrigin { rp_id, origin });
        }
        self.0.page.get_or_init(|| (rp_id.to_owned(), origin.to_owned()));
        Ok(found)
    }

    /// What authenticators call a person: 32 random bytes, made once.
    pub async fn user_handle(&self, user: &UserId) -> Result<[u8; 32], StoreError> {
        let drawn = random_bytes()?;
        self.0.perform(operation::Handle { user: user.clone(), drawn, now: clock::timestamp() }).await
    }

    /// Everybody who was ever named.
    pub async fn approvers(&self) -> Result<Vec<UserId>, StoreError> {
        self.0.perform(operation::ListApprovers).await
    }

    /// Opens an enrollment window for a person, in place of one that is open.
    pub async fn open_window(
        &self,
        user: &UserId,
        code_hash: Option<[u8; 32]>,
        by: &str,
        now: Timestamp,
    ) -> Result<EnrollmentWindow, StoreError> {
        self.user_handle(user).await?;
        let by = by.to_owned();
        self.0.perform(operation::OpenWindow { user: user.clone(), code_hash, by, now }).await
    }

    /// The enrollment window of a person, if one is open.
    pub async fn window(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Option<EnrollmentWindow>, StoreError> {
        self.0.perform(operation::ReadWindow { user: user.clone(), now }).await
    }

    /// Closes it.
    pub async fn close_window(&self, user: &UserId) -> Result<bool, StoreError> {
        self.0.perform(operation::CloseWindow(user.clone())).await
    }

    /// Compares the SHA-256 of a code that somebody typed. Five wrong ones close the window.
    pub async fn try_code(
        &self,
        user: &UserId,
        code_hash: [u8; 32],
        now: Timestamp,
    ) -> Result<CodeTried, StoreError> {
        self.0.perform(operation::TryCode { user: user.clone(), code_hash, now }).await
    }

    /// Keeps an enrollment; a new one replaces the one that the same principal began before (G9).
    pub async fn put_enrollment(&self, pending: &PendingEnrollment) -> Result<(), StoreError> {
        self.0.perform(operation::BeginEnrollment(pending.clone())).await
    }

    /// Takes an enrollment away, so that it is finished once (G9).
    pub async fn take_enrollment(
        &self,
        principal: &Principal,
    ) -> Result<Option<PendingEnrollment>, StoreError> {
        self.0.perform(operation::TakeEnrollment(principal.clone())).await
    }

    /// Adds a verified credential.
    pub async fn add_credential(
        &self,
        new: &NewCredential,
        enrolled_by: &str,
        standing: CredentialStanding,
        now: Timestamp,
    ) -> Result<Added, StoreError> {
        let (new, enrolled_by, page) = (new.clone(), enrolled_by.to_owned(), self.0.page.get().cloned());
        let added =
            self.0.perform(operation::AddCredential { page, new, enrolled_by, standing, now }).await?;
        added
            .map_err(|(rp_id, origin)| StoreError::OtherOrigin { rp_id: rp_id.into(), origin: origin.into() })
    }

    /// The credentials of a person, or of all; the oldest first.
    pub async fn credentials(&self, user: Option<&UserId>) -> Result<Vec<StoredCredential>, StoreError> {
        self.0.perform(operation::ListCredentials(user.cloned())).await
    }

    /// A person says that a credential counts. Whether that changed anything.
    pub async fn confirm_credential(
        &self,
        id: &CredentialId,
        by: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.0.perform(operation::ConfirmCredential { id: id.clone(), by: by.to_owned(), now }).await
    }

    /// A person names a credential that was not revoked. Whether that changed anything.
    pub async fn rename_credential(&self, id: &CredentialId, name: &str) -> Result<bool, StoreError> {
        self.0.perform(operation::RenameCredential { id: id.clone(), name: name.to_owned() }).await
    }

    /// Ends a credential for ever; its row stays. Whether that changed anything.
    pub async fn revoke_credential(
        &self,
        id: &CredentialId,
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (by, reason) = (by.to_owned(), reason.to_owned());
        self.0.perform(operation::RevokeCredential { id: id.clone(), by, reason, now }).await
    }

    /// Asks for an approval: one transaction that merges, remembers and limits.
    pub async fn ask(
        &self,
        new: ApprovalRequest,
        limits: &AskLimits,
        now: Timestamp,
    ) -> Result<Asked, StoreError> {
        let asked = self.0.perform(operation::Ask { new, limits: *limits, now }).await?;
        if let Asked::New(new) = &asked {
            self.changed(&new.id);
        }
        Ok(asked)
    }

    /// One request, as it stands now.
    pub async fn request(&self, id: &ApprovalId) -> Result<Option<ApprovalRequest>, StoreError> {
        self.0.perform(operation::ReadRequest { id: id.clone(), now: clock::timestamp() }).await
    }

    /// Requests, newest first.
    pub async fn requests(
        &self,
        filter: &RequestFilter,
        most: u32,
    ) -> Result<Vec<ApprovalRequest>, StoreError> {
        let (filter, most) = (filter.clone(), most.min(LIST_LIMIT));
        self.0.perform(operation::ListRequests { filter, most, now: clock::timestamp() }).await
    }

    /// A no. It also takes back a yes that no call rests on yet. Whether it came in time.
    pub async fn decline(&self, id: &ApprovalId, by: &str, now: Timestamp) -> Result<bool, StoreError> {
        let done = self.0.perform(operation::Decline { id: id.clone(), by: by.to_owned(), now }).await?;
        self.changed(id);
        Ok(done)
    }

    /// A yes by button, for what takes no passkey. `user` is the person whose passkey let them press it. Whether it came
    /// in time, and their passkeys are not being reset.
    pub async fn confirm(
        &self,
        id: &ApprovalId,
        by: &str,
        user: Option<&UserId>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (by, user) = (by.to_owned(), user.cloned());
        let done = self.0.perform(operation::Confirm { id: id.clone(), by, user, now }).await?;
        self.changed(id);
        Ok(done)
    }

    /// Ends a request or a grant that does not cover what is asked now (G21).
    pub async fn end_request(&self, id: &ApprovalId, now: Timestamp) -> Result<bool, StoreError> {
        let done = self.0.perform(operation::EndRequest { id: id.clone(), now }).await?;
        self.changed(id);
        Ok(done)
    }

    /// Writes down what has run out, clears what is sensitive and over, and deletes what is long over.
    pub async fn expire_requests(
        &self,
        limits: &AskLimits,
        now: Timestamp,
    ) -> Result<Vec<ApprovalId>, StoreError> {
        let decline_memory_ms = limits.decline_memory_ms;
        let ended = self.0.perform(operation::Expire { decline_memory_ms, now }).await?;
        ended.iter().for_each(|id| self.changed(id));
        Ok(ended)
    }

    /// A person lets a principal ask for a tool again.
    pub async fn resume_tool(&self, principal: &Principal, tool: &ToolName) -> Result<bool, StoreError> {
        let (principal, tool) = (principal.clone(), tool.clone());
        self.0.perform(operation::ResumeTool { principal, tool }).await
    }

    /// Tools that are paused, last declined first.
    pub async fn paused_tools(&self, limits: &AskLimits) -> Result<Vec<PausedTool>, StoreError> {
        self.0.perform(operation::ListPaused { pause_after: limits.pause_after }).await
    }

    /// T3: uses up a grant for exactly this action, in the conversation that asked for it, if the tool is what it was and
    /// enough signatures still count.
    pub async fn consume_grant(
        &self,
        id: &ApprovalId,
        (principal, session): (&Principal, &SessionKey),
        action: ActionHash,
        definition: Option<PinDigest>,
        now: Timestamp,
    ) -> Result<GrantOutcome, StoreError> {
        let (principal, session) = (principal.clone(), session.clone());
        let operation =
            operation::ConsumeGrant { id: id.clone(), principal, session, action, definition, now };
        let outcome = self.0.perform(operation).await?;
        self.changed(id);
        Ok(outcome)
    }

    /// Which requests have changed, here or at another replica. A hint: whoever waits looks again in any case.
    pub fn watch_approvals(&self) -> broadcast::Receiver<ApprovalId> {
        self.0.approvals_changed.subscribe()
    }

    /// Stores a challenge before it is answered: ten at most for one request, and only while it waits.
    pub async fn put_challenge(
        &self,
        record: &ChallengeRecord,
        approval: Option<&ApprovalId>,
    ) -> Result<Put, StoreError> {
        let (record, approval) = (record.clone(), approval.cloned());
        self.0.perform(operation::PutChallenge { record, approval }).await
    }

    /// A challenge with the request it belongs to, and a credential, as both were at one moment (G24).
    pub async fn challenge_and_credential(
        &self,
        challenge: &ChallengeId,
        credential: Option<&CredentialId>,
    ) -> Result<(Option<(ChallengeRecord, Option<ApprovalId>)>, Option<StoredCredential>), StoreError> {
        let (challenge, credential) = (challenge.clone(), credential.cloned());
        let found = self.0.perform(operation::ChallengeAndCredential { challenge, credential }).await?;
        Ok((found.challenge, found.credential))
    }

    /// T1 without a request, T2 with one: consumes the challenge of a verified signature, stores its counter, files its
    /// receipt and, if there are enough signatures, approves the request. All of it or nothing.
    pub async fn consume(
        &self,
        verified: &VerifiedApproval,
        approval: Option<&ApprovalId>,
        receipt: &ReceiptDraft,
        now: Timestamp,
    ) -> Result<ChallengeUsed, StoreError> {
        let assertion = verified.assertion();
        let operation = operation::Consume {
            challenge: verified.challenge().clone(),
            principal: verified.principal().clone(),
            user: verified.user().clone(),
            credential: verified.credential().clone(),
            action: verified.action(),
            counter: assertion.counter,
            backed_up: assertion.backed_up,
            approval: approval.cloned(),
            draft: receipt.clone(),
            now,
        };
        let used = self.0.perform(operation).await?;
        if let Some(id) = approval {
            self.changed(id);
        }
        Ok(used)
    }

    /// Clears the arguments of a challenge that is over.
    pub async fn clear_challenge(&self, id: &ChallengeId, now: Timestamp) -> Result<bool, StoreError> {
        self.0.perform(operation::ClearChallenge { id: id.clone(), now }).await
    }

    /// Receipts of a chain, from a place on.
    pub async fn receipts(
        &self,
        chain: &str,
        from: u64,
        most: u32,
    ) -> Result<Vec<StoredReceipt>, StoreError> {
        let chain = chain.to_owned();
        self.0.perform(operation::ListReceipts { chain, from, most: most.min(LIST_LIMIT) }).await
    }

    /// One receipt.
    pub async fn receipt(&self, id: &str) -> Result<Option<StoredReceipt>, StoreError> {
        self.0.perform(operation::ReadReceipt(id.to_owned())).await
    }

    /// The receipts of one request: one for each who signed.
    pub async fn receipts_of(&self, id: &ApprovalId) -> Result<Vec<StoredReceipt>, StoreError> {
        self.0.perform(operation::ReceiptsOf(id.clone())).await
    }

    /// The chains of all gateways that share the store, with how many receipts each has.
    pub async fn receipt_chains(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.0.perform(operation::ListChains).await
    }

    /// Keeps a mandate. Its receipt must be there, and one receipt makes one mandate.
    pub async fn put_mandate(&self, mandate: &StoredMandate) -> Result<bool, StoreError> {
        self.0.perform(operation::PutMandate(mandate.clone())).await
    }

    /// The mandates of an agent, or of all; the last to end first.
    pub async fn mandates(
        &self,
        agent: Option<&Principal>,
        most: u32,
    ) -> Result<Vec<StoredMandate>, StoreError> {
        self.0.perform(operation::ListMandates { agent: agent.cloned(), most: most.min(LIST_LIMIT) }).await
    }

    /// Takes a mandate back, at once.
    pub async fn revoke_mandate(
        &self,
        id: &str,
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (id, by, reason) = (id.to_owned(), by.to_owned(), reason.to_owned());
        self.0.perform(operation::RevokeMandate { id, by, reason, now }).await
    }

    /// T4: uses a mandate once, with the receipt of that use.
    pub async fn use_mandate(
        &self,
        id: &str,
        receipt: &ReceiptDraft,
        now: Timestamp,
    ) -> Result<MandateUsed, StoreError> {
        let (id, draft) = (id.to_owned(), receipt.clone());
        self.0.perform(operation::UseMandate { id, draft, now }).await
    }

    /// Takes a round of an approved execution: it goes on once, wherever it is brought and whatever dies meanwhile.
    pub async fn take_round(
        &self,
        id: &str,
        ends: Timestamp,
        now: Timestamp,
    ) -> Result<RoundOutcome, StoreError> {
        self.0.perform(operation::TakeRound { id: id.to_owned(), ends, now }).await
    }

    /// Remembers an answer to a question without a passkey.
    pub async fn remember(&self, answer: &RememberedAnswer) -> Result<(), StoreError> {
        self.0.perform(operation::Remember(answer.clone())).await
    }

    /// The answers that stand for a principal and a tool, or all that stand.
    pub async fn remembered(
        &self,
        of: Option<(&Principal, &ToolName)>,
        now: Timestamp,
    ) -> Result<Vec<RememberedAnswer>, StoreError> {
        let of = of.map(|(principal, tool)| (principal.clone(), tool.clone()));
        self.0.perform(operation::ListRemembered { of, now }).await
    }

    /// Forgets an answer.
    pub async fn forget(&self, id: &str) -> Result<bool, StoreError> {
        self.0.perform(operation::Forget(id.to_owned())).await
    }

    /// Begins to start over for a person, if nobody has yet. Until it is stopped or completed their passkeys sign nothing,
    /// and what they signed counts for nothing.
    pub async fn begin_reset(
        &self,
        user: &UserId,
        by: &str,
        delay_ms: u64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (user, by) = (user.clone(), by.to_owned());
        self.0.perform(operation::BeginRecovery { user, by, delay_ms, now }).await
    }

    /// Stops it. Whether it was under way.
    pub async fn cancel_reset(&self, user: &UserId) -> Result<bool, StoreError> {
        self.0.perform(operation::CancelRecovery(user.clone())).await
    }

    /// Completes it if it is due: no passkey of that person counts any more.
    pub async fn complete_reset(&self, user: &UserId, by: &str, now: Timestamp) -> Result<bool, StoreError> {
        self.0.perform(operation::EndRecovery { user: user.clone(), by: by.to_owned(), now }).await
    }

    /// Everybody who starts over.
    pub async fn resets(&self) -> Result<Vec<Recovery>, StoreError> {
        self.0.perform(operation::ListRecoveries).await
    }

    /// Wakes whoever waits for a request in this process.
    fn changed(&self, id: &ApprovalId) {
        // Nobody may be waiting.
        self.0.approvals_changed.send(id.clone()).ok();
    }
}
