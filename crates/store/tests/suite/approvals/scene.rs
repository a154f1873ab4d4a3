//! People with passkeys, and calls that wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use highwater_core::approval::{
    ApprovalCall, AuthenticatorClass, ChallengeRecord, CredentialStanding, Evidence, NewCredential,
    PendingEnrollment, Proposal, Quorum, Rejection, VerifiedApproval, finish, issue, verify,
};
use highwater_core::decide::{Effect, QuestionDigest};
use highwater_core::id::{ApprovalId, ChallengeId, Principal, SessionKey, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::{ActionHash, Algorithm, CredentialId, Nonce, RelyingParty, ServerId, ToolName};
use highwater_receipts::{ChainLink, Circumstances, Receipt};
use highwater_store::{
    Added, ApprovalRequest, AskLimits, Asked, ChallengeUsed, Need, Put, ReceiptDraft, ReceiptKey,
    RequestState, Store,
};
use highwater_testkit::passkey::{ORIGIN, Passkey, RP_ID};
use serde_json::json;

static DRAWN: AtomicU64 = AtomicU64::new(1);

/// A name that is used once, also by processes that follow each other.
pub(crate) fn fresh(prefix: &str) -> String {
    format!("{prefix}{}-{}", std::process::id(), DRAWN.fetch_add(1, Ordering::Relaxed))
}

fn nonce() -> Nonce {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&DRAWN.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    bytes[8..12].copy_from_slice(&std::process::id().to_be_bytes());
    Nonce(bytes)
}

/// A person and their passkey.
pub(crate) struct Person {
    pub(crate) user: UserId,
    pub(crate) passkey: Passkey,
}

/// One gateway: its key, and who it is before authenticators.
pub(crate) struct Scene {
    pub(crate) key: Arc<ReceiptKey>,
    pub(crate) party: RelyingParty,
    pub(crate) principal: Principal,
}

pub(crate) fn definition(digit: char) -> PinDigest {
    PinDigest::parse(&digit.to_string().repeat(64)).unwrap()
}

pub(crate) fn tool(name: &str) -> ToolName {
    ToolName::exposed(name).unwrap()
}

impl Person {
    pub(crate) fn new(name: &str) -> Self {
        let mut passkey = Passkey::new(Algorithm::EdDsa);
        passkey.id = fresh(name).into_bytes();
        Self { user: UserId::new(name), passkey }
    }

    pub(crate) fn credential(&self) -> CredentialId {
        CredentialId::new(self.passkey.id.clone()).unwrap()
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let server = ServerId::new("3f1c1f2e-9d0a-4d53-8a6e-6f0f6b7e0001").unwrap();
        Self {
            key: Arc::new(ReceiptKey::from_seed(&[7; 32]).unwrap()),
            party: RelyingParty::new(RP_ID, [ORIGIN], server),
            principal: Principal::new("agent"),
        }
    }

    /// A verified registration that is not stored yet.
    pub(crate) fn registered(&self, person: &Person) -> NewCredential {
        let pending = PendingEnrollment::begin(
            self.principal.clone(),
            person.user.clone(),
            person.passkey.user_handle.clone(),
            nonce(),
            Timestamp(0),
        );
        let response = person.passkey.register(&pending.challenge.0, |draft| draft.counter = 1).to_string();
        finish(Some(&pending), &self.principal, &response, &self.party, None, |_| false, Timestamp(1))
            .unwrap()
    }

    pub(crate) async fn enroll_as(&self, store: &Store, name: &str, standing: CredentialStanding) -> Person {
        let person = Person::new(name);
        let now = store.now().await.unwrap();
        let added = store.add_credential(&self.registered(&person), "terminal", standing, now).await.unwrap();
        assert_eq!(added, Added::Done);
        person
    }

    /// A person whose passkey counts.
    pub(crate) async fn enroll(&self, store: &Store, name: &str) -> Person {
        self.enroll_as(store, name, CredentialStanding::Active).await
    }

    pub(crate) fn arguments(&self, path: &str) -> CanonicalArguments {
        CanonicalArguments::read(Some(&json!({ "path": path }).to_string())).unwrap()
    }

    /// A request that nobody has asked yet; it can be answered for five minutes.
    pub(crate) fn request(&self, kind: Effect, path: &str, quorum: Option<Quorum>) -> ApprovalRequest {
        let (tool, arguments) = (tool("files__delete"), self.arguments(path));
        ApprovalRequest {
            id: ApprovalId::new(fresh("apr_")),
            kind,
            user: UserId::new("ada"),
            principal: self.principal.clone(),
            session: SessionKey::new("context/agent/a"),
            caller: "a client".to_owned(),
            action: ActionHash::of(&tool, &arguments, self.party.server()),
            tool,
            upstream: Some(UpstreamId::new("files")),
            definition: Some(definition('a')),
            arguments,
            shown: r#"{"text":"delete"}"#.into(),
            told: "[]".into(),
            question: QuestionDigest::parse(&"c".repeat(64)).unwrap(),
            need: Need { class: AuthenticatorClass::CrossPlatform, quorum },
            sensitive: false,
            cleared: false,
            state: RequestState::Pending,
            created: Timestamp(0),
            expires: Timestamp(300_000),
            decided: None,
            decided_by: None,
        }
    }

    pub(crate) async fn ask(&self, store: &Store, new: ApprovalRequest) -> Asked {
        let now = store.now().await.unwrap();
        store.ask(new, &AskLimits::default(), now).await.unwrap()
    }

    /// A new request of this kind.
    pub(crate) async fn asked(
        &self,
        store: &Store,
        kind: Effect,
        path: &str,
        quorum: Option<Quorum>,
    ) -> ApprovalRequest {
        match self.ask(store, self.request(kind, path, quorum)).await {
            Asked::New(new) => new,
            other => panic!("{other:?}"),
        }
    }

    /// A challenge that is not stored yet.
    pub(crate) async fn draw(&self, store: &Store, person: &Person, path: &str) -> ChallengeRecord {
        let (tool, arguments, upstream) =
            (tool("files__delete"), self.arguments(path), UpstreamId::new("files"));
        let proposal = Proposal {
            principal: &self.principal,
            user: &person.user,
            tool: &tool,
            gated: true,
            class: AuthenticatorClass::CrossPlatform,
            upstream: Some(&upstream),
            definition: Some(definition('a')),
            arguments: &arguments,
        };
        let known = store.credentials(Some(&person.user)).await.unwrap();
        let known: Vec<_> = known.iter().map(|it| &it.credential).collect();
        let drawn = (ChallengeId::new(fresh("chl_")), nonce());
        issue(&proposal, known, self.party.server(), drawn, store.now().await.unwrap()).unwrap().record
    }

    /// A challenge for a native call, or for a request.
    pub(crate) async fn challenge(
        &self,
        store: &Store,
        person: &Person,
        path: &str,
        request: Option<&ApprovalRequest>,
    ) -> ChallengeRecord {
        let record = self.draw(store, person, path).await;
        match store.put_challenge(&record, request.map(|request| &request.id)).await.unwrap() {
            Put::Done(record) => *record,
            refused => panic!("{refused:?}"),
        }
    }

    /// What the checks say of a signature, from one read of the store.
    pub(crate) async fn judge(
        &self,
        store: &Store,
        record: &ChallengeRecord,
        person: &Person,
        counter: u32,
        spoil: bool,
    ) -> Result<VerifiedApproval, Rejection> {
        let response = person.passkey.assert(record.wire.as_bytes(), |draft| {
            draft.counter = counter;
            if spoil {
                draft.origin = "http://localhost:9999".to_owned();
            }
        });
        let meta = json!({ "method": "webauthn", "challengeId": record.id.as_str(), "response": response })
            .to_string();
        let evidence = Evidence::parse(Some(&meta))?;
        let (found, credential) =
            store.challenge_and_credential(&record.id, evidence.credential()).await.unwrap();
        let call = ApprovalCall {
            principal: &self.principal,
            tool: &record.tool,
            upstream: record.upstream.as_ref(),
            definition: record.definition,
            class: AuthenticatorClass::CrossPlatform,
            arguments: &record.arguments,
        };
        let (challenge, credential) =
            (found.as_ref().map(|(record, _)| record), credential.as_ref().map(|it| &it.credential));
        verify(&evidence, challenge, credential, &call, &self.party, store.now().await.unwrap())
    }

    /// A signature that holds.
    pub(crate) async fn sign(
        &self,
        store: &Store,
        record: &ChallengeRecord,
        person: &Person,
        counter: u32,
    ) -> VerifiedApproval {
        self.judge(store, record, person, counter, false).await.unwrap()
    }

    pub(crate) async fn draft(
        &self,
        store: &Store,
        verified: &VerifiedApproval,
        record: &ChallengeRecord,
    ) -> ReceiptDraft {
        let (_, credential) =
            store.challenge_and_credential(&record.id, Some(verified.credential())).await.unwrap();
        let circumstances = Circumstances {
            id: &fresh("rcp_"),
            chain: ChainLink::first(self.key.chain()),
            signed_at: Timestamp(0),
            caller: "a client",
            policy_rules: vec!["rule.deletes".to_owned()],
            labels: Vec::new(),
            approval_id: None,
        };
        let credential = credential.unwrap().credential;
        let receipt = Receipt::of(verified, record, &credential, &self.party, circumstances).unwrap();
        ReceiptDraft::new(receipt, &self.key)
    }

    /// Consumes the challenge of a signature.
    pub(crate) async fn consume(
        &self,
        store: &Store,
        verified: &VerifiedApproval,
        record: &ChallengeRecord,
        request: Option<&ApprovalRequest>,
    ) -> ChallengeUsed {
        let draft = self.draft(store, verified, record).await;
        let now = store.now().await.unwrap();
        store.consume(verified, request.map(|request| &request.id), &draft, now).await.unwrap()
    }

    /// Somebody signs for a request.
    pub(crate) async fn approve(
        &self,
        store: &Store,
        person: &Person,
        path: &str,
        request: &ApprovalRequest,
        counter: u32,
    ) -> ChallengeUsed {
        let record = self.challenge(store, person, path, Some(request)).await;
        let verified = self.sign(store, &record, person, counter).await;
        self.consume(store, &verified, &record, Some(request)).await
    }
}

pub(crate) fn quorum(n: usize, approvers: &[&str]) -> Option<Quorum> {
    let approvers = approvers.iter().map(|name| UserId::new(*name)).collect();
    Some(Quorum { n, approvers, requester_counts: true })
}
