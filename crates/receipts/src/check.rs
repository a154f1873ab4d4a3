//! Checking a receipt part by part, with nothing but itself and what the one who checks already knows.

use std::borrow::Cow;

use highwater_core::approval::CHALLENGE_LIFETIME_MS;
use highwater_core::pin::PinDigest;
use highwater_display::{RENDERER_VERSION, render};
use highwater_notation::{CanonicalArguments, decode_array, decode_exact, from_iso, vocabulary};
use highwater_passkey::client_data::{self, Ceremony};
use highwater_passkey::{
    ActionHash, AuthenticatorData, Fault, Nonce, PublicKey, RelyingParty, ServerId, ToolName, WireChallenge,
};
use serde::{Deserialize, Serialize};

use super::body::{
    CANONICAL_ARGUMENTS, CLIENT_DATA_JSON, DISPLAY_TEXT, Guarded, NONCE, Opened, Receipt, Signed, VERSION,
};
use super::seal::{AuditorSecret, Place};
use super::signature::SignedReceipt;

vocabulary! {
    /// The parts of a receipt that are checked.
    Part {
        /// It is a receipt, in its one spelling.
        Form = "form",
        /// Tool, arguments and installation are such as can be signed.
        Action = "action",
        /// The challenge is that action behind that nonce, on that page.
        ClientData = "client-data",
        /// The authenticator speaks to this relying party and verified a person.
        AuthenticatorData = "authenticator-data",
        /// The signature is over both, under the key in the receipt.
        Signature = "signature",
        /// It keeps within the mandate that it is a use of.
        Mandate = "mandate",
        /// It was made while the challenge lasted.
        Time = "time",
        /// The text is what this action is shown as.
        DisplayText = "display-text",
        /// The key is one that was enrolled and valid at that time.
        Enrollment = "enrollment",
        /// The gateway signed all of it.
        GatewaySignature = "gateway-signature",
    }
}

/// What the one who checks knows from elsewhere.
#[derive(Clone, Debug)]
pub struct Expected<'a> {
    /// The relying party.
    pub rp_id: &'a str,
    /// The pages that may ask.
    pub origins: &'a [&'a str],
    /// The gateway's key.
    pub gateway_key: Option<&'a [u8; 32]>,
    /// What was enrolled.
    pub enrollments: Option<&'a [Enrolled]>,
    /// The key that opens what is sealed.
    pub auditor: Option<&'a AuditorSecret>,
    /// What an auditor opened, for whoever has no key.
    pub opened: &'a [Opened],
}

/// One line of the export of enrollments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Enrolled {
    /// The credential.
    pub credential_id: String,
    /// Its public key.
    pub public_key_cose: String,
    /// Whose it is.
    pub user_ref: String,
    /// Who said so.
    pub authorized_by: String,
    /// Since when it counts.
    pub confirmed_at: String,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
}

/// What came of checking one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Held,
    /// It does not.
    Failed(String),
    /// It could not be checked, and is not said to hold.
    Unchecked(&'static str),
    /// Nobody asked for it.
    NotAsked,
}

/// What came of checking a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    parts: Vec<(Part, Outcome)>,
}

/// Checks the text of a receipt.
pub fn check(text: &str, expected: &Expected<'_>) -> Report {
    let Some(signed) = SignedReceipt::parse(text) else {
        return Report { parts: vec![(Part::Form, Outcome::failed("this is not the text of a receipt"))] };
    };
    let receipt = signed.receipt();
    let checking = Checking { receipt, expected };
    let gateway = match expected.gateway_key {
        None => Outcome::NotAsked,
        Some(key) if signed.is_signed_by(key) => Outcome::Held,
        Some(_) => Outcome::failed("this gateway did not sign this receipt"),
    };
    let mut parts = vec![
        (Part::Form, checking.form()),
        (Part::Action, checking.action().map_or_else(|outcome| outcome, |_| Outcome::Held)),
    ];
    match &receipt.signed {
        Some(assertion) => parts.extend(checking.assertion(assertion)),
        None => parts.push((Part::Mandate, Outcome::Unchecked("it rests on the receipt of its mandate"))),
    }
    parts.extend([
        (Part::Time, checking.time()),
        (Part::DisplayText, checking.display_text()),
        (Part::Enrollment, checking.enrollment()),
        (Part::GatewaySignature, gateway),
    ]);
    Report { parts }
}

pub(super) struct Checking<'a> {
    pub(super) receipt: &'a Receipt,
    pub(super) expected: &'a Expected<'a>,
}

const SEALED: Outcome = Outcome::Unchecked("it is sealed, and the auditor's key was not used");

// === impl Checking ===

impl<'a> Checking<'a> {
    fn form(&self) -> Outcome {
        if self.receipt.v != VERSION {
            return Outcome::failed("it is of another version");
        }
        if self.receipt.signed.is_some() == self.receipt.mandate.is_some() {
            return Outcome::failed("it needs either a signature or a mandate");
        }
        let definition = self.receipt.definition_hash.as_deref();
        if definition.is_some_and(|hash| PinDigest::parse(hash).is_none()) {
            return Outcome::failed("`definitionHash` is no digest");
        }
        if self.receipt.is_sealed().is_none() {
            return Outcome::failed("a part of it is sealed and another is not");
        }
        Outcome::Held
    }

    /// The text of a part: as it stands there, as the key opens it, or as an auditor says it is.
    fn open(
        &self,
        guarded: &'a Guarded,
        field: &'static str,
        told: fn(&Opened) -> Option<&String>,
    ) -> Result<Cow<'a, str>, Outcome> {
        if let Guarded::Clear(text) = guarded {
            return Ok(Cow::Borrowed(text));
        }
        let receipt = self.receipt.id.as_str();
        if let Some(auditor) = self.expected.auditor {
            let text = guarded.opened(auditor, Place { receipt, field });
            return text.map(Cow::Owned).ok_or_else(|| {
                Outcome::Failed(format!(
                    "the auditor's key does not open `{field}`: it was sealed for another, or changed"
                ))
            });
        }
        let opened = self.expected.opened.iter().find(|opened| opened.id == receipt);
        opened.and_then(told).map(|text| Cow::Borrowed(text.as_str())).ok_or(SEALED)
    }

    /// The action, rebuilt from what the receipt says.
    pub(super) fn action(&self) -> Result<(ToolName, CanonicalArguments, ActionHash), Outcome> {
        let tool =
            ToolName::parse(&self.receipt.tool_name).map_err(|_| Outcome::failed("`toolName` is no name"))?;
        let server =
            ServerId::new(&self.receipt.server_id).map_err(|_| Outcome::failed("`serverId` is no id"))?;
        let sealed = &self.receipt.canonical_arguments;
        let text = self.open(sealed, CANONICAL_ARGUMENTS, |opened| opened.canonical_arguments.as_ref())?;
        let arguments = CanonicalArguments::read(Some(&text))
            .ok()
            .filter(|arguments| arguments.as_str() == text)
            .ok_or_else(|| Outcome::failed("`canonicalArguments` is not canonical"))?;
        let hash = ActionHash::of(&tool, &arguments, &server);
        Ok((tool, arguments, hash))
    }

    fn assertion(&self, signed: &'a Signed) -> [(Part, Outcome); 3] {
        let authenticator_data = self.authenticator_data(signed);
        let (client_data, signature) = match self.client_data(signed) {
            Ok(client_hash) => (Outcome::Held, self.signature(signed, &client_hash)),
            Err(outcome) => (outcome, Outcome::Unchecked("what it is over does not hold")),
        };
        [
            (Part::ClientData, client_data),
            (Part::AuthenticatorData, authenticator_data),
            (Part::Signature, signature),
        ]
    }

    fn party(&self) -> Result<RelyingParty, Outcome> {
        let server =
            ServerId::new(&self.receipt.server_id).map_err(|_| Outcome::failed("`serverId` is no id"))?;
        Ok(RelyingParty::new(self.expected.rp_id, self.expected.origins.iter().copied(), server))
    }

    fn client_data(&self, signed: &'a Signed) -> Result<[u8; 32], Outcome> {
        let nonce = self.open(&signed.nonce, NONCE, |opened| opened.nonce.as_ref())?;
        let sealed = &signed.client_data_json;
        let bytes = self.open(sealed, CLIENT_DATA_JSON, |opened| opened.client_data_json.as_ref())?;
        let nonce = decode_array(&nonce).ok_or_else(|| Outcome::failed("`nonce` is malformed"))?;
        let bytes = decode_exact(&bytes).ok_or_else(|| Outcome::failed("`clientDataJSON` is malformed"))?;
        let (_, _, action) =
            self.action().map_err(|_| Outcome::Unchecked("the action it is for does not hold"))?;
        let challenge = WireChallenge::new(Nonce(nonce), action);
        let (origin, hash) = client_data::check(&bytes, Ceremony::Get, challenge.as_bytes(), &self.party()?)
            .map_err(|fault| match fault {
                Fault::Challenge => {
                    Outcome::failed("another tool, other arguments, another server or nonce was signed")
                }
                fault => Outcome::Failed(fault.to_string()),
            })?;
        if origin != signed.origin {
            return Err(Outcome::failed("`origin` is not the page that was signed"));
        }
        Ok(hash)
    }

    fn authenticator_data(&self, signed: &Signed) -> Outcome {
        let Some(raw) = decode_exact(&signed.authenticator_data) else {
            return Outcome::failed("`authenticatorData` is malformed");
        };
        let party = match self.party() {
            Ok(party) => party,
            Err(outcome) => return outcome,
        };
        let data = match AuthenticatorData::parse(&raw).and_then(|data| data.check(&party).map(|()| data)) {
            Ok(data) => data,
            Err(fault) => return Outcome::Failed(fault.to_string()),
        };
        if data.attested.is_some() {
            return Outcome::failed("`authenticatorData` is of a registration");
        }
        if self.receipt.rp_id != self.expected.rp_id {
            return Outcome::failed("`rpId` is another relying party");
        }
        if data.counter != signed.counter {
            return Outcome::failed("`counter` is not the one that was signed");
        }
        Outcome::Held
    }

    fn signature(&self, signed: &Signed, client_hash: &[u8; 32]) -> Outcome {
        let Some(key) = decode_exact(&signed.public_key_cose) else {
            return Outcome::failed("`publicKeyCose` is malformed");
        };
        let Some(signature) = decode_exact(&signed.signature) else {
            return Outcome::failed("`signature` is malformed");
        };
        let Some(raw) = decode_exact(&signed.authenticator_data) else {
            return Outcome::Unchecked("what it is over does not hold");
        };
        let checked =
            PublicKey::from_cose(&key).and_then(|key| key.verify(&[&*raw, client_hash].concat(), &signature));
        checked.map_or_else(|fault| Outcome::Failed(fault.to_string()), |()| Outcome::Held)
    }

    fn time(&self) -> Outcome {
        let (issued, signed) = (from_iso(&self.receipt.issued_at), from_iso(&self.receipt.signed_at));
        match (issued, signed) {
            (Some(issued), Some(signed))
                if issued <= signed
                    && (self.receipt.signed.is_none() || signed.0 - issued.0 < CHALLENGE_LIFETIME_MS) =>
            {
                Outcome::Held
            }
            (Some(_), Some(_)) => Outcome::failed("it was signed outside the time of its challenge"),
            _ => Outcome::failed("`issuedAt` or `signedAt` is no time"),
        }
    }

    fn display_text(&self) -> Outcome {
        let sealed = &self.receipt.display_text;
        let text = match self.open(sealed, DISPLAY_TEXT, |opened| opened.display_text.as_ref()) {
            Ok(text) => text,
            Err(outcome) => return outcome,
        };
        if self.receipt.renderer_version != RENDERER_VERSION {
            return Outcome::Unchecked("it was made by another version of the renderer");
        }
        match self.action() {
            Ok((tool, arguments, _)) => {
                if render(&tool, self.receipt.upstream.as_deref(), &arguments).text == text {
                    Outcome::Held
                } else {
                    Outcome::failed("it is not what this action is shown as")
                }
            }
            Err(_) => Outcome::Unchecked("the action it shows does not hold"),
        }
    }

    fn enrollment(&self) -> Outcome {
        let Some(enrollments) = self.expected.enrollments else { return Outcome::NotAsked };
        // A use under a mandate is enrolled by the mandate's own signature.
        let Some(signed) = &self.receipt.signed else { return Outcome::NotAsked };
        let Some(known) = enrollments.iter().find(|known| known.credential_id == signed.credential_id) else {
            return Outcome::failed("`credentialId` was never enrolled");
        };
        if known.public_key_cose != signed.public_key_cose {
            return Outcome::failed("`publicKeyCose` is not the key that was enrolled");
        }
        if known.user_ref != self.receipt.user_ref {
            return Outcome::failed("`userRef` is not whose credential it is");
        }
        let valid = || {
            let (at, since) = (from_iso(&self.receipt.signed_at)?, from_iso(&known.confirmed_at)?);
            let until = known.revoked_at.as_deref().map(from_iso);
            Some(since <= at && until.is_none_or(|until| until.is_some_and(|until| at < until)))
        };
        if valid() == Some(true) {
            Outcome::Held
        } else {
            Outcome::failed("the credential did not count at that time")
        }
    }
}

// === impl Outcome ===

impl Outcome {
    pub(super) fn failed(why: &str) -> Self {
        Self::Failed(why.to_owned())
    }
}

// === impl Report ===

impl Report {
    /// Every part, in the order in which it was checked.
    pub fn parts(&self) -> &[(Part, Outcome)] {
        &self.parts
    }

    /// Whether everything that was asked for holds. What could not be checked does not.
    pub fn holds(&self) -> bool {
        self.parts.iter().all(|(_, outcome)| matches!(outcome, Outcome::Held | Outcome::NotAsked))
    }

    /// The parts that fail.
    pub fn failed(&self) -> impl Iterator<Item = Part> {
        self.parts.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_))).map(|(part, _)| *part)
    }

    pub(super) fn set(&mut self, part: Part, outcome: Outcome) {
        for (known, stands) in &mut self.parts {
            if *known == part {
                *stands = outcome.clone();
            }
        }
    }

    /// Whether this part was asked for and holds. Without [`Part::Enrollment`] or [`Part::GatewaySignature`] anybody
    /// with a key of their own could have made the receipt.
    pub fn held(&self, part: Part) -> bool {
        self.parts.contains(&(part, Outcome::Held))
    }
}
