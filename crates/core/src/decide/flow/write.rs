//! `flow.write`: nothing private to an audience that may not have it.

use super::mode::{FlowMode, FlowPolicy};
use crate::annotation::{ClassSet, Confidentiality, Contract, Destination, Words};
use crate::decide::Effect;
use crate::label::Label;

/// What would go where it may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::decide) struct Leak {
    /// Classes that may not go to some destination of the call.
    pub(in crate::decide) at_destination: ClassSet,
    /// Classes that the tool is not built to receive.
    pub(in crate::decide) not_accepted: ClassSet,
}

/// The classes of the session that the destination, or the tool, does not admit. Both must.
pub(super) fn leak(
    policy: &FlowPolicy,
    mode: FlowMode,
    contract: &Contract,
    session: &Label,
) -> Option<Leak> {
    let held = session.classes();
    if held.is_empty() {
        return None;
    }
    let leak = match mode {
        // The thesis knows two grades: what is private goes to what is not public, and nothing more is asked.
        FlowMode::Samos => {
            let low = contract.write_confidentiality() == Confidentiality::Low;
            Leak { at_destination: if low { held } else { Words::EMPTY }, not_accepted: Words::EMPTY }
        }
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Strict => Leak {
            at_destination: held.minus(policy.clearance.admits_at_all(contract.destination())),
            // A tool that keeps nothing and passes nothing on receives nothing: a search of the inbox says `none`
            // here, and may be made twice.
            not_accepted: if contract.destination().is_only(Destination::Ephemeral) {
                Words::EMPTY
            } else {
                contract.accepts().refused(session)
            },
        },
    };
    (!leak.at_destination.is_empty() || !leak.not_accepted.is_empty()).then_some(leak)
}

/// A trusted session may have been asked by its user to send this; a doubtful one may have been asked by anybody.
pub(super) fn effect(mode: FlowMode, session: &Label) -> Effect {
    match mode {
        FlowMode::Observe => Effect::Allow,
        FlowMode::Balanced if session.untrusted() => Effect::Block,
        FlowMode::Balanced => Effect::Confirm,
        FlowMode::Strict | FlowMode::Samos => Effect::Block,
    }
}
