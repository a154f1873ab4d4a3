//! One call that a person approved, before anything went wrong with it.

use highwater_core::approval::{
    ApprovalCall, ApprovalReason, AuthenticatorClass, ChallengeRecord, Credential, CredentialStanding,
    Evidence, Proposal, Rejection, VerifiedApproval, issue, verify,
};
use highwater_core::id::{ChallengeId, Principal, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::{
    Algorithm, CredentialId, Nonce, PublicKey, RelyingParty, ServerId, ToolName, Transports,
};
use serde_json::{Value, json};

use highwater_testkit::passkey::{ORIGIN, Passkey, RP_ID};

pub(crate) const NOW: Timestamp = Timestamp(1_794_744_000_000);

/// Everything that a check looks at.
pub(crate) struct Scene {
    pub(crate) party: RelyingParty,
    pub(crate) passkey: Passkey,
    pub(crate) credential: Option<Credential>,
    pub(crate) challenge: Option<ChallengeRecord>,
    pub(crate) evidence: Value,
    pub(crate) principal: Principal,
    pub(crate) tool: ToolName,
    pub(crate) upstream: UpstreamId,
    pub(crate) definition: PinDigest,
    pub(crate) class: AuthenticatorClass,
    pub(crate) arguments: CanonicalArguments,
    pub(crate) now: Timestamp,
}

pub(crate) fn party() -> RelyingParty {
    RelyingParty::new(RP_ID, [ORIGIN], ServerId::new("3f1c1f2e-9d0a-4d53-8a6e-6f0f6b7e0001").unwrap())
}

pub(crate) fn arguments(text: &str) -> CanonicalArguments {
    CanonicalArguments::read(Some(text)).unwrap()
}

pub(crate) fn definition(digit: char) -> PinDigest {
    PinDigest::parse(&digit.to_string().repeat(64)).unwrap()
}

pub(crate) fn credential(passkey: &Passkey, user: &str) -> Credential {
    Credential {
        id: CredentialId::new(passkey.id.clone()).unwrap(),
        user: UserId::new(user),
        user_handle: passkey.user_handle.clone().into(),
        key: PublicKey::from_cose(&passkey.cose()).unwrap(),
        counter: 1,
        transports: transports(&passkey.transports),
        backup_eligible: false,
        standing: CredentialStanding::Active,
    }
}

pub(crate) fn transports(names: &[&str]) -> Transports {
    Transports::new(names.iter().map(|name| (*name).to_owned()).collect()).unwrap()
}

pub(crate) fn evidence(response: &Value) -> Value {
    json!({ "method": "webauthn", "challengeId": "c-1", "response": response })
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(Passkey::new(Algorithm::Es256))
    }

    pub(crate) fn with(passkey: Passkey) -> Self {
        let tool = ToolName::exposed("files__delete").unwrap();
        Self::of(passkey, tool, arguments(r#"{"path":"a","n":1}"#))
    }

    pub(crate) fn of(passkey: Passkey, tool: ToolName, arguments: CanonicalArguments) -> Self {
        let (principal, user) = (Principal::new("agent"), UserId::new("ada"));
        let upstream = UpstreamId::new("files");
        let credential = credential(&passkey, "ada");
        let proposal = Proposal {
            principal: &principal,
            user: &user,
            tool: &tool,
            gated: true,
            class: AuthenticatorClass::CrossPlatform,
            upstream: Some(&upstream),
            definition: Some(definition('a')),
            arguments: &arguments,
        };
        let party = party();
        let drawn = (ChallengeId::new("c-1"), Nonce([7; 32]));
        let issued = issue(&proposal, [&credential], party.server(), drawn, NOW).unwrap();
        let evidence = evidence(&passkey.assert(issued.record.wire.as_bytes(), |_| ()));
        Self {
            challenge: Some(issued.record),
            credential: Some(credential),
            definition: definition('a'),
            class: AuthenticatorClass::CrossPlatform,
            now: Timestamp(NOW.0 + 5000),
            party,
            passkey,
            evidence,
            principal,
            tool,
            upstream,
            arguments,
        }
    }

    pub(crate) fn wire(&self) -> [u8; 64] {
        *self.challenge.as_ref().unwrap().wire.as_bytes()
    }

    /// The evidence again, after `change` had its way with what is signed.
    pub(crate) fn sign(&mut self, change: impl FnOnce(&mut highwater_testkit::passkey::Draft)) {
        self.evidence = evidence(&self.passkey.assert(&self.wire(), change));
    }

    pub(crate) fn credential(&mut self) -> &mut Credential {
        self.credential.as_mut().unwrap()
    }

    pub(crate) fn challenge(&mut self) -> &mut ChallengeRecord {
        self.challenge.as_mut().unwrap()
    }

    /// All checks, from the first.
    pub(crate) fn judge(&self) -> Result<VerifiedApproval, Rejection> {
        let meta = (!self.evidence.is_null()).then(|| self.evidence.to_string());
        let evidence = Evidence::parse(meta.as_deref())?;
        let call = ApprovalCall {
            principal: &self.principal,
            tool: &self.tool,
            upstream: Some(&self.upstream),
            definition: Some(self.definition),
            class: self.class,
            arguments: &self.arguments,
        };
        verify(&evidence, self.challenge.as_ref(), self.credential.as_ref(), &call, &self.party, self.now)
    }

    pub(crate) fn reason(&self) -> Option<ApprovalReason> {
        self.judge().err().map(|rejection| rejection.reason)
    }
}
