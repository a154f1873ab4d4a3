//! The judgement of a reply. Core never opens it: it labels and judges what is known of it and carries the reply
//! unopened, and the only way to get the reply out again is through a `Pass`.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use highwater_passkey::ActionHash;

use super::escalation::{Answer, Approval, Escalation, Proof, QuestionDigest, Unapproved};
use super::finding::{Finding, FindingId, Reason};
use super::flow::FlowViolations;
use super::permit::Obligations;
use super::verdict::{Denial, Judgement, Redactions};
use super::{Effect, gates};
use crate::annotation::{Claim, Claims, Contract, ReplyKind, Sensitivity};
use crate::label::{ANOTHER_CONVERSATION, Label, TextSet};
use crate::policy::{Facts, Policy, ResponseFacts};
use crate::session;

/// What a reply says it is. Absent means complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// The call is done.
    Complete,
    /// The upstream asks back before it goes on.
    InputRequired,
    /// The call goes on as a task.
    Task,
    /// None of those.
    Unknown,
}

/// What is known of a reply without opening it.
#[derive(Clone, Debug)]
pub struct ReplyFacts {
    /// What the reply says it is.
    pub result_type: ResultType,
    /// Whose words it carries.
    pub kind: ReplyKind,
    /// What it says of itself. If its server is believed it chooses within what was declared; it can always add.
    pub claims: Claims,
    /// The labels of the stored objects it names.
    pub marks: Label,
    /// The contract as the operator's `result` cases narrow it, where one applied.
    pub contract: Option<Arc<Contract>>,
}

/// A reply as it came, with what is known of it.
#[derive(Debug)]
pub struct Received<R> {
    reply: R,
    facts: ReplyFacts,
}

/// A reply and its label, before it is judged.
#[derive(Debug)]
pub struct Labelled<R> {
    reply: R,
    facts: ReplyFacts,
    label: Label,
    /// Where it comes from by itself.
    sources: TextSet,
    /// What the rules may know of it.
    response: ResponseFacts,
}

/// The answer to a reply.
#[derive(Debug)]
pub enum ReplyVerdict<R> {
    /// It may be delivered.
    Pass(Pass<R>),
    /// It may be delivered if a person says so. The call has run.
    Hold(Box<HeldReply<R>>),
    /// It is not delivered. The call has run.
    Withhold(Denial),
}

/// Proof that a reply may be delivered, with the reply inside.
///
/// ```compile_fail
/// use highwater_core::decide::Pass;
/// let forged = Pass { reply: "text" };
/// ```
#[derive(Debug)]
pub struct Pass<R> {
    reply: R,
    label: Label,
    sources: TextSet,
    judgement: Judgement,
    redactions: Redactions,
}

/// A reply that waits for a person.
#[derive(Debug)]
pub struct HeldReply<R> {
    labelled: Labelled<R>,
    obligations: Obligations,
    escalation: Escalation,
}

/// A reply that a person wants released. It is judged again before it is.
#[derive(Debug)]
pub struct ApprovedReply<R> {
    labelled: Labelled<R>,
    obligations: Obligations,
    approval: Approval,
}

// === impl ReplyFacts ===

impl ReplyFacts {
    /// A reply of the server's own that says nothing of itself.
    pub fn new(result_type: ResultType) -> Self {
        Self {
            result_type,
            kind: ReplyKind::Server,
            claims: Claims::new(),
            marks: Label::bottom(),
            contract: None,
        }
    }
}

// === impl Received ===

impl<R> Received<R> {
    /// Seals a reply in until it has been judged.
    pub fn new(reply: R, facts: ReplyFacts) -> Self {
        Self { reply, facts }
    }
}

// === impl Labelled ===

impl<R> Labelled<R> {
    /// What the session takes in with this reply.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Whether the message itself was reported as malicious. A label may say so for what is only assumed.
    pub fn is_flagged(&self) -> bool {
        self.response.malicious
    }
}

// === impl Pass ===

impl<R> Pass<R> {
    /// The label that must be joined to the session's before the first byte is released.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Where the reply comes from by itself: its contract, its server, what it says, and that somebody else wrote what it
    /// names. Its label knows more, since a thing that it names may have been written by a session that had read much else.
    pub fn sources(&self) -> &TextSet {
        &self.sources
    }

    /// Everything that was judged.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// What must be removed from the reply first, by the rules of the call and those of the reply.
    pub fn redactions(&self) -> Redactions {
        self.redactions
    }

    /// Opens the reply. Where something must be removed from it, `redact` does that, or the reply stays here.
    pub fn into_reply<E>(self, redact: impl FnOnce(R, Redactions) -> Result<R, E>) -> Result<R, E> {
        if self.redactions.is_empty() { Ok(self.reply) } else { redact(self.reply, self.redactions) }
    }
}

// === impl HeldReply ===

impl<R> HeldReply<R> {
    /// What the session would take in with this reply.
    pub fn label(&self) -> &Label {
        self.labelled.label()
    }

    /// Whether the message itself was reported as malicious.
    pub fn is_flagged(&self) -> bool {
        self.labelled.is_flagged()
    }

    /// The question for the person.
    pub fn escalation(&self) -> &Escalation {
        &self.escalation
    }

    /// Takes a person's answer to the question of that digest.
    pub fn answered(self, question: QuestionDigest, answer: Answer) -> Result<ApprovedReply<R>, Denial> {
        let Self { labelled, obligations, escalation } = self;
        released(labelled, obligations, escalation.answered(question, answer))
    }

    /// Takes the proof that a person agreed to releasing exactly this reply, whose hash is `action`.
    pub fn signed(self, proof: Proof, action: ActionHash) -> Result<ApprovedReply<R>, Denial> {
        let Self { labelled, obligations, escalation } = self;
        released(labelled, obligations, escalation.signed(proof, action))
    }

    /// Gives up asking: this client has no way to put the question to a person.
    pub fn unasked(self) -> Denial {
        self.escalation.unasked()
    }
}

impl<R: AsRef<[u8]>> HeldReply<R> {
    /// SHA-256 of the reply, for the person's answer to name. The reply itself stays sealed in.
    pub fn digest(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, self.labelled.reply.as_ref()).as_ref());
        bytes
    }
}

fn released<R>(
    labelled: Labelled<R>,
    obligations: Obligations,
    approval: Result<Approval, Unapproved>,
) -> Result<ApprovedReply<R>, Denial> {
    match approval {
        Ok(approval) => Ok(ApprovedReply { labelled, obligations, approval }),
        Err(Unapproved::Declined(denial)) => Err(denial),
        Err(Unapproved::AnotherQuestion(escalation)) => Err(escalation.unasked()),
    }
}

/// Labels a reply: its contract, what it says of itself, and the marks of the objects it names.
pub fn label_reply<R>(policy: &Policy, facts: &Facts<'_>, received: Received<R>) -> Labelled<R> {
    let Received { reply, facts: known } = received;
    let tool = known.contract.as_deref().unwrap_or(facts.contract);
    let chosen = session::reply_contract(tool, &known.claims, policy.flow_for(facts).reply_bounds());
    let contract = chosen.as_ref().unwrap_or(tool);
    let own = session::label_reply(contract, &known.claims, &Label::bottom(), known.kind);
    let mut sources = own.origins().clone();
    if known.marks.origins().contains(ANOTHER_CONVERSATION) == Some(true) {
        sources.join(&TextSet::of([ANOTHER_CONVERSATION]));
    }
    let label = own.joined(&known.marks);
    let response = response_facts(contract, &known.claims);
    Labelled { reply, facts: known, label, sources, response }
}

/// Judges a reply to the action of these facts. `facts.session` is the session as it is now, before this reply.
pub fn decide_reply<R>(
    policy: &Policy,
    facts: &Facts<'_>,
    obligations: Obligations,
    labelled: Labelled<R>,
) -> ReplyVerdict<R> {
    settle(policy, facts, obligations, labelled, None)
}

/// Judges again a reply that a person wants released.
pub fn decide_reply_approved<R>(
    policy: &Policy,
    facts: &Facts<'_>,
    approved: ApprovedReply<R>,
) -> ReplyVerdict<R> {
    let ApprovedReply { labelled, obligations, approval } = approved;
    settle(policy, facts, obligations, labelled, Some(&approval))
}

/// What the rules may know of a message, made of what it says of itself and of the contract it came under.
pub(super) fn response_facts(contract: &Contract, claims: &Claims) -> ResponseFacts {
    if claims.is_empty() {
        return ResponseFacts::default();
    }
    let said = session::label_claims(claims);
    let sources = said.sources();
    let returns = claims.iter().fold(None, |all: Option<Sensitivity>, said| match &said.claim {
        Claim::AddReturns(classes) | Claim::SetReturns(classes) => {
            Some(all.unwrap_or_else(|| contract.returns().clone()).or(classes))
        }
        _ => all,
    });
    ResponseFacts {
        open_world: said.open_world(),
        malicious: said.malicious(),
        attribution: said.origins().clone(),
        source: (!sources.is_empty()).then(|| contract.possible_source().or(sources)),
        sensitivity: returns,
        sightings: None,
        ask: None,
    }
}

fn settle<R>(
    policy: &Policy,
    facts: &Facts<'_>,
    obligations: Obligations,
    labelled: Labelled<R>,
    approval: Option<&Approval>,
) -> ReplyVerdict<R> {
    let mut findings = Vec::new();
    if labelled.facts.result_type == ResultType::Unknown {
        findings.push(Finding::block(FindingId::Reply, Reason::UnknownResultType));
    }
    // Who agreed to the reading of what the contract speaks of has agreed to that, and to no more.
    let as_declared = facts.contract.reply_label().classes().covers(labelled.label.classes());
    let agreed = if as_declared { obligations.agreed } else { FlowViolations::EMPTY };
    let contract = labelled.facts.contract.as_deref().unwrap_or(facts.contract);
    let seen = Facts { contract, response: Some(&labelled.response), ..*facts };
    let judgement = gates::judge_reply(policy, &seen, findings, agreed, &labelled.label);
    let approved = approval.is_some_and(|approval| approval.meets(facts, &judgement));
    match judgement.effect() {
        Effect::Confirm | Effect::Passkey if !approved => ReplyVerdict::Hold(Box::new(HeldReply {
            labelled,
            obligations,
            escalation: Escalation::new(facts, judgement),
        })),
        Effect::Allow | Effect::Redact | Effect::Confirm | Effect::Passkey => ReplyVerdict::Pass(Pass {
            reply: labelled.reply,
            label: labelled.label,
            sources: labelled.sources,
            redactions: obligations.redactions.and(judgement.redactions()),
            judgement,
        }),
        Effect::Block => ReplyVerdict::Withhold(Denial::new(facts.decision.clone(), judgement)),
    }
}
