//! `flow.read`: a session that may be hijacked gets no secrets.

use super::mode::FlowMode;
use crate::annotation::ClassSet;
use crate::decide::Effect;
use crate::label::Label;

/// What is private in the reply, where the session's integrity leaves clearance for public data alone.
pub(super) fn exposed(session: &Label, reply: &Label) -> Option<ClassSet> {
    (session.untrusted() && reply.private()).then(|| reply.classes())
}

/// In `balanced` the reply is let in: the label rises with it, and `flow.write` closes the exits.
pub(super) fn effect(mode: FlowMode) -> Effect {
    match mode {
        FlowMode::Observe | FlowMode::Balanced => Effect::Allow,
        FlowMode::Strict | FlowMode::Samos => Effect::Block,
    }
}
