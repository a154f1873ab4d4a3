//! Asking a person: the question, the answer, and the approval that opens exactly the action it was asked about.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};

use super::finding::{Finding, FindingId, Reason};
use super::verdict::{Denial, Judgement};
use crate::action::ActionDigest;
use crate::id::{DecisionId, Principal};
use crate::policy::{Effect, Facts, FlowRule};

/// An action that waits for a person. It cannot be built outside the decision, and it is used up by its answer.
#[derive(Debug)]
pub struct Escalation {
    decision: DecisionId,
    principal: Principal,
    digest: ActionDigest,
    judgement: Judgement,
}

/// SHA-256 over what a person is asked: the exact action, for whom, and every finding that made it a question.
///
/// An answer names it, so that a yes to one question is never a yes to another, even if the asking and the answering
/// are two requests with nothing of ours kept between them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuestionDigest([u8; 32]);

/// What a person said. Everything but a yes is a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, exactly this.
    Approve,
    /// No.
    Decline,
    /// They closed the question.
    Cancel,
    /// Nothing, for as long as we waited.
    Silence,
}

/// A person's yes to one action. It permits nothing by itself: the action is judged again.
///
/// ```compile_fail
/// use highwater_core::{decide::{Approval, Verdict, decide_approved}, policy::{Facts, Policy}};
/// fn twice(policy: &Policy, facts: &Facts<'_>, approval: Approval) -> (Verdict, Verdict) {
///     (decide_approved(policy, facts, approval), decide_approved(policy, facts, approval))
/// }
/// ```
#[derive(Debug)]
pub struct Approval {
    digest: ActionDigest,
    principal: Principal,
    /// The strongest effect that this approval can meet.
    grade: Effect,
    /// What the person was told.
    told: Vec<(FindingId, Vec<Reason>)>,
}

/// Why an answer is no approval.
#[derive(Debug)]
pub enum Unapproved {
    /// The person said no.
    Declined(Denial),
    /// The answer belongs to another question; ask this one.
    AnotherQuestion(Escalation),
}

// === impl Escalation ===

impl Escalation {
    pub(super) fn new(facts: &Facts<'_>, judgement: Judgement) -> Self {
        Self {
            decision: facts.decision.clone(),
            principal: facts.principal.clone(),
            digest: facts.action.digest(),
            judgement,
        }
    }

    /// The decision's name.
    pub fn decision(&self) -> &DecisionId {
        &self.decision
    }

    /// The exact action that is asked about.
    pub fn digest(&self) -> ActionDigest {
        self.digest
    }

    /// Everything that was judged.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// What an approval has to be worth.
    pub fn grade(&self) -> Effect {
        self.judgement.effect()
    }

    /// Every finding. For the person who is asked.
    pub fn findings(&self) -> &[Finding] {
        self.judgement.findings()
    }

    /// What the question is, to be named by its answer.
    pub fn question(&self) -> QuestionDigest {
        let mut context = Context::new(&SHA256);
        let mut part = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_be_bytes());
            context.update(bytes);
        };
        part(self.digest.as_bytes());
        part(self.principal.as_str().as_bytes());
        for (id, reasons) in told(&self.judgement) {
            part(id.to_string().as_bytes());
            reasons.iter().for_each(|reason| part(&[*reason as u8]));
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(context.finish().as_ref());
        QuestionDigest(bytes)
    }

    /// Takes a person's answer to the question of that digest.
    pub fn answered(self, question: QuestionDigest, answer: Answer) -> Result<Approval, Unapproved> {
        match answer {
            Answer::Decline | Answer::Cancel | Answer::Silence => {
                Err(Unapproved::Declined(self.refused(Reason::Declined)))
            }
            Answer::Approve if question != self.question() => Err(Unapproved::AnotherQuestion(self)),
            Answer::Approve => Ok(Approval {
                told: told(&self.judgement),
                digest: self.digest,
                principal: self.principal,
                grade: Effect::Confirm,
            }),
        }
    }

    /// Gives up asking: this client has no way to put the question to a person.
    pub fn unasked(self) -> Denial {
        self.refused(Reason::NobodyToAsk)
    }

    fn refused(self, reason: Reason) -> Denial {
        let mut judgement = self.judgement;
        judgement.push(Finding::block(FindingId::Unapproved, reason));
        Denial::new(self.decision, judgement)
    }
}

/// What makes an action a question, in an order that does not hang on the order of the gates.
fn told(judgement: &Judgement) -> Vec<(FindingId, Vec<Reason>)> {
    let mut told: Vec<_> = judgement
        .findings()
        .iter()
        .filter(|finding| finding.effect >= Effect::Confirm)
        .map(|finding| (finding.id.clone(), finding.reasons.clone()))
        .collect();
    told.sort();
    told
}

// === impl Answer ===

impl Answer {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::Silence => "silence",
        }
    }
}

// === impl Approval ===

impl Approval {
    /// Whether this approval answers everything that this judgement asks of the action.
    pub(super) fn meets(&self, facts: &Facts<'_>, judgement: &Judgement) -> bool {
        self.digest == facts.action.digest()
            && self.principal == *facts.principal
            && judgement.effect() <= self.grade
            && told(judgement).iter().all(|asked| self.told.contains(asked))
    }

    /// Whether the person knew that a doubtful session would get private data.
    pub(super) fn covers_read(&self) -> bool {
        self.told.iter().any(|(id, _)| *id == FindingId::Flow(FlowRule::Read))
    }
}

// === impl QuestionDigest ===

impl QuestionDigest {
    /// The digest itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the hexadecimal form.
    pub fn parse(text: &str) -> Option<Self> {
        crate::action::from_hex(text).map(Self)
    }
}

impl fmt::Display for QuestionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for QuestionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
