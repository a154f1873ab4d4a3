//! Genuine receipts without a gateway: a software passkey signs, the checks of the core pass, and a key of our own
//! stands for the gateway's.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use highwater_core::approval::{
    ApprovalCall, AuthenticatorClass, Credential, CredentialStanding, Evidence, Proposal, issue, verify,
};
use highwater_core::id::{ChallengeId, Principal, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::{CanonicalArguments, Timestamp, encode_base64url, to_iso};
use highwater_passkey::{CredentialId, Nonce, PublicKey, RelyingParty, ServerId, ToolName, Transports};
use highwater_receipts::{AuditorKey, ChainLink, Circumstances, Enrolled, Receipt, SignedReceipt};
use serde_json::json;

use crate::passkey::Passkey;

/// The time at which everything happens.
pub const NOW: Timestamp = Timestamp(1_794_744_000_000);

/// What stands for a gateway: its key, and the end of its chain.
pub struct Notary {
    pair: Ed25519KeyPair,
    party: RelyingParty,
    next: ChainLink,
    definition: Option<PinDigest>,
    auditor: Option<AuditorKey>,
}

// === impl Notary ===

impl Notary {
    /// One whose passkeys are used on this page.
    pub fn new(rp_id: &str, origin: &str) -> Self {
        let server = ServerId::new("3f1c1f2e-9d0a-4d53-8a6e-6f0f6b7e0001").unwrap();
        Self {
            pair: Ed25519KeyPair::generate().unwrap(),
            party: RelyingParty::new(rp_id, [origin], server),
            next: ChainLink::first("one"),
            definition: None,
            auditor: None,
        }
    }

    /// From now on tools have this definition.
    pub fn define(&mut self, definition: PinDigest) {
        self.definition = Some(definition);
    }

    /// From now on receipts are sealed for this key.
    pub fn seal_for(&mut self, auditor: AuditorKey) {
        self.auditor = Some(auditor);
    }

    /// The public key.
    pub fn key(&self) -> [u8; 32] {
        self.pair.public_key().as_ref().try_into().unwrap()
    }

    /// What an enrollment of the passkey says.
    pub fn enrolled(passkey: &Passkey) -> Enrolled {
        Enrolled {
            credential_id: encode_base64url(&passkey.id),
            public_key_cose: encode_base64url(&passkey.cose()),
            user_ref: "ada".to_owned(),
            authorized_by: "code at the terminal".to_owned(),
            confirmed_at: to_iso(Timestamp(NOW.0 - 1)),
            revoked_at: None,
        }
    }

    /// The next receipt of the chain.
    pub fn receipt(&mut self, passkey: &Passkey, tool: &str, arguments: &str) -> SignedReceipt {
        let (principal, user) = (Principal::new("agent"), UserId::new("ada"));
        let (tool, upstream) = (ToolName::exposed(tool).unwrap(), UpstreamId::new("files"));
        let arguments = CanonicalArguments::read(Some(arguments)).unwrap();
        let named = passkey.transports.iter().map(|name| (*name).to_owned()).collect();
        let credential = Credential {
            id: CredentialId::new(passkey.id.clone()).unwrap(),
            user: user.clone(),
            user_handle: passkey.user_handle.clone().into(),
            key: PublicKey::from_cose(&passkey.cose()).unwrap(),
            counter: 1,
            transports: Transports::new(named).unwrap(),
            backup_eligible: false,
            standing: CredentialStanding::Active,
        };
        let class = AuthenticatorClass::CrossPlatform;
        let proposal = Proposal {
            principal: &principal,
            user: &user,
            tool: &tool,
            gated: true,
            class,
            upstream: Some(&upstream),
            definition: self.definition,
            arguments: &arguments,
        };
        let drawn = (ChallengeId::new("c-1"), Nonce([7; 32]));
        let issued = issue(&proposal, [&credential], self.party.server(), drawn, NOW).unwrap().record;
        let response = passkey.assert(issued.wire.as_bytes(), |_| ());
        let evidence = json!({ "method": "webauthn", "challengeId": "c-1", "response": response });
        let evidence = Evidence::parse(Some(&evidence.to_string())).unwrap();
        let call = ApprovalCall {
            principal: &principal,
            tool: &tool,
            upstream: Some(&upstream),
            definition: self.definition,
            class,
            arguments: &arguments,
        };
        let at = Timestamp(NOW.0 + 5000);
        let verified = verify(&evidence, Some(&issued), Some(&credential), &call, &self.party, at).unwrap();
        let circumstances = Circumstances {
            id: &format!("r-{}", self.next.seq),
            chain: self.next.clone(),
            signed_at: at,
            caller: "some client",
            policy_rules: vec!["structural.approval".to_owned()],
            labels: vec!["private".to_owned()],
            approval_id: Some("a-1"),
        };
        let receipt = Receipt::of(&verified, &issued, &credential, &self.party, circumstances).unwrap();
        let once = [[1; 32], [2; 32], [3; 32], [4; 32]];
        let receipt = match &self.auditor {
            Some(auditor) => receipt.sealed(auditor, &once).unwrap(),
            None => receipt,
        };
        let signature = self.pair.sign(receipt.signing_input().as_bytes());
        let signed = SignedReceipt::new(receipt, &self.key(), signature.as_ref().try_into().unwrap());
        self.next = signed.next();
        signed
    }
}
