//! The operator's bounds on numbers.

use highwater_notation::Arguments;

use crate::decide::{Effect, Finding, FindingId, Reason};
use crate::policy::{Facts, Policy, SeenValue};

/// Above the operator's bound a person looks.
pub(super) fn kept(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    // Of a tool that is being listed nobody has chosen a number yet.
    let Arguments::Known(arguments) = facts.arguments else { return };
    let exceeded = facts.caps.exceeded(arguments);
    if exceeded.is_empty() {
        return;
    }
    let bounds = exceeded.iter().map(|cap| format!("/{} above {}", cap.argument, cap.most));
    let seen = SeenValue::Many(bounds.collect());
    findings.push(Finding::new(FindingId::Cap, Effect::Confirm, Reason::AboveCap).saw("tool.caps", seen));
}
