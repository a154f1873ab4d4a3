//! A contract made again from what was kept of it, to judge a decision once more. It holds what the gates look at; what was
//! not kept is unknown.

use highwater_notation::Words;

use super::contract::{Contract, added_by};
use super::{Accepts, ApprovalWish, Authority, Axis, Destination, Outcome, Possible, Sensitivity, Source};
use crate::label::Label;
use crate::trust::{ServerTrust, TrustLevel};

/// What is kept of the contract that a decision was made by.
#[derive(Clone, Debug)]
pub struct KeptContract {
    /// Where arguments may end up.
    pub destination: Words<Destination>,
    /// Which classes the tool is built to receive.
    pub accepts: Accepts,
    /// What a call may do.
    pub outcomes: Words<Outcome>,
    /// Where replies come from.
    pub source: Words<Source>,
    /// Which classes replies may hold.
    pub returns: Sensitivity,
    /// What a reply is worth at most.
    pub integrity: TrustLevel,
    /// The least a person has to do.
    pub approval: ApprovalWish,
}

impl Contract {
    /// The contract of which this was kept, `basis` being who established each axis. `None` where a set is empty: no
    /// contract leaves nothing possible.
    pub fn of_kept(
        kept: KeptContract,
        basis: impl Fn(Axis) -> Authority,
        server: ServerTrust,
    ) -> Option<Self> {
        let mut contract = Self {
            destination: Possible::of(kept.destination)?,
            accepts: kept.accepts,
            outcomes: Possible::of(kept.outcomes)?,
            source: Possible::of(kept.source)?,
            returns: kept.returns,
            approval: kept.approval,
            server,
            ..Self::unknown()
        };
        contract.wish = contract.approval;
        for axis in Axis::ALL {
            contract.set_basis(*axis, basis(*axis));
        }
        contract.reply = reply(&contract, kept.integrity);
        Some(contract)
    }
}

/// The label of a reply that says nothing of itself. The record has what it is worth, and not who said what of its source.
fn reply(contract: &Contract, integrity: TrustLevel) -> Label {
    let sources = contract.source.members();
    let mut label = Label::bottom()
        .with_classes(contract.returns.classes())
        .with_scopes(contract.returns.scopes())
        .with_integrity(integrity)
        .with_sources(sources);
    if contract.basis(Axis::Returns) != Authority::Operator {
        label = label.with_classes(added_by(sources));
    }
    if sources.contains(Source::UntrustedPublic) {
        label = label.with_open_world();
    }
    label
}
