//! What is known of each server's definitions: as they were last seen, as they were approved, and what was decided when.

use highwater_core::pin::PinDigest;
use highwater_core::profile::Profile;
use highwater_notation::Timestamp;
use highwater_pins::{Basis, PinKey};
use serde::Serialize;

/// A definition's text and digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredText {
    /// The digest.
    pub digest: PinDigest,
    /// The whole, as JSON text.
    pub text: String,
    /// When it was first seen like this, or approved.
    pub at: Timestamp,
}

/// What was approved, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredApproval {
    /// Exactly this.
    #[serde(flatten)]
    pub definition: StoredText,
    /// On whose word.
    pub basis: Basis,
    /// Whether what it claims of itself may loosen anything.
    pub believed: bool,
    /// The person, where it was one.
    pub person: String,
}

/// Everything that is known of one tool, prompt or template, or of the server itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredPin {
    /// Which.
    #[serde(flatten)]
    pub key: PinKey,
    /// As it was last seen; `None` if the server no longer has it.
    pub seen: Option<StoredText>,
    /// As it was approved.
    pub pin: Option<StoredApproval>,
    /// What was refused.
    pub rejected: Option<PinDigest>,
}

/// Something that is not as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What.
    pub key: PinKey,
    /// As it is now: digest and text. `None` if it is gone.
    pub seen: Option<(PinDigest, String)>,
    /// On whose word it is approved at once, unless a person has decided already.
    pub approve: Option<Basis>,
}

/// What a person decides about definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinVerdict {
    /// They may be used.
    Approve {
        /// And what they claim of themselves is believed: it may loosen decisions. Said anew with every approval.
        believed: bool,
    },
    /// They may not.
    Reject,
}

/// Which definitions a person decided about, exactly as they saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinScope {
    /// Everything of the server, by the digest of all that was seen.
    Server(PinDigest),
    /// Some definitions, each by its own digest.
    Some(Vec<(PinKey, PinDigest)>),
}

/// A person's decision.
#[derive(Clone, Debug)]
pub struct PinDecision {
    /// About which server.
    pub server: String,
    /// What.
    pub verdict: PinVerdict,
    /// About what of it.
    pub scope: PinScope,
    /// Who.
    pub person: String,
    /// Why, in the person's words.
    pub reason: String,
}

/// What a person says a server is, in the operator's one word for it.
#[derive(Clone, Debug)]
pub struct Description {
    /// Which server.
    pub server: String,
    /// What it is; `None` takes back what was said.
    pub profile: Option<Profile>,
    /// Who.
    pub person: String,
    /// Why, in the person's words.
    pub reason: String,
}

/// What a person said a server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// What it is.
    pub profile: Profile,
    /// Who said so.
    pub person: String,
    /// When.
    pub at: Timestamp,
}

/// What came of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinsDecided {
    /// It stands; so many definitions changed their state.
    Done(u64),
    /// Something is no longer as the person saw it. Nothing was changed.
    Moved,
}

/// One line of the history of a server's definitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PinEvent {
    /// When.
    pub at: Timestamp,
    /// Of what.
    #[serde(flatten)]
    pub key: PinKey,
    /// `seen`, `changed`, `gone`, `vouched`, `signed`, `approved`, `approved-believed`, `rejected`,
    /// `described-` with the word for the server, or `undescribed`.
    pub what: String,
    /// Which definition it is about, where it is about one.
    pub digest: Option<PinDigest>,
    /// The definition, where it was new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Who, where it was a person.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub person: String,
    /// Why, where somebody said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

// === impl PinVerdict ===

impl PinVerdict {
    /// The word for it in the history and in the audit log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve { believed: true } => "approved-believed",
            Self::Approve { believed: false } => "approved",
            Self::Reject => "rejected",
        }
    }
}

// === impl Description ===

impl Description {
    /// The word for it in the history and in the audit log.
    pub fn word(&self) -> &'static str {
        match self.profile {
            Some(Profile::Local) => "described-local",
            Some(Profile::Private) => "described-private",
            Some(Profile::Public) => "described-public",
            Some(Profile::Unknown) => "described-unknown",
            None => "undescribed",
        }
    }
}

// === impl StoredPin ===

impl StoredPin {
    /// What a person said the server is, if this is where that is kept.
    pub fn described(&self) -> Option<Described> {
        let said = self.pin.as_ref().filter(|_| self.key == PinKey::profile())?;
        let profile = serde_json::from_str(&said.definition.text).ok()?;
        Some(Described { profile, person: said.person.clone(), at: said.definition.at })
    }
}

// === impl Observation ===

impl Observation {
    /// The word for it in the history.
    pub(crate) fn word(&self, known: bool) -> &'static str {
        match (&self.seen, self.approve) {
            (None, _) => "gone",
            (Some(_), Some(Basis::Vouched)) => "vouched",
            (Some(_), Some(Basis::Manifest)) => "signed",
            (Some(_), Some(Basis::Person) | None) if known => "changed",
            (Some(_), Some(Basis::Person) | None) => "seen",
        }
    }
}
