//! The gates of layer L1: where data may go, what untrusted text may decide, what a doubtful session may read.
//!
//! All three look at the label of the session and the contract of the action, and at nothing else. As the label
//! rises none of them falls silent, and none becomes milder.

mod act;
mod mode;
mod read;
mod say;
mod write;

pub use mode::{Clearance, FlowFloor, FlowMode, FlowPolicy};

use super::Effect;
use crate::annotation::{ClassSet, Contract, Outcome};
use crate::label::Label;
use crate::policy::{FlowRule, FlowViolations};

/// What the flow rules see of one action in one mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// What would go where it may not.
    pub(super) leak: Option<write::Leak>,
    /// What untrusted text would decide, taken at its worst.
    pub(super) act: Option<Outcome>,
    /// What a doubtful session would get to read.
    pub(super) read: Option<ClassSet>,
}

// === impl Flow ===

impl Flow {
    /// Nothing is violated.
    pub(super) const NONE: Self = Self { leak: None, act: None, read: None };

    /// Whether none of the rules could see, in any mode, that a session has taken this in as well.
    pub(super) fn overlooks(label: &Label) -> bool {
        label.classes().is_empty() && label.scopes().is_empty() && !label.untrusted() && act::trusts(label)
    }

    /// Looks at an action before it is sent.
    pub(super) fn of(policy: &FlowPolicy, mode: FlowMode, contract: &Contract, session: &Label) -> Self {
        Self {
            leak: write::leak(policy, mode, contract, session),
            act: act::decided(mode, contract, session),
            read: read::exposed(session, contract.reply_label()),
        }
    }

    /// Looks at a reply, with the label it really has, before it is released into the session.
    pub(super) fn of_reply(session: &Label, reply: &Label) -> Self {
        Self { leak: None, act: None, read: read::exposed(session, reply) }
    }

    /// Which rules are violated.
    pub(super) fn violations(&self) -> FlowViolations {
        let found = [
            (FlowRule::Write, self.leak.is_some()),
            (FlowRule::Act, self.act.is_some()),
            (FlowRule::Read, self.read.is_some()),
        ];
        found.into_iter().filter(|(_, violated)| *violated).map(|(rule, _)| rule).collect()
    }

    /// What this mode does about a rule; nothing where it is not violated.
    pub(super) fn effect(&self, rule: FlowRule, mode: FlowMode, session: &Label) -> Effect {
        match rule {
            FlowRule::Write if self.leak.is_some() => write::effect(mode, session),
            FlowRule::Act => self.act.map_or(Effect::Allow, |outcome| act::effect(mode, outcome)),
            FlowRule::Read if self.read.is_some() => read::effect(mode),
            FlowRule::Write | FlowRule::Read => Effect::Allow,
        }
    }
}
