//! Quarantine and pins: what nobody approved, and what is not as it was approved, is not used.

use crate::decide::{Finding, FindingId, Reason};
use crate::pin::Hold;
use crate::policy::{Facts, Policy};

/// What is held is not touched. Whether it is was found out when the server listed it.
pub(super) fn held(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let Some(hold) = facts.hold else { return };
    let reason = match hold {
        Hold::Unreadable => Reason::PinsUnreadable,
        Hold::ServerNew => Reason::ServerNew,
        Hold::ServerChanged => Reason::ServerChanged,
        Hold::ServerRejected => Reason::ServerRejected,
        Hold::ManifestInvalid => Reason::ManifestInvalid,
        Hold::ManifestMismatch => Reason::ManifestMismatch,
        Hold::New => Reason::DefinitionNew,
        Hold::Changed => Reason::DefinitionChanged,
        Hold::Rejected => Reason::DefinitionRejected,
    };
    findings.push(Finding::block(FindingId::Quarantine, reason));
}
