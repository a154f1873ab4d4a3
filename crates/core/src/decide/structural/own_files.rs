//! What guards an agent is not the agent's to change.

use crate::decide::{Finding, FindingId, Reason};
use crate::policy::{Facts, Policy};
use crate::profile::LocalAct;

/// A call that would change our own files, or what makes a host ask us, does not happen, whoever wants it.
pub(super) fn left_alone(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if facts.local_act == LocalAct::OurFiles {
        findings.push(Finding::block(FindingId::OwnFiles, Reason::GuardsTheAgent));
    }
}
