//! The judgement of a question that an upstream puts back to the client in the middle of a call.

use serde::{Deserialize, Serialize};

use super::{Denial, Finding, FindingId, Judgement, Reason};
use crate::id::{DecisionId, UpstreamId};

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
    /// The decision that allowed the call in whose course the question came, if there is such a call.
    pub during: Option<&'a DecisionId>,
    /// Who asks.
    pub upstream: &'a UpstreamId,
    /// What is asked.
    pub kind: AskKind,
    /// Whether the client declared that it can be asked this.
    pub declared: bool,
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
}

// === impl AskPass ===

impl AskPass {
    /// What may be asked.
    pub fn kind(&self) -> AskKind {
        self.kind
    }
}

/// Judges whether this server may ask this of this client now.
pub fn decide_ask(decision: &DecisionId, facts: &AskFacts<'_>) -> AskVerdict {
    let mut findings = Vec::new();
    if facts.during.is_none() {
        findings.push(Finding::block(FindingId::Ask, Reason::NoCallInFlight));
    }
    if !facts.declared {
        findings.push(Finding::block(FindingId::Ask, Reason::NotDeclared));
    }
    if findings.is_empty() {
        AskVerdict::Put(AskPass { kind: facts.kind })
    } else {
        AskVerdict::Refuse(Denial::new(decision.clone(), Judgement::of(findings)))
    }
}
