//! What people can see of the marks on what agents wrote, and how they take them off: with a reason, on record.

use highwater_audit::{AuditEvent, Happened};
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_core::label::Label;
use highwater_marks::Mark;
use highwater_notation::Timestamp;
use highwater_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::gateway::{Gateway, now};

/// The longest reason that is kept.
const MAX_REASON: usize = 2000;

/// One mark.
#[derive(Debug, Serialize)]
pub struct MarkView {
    id: String,
    server: UpstreamId,
    kind: &'static str,
    /// What it is on, for people.
    on: String,
    /// Who wrote it: with which tool, in which call and conversation, for whom.
    tool: String,
    decision: DecisionId,
    session: SessionKey,
    agent: Principal,
    at: Timestamp,
    label: Label,
}

/// Which marks are meant. Where several things are said, all of them must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MarkChoice {
    /// Only these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Only those on things of this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<UpstreamId>,
    /// Only those that this conversation left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
}

/// How an attempt to take marks off ended.
#[derive(Debug)]
pub enum ClearedMarks {
    /// These are gone.
    Done(Vec<MarkView>),
    /// None of those that were meant is there.
    Unknown,
    /// No reason was given, or a very long one.
    NoReason,
}

// === impl MarkView ===

impl From<&Mark> for MarkView {
    fn from(mark: &Mark) -> Self {
        Self {
            id: mark.id.to_string(),
            server: mark.thing.upstream.clone(),
            kind: mark.thing.kind.as_str(),
            on: mark.thing.words(),
            tool: mark.by.tool.to_string(),
            decision: mark.by.decision.clone(),
            session: mark.by.session.clone(),
            agent: mark.by.principal.clone(),
            at: mark.by.at,
            label: mark.label.clone(),
        }
    }
}

// === impl MarkChoice ===

impl MarkChoice {
    fn means(&self, mark: &Mark) -> bool {
        (self.ids.is_empty() || self.ids.iter().any(|id| **id == *mark.id))
            && self.server.as_ref().is_none_or(|server| *server == mark.thing.upstream)
            && self.session.as_ref().is_none_or(|session| *session == mark.by.session)
    }
}

impl Gateway {
    /// Marks on what agents wrote, those last left first.
    pub async fn marks(&self, choice: &MarkChoice) -> Result<Vec<MarkView>, StoreError> {
        let marks = self.store.all_marks().await?;
        Ok(marks.iter().filter(|mark| choice.means(mark)).map(|mark| MarkView::from(&**mark)).collect())
    }

    /// Takes marks off by a person's word: what was written there is read from now on as if a clean session had written it.
    pub async fn clear_marks(
        &self,
        choice: &MarkChoice,
        person: &str,
        reason: &str,
    ) -> Result<ClearedMarks, StoreError> {
        if reason.trim().is_empty() || reason.len() > MAX_REASON {
            return Ok(ClearedMarks::NoReason);
        }
        let marks = self.store.all_marks().await?;
        let ids = marks.iter().filter(|mark| choice.means(mark)).map(|mark| mark.id.to_string()).collect();
        let cleared = self.store.clear_marks(ids, person, reason).await?.marks;
        if cleared.is_empty() {
            return Ok(ClearedMarks::Unknown);
        }
        tracing::warn!(person, reason, count = cleared.len(), "marks were taken off");
        // The store has it on record already; the audit log tells it among everything else.
        let happened = Happened::MarksCleared { marks: &cleared, by: person, reason };
        if let Err(error) = self.audit.append(&AuditEvent { time: now(), id: None, happened }) {
            tracing::error!(%error, "that marks were taken off could not be recorded in the audit log");
        }
        Ok(ClearedMarks::Done(cleared.iter().map(MarkView::from).collect()))
    }
}
