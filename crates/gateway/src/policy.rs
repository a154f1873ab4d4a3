//! The operator's standing word as the judgement takes it, made from the configuration.

use std::collections::BTreeSet;

use highwater_config::{ServerSettings, Settings, Transport};
use highwater_core::grant::{ServerScope, ToolPattern};
use highwater_core::id::{UpstreamId, VirtualServerId};
use highwater_core::policy::{Admission, Policy, RuleSet};
use highwater_core::session::{Assurance, Contributor};
use highwater_store::{TokenBasis, TokenRecord};

use crate::pins::{WrittenPattern, WrittenPatterns};

/// The whole policy.
pub fn policy(settings: &Settings) -> Policy {
    let admissions = used(settings).map(|(id, server)| {
        let admission = Admission {
            allowed_tools: server.allowed_tools.clone(),
            extra_methods: server.extra_methods.clone(),
        };
        (id, admission)
    });
    let held = settings.virtual_servers.iter().map(|server| {
        let upstreams: BTreeSet<_> =
            server.servers.iter().map(|name| UpstreamId::new(name.as_str())).collect();
        (VirtualServerId::new(server.name.as_str()), upstreams)
    });
    let flows = settings
        .virtual_servers
        .iter()
        .map(|server| (VirtualServerId::new(server.name.as_str()), server.flow.clone()));
    let contributors = used(settings).map(|(id, server)| (id, contributor(server)));
    let labels = used(settings).filter_map(|(id, server)| Some((id, server.title.as_deref()?)));
    Policy::new(admissions.collect(), held.collect())
        .with_trust_labels(labels)
        .with_flows(flows.collect())
        .with_contributors(contributors.collect())
        .with_rules(RuleSet::clone(settings.rules.set()))
}

/// The patterns of tools in the configuration and in tokens that no file declares.
pub(crate) fn written_patterns(settings: &Settings, records: &[TokenRecord]) -> WrittenPatterns {
    let granted = settings.agent_tokens.iter().map(|token| (token.name.as_str(), &token.grant));
    let stored = records.iter().filter_map(|record| match &record.basis {
        TokenBasis::Stored(terms)
            if record.revoked.is_none() && settings.agent_token(&record.name).is_none() =>
        {
            Some((record.name.as_str(), &terms.grant))
        }
        TokenBasis::Stored(_) | TokenBasis::Configured | TokenBasis::Unreadable => None,
    });
    let of_tokens = granted.chain(stored).flat_map(|(name, grant)| {
        let patterns = grant.tools.patterns().into_iter().flatten().filter_map(ToolPattern::new);
        patterns.map(move |pattern| WrittenPattern {
            place: format!("`tools` of token `{name}`"),
            pattern,
            among: grant.servers.clone(),
        })
    });
    let of_approvals = settings.approvals.tools.iter().map(|tool| WrittenPattern {
        place: "`approvals.tools`".to_owned(),
        pattern: tool.pattern.clone(),
        among: ServerScope::All,
    });
    WrittenPatterns {
        servers: used(settings).map(|(id, _)| id).collect(),
        patterns: of_tokens.chain(of_approvals).collect(),
    }
}

/// Whether a decision can depend on where a session's data came from: the policy looks at it, or servers that choose whom
/// they hear (SEP-3193) are told all of it.
pub(crate) fn looks_at_origins(policy: &Policy, settings: &Settings) -> bool {
    policy.looks_at_origins() || settings.virtual_servers.iter().any(|server| server.flow.sole_gateway)
}

/// A server as one who contributes to sessions. What the operator stands for was approved when it was first seen; a signed
/// manifest would say more.
fn contributor(server: &ServerSettings) -> Contributor {
    let assurance = if server.trust.verified() { Assurance::Tofu } else { Assurance::Unverified };
    Contributor { principal: address(server).map(Into::into), ..Contributor::unnamed(assurance) }
}

/// Where a server is, if it is anywhere: without a query, which may hold a secret.
fn address(server: &ServerSettings) -> Option<&str> {
    match &server.transport {
        Transport::Http { url, .. } => url.split('?').next(),
        Transport::Stdio { .. } => None,
    }
}

fn used(settings: &Settings) -> impl Iterator<Item = (UpstreamId, &ServerSettings)> {
    let used = settings.servers.iter().filter(|server| !server.disabled);
    used.map(|server| (UpstreamId::new(server.name.as_str()), server))
}
