//! Whether this is still the conversation in which something was read is a person's to say.

use crate::decide::{Effect, Finding, FindingId, Reason};
use crate::policy::{Facts, Policy};

/// What was read before a silence stops nobody by itself: a person is asked whether this is a new conversation.
pub(super) fn settled(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if facts.unsettled {
        findings.push(Finding::new(FindingId::Conversation, Effect::Confirm, Reason::ReadBeforeSilence));
    }
}
