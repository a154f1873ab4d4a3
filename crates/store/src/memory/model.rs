//! What each operation means, in the plainest words: maps and joins, no SQL.

use std::collections::BTreeMap;

use highwater_core::id::{Principal, SessionKey, Timestamp, VirtualServerId};
use highwater_core::label::{Label, LabelBits};
use highwater_core::pin::PinKey;
use serde_json::value::RawValue;

use crate::key::{SessionKind, SessionOwner};
use crate::operation::model::{
    CONVERSATIONS, Closing, CountCall, Earlier, Found, Join, JoinedRows, ListSessions, Lower, Lowering,
    OpenConversation, Opening, ReadSession, SHORT_SESSIONS, SplitAgain, looks_like_one_per_call, shown,
};
use crate::people::{
    Context, Declassification, DeclassificationOutcome, Declassified, Notice, PrincipalRecord,
    SessionHistory, SessionRecord,
};
use crate::pins::{PinEvent, StoredPin};
use crate::{SessionState, TokenRecord};

/// Everything a database holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) sessions: BTreeMap<String, Session>,
    principals: BTreeMap<String, Conversations>,
    pub(super) marks: super::marks::ModelMarks,
    pub(crate) print_key: Option<String>,
    declassifications: BTreeMap<String, Vec<Declassification>>,
    pub(crate) contexts: Vec<Context>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) tokens: BTreeMap<String, TokenRecord>,
    pub(crate) node: Option<(String, bool)>,
    pub(crate) approvals: super::approvals::Approvals,
    pub(super) pins: BTreeMap<(String, PinKey), StoredPin>,
    /// With the server, whether a person decided, and the name of the event.
    pub(super) pin_events: Vec<(String, bool, String, PinEvent)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    owner: SessionOwner,
    created: i64,
    pub(crate) seen: i64,
    pub(crate) ended: i64,
    calls: i64,
    folded: bool,
    state: SessionState,
}

#[derive(Clone, Copy, Debug, Default)]
struct Conversations {
    held: i64,
    fallen_back: i64,
    seen: i64,
}

// === impl Model ===

impl Model {
    pub(crate) fn join(&mut self, asked: &Join) -> JoinedRows {
        let (state, folded) = self.join_one(&asked.key, &asked.owner, &asked.label, asked.now);
        let widest = folded.then(|| {
            let (key, owner) = (asked.owner.widest_key(), asked.owner.widest());
            self.join_one(&key, &owner, &asked.label, asked.now).0
        });
        JoinedRows { state, widest }
    }

    fn join_one(
        &mut self,
        key: &SessionKey,
        owner: &SessionOwner,
        label: &Label,
        now: i64,
    ) -> (SessionState, bool) {
        let session = self.sessions.entry(key.as_str().to_owned()).or_insert_with(|| Session {
            owner: owner.clone(),
            created: now,
            seen: now,
            ended: 0,
            calls: 0,
            folded: false,
            state: SessionState::unborn(),
        });
        session.seen = now;
        session.state.version += 1;
        session.state.label.join(label);
        (session.state.clone(), session.folded)
    }

    pub(crate) fn read(&self, asked: &ReadSession) -> Found {
        let (state, folded) = match self.sessions.get(asked.key.as_str()) {
            Some(session) => (session.state.clone(), session.folded),
            None => (SessionState::unborn(), false),
        };
        match &asked.known {
            Some(known) if (known.epoch, known.version) == (state.epoch, state.version) => Found::Same,
            Some(_) | None => Found::State { state, folded },
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
        let words = |label: &Label| {
            RawValue::from_string(shown(label).unwrap_or_default())
                .unwrap_or_else(|_| RawValue::NULL.to_owned())
        };
        let record = Declassification {
            epoch: session.state.epoch,
            at: Timestamp(asked.now.unsigned_abs()),
            person: asked.person.clone(),
            reason: asked.reason.clone(),
            old_label: words(&session.state.label),
            new_label: words(&asked.label),
            outcome,
        };
        let (epoch, version) = (session.state.epoch, session.state.version);
        self.declassifications.entry(asked.key.as_str().to_owned()).or_default().insert(0, record);
        Closing::Closed { epoch, version }
    }

    pub(crate) fn lower(&mut self, asked: &Lowering, epoch: u64, version: u64) -> Declassified {
        let Some(session) = self.sessions.get_mut(asked.key.as_str()) else { return Declassified::Unknown };
        if (session.state.epoch, session.state.version) != (epoch, version) {
            return Declassified::Overtaken(session.state.clone());
        }
        session.state.version += 1;
        session.state.label = asked.label.clone();
        Declassified::Done(session.state.clone())
    }

    pub(crate) fn lower_later(&mut self, asked: &Lower) -> Declassified {
        let done = self.lower(&asked.lowering, asked.epoch, asked.version);
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

    pub(crate) fn open_conversation(&mut self, asked: &OpenConversation) -> Opening {
        let principal = asked.owner.principal.as_str();
        let known = self.principals.entry(principal.to_owned()).or_default();
        known.seen = asked.now;
        let known = *known;
        if known.fallen_back > 0 {
            return self.fall_back(asked, &Label::bottom(), Vec::new());
        }
        if looks_like_one_per_call(&self.recent(asked), asked.now) {
            let inherited = self.short_label(asked);
            let mut folded = Vec::new();
            for (key, session) in &mut self.sessions {
                if session.is_short_of(principal) {
                    session.folded = true;
                    session.state.version += 1;
                    folded.push(SessionKey::new(key.as_str()));
                }
            }
            self.principals.entry(principal.to_owned()).or_default().fallen_back = asked.now;
            self.notices.push(asked.notice());
            return self.fall_back(asked, &inherited, folded);
        }
        let start = if known.held < CONVERSATIONS { self.short_label(asked) } else { Label::bottom() };
        Opening::Split(self.join_one(&asked.key, &asked.owner, &start, asked.now).0)
    }

    fn fall_back(&mut self, asked: &OpenConversation, inherited: &Label, folded: Vec<SessionKey>) -> Opening {
        let (key, owner) = (asked.owner.widest_key(), asked.owner.widest());
        let widest = match self.sessions.get(key.as_str()) {
            Some(session) if session.state.label.covers(inherited) => session.state.clone(),
            Some(_) | None => self.join_one(&key, &owner, inherited, asked.now).0,
        };
        Opening::FellBack { widest, folded }
    }

    fn recent(&self, asked: &OpenConversation) -> Vec<Earlier> {
        let mut earlier: Vec<_> = self.sessions.iter().collect();
        earlier.retain(|(key, session)| {
            session.owner.principal == asked.owner.principal
                && session.owner.kind.is_presumed()
                && !session.folded
                && session.calls > 0
                && key.as_str() != asked.key.as_str()
        });
        earlier.sort_by_key(|(key, session)| std::cmp::Reverse((session.created, *key)));
        let what = |(_, session): &(&String, &Session)| Earlier {
            kind: session.owner.kind,
            created: session.created,
            ended: session.ended != 0,
            calls: session.calls,
        };
        earlier.iter().take(SHORT_SESSIONS).map(what).collect()
    }

    fn short_label(&self, asked: &OpenConversation) -> Label {
        let mut label = Label::bottom();
        for (key, session) in &self.sessions {
            if session.is_short_of(asked.owner.principal.as_str()) && key.as_str() != asked.key.as_str() {
                label.join(&session.state.label);
            }
        }
        label
    }

    pub(crate) fn count_call(&mut self, asked: &CountCall) {
        let Some(session) = self.sessions.get_mut(asked.key.as_str()).filter(|session| session.calls < 2)
        else {
            return;
        };
        session.calls += 1;
        session.seen = asked.now;
        if session.calls == 2
            && let Some(known) = self.principals.get_mut(session.owner.principal.as_str())
        {
            known.held = (known.held + 1).min(CONVERSATIONS);
        }
    }

    pub(crate) fn split_again(&mut self, asked: &SplitAgain) -> bool {
        let known = self.principals.get_mut(asked.principal.as_str()).filter(|known| known.fallen_back > 0);
        let Some(known) = known else { return false };
        (known.fallen_back, known.held) = (0, 0);
        self.notices.push(asked.notice.clone());
        true
    }

    pub(crate) fn taint_all(&mut self) -> u64 {
        for session in self.sessions.values_mut() {
            session.state.label.join(&Label::top());
            session.state.version += 1;
        }
        self.sessions.len() as u64
    }

    pub(crate) fn prune(&mut self, before: i64) -> u64 {
        let (all, principals) = (self.sessions.len(), &self.principals);
        self.sessions.retain(|_, session| {
            let is_over = session.ended > 0 && session.ended < before && session.owner.kind.is_presumed();
            let known = principals.get(session.owner.principal.as_str());
            let is_inherited = session.calls < 2
                && !session.folded
                && session.state.label.bits() != LabelBits::BOTTOM
                && known.is_none_or(|known| known.held < CONVERSATIONS);
            !is_over || is_inherited
        });
        (all - self.sessions.len()) as u64
    }

    pub(crate) fn list(&self, asked: &ListSessions) -> Vec<SessionRecord> {
        let mut found: Vec<_> = self.sessions.iter().collect();
        found.retain(|(_, session)| {
            (asked.principal.is_empty() || session.owner.principal.as_str() == asked.principal)
                && session.seen <= asked.seen_until
        });
        found.sort_by_key(|(key, session)| (std::cmp::Reverse(session.seen), *key));
        found.into_iter().take(asked.most as usize).map(|(key, session)| session.record(key)).collect()
    }

    pub(crate) fn show(&self, key: &SessionKey) -> Option<SessionHistory> {
        let session = self.sessions.get(key.as_str())?.record(key.as_str());
        let declassifications = self.declassifications.get(key.as_str()).cloned().unwrap_or_default();
        Some(SessionHistory { session, declassifications })
    }

    pub(crate) fn principal_records(&self) -> Vec<PrincipalRecord> {
        let record = |(id, known): (&String, &Conversations)| PrincipalRecord {
            principal: Principal::new(id.as_str()),
            conversations: known.held.unsigned_abs(),
            fallen_back: (known.fallen_back > 0).then(|| Timestamp(known.fallen_back.unsigned_abs())),
            seen: Timestamp(known.seen.unsigned_abs()),
        };
        self.principals.iter().map(record).collect()
    }
}

// === impl Session ===

impl Session {
    fn is_short_of(&self, principal: &str) -> bool {
        self.owner.principal.as_str() == principal
            && matches!(self.owner.kind, SessionKind::Transport | SessionKind::Connection)
            && self.calls < 2
            && !self.folded
    }

    fn record(&self, key: &str) -> SessionRecord {
        let time = |millis: i64| Timestamp(millis.unsigned_abs());
        SessionRecord {
            key: SessionKey::new(key),
            principal: self.owner.principal.clone(),
            virtual_server: VirtualServerId::new(self.owner.virtual_server.as_str()),
            kind: self.owner.kind,
            created: time(self.created),
            seen: time(self.seen),
            ended: (self.ended != 0).then(|| time(self.ended)),
            calls: self.calls.unsigned_abs(),
            folded: self.folded,
            epoch: self.state.epoch,
            version: self.state.version,
            label: self.state.label.clone(),
        }
    }
}
