//! Presumed conversations, the ways into them and what stays with each.

use std::sync::Arc;

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::model::{Model, time, words};
use crate::SessionState;
use crate::admin::{Declassification, DeclassificationOutcome, Declassified, KeptTransport, WayRecord};
use crate::entry::Pending;
use crate::key::SessionKind;
use crate::operation::model::{
    BeginHosted, BegunHosted, DropPending, Enter, Entered, GoesAlong, JoinPending, KeepTransport, MOST_WAYS,
    NONE_YET,
};

// === impl Model ===

impl Model {
    pub(crate) fn enter(&mut self, asked: &Enter) -> Entered {
        let (key, owner) = (asked.owner.presumed_key(), asked.owner.presumed());
        let is_new = !self.sessions.contains_key(key.as_str());
        let found = self.session(&key, &owner, asked.now);
        if is_new {
            found.began = asked.now;
        }
        let (seen, began) = (found.seen.max(asked.seen), found.began);
        if found.state.version == 0 {
            self.inherit(asked, &key);
        }
        let state = self.session(&key, &owner, asked.now).state.clone();
        let ended = asked.is_over(seen) && state.label != Label::bottom();
        if ended {
            let possible = state.possible();
            self.leave_with(&key, &possible, "");
            let since = state.pending.as_ref().map_or(time(began), |pending| pending.since);
            let pending = Pending { label: possible, since, until: time(seen) };
            let found = self.session(&key, &owner, asked.now);
            found.began = asked.now;
            found.state.epoch += 1;
            found.first_epoch = found.state.epoch;
            found.state.version += 1;
            found.state.label = Label::bottom();
            found.state.pending = Some(Arc::new(pending));
        }
        let held = self.sessions.get(asked.way.as_str()).map(|way| way.state.label.clone());
        let held = held.unwrap_or_default();
        let found = self.session(&key, &owner, asked.now);
        if !found.state.possible().covers(&held) {
            found.state.version += 1;
            found.state.label.join(&held);
        }
        if asked.quiet.is_some() {
            found.seen = found.seen.max(asked.now);
        }
        let state = found.state.clone();
        let way = self.session(&asked.way, &asked.owner, asked.now);
        way.seen = asked.now;
        key.as_str().clone_into(&mut way.conversation);
        way.entered = state.epoch + 1;
        Entered { state, ended }
    }

    pub(crate) fn begin_hosted(&mut self, asked: &BeginHosted) -> BegunHosted {
        let was_known = self.sessions.contains_key(asked.key.as_str());
        if asked.beside.is_some() || asked.label != Label::bottom() {
            self.join_one(&asked.key, &asked.owner, &asked.label, asked.now);
        }
        let found = self.session(&asked.key, &asked.owner, asked.now);
        if let Some(beside) = &asked.beside {
            let (since, mut label) = match &found.state.pending {
                Some(earlier) => (earlier.since, earlier.label.clone()),
                None => (time(asked.now), Label::bottom()),
            };
            label.join(beside);
            found.state.pending = Some(Arc::new(Pending { label, since, until: time(asked.now) }));
        }
        BegunHosted { state: found.state.clone(), was_known }
    }

    fn inherit(&mut self, asked: &Enter, key: &SessionKey) {
        let (mut own, mut earlier) = (Label::bottom(), Label::bottom());
        let (mut since, mut until) = (i64::MAX, 0);
        for session in self.sessions.values() {
            let unnamed = matches!(
                session.owner.kind,
                SessionKind::Transport | SessionKind::Connection | SessionKind::Principal
            );
            let is_theirs = session.owner.principal == asked.owner.principal;
            if !(unnamed && is_theirs && session.conversation.is_empty() && session.state.version > 0) {
                continue;
            }
            if asked.is_over(session.seen) {
                earlier.join(&session.state.label);
                (since, until) = (since.min(session.created), until.max(session.seen));
            } else {
                own.join(&session.state.label);
            }
        }
        let state = &mut self.session(key, &asked.owner.presumed(), asked.now).state;
        state.version += 1;
        state.label.join(&own);
        if earlier != Label::bottom() {
            let pending = Pending { label: earlier, since: time(since), until: time(until) };
            state.pending = Some(Arc::new(pending));
        }
    }

    fn leave_with(&mut self, conversation: &SessionKey, left: &Label, but: &str) {
        let first = self.sessions.get(conversation.as_str()).map_or(0, |found| found.first_epoch);
        for (id, way) in &mut self.sessions {
            let in_use = way.conversation == conversation.as_str() && way.entered > first;
            if in_use && way.ended == 0 && id != but {
                way.state.version += 1;
                way.state.label.join(left);
            }
        }
    }

    pub(super) fn begin_anew(&mut self, conversation: &SessionKey, left: &Label, along: &GoesAlong) {
        let ways = self.sessions.iter().filter(|(_, way)| way.conversation == conversation.as_str());
        let cleared: Vec<String> = match along {
            GoesAlong::Everyone => ways.map(|(id, _)| id.clone()).collect(),
            GoesAlong::Only(way) => vec![way.as_str().to_owned()],
            GoesAlong::Last => {
                let open = ways.filter(|(_, way)| way.ended == 0);
                let last = open.min_by_key(|(id, way)| (std::cmp::Reverse(way.seen), *id));
                last.map(|(id, _)| id.clone()).into_iter().collect()
            }
        };
        if !matches!(along, GoesAlong::Everyone) && *left != Label::bottom() {
            self.leave_with(conversation, left, cleared.first().map_or("", String::as_str));
        }
        for way in &cleared {
            let way = self.sessions.get_mut(way).filter(|way| way.conversation == conversation.as_str());
            if let Some(way) = way {
                way.state.version += 1;
                way.state.label = Label::bottom();
            }
        }
    }

    pub(crate) fn drop_pending(&mut self, asked: &DropPending) -> Declassified {
        let Some(session) = self.sessions.get_mut(asked.key.as_str()) else { return Declassified::Unknown };
        if session.state.epoch != asked.expected || session.state.pending.is_none() {
            return Declassified::Moved(session.state.clone());
        }
        let old = session.state.possible();
        session.state.epoch += 1;
        session.state.version += 1;
        session.state.pending = None;
        let state = session.state.clone();
        self.begin_anew(&asked.key, &Label::bottom(), &asked.along);
        let record = Declassification {
            epoch: state.epoch,
            at: time(asked.now),
            person: asked.person.clone(),
            reason: asked.reason.clone(),
            old_label: words(&old),
            new_label: words(&state.label),
            outcome: DeclassificationOutcome::Done,
        };
        self.record(&asked.key, record);
        Declassified::Done(state)
    }

    pub(crate) fn join_pending(&mut self, asked: &JoinPending) -> Option<SessionState> {
        let session = self.sessions.get_mut(asked.key.as_str())?;
        if session.state.epoch != asked.epoch {
            return None;
        }
        let pending = session.state.pending.take()?;
        session.state.version += 1;
        session.state.label.join(&pending.label);
        Some(session.state.clone())
    }

    pub(crate) fn keep_transport(&mut self, asked: &KeepTransport) {
        let is_new = !self.sessions.contains_key(asked.key.as_str());
        let session = self.session(&asked.key, &asked.owner, asked.now);
        session.said.clone_from(&asked.said);
        if asked.labelled {
            session.conversation.clear();
        } else if is_new {
            NONE_YET.clone_into(&mut session.conversation);
        }
    }

    pub(crate) fn transport(&self, key: &str, principal: &str) -> Option<KeptTransport> {
        let session = self.sessions.get(key)?;
        let is_theirs = session.owner.principal.as_str() == principal
            && session.owner.kind == SessionKind::Transport
            && session.ended == 0
            && !session.said.is_empty();
        is_theirs.then(|| KeptTransport {
            virtual_server: session.owner.virtual_server.clone(),
            said: session.said.clone(),
            conversation: Some(session.conversation.as_str())
                .filter(|key| !key.is_empty() && *key != NONE_YET)
                .map(SessionKey::new),
        })
    }

    pub(super) fn ways_shown(&self, conversation: &str) -> Vec<WayRecord> {
        let mut ways: Vec<_> = self.sessions.iter().collect();
        ways.retain(|(_, way)| way.conversation == conversation && !conversation.is_empty());
        ways.sort_by_key(|(id, way)| (std::cmp::Reverse(way.seen), *id));
        let shown = |(id, way): (&String, &super::model::Session)| WayRecord {
            key: SessionKey::new(id.as_str()),
            kind: way.owner.kind,
            seen: time(way.seen),
            ended: (way.ended != 0).then(|| time(way.ended)),
            said: way.said.clone(),
        };
        ways.into_iter().take(usize::try_from(MOST_WAYS).unwrap_or_default()).map(shown).collect()
    }
}
