//! A gate before one tool of the scripted server: SEP-2672 as a server of its own has it, with a passkey that was enrolled
//! there, and every check of the text. What it lets through it notes as `executed`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use highwater_core::approval::{
    ApprovalCall, ApprovalReason, AuthenticatorClass, ChallengeRecord, ConsumeOutcome, Credential,
    CredentialStanding, Evidence, Proposal, issue, verify,
};
use highwater_core::id::{ChallengeId, Principal, UserId};
use highwater_notation::{CanonicalArguments, Timestamp, decode_base64url, encode_base64url, to_iso};
use highwater_passkey::{CredentialId, Nonce, PublicKey, RelyingParty, ServerId, ToolName, Transports};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Where annotation and evidence stand.
const KEY: &str = "io.modelcontextprotocol/verified-approval";

/// What a gate is made from.
#[derive(Debug, Serialize, Deserialize)]
pub struct GateFile {
    /// The tool behind it.
    pub tool: String,
    /// What the server calls itself in what is signed.
    pub server_id: String,
    /// Its name before authenticators.
    pub rp_id: String,
    /// The page on which its people sign.
    pub origin: String,
    /// The credential that was enrolled, in base64url.
    pub credential: String,
    /// Its public key, likewise.
    pub key: String,
    /// What authenticators call its person, likewise.
    pub user_handle: String,
    /// Whether the tool becomes another once a challenge was issued: the list `tools/list changed` counts then.
    pub changes: bool,
}

/// The gate.
pub(super) struct Gate {
    tool: ToolName,
    party: RelyingParty,
    user: UserId,
    /// The server knows one client, whoever that speaks for.
    principal: Principal,
    credential: Mutex<Credential>,
    challenges: Mutex<HashMap<String, ChallengeRecord>>,
    changes: bool,
}

/// What the gate says to a request.
pub(super) enum Said {
    /// This is the answer, after these messages.
    Answer(Vec<String>),
    /// The call may be run; these are its canonical arguments.
    Open(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Create<'a> {
    tool_name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: HashMap<String, &'a RawValue>,
}

// === impl Gate ===

impl Gate {
    pub(super) fn new(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).context("cannot read the gate")?;
        let file: GateFile = serde_json::from_str(&text).context("no gate")?;
        let bytes = |text: &str| decode_base64url(text).context("no base64url");
        let server = ServerId::new(&file.server_id).ok().context("no server id")?;
        let user = UserId::new("person");
        let credential = Credential {
            id: CredentialId::parse(&file.credential).context("no credential id")?,
            user: user.clone(),
            user_handle: bytes(&file.user_handle)?.into(),
            key: PublicKey::from_cose(&bytes(&file.key)?).ok().context("no public key")?,
            counter: 0,
            transports: Transports::new(vec!["usb".to_owned()]).ok().context("no transports")?,
            backup_eligible: false,
            standing: CredentialStanding::Active,
        };
        Ok(Self {
            tool: ToolName::parse(&file.tool).ok().context("no tool name")?,
            party: RelyingParty::new(file.rp_id, [file.origin], server),
            user,
            principal: Principal::new("client"),
            credential: Mutex::new(credential),
            challenges: Mutex::default(),
            changes: file.changes,
        })
    }

    /// Whether the tool is another than it was.
    pub(super) fn is_changed(&self) -> bool {
        self.changes && !self.challenges.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What it says to a request; nothing to one that is none of its affair.
    pub(super) fn hear(&self, id: &str, method: &str, params: &str, modern: bool) -> Option<Said> {
        match method {
            "approval/challenge/create" => Some(Said::Answer(match self.create(params) {
                Ok(result) => {
                    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
                    let era = if modern { r#""resultType":"complete","# } else { "" };
                    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{era}{result}}}}}"#);
                    if self.changes { vec![changed.to_owned(), answer] } else { vec![answer] }
                }
                Err(reason) => vec![rejected(id, reason)],
            })),
            "tools/call" => {
                let call: Call<'_> = serde_json::from_str(params).ok()?;
                (call.name == self.tool.as_str()).then(|| match self.enter(&call) {
                    Ok(arguments) => Said::Open(arguments.as_str().to_owned()),
                    Err(reason) => Said::Answer(vec![rejected(id, reason)]),
                })
            }
            _ => None,
        }
    }

    fn create(&self, params: &str) -> Result<String, ApprovalReason> {
        let other = ApprovalReason::ToolNotApprovedRequired;
        let Create { tool_name, arguments } = serde_json::from_str(params).map_err(|_| other)?;
        if tool_name != self.tool.as_str() {
            return Err(other);
        }
        let arguments = CanonicalArguments::read(arguments.map(RawValue::get)).map_err(|_| other)?;
        let (mut id, mut nonce) = ([0; 16], [0; 32]);
        let random = SystemRandom::new();
        random.fill(&mut id).and_then(|()| random.fill(&mut nonce)).map_err(|_| other)?;
        let credential = self.credential.lock().unwrap_or_else(PoisonError::into_inner);
        let proposal = Proposal {
            principal: &self.principal,
            user: &self.user,
            tool: &self.tool,
            gated: true,
            class: AuthenticatorClass::CrossPlatform,
            upstream: None,
            definition: None,
            arguments: &arguments,
        };
        let named = (ChallengeId::new(encode_base64url(&id)), Nonce(nonce));
        let issued = issue(&proposal, [&*credential], self.party.server(), named, now())?;
        let record = issued.record;
        // Spelled as nobody would who writes it anew: whoever passes it on has to pass it on as it is.
        let text = format!(
            r#" "challengeId":"{}","displayText":"Delete for ever: caf\u00e9 \u202e {}", "expiresAt":"{}","requestOptions":{{"challenge":"{}","rpId":"{}","allowCredentials":[{{"type":"public-key","id":"{}","transports":["usb"]}}],"userVerification":"required","timeout":60000.0}},"later":[1.50] "#,
            record.id.as_str(),
            arguments.as_str().replace('"', "'"),
            to_iso(record.expires),
            record.wire.to_base64url(),
            self.party.rp_id(),
            credential.id,
        );
        let mut challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        challenges.insert(record.id.as_str().to_owned(), record);
        Ok(text)
    }

    fn enter(&self, call: &Call<'_>) -> Result<CanonicalArguments, ApprovalReason> {
        let evidence = Evidence::parse(call.meta.get(KEY).map(|evidence| evidence.get()))?;
        let arguments = CanonicalArguments::read(call.arguments.map(RawValue::get))
            .map_err(|_| ApprovalReason::ArgumentHashMismatch)?;
        let mut challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        let mut credential = self.credential.lock().unwrap_or_else(PoisonError::into_inner);
        let known = challenges.get_mut(evidence.challenge().as_str());
        let called = ApprovalCall {
            principal: &self.principal,
            tool: &self.tool,
            upstream: None,
            definition: None,
            class: AuthenticatorClass::CrossPlatform,
            arguments: &arguments,
        };
        let named = (evidence.credential() == Some(&credential.id)).then_some(&*credential);
        let verified = verify(&evidence, known.as_deref(), named, &called, &self.party, now())
            .map_err(|rejection| rejection.reason)?;
        let counter = verified.assertion().counter;
        verified.spend(ConsumeOutcome::Consumed)?;
        credential.counter = counter;
        if let Some(known) = known {
            known.consumed = true;
        }
        Ok(arguments)
    }
}

fn rejected(id: &str, reason: ApprovalReason) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32001,"message":"not \u0061pproved","data":{{"reason":"{reason}","later":[1.50]}}}}}}"#
    )
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
