//! What a server is told about the context a call comes from, as far as the operator lets it know.

use highwater_core::policy::Policy;
use highwater_core::session::{Assurance, Contributor, Contributors};
use highwater_mcp::annotations::emit::{Context, Share, context_meta};
use highwater_mcp::era::ClientMeta;

use super::layout::Meta;
use super::permitted::Permitted;
use super::proposed::Proposed;

/// What an upstream is told in `_meta`.
pub(super) struct SentMeta {
    /// The one that the client sent.
    sent: Option<Meta>,
    /// What we say, the client's words in it where it said anything of its own; `None` where those stay as they are.
    said: Option<String>,
}

// === impl SentMeta ===

impl SentMeta {
    pub(super) fn as_meta(&self) -> ClientMeta<'_> {
        match (&self.sent, self.said.as_deref()) {
            (None, said) => ClientMeta::Absent(said),
            (Some(Meta { at, formal: true }), ours) => {
                ClientMeta::Formal { start: at.start, end: at.end, ours }
            }
            (Some(_), Some(said)) => ClientMeta::Replaced(said),
            (Some(_), None) => ClientMeta::Kept,
        }
    }

    /// What the upstream of an action is told in `_meta`; with what a person agreed to, nothing that a client may have
    /// worded, as no person was shown it.
    pub(super) fn of(permitted: &Permitted) -> Self {
        let contracts = &permitted.route.contracts;
        let session = &permitted.before.label;
        let contributors = contracts.has_flow_policy().then(|| contributors(&permitted.policy, permitted));
        // Where it came from is what clients say, too.
        let most = if permitted.is_agreed() { Share::Hints } else { Share::Full };
        let share = contracts.share().min(most);
        let context = Context { session, share, contributors: contributors.as_ref() };
        let sent = permitted.layout.meta.clone();
        let own = sent.as_ref().filter(|meta| !meta.formal);
        let own = own.and_then(|meta| permitted.action.params().get(meta.at.clone()));
        Self { said: context_meta(own, &context), sent }
    }
}

/// Everybody who contributed to the session: the user, the servers its origins name, and whoever the client says. Unless
/// the operator says that this host reads nothing elsewhere, there may be others.
fn contributors(policy: &Policy, proposed: &Proposed) -> Contributors {
    let origins = proposed.before.label.origins();
    let servers = origins.members().iter().map(|origin| match policy.contributor_of(origin) {
        Some((_, contributor)) => contributor.clone(),
        None => Contributor::unnamed(Assurance::Unverified),
    });
    let sole = policy.flow(&proposed.caller.virtual_server).sole_gateway;
    let complete = sole && !origins.is_open();
    let known = Contributors::new(std::iter::once(Contributor::user()).chain(servers), complete);
    match &proposed.request.contributors {
        Some(said) => known.and(said),
        None => known,
    }
}
