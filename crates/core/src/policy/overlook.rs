//! Whether a set of rules could see that something is in a label.

use std::sync::LazyLock;

use super::condition::Subject;
use super::facts::Facts;
use super::kind::Rises;
use super::rule::RuleSet;
use crate::action::{Action, ActionKind};
use crate::decide::FlowViolations;
use crate::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use crate::label::Label;

/// Somebody who does something. What of a label a fact shows is the same for everybody.
static ANYBODY: LazyLock<(DecisionId, Principal, VirtualServerId, Action)> = LazyLock::new(|| {
    let action = Action::new(ActionKind::CallTool, UpstreamId::new(""), "tools/call", "", "{}");
    (DecisionId::new(""), Principal::new(""), VirtualServerId::new(""), action)
});

static NOTHING: Label = Label::bottom();

// === impl RuleSet ===

impl RuleSet {
    /// Whether every fact that some condition mentions says the same of a session with and without this label: so it is
    /// where the fact says of the label what it says of nothing, because each of them is the join, or the lowest, of what
    /// it says of the parts. What the flow rules find is theirs to answer for.
    pub(crate) fn overlook(&self, label: &Label) -> bool {
        let (decision, principal, virtual_server, action) = &*ANYBODY;
        let facts = Facts::of(decision, principal, virtual_server, action);
        let (with, without) = (facts.under(label), facts.under(&NOTHING));
        self.subjects().iter().all(|subject| match subject {
            Subject::Argument(_) => true,
            Subject::Fact(fact) => match fact.rises {
                Rises::No => true,
                Rises::Up | Rises::Down => {
                    with.value(fact, FlowViolations::EMPTY) == without.value(fact, FlowViolations::EMPTY)
                }
            },
        })
    }
}
