//! An upstream's own word on whose data it takes: `flowPolicy.acceptFrom` of SEP-3193, held before anything is sent.

use std::sync::Arc;

use crate::decide::{Finding, FindingId, Reason};
use crate::policy::{Facts, Policy, SeenValue};
use crate::session::{Assurance, Contributor, Contributors};

/// How well a server can be known.
const ASSURANCES: [Assurance; 3] = [Assurance::Verified, Assurance::Tofu, Assurance::Unverified];

/// Everybody who contributed to the session must match one of the tokens, if the upstream stated any.
pub(super) fn accepted(policy: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let Some(tokens) = facts.contract.accept_from() else { return };
    if let Some(refused) = refused(policy, facts, tokens) {
        let listed = SeenValue::Many(tokens.iter().map(ToString::to_string).collect());
        findings.push(
            Finding::block(FindingId::FlowPolicy, Reason::ContributorNotAccepted)
                .saw("session.contributor", SeenValue::Text(refused))
                .saw("tool.flowPolicy.acceptFrom", listed),
        );
    }
}

/// Who contributed and is not accepted.
fn refused(policy: &Policy, facts: &Facts<'_>, tokens: &[Arc<str>]) -> Option<String> {
    let lists = |word: &str| tokens.iter().any(|token| **token == *word);
    let origins = facts.session.origins();
    // Of those whom the set lost track of, each may be known in any way.
    if origins.is_open() && !ASSURANCES.into_iter().all(|assurance| lists(assurance.as_str())) {
        return Some("somebody who is not listed any more".to_owned());
    }
    let own = policy.contributor(facts.action.upstream());
    let known = origins.members().iter().filter_map(|origin| match policy.contributor_of(origin) {
        Some((server, _)) if server == facts.action.upstream() && lists("self") => None,
        Some((_, contributor)) => Some(contributor.clone()),
        // What is none of our servers is whoever it says it is, and nobody vouches for that.
        None => Some(Contributor {
            principal: Some(Arc::clone(origin)),
            ..Contributor::unnamed(Assurance::Unverified)
        }),
    });
    let complete = policy.flow(facts.virtual_server).sole_gateway;
    let mut all = Contributors::new([Contributor::user()].into_iter().chain(known), complete);
    if let Some(said) = &facts.request.contributors {
        all = all.and(said);
    }
    let own = own.and_then(|own| own.principal.as_deref());
    all.refused_by(tokens, own).map(|refused| match refused.principal {
        Some(principal) => format!("{principal} ({})", refused.assurance),
        None => refused.assurance.as_str().to_owned(),
    })
}
