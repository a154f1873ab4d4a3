//! The shape of a receipt.

use highwater_core::approval::{ChallengeRecord, Credential, VerifiedApproval};
use highwater_core::id::{Principal, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_display::{RENDERER_VERSION, render};
use highwater_notation::{CanonicalArguments, Json, Timestamp, encode_base64url, to_iso};
use highwater_passkey::{ActionHash, RelyingParty, ToolName};
use serde::{Deserialize, Serialize};

use super::seal::{AuditorKey, AuditorSecret, Place};

/// The version of the shape.
pub(super) const VERSION: u32 = 1;

/// What is recorded of one approval. Bytes are base64url without padding, digests hexadecimal, times ISO 8601.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The version of the shape.
    pub v: u32,
    /// The id of the receipt.
    pub id: String,
    /// Its place among the receipts of this gateway.
    pub chain: ChainLink,
    /// The relying party that asked.
    pub rp_id: String,
    /// The installation that asked.
    pub server_id: String,
    /// The tool, as the client called it.
    pub tool_name: String,
    /// The arguments that were signed and sent.
    pub canonical_arguments: Guarded,
    /// The signature. A use under a mandate has none of its own.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
    /// When the challenge was issued.
    pub issued_at: String,
    /// When the signature was verified.
    pub signed_at: String,
    /// Who signed.
    pub user_ref: String,
    /// Whose call it was.
    pub principal: String,
    /// The client, as it calls itself.
    pub caller: String,
    /// The server that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The definition of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_hash: Option<String>,
    /// What the person should have been shown.
    pub display_text: Guarded,
    /// Which rendering that is.
    pub renderer_version: u32,
    /// The rules that asked.
    pub policy_rules: Vec<String>,
    /// What was in the session, in words.
    pub labels: Vec<String>,
    /// The request that a person answered; receipts of several approvers share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The receipt of the mandate that this is a use of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mandate: Option<String>,
}

/// The names of what can be sealed.
pub(super) const CANONICAL_ARGUMENTS: &str = "canonicalArguments";
pub(super) const DISPLAY_TEXT: &str = "displayText";
pub(super) const NONCE: &str = "nonce";
pub(super) const CLIENT_DATA_JSON: &str = "clientDataJSON";

/// The place of a receipt in the chain of its gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainLink {
    /// The chain.
    pub id: String,
    /// The place, from zero.
    pub seq: u64,
    /// SHA-256 of the receipt before; zeros for the first.
    pub prev_hash: String,
}

/// A text that may be for an auditor's eyes alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Guarded {
    /// For everybody.
    Clear(String),
    /// Encrypted for the auditor.
    Sealed {
        /// The ciphertext.
        sealed: String,
    },
}

/// The clear texts of a sealed receipt, as an auditor hands them to somebody who has no key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Opened {
    /// Of which receipt.
    pub id: String,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_arguments: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_text: Option<String>,
    /// The nonce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// What the browser said.
    #[serde(rename = "clientDataJSON", default, skip_serializing_if = "Option::is_none")]
    pub client_data_json: Option<String>,
}

/// The signature and everything it is checked with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Signed {
    /// The page on which it was made.
    pub origin: String,
    /// The nonce of the challenge.
    pub nonce: Guarded,
    /// The credential.
    pub credential_id: String,
    /// Its public key.
    pub public_key_cose: String,
    /// What the browser said.
    #[serde(rename = "clientDataJSON")]
    pub client_data_json: Guarded,
    /// What the authenticator said.
    pub authenticator_data: String,
    /// Its signature.
    pub signature: String,
    /// Its counter.
    pub counter: u32,
}

/// What a receipt says beyond what was verified.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
    /// The id of the receipt.
    pub id: &'a str,
    /// Its place in the chain.
    pub chain: ChainLink,
    /// When the signature was verified.
    pub signed_at: Timestamp,
    /// The client, as it calls itself.
    pub caller: &'a str,
    /// The rules that asked.
    pub policy_rules: Vec<String>,
    /// What was in the session, in words.
    pub labels: Vec<String>,
    /// The request that a person answered.
    pub approval_id: Option<&'a str>,
}

/// A use under a mandate.
#[derive(Clone, Debug)]
pub struct UseOf<'a> {
    /// The id of the mandate's receipt.
    pub mandate: &'a str,
    /// Who signed the mandate.
    pub user: &'a UserId,
    /// Whose call it is.
    pub principal: &'a Principal,
    /// The tool, as the client called it.
    pub tool: &'a ToolName,
    /// The server that is called.
    pub upstream: Option<&'a UpstreamId>,
    /// The definition of the tool.
    pub definition: Option<PinDigest>,
    /// The arguments that are sent.
    pub arguments: &'a CanonicalArguments,
}

// === impl Receipt ===

impl Receipt {
    /// The receipt of a use under a mandate. It has no signature of its own.
    pub fn of_use(used: &UseOf<'_>, party: &RelyingParty, circumstances: Circumstances<'_>) -> Self {
        let upstream = used.upstream.map(|upstream| upstream.as_str().to_owned());
        let at = to_iso(circumstances.signed_at);
        Self {
            v: VERSION,
            id: circumstances.id.to_owned(),
            chain: circumstances.chain,
            rp_id: party.rp_id().to_owned(),
            server_id: party.server().as_str().to_owned(),
            tool_name: used.tool.as_str().to_owned(),
            canonical_arguments: Guarded::Clear(used.arguments.to_string()),
            signed: None,
            issued_at: at.clone(),
            signed_at: at,
            user_ref: used.user.to_string(),
            principal: used.principal.to_string(),
            caller: circumstances.caller.to_owned(),
            display_text: Guarded::Clear(render(used.tool, upstream.as_deref(), used.arguments).text),
            upstream,
            definition_hash: used.definition.map(|definition| definition.to_string()),
            renderer_version: RENDERER_VERSION,
            policy_rules: circumstances.policy_rules,
            labels: circumstances.labels,
            approval_id: circumstances.approval_id.map(str::to_owned),
            mandate: Some(used.mandate.to_owned()),
        }
    }

    /// The receipt of a verified approval; `None` if challenge or credential are not those that were verified.
    pub fn of(
        verified: &VerifiedApproval,
        challenge: &ChallengeRecord,
        credential: &Credential,
        party: &RelyingParty,
        circumstances: Circumstances<'_>,
    ) -> Option<Self> {
        if challenge.id != *verified.challenge()
            || ActionHash::of(&challenge.tool, &challenge.arguments, party.server()) != verified.action()
            || credential.id != *verified.credential()
        {
            return None;
        }
        let assertion = verified.assertion();
        let upstream = challenge.upstream.as_ref().map(|upstream| upstream.as_str().to_owned());
        let shown = render(&challenge.tool, upstream.as_deref(), &challenge.arguments);
        Some(Self {
            v: VERSION,
            id: circumstances.id.to_owned(),
            chain: circumstances.chain,
            rp_id: party.rp_id().to_owned(),
            server_id: party.server().as_str().to_owned(),
            tool_name: challenge.tool.as_str().to_owned(),
            canonical_arguments: Guarded::Clear(challenge.arguments.to_string()),
            signed: Some(Signed {
                origin: assertion.origin.to_string(),
                nonce: Guarded::Clear(encode_base64url(&challenge.wire.nonce().0)),
                credential_id: credential.id.to_string(),
                public_key_cose: encode_base64url(credential.key.as_cose()),
                client_data_json: Guarded::Clear(encode_base64url(&assertion.client_data)),
                authenticator_data: encode_base64url(&assertion.authenticator_data),
                signature: encode_base64url(&assertion.signature),
                counter: assertion.counter,
            }),
            issued_at: to_iso(challenge.issued),
            signed_at: to_iso(circumstances.signed_at),
            user_ref: verified.user().to_string(),
            principal: verified.principal().to_string(),
            caller: circumstances.caller.to_owned(),
            upstream,
            definition_hash: challenge.definition.map(|definition| definition.to_string()),
            display_text: Guarded::Clear(shown.text),
            renderer_version: RENDERER_VERSION,
            policy_rules: circumstances.policy_rules,
            labels: circumstances.labels,
            approval_id: circumstances.approval_id.map(str::to_owned),
            mandate: None,
        })
    }

    /// The canonical text that the gateway signs: everything but its signature.
    pub fn signing_input(&self) -> String {
        // Nothing in it can fail to be written.
        Json::from(serde_json::to_value(self).unwrap_or_default()).to_string()
    }

    /// Seals everything by which short arguments could be found by trying: arguments, text, nonce, and what the browser
    /// said. `once` is random, used once, and forgotten.
    pub fn sealed(mut self, key: &AuditorKey, once: &[[u8; 32]; 4]) -> Option<Self> {
        let id = self.id.clone();
        let close = |guarded: &mut Guarded, field: &'static str, once: &[u8; 32]| {
            if let Guarded::Clear(text) = guarded {
                let sealed = key.seal(once, Place { receipt: &id, field }, text)?;
                *guarded = Guarded::Sealed { sealed };
            }
            Some(())
        };
        let [arguments, shown, nonce, client_data] = once;
        close(&mut self.canonical_arguments, CANONICAL_ARGUMENTS, arguments)?;
        close(&mut self.display_text, DISPLAY_TEXT, shown)?;
        if let Some(signed) = &mut self.signed {
            close(&mut signed.nonce, NONCE, nonce)?;
            close(&mut signed.client_data_json, CLIENT_DATA_JSON, client_data)?;
        }
        Some(self)
    }

    /// Whether all that can be sealed is, or nothing; `None` if some of it is.
    pub fn is_sealed(&self) -> Option<bool> {
        let signed = self.signed.iter().flat_map(|signed| [&signed.nonce, &signed.client_data_json]);
        let mut parts = [&self.canonical_arguments, &self.display_text].into_iter().chain(signed);
        let sealed = self.canonical_arguments.clear().is_none();
        parts.all(|part| part.clear().is_none() == sealed).then_some(sealed)
    }

    /// What an auditor reads in it; nothing of what the key does not open.
    pub fn opened(&self, secret: &AuditorSecret) -> Opened {
        let open = |guarded: &Guarded, field| guarded.opened(secret, Place { receipt: &self.id, field });
        let signed = self.signed.as_ref();
        Opened {
            id: self.id.clone(),
            canonical_arguments: open(&self.canonical_arguments, CANONICAL_ARGUMENTS),
            display_text: open(&self.display_text, DISPLAY_TEXT),
            nonce: signed.and_then(|signed| open(&signed.nonce, NONCE)),
            client_data_json: signed.and_then(|signed| open(&signed.client_data_json, CLIENT_DATA_JSON)),
        }
    }
}

// === impl ChainLink ===

impl ChainLink {
    /// What the first receipt says of the one before.
    pub(super) const NOTHING_BEFORE: &'static str =
        "0000000000000000000000000000000000000000000000000000000000000000";

    /// The first place of a chain.
    pub fn first(id: impl Into<String>) -> Self {
        Self { id: id.into(), seq: 0, prev_hash: Self::NOTHING_BEFORE.to_owned() }
    }
}

// === impl Guarded ===

impl Guarded {
    /// The text, if it is for everybody.
    pub fn clear(&self) -> Option<&str> {
        match self {
            Self::Clear(text) => Some(text),
            Self::Sealed { .. } => None,
        }
    }

    /// The text, if it is for everybody or the key opens it.
    pub(super) fn opened(&self, secret: &AuditorSecret, place: Place<'_>) -> Option<String> {
        match self {
            Self::Clear(text) => Some(text.clone()),
            Self::Sealed { sealed } => secret.open(place, sealed),
        }
    }
}
