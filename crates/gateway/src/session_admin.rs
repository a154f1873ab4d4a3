//! What people can see of agent sessions and do to them. The one act that lowers a label is here, and it takes a person, a
//! reason, and the session as the person saw it.

use std::collections::BTreeMap;

use highwater_audit::{AuditEvent, Declassification, Happened};
use highwater_core::id::{Principal, SessionKey};
use highwater_core::label::Label;
use highwater_core::session::{Leg, SessionRisk};
use highwater_store::{
    Context, Declassified, Notice, SessionHandle, SessionHistory, SessionKind, SessionRecord, SessionState,
    StoreError,
};

use serde::Serialize;

use crate::gateway::{Gateway, now};
use crate::hosts::node_of_key;
use crate::session::{KeptClient, SetBy, presumed_by, rests_on_key};
use crate::stated_label::StatedLabel;

/// The longest reason that is kept.
const MAX_REASON: usize = 2000;

/// One agent session in a list.
#[derive(Debug, Serialize)]
pub struct SessionEntry {
    #[serde(flatten)]
    record: SessionRecord,
    /// What its key rests on, in words.
    #[serde(rename = "restsOn")]
    rests_on: String,
    /// What it has done of the three things that together make an exfiltration.
    risk: SessionRisk,
}

/// One agent session with its history.
#[derive(Debug, Serialize)]
pub struct SessionView {
    #[serde(flatten)]
    history: SessionHistory,
    /// What its key rests on, in words.
    #[serde(rename = "restsOn")]
    rests_on: String,
    risk: RiskView,
}

/// The risk of a session, with the calls that set its legs as far as this process saw them. The audit log knows all.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RiskView {
    #[serde(flatten)]
    risk: SessionRisk,
    set_by: BTreeMap<Leg, SetBy>,
}

/// How an attempt to reset a session ended.
#[derive(Debug)]
pub enum Reset {
    /// The label is at its bottom; a new epoch has begun.
    Done(SessionState),
    /// It is no longer as the person saw it; this is how it is.
    Changed(SessionState),
    /// There is no such session.
    Unknown,
    /// No reason was given, or a very long one.
    NoReason,
}

/// What the key of a session rests on; of a presumed conversation, by which way it was used last.
fn rests_on_record(record: &SessionRecord) -> String {
    match record.ways.first() {
        Some(way) => {
            let client = KeptClient::read(&way.said);
            let name = client.as_ref().map(KeptClient::name).filter(|name| !name.is_empty());
            let client = name.map(|name| format!(" (`{name}`)")).unwrap_or_default();
            presumed_by(way.kind, &record.principal) + &client
        }
        None => rests_on_key(&record.key, record.kind, &record.principal),
    }
}

impl Gateway {
    /// Agent sessions, last used first.
    pub async fn sessions(
        &self,
        principal: Option<&Principal>,
        most: u32,
    ) -> Result<Vec<SessionEntry>, StoreError> {
        let records = self.store.sessions(principal, None, most).await?;
        let entry = |record: SessionRecord| SessionEntry {
            risk: SessionRisk::of(&record.label),
            rests_on: rests_on_record(&record),
            record,
        };
        Ok(records.into_iter().map(entry).collect())
    }

    /// One agent session with its history.
    pub async fn session(&self, key: &SessionKey) -> Result<Option<SessionView>, StoreError> {
        let Some(history) = self.store.show(key).await? else { return Ok(None) };
        let risk = SessionRisk::of(&history.session.label);
        let set_by = self.stories.with(key, |story| {
            risk.legs().filter_map(|leg| Some((leg, story.set_by(leg)?.clone()))).collect()
        });
        let rests_on = rests_on_record(&history.session);
        Ok(Some(SessionView { history, rests_on, risk: RiskView { risk, set_by } }))
    }

    /// Lowers a session's label to nothing by a person's word. `epoch` is the one the person looked at; without it, the
    /// one that is.
    pub async fn reset_session(
        &self,
        key: &SessionKey,
        epoch: Option<u64>,
        person: &str,
        reason: &str,
    ) -> Result<Reset, StoreError> {
        if reason.trim().is_empty() || reason.len() > MAX_REASON {
            return Ok(Reset::NoReason);
        }
        let Some(session) = self.store.find_session(key).await? else { return Ok(Reset::Unknown) };
        let before = session.current().await?;
        let epoch = epoch.unwrap_or(before.epoch);
        Ok(match session.declassify(epoch, &Label::bottom(), person, reason).await? {
            Declassified::Done(state) => {
                self.record_reset(&session, &before, &state, person, reason);
                self.stories.with(session.key(), |story| story.forget());
                Reset::Done(state)
            }
            Declassified::Moved(state) | Declassified::Overtaken(state) => Reset::Changed(state),
            Declassified::Unknown => Reset::Unknown,
        })
    }

    /// Begins a new conversation of a principal by a person's word, with this label. `way` is the one that it is said of;
    /// without it, the one that was used last. What was read stays with every other.
    pub async fn new_conversation(
        &self,
        key: &SessionKey,
        way: Option<&SessionKey>,
        epoch: Option<u64>,
        label: &Label,
        by: (&str, &str),
    ) -> Result<Reset, StoreError> {
        let (person, reason) = by;
        if reason.trim().is_empty() || reason.len() > MAX_REASON {
            return Ok(Reset::NoReason);
        }
        let Some(session) = self.store.find_session(key).await? else { return Ok(Reset::Unknown) };
        let before = session.current().await?;
        // A host says itself where its conversations begin; what a person says is whether one is theirs.
        let is_asked = match session.owner().kind {
            SessionKind::Presumed => true,
            SessionKind::Host => before.pending.is_some() && *label == Label::bottom(),
            _ => false,
        };
        if !is_asked {
            return Ok(Reset::Unknown);
        }
        let epoch = epoch.unwrap_or(before.epoch);
        Ok(match session.begin_anew(way, epoch, label, person, reason).await? {
            Declassified::Done(state) => {
                self.record_reset(&session, &before, &state, person, reason);
                match node_of_key(key.as_str()) {
                    Some((conversation, _)) => self.confirm_conversation(&conversation, by).await?,
                    None => self.stories.with(session.key(), |story| story.forget()),
                }
                Reset::Done(state)
            }
            Declassified::Moved(state) | Declassified::Overtaken(state) => Reset::Changed(state),
            Declassified::Unknown => Reset::Unknown,
        })
    }

    /// The store has it on record already; the audit log tells it among everything else.
    fn record_reset(
        &self,
        session: &SessionHandle,
        before: &SessionState,
        after: &SessionState,
        by: &str,
        reason: &str,
    ) {
        tracing::warn!(session = %session.key(), person = by, reason, epoch = after.epoch, "its label was reset");
        let happened = Happened::Declassification(Declassification {
            session: session.key(),
            by,
            principal: &session.owner().principal,
            reason,
            epoch: after.epoch,
            before: &before.possible(),
            after: &after.label,
        });
        if let Err(error) = self.audit.append(&AuditEvent { time: now(), id: None, happened }) {
            tracing::error!(%error, "that a label was reset could not be recorded in the audit log");
        }
    }

    /// Makes a context id, whose sessions have a label of their own and begin with this one.
    pub async fn new_context(
        &self,
        person: &str,
        note: &str,
        label: &StatedLabel,
    ) -> Result<Context, StoreError> {
        self.store.mint_context(person, note, &label.text()).await
    }

    /// Begins a new conversation of a principal, as the client that it last used.
    pub async fn begin_conversation(
        &self,
        principal: &Principal,
        label: &Label,
        person: &str,
        reason: &str,
    ) -> Result<Reset, StoreError> {
        let key = SessionKind::Presumed.key(principal, "");
        self.new_conversation(&key, None, None, label, (person, reason)).await
    }

    /// Context ids, newest first.
    pub async fn contexts(&self, most: u32) -> Result<Vec<Context>, StoreError> {
        self.store.contexts(most).await
    }

    /// Things that people should know of.
    pub async fn notices(&self, most: u32) -> Result<Vec<Notice>, StoreError> {
        self.store.notices(most).await
    }
}
