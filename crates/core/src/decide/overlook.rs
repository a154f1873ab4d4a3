//! Labels that no decision could see: what a session takes in with them changes nothing about what it may do.
//!
//! A store that is away withholds every reply whose label it cannot keep. Of these labels it could lose each, and no
//! gate and no rule of the policy would ever answer differently.

use super::flow::Flow;
use crate::label::{Label, TextSet};
use crate::policy::{Input, Policy};

/// Proof that no gate and no rule of a policy can tell a session that has taken this label in from one that has not.
/// Only [`Policy::overlooks`] makes it.
///
/// ```compile_fail
/// use highwater_core::decide::Overlooked;
/// use highwater_core::label::Label;
/// let forged = Overlooked { label: &Label::top() };
/// ```
#[derive(Debug)]
pub struct Overlooked<'l> {
    label: &'l Label,
}

/// Whether some server that a session may call states whose data it takes (SEP-3193): then a gate looks at origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPolicies {
    /// None of them does, and what they offer is known.
    Unstated,
    /// One of them does, or may do.
    Stated,
}

// === impl Overlooked ===

impl<'l> Overlooked<'l> {
    /// The label that nobody can see.
    pub fn label(&self) -> &'l Label {
        self.label
    }
}

// === impl Policy ===

impl Policy {
    /// Whether a rule or a flow gate looks at where a session's data came from.
    pub fn looks_at_origins(&self) -> bool {
        let anywhere = Label::bottom().with_origins(&TextSet::EVERY);
        self.rules().depend_on(Input::Origins) || !Flow::overlooks(&anywhere)
    }

    /// Whether no decision of this policy could ever be another because a session has taken this in as well.
    pub fn overlooks<'l>(&self, label: &'l Label, stated: FlowPolicies) -> Option<Overlooked<'l>> {
        let by_servers = match stated {
            FlowPolicies::Unstated => true,
            FlowPolicies::Stated => label.origins().is_empty(),
        };
        (by_servers && Flow::overlooks(label) && self.rules().overlook(label)).then_some(Overlooked { label })
    }
}
