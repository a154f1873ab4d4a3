//! The gates of layer L1: where data may go, what untrusted text may decide, which files are run unseen, what a doubtful
//! session may read.
//!
//! A gate is a file with its functions and its row, and a name and a line here. Everything that is said of its finding
//! elsewhere is read from the row. As the label of the session rises no gate falls silent, and none becomes milder; in
//! `samos` alone, which follows its thesis to the letter, `flow.read` does.

mod act;
mod doubt;
mod mode;
mod read;
mod write;

pub use doubt::DOUBTED_FILES;
pub use mode::{Clearance, FlowFloor, FlowMode, FlowPolicy};

use highwater_notation::{Word, Words, vocabulary};

use super::{Effect, Finding, FindingId, Reason, WayOut};
use crate::annotation::Axis;
use crate::label::Label;
use crate::policy::{Facts, SeenValue};

vocabulary! {
    /// The gates, whose findings a waiver may name and a rule may look at.
    FlowRule {
        /// `flow.write`: data would go where it may not.
        Write = "write",
        /// `flow.act`: untrusted text would decide an act.
        Act = "act",
        /// `flow.doubt`: files in doubt would be run or handed on.
        Doubt = "doubt",
        /// `flow.read`: a session that may be hijacked would get secrets.
        Read = "read",
    }
}

/// Which of the gates are violated.
pub type FlowViolations = Words<FlowRule>;

/// The row of one gate: how it judges, and everything that is said of its finding.
#[derive(Debug)]
pub struct FlowGate {
    /// The dotted name of the finding.
    pub finding: &'static str,
    /// What it holds against an action.
    pub concern: Concern,
    /// How it goes on, to the letter, once a person who is asked has read of the concern.
    pub consequence: &'static str,
    /// Its place among the questions on the page; what is unusual comes first.
    pub rank: u8,
    /// What was found, as a sentence without a full stop.
    pub found: &'static str,
    /// Why a mode does what it does, as the rest of a sentence that begins with the mode, where there is more to say than
    /// that it does.
    pub because: &'static [(FlowMode, Effect, &'static str)],
    /// Why it speaks, unless it says so more exactly.
    reason: Reason,
    /// What can be done about it.
    pub(super) ways: &'static [WayOut],
    /// The axis on which the operator may know better, where nobody spoke of it.
    pub(super) axis: Axis,
    /// Whether the reply is judged again, with the label it really has.
    pub(super) of_replies: bool,
    /// Whether its question is answered by the yes to a call that is under way, if none but the call's own server has
    /// spoken since.
    pub(super) answered_under_way: bool,
    /// What follows in this mode; nothing where the gate is not violated.
    judge: fn(&FlowInput<'_>) -> Option<Effect>,
    /// Adds to the finding what the gate saw.
    explain: fn(&FlowInput<'_>, Finding) -> Finding,
    /// Whether it could see in no mode that a session, or a reply, has this label as well.
    overlooks: fn(&Label) -> bool,
}

/// What a gate holds against an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// Private data that the session has read.
    PrivateData,
    /// Text that the session has read and a stranger may have written.
    UntrustedText,
    /// Files that were written after such text had been read.
    DoubtedFiles,
}

/// What a gate looks at: an action, or the reply to one, in one mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowInput<'a> {
    pub(super) policy: &'a FlowPolicy,
    pub(super) mode: FlowMode,
    pub(super) facts: &'a Facts<'a>,
    /// The label that the reply really has, once there is one.
    pub(super) reply: Option<&'a Label>,
}

/// What the gates say in one mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) mode: FlowMode,
    /// What follows from each gate that is violated, in the order of [`FlowRule::ALL`].
    effects: [Option<Effect>; FlowRule::ALL.len()],
}

// === impl FlowRule ===

impl FlowRule {
    /// Everything there is to know of the gate.
    pub fn gate(self) -> &'static FlowGate {
        match self {
            Self::Write => &write::GATE,
            Self::Act => &act::GATE,
            Self::Doubt => &doubt::GATE,
            Self::Read => &read::GATE,
        }
    }

    /// The dotted name of the finding.
    pub fn finding(self) -> &'static str {
        self.gate().finding
    }

    /// What people are told where it is violated.
    pub(super) fn report(self, input: &FlowInput<'_>, effect: Effect) -> Finding {
        let gate = self.gate();
        let finding = (gate.explain)(input, Finding::new(FindingId::Flow(self), effect, gate.reason));
        let integrity = input.facts.session.integrity().as_str().to_owned();
        finding.saw("session.integrity", SeenValue::Text(integrity))
    }
}

// === impl Flow ===

impl Flow {
    /// Asks these gates.
    pub(super) fn of(input: &FlowInput<'_>, asked: FlowViolations) -> Self {
        let mut effects = [None; FlowRule::ALL.len()];
        for (rule, effect) in FlowRule::ALL.iter().zip(&mut effects) {
            if asked.contains(*rule) {
                *effect = (rule.gate().judge)(input);
            }
        }
        Self { mode: input.mode, effects }
    }

    /// Whether no gate could see, in any mode, that a session has taken this in as well.
    pub(super) fn overlooks(label: &Label) -> bool {
        FlowRule::ALL.iter().all(|rule| (rule.gate().overlooks)(label))
    }

    /// Which gates are violated.
    pub(super) fn violations(&self) -> FlowViolations {
        FlowRule::ALL.iter().zip(self.effects).filter_map(|(rule, effect)| effect.map(|_| *rule)).collect()
    }

    /// What follows from a gate; nothing where it is not violated.
    pub(super) fn effect(&self, rule: FlowRule) -> Effect {
        self.effects.get(rule as usize).copied().flatten().unwrap_or(Effect::Allow)
    }
}

/// The words of a set, as a finding saw them.
fn words<T: Word>(set: Words<T>) -> SeenValue {
    SeenValue::Many(set.iter().map(|word| word.as_str().to_owned()).collect())
}
