//! What each operation means, in the plainest words: maps and joins, no SQL.

use std::collections::BTreeMap;

use highwater_core::id::{SessionKey, VirtualServerId};
use highwater_core::label::Label;
use highwater_notation::Timestamp;
use highwater_pins::PinKey;
use serde_json::value::RawValue;

use crate::admin::{
    Context, Declassification, DeclassificationOutcome, Declassified, Notice, SessionHistory, SessionRecord,
};
use crate::key::{SessionKind, SessionOwner};
use crate::operation::model::{Closing, Found, Join, ListSessions, Lower, Lowering, ReadSession, shown};
use crate::pins::{PinEvent, StoredPin};
use crate::{SessionState, TokenRecord};

/// Everything a database holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(super) marks: super::marks::ModelMarks,
    pub(crate) print_key: Option<String>,
    pub(crate) seal_key: Option<String>,
    pub(crate) gateways: BTreeMap<String, crate::gateways::GatewayTokens>,
    declassifications: BTreeMap<String, Vec<Declassification>>,
    pub(crate) contexts: Vec<Context>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) tokens: BTreeMap<String, TokenRecord>,
    pub(crate) approvals: super::approvals::Approvals,
    pub(super) pins: BTreeMap<(String, PinKey), StoredPin>,
    /// With the server, whether a person decided, and the name of the event.
    pub(super) pin_events: Vec<(String, bool, String, PinEvent)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(super) owner: SessionOwner,
    pub(super) created: i64,
    pub(crate) seen: i64,
    pub(crate) ended: i64,
    /// When what is in the label began to be read.
    pub(super) began: i64,
    /// In which epoch.
    pub(super) first_epoch: u64,
    /// The conversation that this is a way into, and one more than the epoch of it that was entered.
    pub(super) conversation: String,
    pub(super) entered: u64,
    pub(super) said: String,
    pub(super) state: SessionState,
}

// === impl Model ===

impl Model {
    pub(crate) fn join(&mut self, asked: &Join) -> SessionState {
        self.join_one(&asked.key, &asked.owner, &asked.label, asked.now)
    }

    pub(super) fn join_one(
        &mut self,
        key: &SessionKey,
        owner: &SessionOwner,
        label: &Label,
        now: i64,
    ) -> SessionState {
        let session = self.session(key, owner, now);
        session.seen = now;
        session.state.version += 1;
        session.state.label.join(label);
        session.state.clone()
    }

    /// The row of a session, made if it is not there.
    pub(super) fn session(&mut self, key: &SessionKey, owner: &SessionOwner, now: i64) -> &mut Session {
        self.sessions.entry(key.as_str().to_owned()).or_insert_with(|| Session {
            owner: owner.clone(),
            created: now,
            seen: now,
            ended: 0,
            began: 0,
            first_epoch: 0,
            conversation: String::new(),
            entered: 0,
            said: String::new(),
            state: SessionState::unborn(),
        })
    }

    pub(crate) fn read(&self, asked: &ReadSession) -> Found {
        let state = self.sessions.get(asked.key.as_str()).map(|session| session.state.clone());
        let state = state.unwrap_or_else(SessionState::unborn);
        match &asked.known {
            Some(known) if (known.epoch, known.version) == (state.epoch, state.version) => Found::Same,
            Some(_) | None => Found::State(state),
        }
    }

    pub(crate) fn close_epoch(&mut self, asked: &Lowering, outcome: DeclassificationOutcome) -> Closing {
        let Some(session) = self.sessions.get_mut(asked.key.as_str()) else {
            return Closing::Refused(Declassified::Unknown);
        };
        if session.state.epoch != asked.expected {
            return Closing::Refused(Declassified::Moved(session.state.clone()));
        }
        session.state.epoch += 1;
        session.state.version += 1;
        let record = Declassification {
            epoch: session.state.epoch,
            at: Timestamp(asked.now.unsigned_abs()),
            person: asked.person.clone(),
            reason: asked.reason.clone(),
            old_label: words(&session.state.possible()),
            new_label: words(&asked.label),
            outcome,
        };
        let (epoch, version) = (session.state.epoch, session.state.version);
        self.record(&asked.key, record);
        Closing::Closed { epoch, version }
    }

    pub(super) fn record(&mut self, key: &SessionKey, record: Declassification) {
        self.declassifications.entry(key.as_str().to_owned()).or_default().insert(0, record);
    }

    pub(crate) fn lower(&mut self, asked: &Lowering, epoch: u64, version: u64) -> Declassified {
        let Some(session) = self.sessions.get_mut(asked.key.as_str()) else { return Declassified::Unknown };
        if (session.state.epoch, session.state.version) != (epoch, version) {
            return Declassified::Overtaken(session.state.clone());
        }
        let left = session.state.possible();
        session.state.version += 1;
        session.state.label = asked.label.clone();
        session.state.pending = None;
        let state = session.state.clone();
        self.begin_anew(&asked.key, &left, &asked.along);
        if let Some(session) = self.sessions.get_mut(asked.key.as_str()) {
            session.began = asked.now;
            session.first_epoch = session.state.epoch;
        }
        Declassified::Done(state)
    }

    pub(crate) fn lower_later(&mut self, asked: &Lower) -> Declassified {
        let mut done = self.lower(&asked.lowering, asked.epoch, asked.version);
        if let Declassified::Done(state) = &mut done
            && let Some(session) = self.sessions.get_mut(asked.lowering.key.as_str())
            && session.owner.kind == SessionKind::Presumed
        {
            session.state.epoch += 1;
            session.first_epoch = session.state.epoch;
            *state = session.state.clone();
        }
        let outcome = match &done {
            Declassified::Done(_) => DeclassificationOutcome::Done,
            Declassified::Moved(_) | Declassified::Overtaken(_) | Declassified::Unknown => {
                DeclassificationOutcome::Overtaken
            }
        };
        let records = self.declassifications.entry(asked.lowering.key.as_str().to_owned()).or_default();
        for record in records.iter_mut().filter(|record| record.epoch == asked.epoch) {
            record.outcome = outcome;
        }
        done
    }

    pub(crate) fn taint_all(&mut self) -> u64 {
        for session in self.sessions.values_mut() {
            session.state.label.join(&Label::top());
            session.state.version += 1;
        }
        self.sessions.len() as u64
    }

    pub(crate) fn prune(&mut self, before: i64) -> u64 {
        let all = self.sessions.len();
        self.sessions.retain(|_, session| {
            let comes_and_goes = matches!(
                session.owner.kind,
                SessionKind::Transport | SessionKind::Connection | SessionKind::Stateless
            );
            let is_over = session.ended > 0 && session.ended < before;
            let is_unused = !session.conversation.is_empty() && session.seen < before;
            !(comes_and_goes && (is_over || is_unused))
        });
        (all - self.sessions.len()) as u64
    }

    pub(crate) fn list(&self, asked: &ListSessions) -> Vec<SessionRecord> {
        let mut found: Vec<_> = self.sessions.iter().collect();
        found.retain(|(_, session)| {
            (asked.principal.is_empty() || session.owner.principal.as_str() == asked.principal)
                && session.seen <= asked.seen_until
                && session.conversation.is_empty()
        });
        found.sort_by_key(|(key, session)| (std::cmp::Reverse(session.seen), *key));
        found.into_iter().take(asked.most as usize).map(|(key, session)| self.shown(key, session)).collect()
    }

    pub(crate) fn show(&self, key: &SessionKey) -> Option<SessionHistory> {
        let session = self.shown(key.as_str(), self.sessions.get(key.as_str())?);
        let declassifications = self.declassifications.get(key.as_str()).cloned().unwrap_or_default();
        Some(SessionHistory { session, declassifications })
    }

    /// A session as people see it.
    fn shown(&self, key: &str, session: &Session) -> SessionRecord {
        SessionRecord {
            key: SessionKey::new(key),
            principal: session.owner.principal.clone(),
            virtual_server: VirtualServerId::new(session.owner.virtual_server.as_str()),
            kind: session.owner.kind,
            created: time(session.created),
            seen: time(session.seen),
            ended: (session.ended != 0).then(|| time(session.ended)),
            epoch: session.state.epoch,
            version: session.state.version,
            label: session.state.label.clone(),
            pending: session.state.pending.clone(),
            ways: self.ways_shown(key),
        }
    }
}

pub(super) fn time(millis: i64) -> Timestamp {
    Timestamp(millis.unsigned_abs())
}

/// A label in words.
pub(super) fn words(label: &Label) -> Box<RawValue> {
    RawValue::from_string(shown(label).unwrap_or_default()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
