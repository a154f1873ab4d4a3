//! What people see of the store: sessions, declassifications, notices, contexts.

use std::sync::Arc;

use highwater_core::id::{Principal, SessionKey, VirtualServerId};
use highwater_core::label::Label;
use highwater_notation::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::entry::Pending;
use crate::key::SessionKind;
use crate::{SessionState, StoreError};

/// One agent session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    /// Its key.
    pub key: SessionKey,
    /// Whose it is.
    pub principal: Principal,
    /// Through which virtual server it was first used.
    pub virtual_server: VirtualServerId,
    /// What the key was made from.
    pub kind: SessionKind,
    /// When it was first labelled.
    pub created: Timestamp,
    /// When it was last used, to the minute.
    pub seen: Timestamp,
    /// When it ended, if that was seen.
    pub ended: Option<Timestamp>,
    /// Its epoch: how often it was declassified.
    pub epoch: u64,
    /// Moves with every join and declassification.
    pub version: u64,
    /// Its label.
    pub label: Label,
    /// What was read before a silence, if nobody has said whether this is still that conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Arc<Pending>>,
    /// By which ways requests come to it, last used first; only a presumed conversation has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<WayRecord>,
}

/// A way into a presumed conversation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WayRecord {
    /// Its key.
    pub key: SessionKey,
    /// What it is.
    pub kind: SessionKind,
    /// When it was last used, to the minute.
    pub seen: Timestamp,
    /// When it ended, if that was seen.
    pub ended: Option<Timestamp>,
    /// What its client said of itself.
    #[serde(skip)]
    pub said: String,
}

/// A transport session as it was agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTransport {
    /// At which virtual server.
    pub virtual_server: VirtualServerId,
    /// What the client said of itself, as it was given to be kept.
    pub said: String,
    /// The presumed conversation that it was a way into, if it was.
    pub conversation: Option<SessionKey>,
}

/// A label that a person lowered, or wanted to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Declassification {
    /// The epoch that it began.
    pub epoch: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub person: String,
    /// Why, in the person's words.
    pub reason: String,
    /// The label before, in words.
    pub old_label: Box<RawValue>,
    /// The label after, in words.
    pub new_label: Box<RawValue>,
    /// What came of it.
    pub outcome: DeclassificationOutcome,
}

/// What came of a declassification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeclassificationOutcome {
    /// The epoch is closed; the label goes down when replies in flight have had their time.
    Closing,
    /// The label went down.
    Done,
    /// Something was joined meanwhile, so the label stayed.
    Overtaken,
}

/// How an attempt to lower a label ended.
#[derive(Clone, Debug)]
pub enum Declassified {
    /// The label went down; this is the session now.
    Done(SessionState),
    /// The session is no longer in the epoch that the person looked at.
    Moved(SessionState),
    /// Something was joined while replies in flight had their time; the label stayed as it is here.
    Overtaken(SessionState),
    /// There is no such session, so there is nothing to lower.
    Unknown,
}

/// One session with its history.
#[derive(Clone, Debug, Serialize)]
pub struct SessionHistory {
    /// The session.
    #[serde(flatten)]
    pub session: SessionRecord,
    /// Its declassifications, newest first.
    pub declassifications: Vec<Declassification>,
}

/// Something that people should know and that needed no decision.
#[derive(Clone, Debug, Serialize)]
pub struct Notice {
    /// Its name.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// Whom it concerns.
    pub principal: Principal,
    /// Which session, if one.
    pub session: Option<SessionKey>,
    /// What kind of notice, in one word.
    pub kind: String,
    /// The notice.
    pub message: String,
}

/// A context id that was handed out.
#[derive(Clone, Debug, Serialize)]
pub struct Context {
    /// The id, as it stands in the endpoint's path.
    pub id: String,
    /// When it was made.
    pub created: Timestamp,
    /// For whom.
    pub person: String,
    /// What for.
    pub note: String,
    /// What its sessions hold from the beginning, in words; empty for nothing.
    pub label: String,
}

// === impl DeclassificationOutcome ===

impl DeclassificationOutcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Closing => "closing",
            Self::Done => "done",
            Self::Overtaken => "overtaken",
        }
    }

    pub(crate) fn from_word(word: &str) -> Result<Self, StoreError> {
        let found = [Self::Closing, Self::Done, Self::Overtaken].into_iter().find(|it| it.word() == word);
        found.ok_or(StoreError::Foreign { what: "a declassification of an unknown outcome" })
    }
}
