//! What a session took in, call by call: which one raised its label, and by what.

use std::collections::HashMap;
use std::ops::ControlFlow;

use highwater_audit::{Recorded, RecordedDecision, RecordedLabel, RecordedMark, label_of_words, label_words};
use highwater_core::annotation::Destination;
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_core::label::{Label, TextSet};
use highwater_core::session::Leg;
use highwater_notation::Timestamp;
use highwater_store::AuditKey;

use super::log::{Log, Parts, Place, record};

/// How many decisions are looked up whose outcome is in a later segment.
const MOST_LOOKUPS: usize = 8;

/// One call that raised the label of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    /// The call.
    pub(crate) id: DecisionId,
    /// When what it brought was stored.
    pub(crate) time: Timestamp,
    /// The tool as the client calls it, or the server's name of what was read.
    pub(crate) what: String,
    /// Which server.
    pub(crate) upstream: UpstreamId,
    /// What was new, as words of the label.
    pub(crate) added: Vec<String>,
    /// Which origins were new.
    pub(crate) origins: Vec<String>,
    /// Another session of the same agent, if it was not this one that made the call.
    pub(crate) elsewhere: Option<SessionKey>,
    /// The marks that its reply bore: what agents had written there before.
    pub(crate) marks: Vec<RecordedMark>,
}

/// What a session took in, up to some moment.
#[derive(Debug, Default)]
pub(crate) struct Chronicle {
    /// The calls, oldest first.
    pub(crate) brought: Vec<Brought>,
    /// Words of its label that no record accounts for.
    pub(crate) unaccounted: Vec<String>,
}

/// The session whose chronicle is wanted.
pub(crate) struct Subject<'a> {
    pub(crate) session: &'a SessionKey,
    pub(crate) principal: &'a Principal,
    /// Its label at that moment.
    pub(crate) label: &'a Label,
}

/// A call that was made.
struct Call {
    session: SessionKey,
    what: String,
    upstream: UpstreamId,
    /// Its arguments may have reached the public.
    outward: bool,
}

/// The reading of the log.
struct Reader<'a> {
    subject: &'a Subject<'a>,
    log: &'a Log,
    /// The principal as it stands in a record.
    needle: String,
    until: Option<Place>,
    calls: HashMap<DecisionId, Call>,
    /// How many decisions were looked up in older segments.
    lookups: usize,
    /// The label as the records add it up.
    sum: Label,
    own: Vec<Brought>,
    others: Vec<(Brought, Label)>,
}

// === impl Chronicle ===

impl Chronicle {
    /// Reads what a session took in before a place in the log, or up to its end.
    pub(super) fn read(log: &Log, subject: &Subject<'_>, until: Option<Place>) -> anyhow::Result<Self> {
        if new_words(&Label::bottom(), subject.label).is_empty() && until.is_some() {
            return Ok(Self::default());
        }
        let (session, principal) = (subject.session.as_str(), subject.principal.as_str());
        let own = [AuditKey::Raised(session), AuditKey::Elsewhere];
        let parts = log.parts(&own, until, &lowers(session))?;
        let chronicle = Self::read_parts(log, &parts, subject, until)?;
        if chronicle.unaccounted.is_empty() {
            return Ok(chronicle);
        }
        // Sessions of one agent can share what they read: the host behind it may hold one conversation in several.
        let all = [AuditKey::Raised(session), AuditKey::RaisedOf(principal), AuditKey::Elsewhere];
        let parts = log.parts(&all, until, &|_| false)?;
        Self::read_parts(log, &parts, subject, until)
    }

    fn read_parts(
        log: &Log,
        parts: &Parts,
        subject: &Subject<'_>,
        until: Option<Place>,
    ) -> anyhow::Result<Self> {
        let needle = format!("\"principal\":{}", serde_json::Value::from(subject.principal.as_str()));
        let mut reader = Reader {
            subject,
            log,
            needle,
            until,
            calls: HashMap::new(),
            lookups: 0,
            sum: Label::bottom(),
            own: Vec::new(),
            others: Vec::new(),
        };
        log.walk_parts(parts, |place, line| reader.look(place, line))?;
        Ok(reader.finish())
    }

    /// Reads what a session has taken in by now.
    pub(crate) fn of_session(log: &Log, subject: &Subject<'_>) -> anyhow::Result<Self> {
        Self::read(log, subject, None)
    }

    /// The call that first set a leg of the trifecta, if it is on record.
    pub(crate) fn set_by(&self, leg: Leg) -> Option<&Brought> {
        let sets = |brought: &&Brought| {
            let words = brought.added.iter().map(String::as_str);
            leg.is_met(&label_of_words(words, TextSet::EMPTY, TextSet::EMPTY, TextSet::EMPTY))
        };
        self.brought.iter().find(sets)
    }

    /// The calls that brought any of these words.
    pub(crate) fn bringers(&self, words: &[String]) -> Vec<&Brought> {
        self.brought.iter().filter(|brought| brought.added.iter().any(|word| words.contains(word))).collect()
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn look(&mut self, place: Place, line: &str) -> ControlFlow<()> {
        let over = self.until.is_some_and(|until| place >= until);
        // What a call brought is stored a moment before that is recorded. A decision in this moment already knows it.
        if over && (self.missing().is_empty() || self.calls.is_empty()) {
            return ControlFlow::Break(());
        }
        let raised = line.contains("\"raised\":true");
        let of_agent = !over && line.contains(&self.needle);
        if !raised && !of_agent {
            return ControlFlow::Continue(());
        }
        let Some(record) = record(line) else { return ControlFlow::Continue(()) };
        match (record.happened, record.id) {
            (Recorded::Decision(decision), Some(id)) if of_agent => self.decided(id, *decision),
            (Recorded::Outcome(outcome), Some(id)) if raised => {
                self.took_in(&id, record.time, &outcome.label, outcome.marks);
            }
            (Recorded::Question(question), Some(id)) if raised => {
                self.took_in(&id, record.time, &question.label, Vec::new());
            }
            (Recorded::Declassification { session, after, .. }, _) if session == *self.subject.session => {
                self.sum = after.label();
                self.own.clear();
                self.others.clear();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn decided(&mut self, id: DecisionId, decision: RecordedDecision) {
        if decision.principal == *self.subject.principal {
            let RecordedDecision { session, upstream, tool, target, contract, .. } = decision;
            let outward = contract.destination.contains(&Destination::Public);
            self.calls.insert(id, Call { session, upstream, what: tool.unwrap_or(target), outward });
        }
    }

    /// Looks for a decision that is in none of the parts: a call that took long, at the end of a segment.
    fn look_up(&mut self, id: &DecisionId) {
        if self.calls.contains_key(id) || self.lookups >= MOST_LOOKUPS {
            return;
        }
        self.lookups += 1;
        for (_, record) in self.log.records_of(id).unwrap_or_default() {
            if let Recorded::Decision(decision) = record.happened {
                self.decided(id.clone(), *decision);
            }
        }
    }

    fn took_in(&mut self, id: &DecisionId, time: Timestamp, label: &RecordedLabel, marks: Vec<RecordedMark>) {
        self.look_up(id);
        let Some(call) = self.calls.get(id) else { return };
        let own = call.session == *self.subject.session;
        let mut label = label.label();
        if call.outward {
            // That is no property of the reply, whose label is on record.
            label = label.with_wrote_externally();
        }
        let before = if own { self.sum.clone() } else { Label::bottom() };
        let after = before.clone().joined(&label);
        let brought = Brought {
            id: id.clone(),
            time,
            what: call.what.clone(),
            upstream: call.upstream.clone(),
            added: new_words(&before, &after),
            origins: new_origins(&before, &after),
            elsewhere: (!own).then(|| call.session.clone()),
            marks,
        };
        if !own {
            self.others.push((brought, label));
        } else if !brought.added.is_empty() || !brought.origins.is_empty() {
            self.own.push(brought);
            self.sum = after;
        }
    }

    /// What the session's label has and the records do not say from where.
    fn missing(&self) -> Vec<String> {
        new_words(&self.sum, &self.sum.clone().joined(self.subject.label))
    }

    fn finish(mut self) -> Chronicle {
        // Sessions of one agent can share what they read: the host behind it may hold one conversation in several.
        let mut shared = Vec::new();
        for (mut brought, label) in std::mem::take(&mut self.others).into_iter().rev() {
            let after = self.sum.clone().joined(&label);
            let new = new_words(&self.sum, &after);
            if bare(self.subject.label).covers(&bare(&label))
                && new.iter().any(|word| self.missing().contains(word))
            {
                brought.origins = new_origins(&self.sum, &after);
                brought.added = new;
                self.sum = after;
                shared.push(brought);
            }
        }
        let unaccounted = self.missing();
        let mut brought = self.own;
        brought.extend(shared);
        brought.sort_by_key(|brought| brought.time);
        Chronicle { brought, unaccounted }
    }
}

/// Whether a line says that somebody lowered the label of a session.
pub(super) fn lowers(session: &str) -> impl Fn(&str) -> bool {
    let needle = format!("\"session\":{}", serde_json::Value::from(session));
    move |line| line.contains("\"event\":\"declassification\"") && line.contains(&needle)
}

/// A label without its sets, which are not on record where nothing was found.
fn bare(label: &Label) -> Label {
    Label::from_parts(label.bits(), TextSet::EMPTY, TextSet::EMPTY)
}

/// The words that one label has and the other had not.
fn new_words(before: &Label, after: &Label) -> Vec<String> {
    let known: Vec<&str> = label_words(before).collect();
    label_words(after).filter(|word| !known.contains(word)).map(str::to_owned).collect()
}

fn new_origins(before: &Label, after: &Label) -> Vec<String> {
    let known = before.origins().members();
    after
        .origins()
        .members()
        .iter()
        .filter(|origin| !known.contains(*origin))
        .map(ToString::to_string)
        .collect()
}
