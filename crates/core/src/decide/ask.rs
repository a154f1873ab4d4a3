//! The judgement of a question that an upstream puts back to the client in the middle of a call.

use serde::{Deserialize, Serialize};

use super::finding::{Finding, FindingId, Reason};
use super::flow::FlowViolations;
use super::reply::response_facts;
use super::verdict::{Denial, Judgement};
use super::{Effect, gates};
use crate::annotation::{Claims, ReplyKind};
use crate::id::{DecisionId, UpstreamId};
use crate::label::Label;
use crate::policy::{Facts, Policy, ResponseFacts};
use crate::session;

/// What an upstream may ask. There is nothing else it may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskKind {
    /// A completion by the client's model.
    Sample,
    /// A form for the person.
    ElicitForm,
    /// A page for the person.
    ElicitUrl,
    /// The client's workspace roots.
    Roots,
}

/// What is known of a question.
#[derive(Clone, Copy, Debug)]
pub struct AskFacts<'a> {
    /// The call in whose course the question came, if there is such a call. Its session is as it is now.
    pub during: Option<&'a Facts<'a>>,
    /// Who asks.
    pub upstream: &'a UpstreamId,
    /// What is asked.
    pub kind: AskKind,
    /// Whether the client declared that it can be asked this.
    pub declared: bool,
    /// Whether it asks for a page that nobody may be sent to.
    pub refused_page: bool,
    /// What the question says of itself.
    pub claims: &'a Claims,
}

/// The answer to a question about a question.
#[derive(Debug)]
pub enum AskVerdict {
    /// It may be put to the client.
    Put(AskPass),
    /// It may not.
    Refuse(Denial),
}

/// Proof that a question may be put to the client.
#[derive(Debug)]
pub struct AskPass {
    kind: AskKind,
    label: Label,
    judgement: Judgement,
}

// === impl AskKind ===

impl AskKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::ElicitForm => "elicit-form",
            Self::ElicitUrl => "elicit-url",
            Self::Roots => "roots",
        }
    }
}

// === impl AskPass ===

impl AskPass {
    /// What may be asked.
    pub fn kind(&self) -> AskKind {
        self.kind
    }

    /// The label that must be joined to the session's before the question is put: it is text of the upstream.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Everything that was judged.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }
}

/// Judges whether this server may ask this of this client now. A question is not edited and nobody is asked about it:
/// what would need either is refused.
pub fn decide_ask(policy: &Policy, decision: &DecisionId, facts: &AskFacts<'_>) -> AskVerdict {
    let mut findings = Vec::new();
    if !facts.declared {
        findings.push(Finding::block(FindingId::Ask, Reason::NotDeclared));
    }
    if facts.refused_page {
        findings.push(Finding::block(FindingId::Ask, Reason::PageRefused));
    }
    let Some(call) = facts.during else {
        findings.push(Finding::block(FindingId::Ask, Reason::NoCallInFlight));
        return AskVerdict::Refuse(Denial::new(decision.clone(), Judgement::of(findings)));
    };
    let chosen = session::reply_contract(call.contract, facts.claims, policy.flow_for(call).reply_bounds());
    let contract = chosen.as_ref().unwrap_or(call.contract);
    let label = session::label_reply(contract, facts.claims, &Label::bottom(), ReplyKind::Server);
    let response = ResponseFacts { ask: Some(facts.kind), ..response_facts(contract, facts.claims) };
    let seen = Facts { response: Some(&response), ..*call };
    let judgement = gates::judge_reply(policy, &seen, findings, FlowViolations::EMPTY, &label);
    match judgement.effect() {
        Effect::Allow => AskVerdict::Put(AskPass { kind: facts.kind, label, judgement }),
        Effect::Redact | Effect::Confirm | Effect::Passkey | Effect::Block => {
            AskVerdict::Refuse(Denial::new(decision.clone(), judgement))
        }
    }
}
