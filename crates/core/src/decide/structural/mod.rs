//! The gates of layer L0: what the operator granted at all, and what a contract demands. They are enforced in every
//! mode and never waived.

mod approval;
mod cap;
mod conversation;
mod flow_policy;
mod grant;
mod own_files;
mod quarantine;
mod token;

use super::Finding;
use crate::policy::{Facts, Policy};

/// A gate looks at the facts and adds what it finds.
type Gate = fn(&Policy, &Facts<'_>, &mut Vec<Finding>);

/// Every gate of this layer. A new one is a new line here and a function beside.
pub(super) const GATES: &[Gate] = &[
    token::in_time,
    token::in_scope,
    token::permitted,
    token::meant,
    grant::held,
    grant::allow_list,
    grant::extra_method,
    quarantine::held,
    approval::wanted,
    cap::kept,
    flow_policy::accepted,
    own_files::left_alone,
    conversation::settled,
];

/// Whether the caller's token still grants what it granted when the action was sent. A token that is revoked meanwhile
/// is given nothing any more.
pub(super) fn still_granted(policy: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for gate in [token::in_time, token::in_scope, token::permitted] {
        gate(policy, facts, findings);
    }
}
