//! What really happened: which agent was given what, what objects really contain, and whether a call was allowed that
//! this forbids. It sees everything at once and shares no state with the gateways.

use std::collections::BTreeMap;

use highwater_core::annotation::DataClass;
use highwater_core::decide::{Effect, judge};
use highwater_core::id::{Principal, SessionKey};
use highwater_core::label::Label;
use highwater_core::policy::Policy;
use highwater_core::trust::TrustLevel;
use highwater_store::{DeclassificationOutcome, Memory, SessionKind};
use tokio::time::Instant;

use crate::history::Call;
use crate::tools::Tool;

/// The all-seeing one.
#[derive(Debug)]
pub(crate) struct Oracle {
    memory: Memory,
    begun: Instant,
    agents: Vec<Context>,
    objects: BTreeMap<usize, Label>,
    /// Moves with everything that is given to an agent or issued by one.
    moment: u64,
    pub(crate) told: Vec<String>,
    /// How often what happened: a simulation in which nothing happens shows nothing.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) violation: Option<String>,
}

/// What one agent has in its context.
#[derive(Debug)]
struct Context {
    key: SessionKey,
    /// Each message with its moment.
    given: Vec<(u64, Label)>,
    declassified: usize,
}

/// The key of an agent's session.
pub(crate) fn key(presumed: bool, agent: usize) -> SessionKey {
    let principal = Principal::new("agent");
    match presumed {
        true => SessionKind::Presumed.key(&principal, ""),
        false => SessionKind::Context.key(&principal, &format!("ctx_{agent}")),
    }
}

/// The reason that is given where an agent begins anew.
pub(crate) fn anew(agent: usize) -> String {
    format!("anew {agent}")
}

/// What a declassification leaves, by the reason that is given for it.
pub(crate) fn left(keeps_pii: bool) -> (Label, &'static str) {
    if keeps_pii { (Label::bottom().with_class(DataClass::Pii), "pii") } else { (Label::bottom(), "nothing") }
}

// === impl Oracle ===

impl Oracle {
    pub(crate) fn new(memory: Memory, agents: usize, presumed: bool) -> Self {
        let context = |agent| Context { key: key(presumed, agent), given: Vec::new(), declassified: 0 };
        Self {
            memory,
            begun: Instant::now(),
            agents: (0..agents).map(context).collect(),
            objects: BTreeMap::new(),
            moment: 0,
            told: Vec::new(),
            counts: BTreeMap::new(),
            violation: None,
        }
    }

    pub(crate) fn tell(&mut self, what: String) {
        self.told.push(format!("{:>6} ms  {what}", self.begun.elapsed().as_millis()));
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// An agent issues a call. What it was given before is the call's past.
    pub(crate) fn issue(&mut self, call: &Call) -> u64 {
        self.moment += 1;
        let Call { agent, tool, replica, .. } = call;
        self.tell(format!("agent {agent} calls {tool:?} through {replica}"));
        self.moment
    }

    /// What the agent had been given when it issued the call, without what a person has lowered since: they answer for it.
    pub(crate) fn past(&mut self, agent: usize, issued: u64) -> Label {
        self.settle(agent);
        let before = self.agents[agent].given.iter().filter(|(moment, _)| *moment <= issued);
        before.fold(Label::bottom(), |past, (_, label)| past.joined(label))
    }

    /// Something reaches an agent.
    pub(crate) fn give(&mut self, agent: usize, label: &Label, what: &str) {
        self.settle(agent);
        self.moment += 1;
        self.agents[agent].given.push((self.moment, label.clone()));
        self.count(if *label == Label::bottom() { "released" } else { "released with a label" });
        self.tell(format!("agent {agent} is given {what}: {}", words(label)));
    }

    /// A call was judged.
    pub(crate) fn judged(&mut self, policy: &Policy, call: &Call, issued: u64, allowed: bool) {
        let past = self.past(call.agent, issued);
        let Call { agent, tool, replica, .. } = call;
        let answer = if allowed { "allowed" } else { "refused" };
        self.count(answer);
        self.tell(format!("{tool:?} of agent {agent} is {answer} by {replica}"));
        // A gateway that assumes more than was read may take a session for a private one. In `samos` that may then read what
        // is private, and nothing that it writes is public.
        let assumed = past.clone().with_class(DataClass::Pii);
        let is_forbidden = |label: &Label| judge(policy, &tool.facts(label)).effect() > Effect::Redact;
        if allowed && is_forbidden(&past) && is_forbidden(&assumed) {
            let past = words(&past);
            self.violate(format!(
                "{tool:?} of agent {agent} was allowed by {replica}, and its past is {past}"
            ));
        }
        // In `samos` a session that is private already may read more of it, and one that only heard strangers may not.
        let strange = Label::bottom().with_integrity(TrustLevel::None).with_open_world();
        let is_allowed = |label: &Label| judge(policy, &tool.facts(label)).effect() == Effect::Allow;
        let harmless = is_allowed(&Label::top()) && is_allowed(&strange);
        if !allowed && harmless {
            self.violate(format!(
                "{tool:?} of agent {agent} was refused by {replica}, and no label forbids it"
            ));
        }
    }

    pub(crate) fn violate(&mut self, what: String) {
        self.tell(what.clone());
        self.violation.get_or_insert(what);
    }

    /// A call takes effect at its upstream. Gives what the object it reads contains.
    pub(crate) fn performed(&mut self, call: &Call, issued: u64) -> Label {
        if call.tool == Tool::Keep {
            let past = self.past(call.agent, issued);
            self.objects.entry(call.object).or_default().join(&past);
        }
        match call.tool {
            Tool::Recall => self.objects.get(&call.object).cloned().unwrap_or_default(),
            _ => Label::bottom(),
        }
    }

    /// Takes notice of a label that was lowered. Whatever was given before is the person's to answer for.
    fn settle(&mut self, agent: usize) {
        let context = &mut self.agents[agent];
        let Some(found) = self.memory.look(&context.key) else { return };
        // The newest is first.
        let done = found.declassifications.iter().filter(|it| it.outcome == DeclassificationOutcome::Done);
        let count = done.clone().count();
        let fresh = done.take(count - context.declassified.min(count));
        // A word about another agent says nothing of this one.
        let theirs = |reason: &str| !reason.starts_with("anew") || reason == anew(agent);
        let newest = fresh.map(|it| it.reason.as_str()).find(|reason| theirs(reason));
        context.declassified = count;
        let Some(newest) = newest else { return };
        // What the person left is in the context from now on; a call that was issued before cannot have used it.
        self.moment += 1;
        let floor = left(newest == "pii").0;
        let begun_anew = newest == anew(agent);
        context.given = vec![(self.moment, floor)];
        self.count(if begun_anew { "begun anew" } else { "lowered" });
        self.tell(format!("the label of agent {agent} has been lowered"));
    }
}

fn words(label: &Label) -> String {
    serde_json::to_string(label).unwrap()
}
