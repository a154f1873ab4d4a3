//! Asking a person: the question, the answer, and the approval that opens exactly the action it was asked about.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};
use highwater_notation::Timestamp;
use highwater_passkey::ActionHash;

use super::finding::{Finding, FindingId, Reason};
use super::flow::{Concern, FlowViolations};
use super::told_findings::Told;
use super::verdict::{Denial, Judgement};
use crate::action::ActionDigest;
use crate::approval::{
    Consented, Grant, RelayedApproval, ResumedRound, SpentApproval, SpentGrant, SpentMandate, SpentRound,
    Undisturbed,
};
use crate::id::{DecisionId, Principal};
use crate::label::{Label, LabelDigest};
use crate::policy::{Effect, Facts};

/// An action that waits for a person. It cannot be built outside the decision, and it is used up by its answer.
#[derive(Debug)]
pub struct Escalation {
    decision: DecisionId,
    asker: Box<Asker>,
    digest: ActionDigest,
    judgement: Judgement,
}

/// For whom it is asked.
#[derive(Debug)]
struct Asker {
    principal: Principal,
    /// What their session had taken in.
    session: Label,
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
    told: Told,
    answers: Answers,
    /// The action as it is signed, where it was.
    signed: Option<ActionHash>,
    /// When the rounds of the execution end that it rests on, if it goes on with one.
    ends: Option<Timestamp>,
}

/// What of that which is found an approval answers, up to its grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// What the person was told.
    Told,
    /// Everything: a signature that comes with its call does (G21).
    Everything,
    /// What the person was told, for an action that is under way (G25), in a session with this label if it has heard
    /// nobody since but the action's own server.
    UnderWay(Option<LabelDigest>),
}

/// What a person agreed to, for a call that rests on it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    grade: Effect,
    told: Told,
}

/// What an approval worth a passkey can rest on. Each is used up: by one call, of one principal, for one action.
///
/// ```compile_fail
/// use highwater_core::approval::VerifiedApproval;
/// use highwater_core::decide::Proof;
/// fn verified_and_not_consumed(verified: VerifiedApproval) -> Proof {
///     Proof::Native(verified)
/// }
/// ```
#[derive(Debug)]
pub enum Proof {
    /// A signature that came with the call.
    Native(SpentApproval),
    /// A grant: signatures, or a button, on our page.
    Grant(SpentGrant),
    /// A use of a mandate.
    Mandate(SpentMandate),
    /// A round of an execution that rests on one of these, or on a word.
    Round(SpentRound),
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
            asker: Box::new(Asker { principal: facts.principal.clone(), session: facts.session.clone() }),
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

    /// Whether a form of the client may ask for it. Where private data, strangers' text and an exit have met, the client
    /// may be doing what strangers want, and a form is answered by the client.
    pub fn takes_form(&self, session: &Label) -> bool {
        let is_exit = |finding: &Finding| match &finding.id {
            FindingId::Flow(rule) => rule.gate().concern == Concern::PrivateData,
            _ => false,
        };
        let leaks = |finding: &Finding| finding.effect >= Effect::Confirm && is_exit(finding);
        self.grade() <= Effect::Confirm && !(session.untrusted() && self.findings().iter().any(leaks))
    }

    /// What the question is, to be named by its answer.
    pub fn question(&self) -> QuestionDigest {
        let mut context = Context::new(&SHA256);
        let mut part = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_be_bytes());
            context.update(bytes);
        };
        part(self.digest.as_bytes());
        part(self.asker.principal.as_str().as_bytes());
        self.told().parts(&mut part);
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
            // What takes a passkey is no question that a word answers.
            Answer::Approve if self.grade() > Effect::Confirm || question != self.question() => {
                Err(Unapproved::AnotherQuestion(self))
            }
            Answer::Approve => Ok(self.approved(Effect::Confirm, None, Answers::Told)),
        }
    }

    /// What the person is told.
    pub fn told(&self) -> Told {
        Told::of(&self.judgement)
    }

    /// Whether a grant answers this question, if it can be used up: it is worth enough, and of everything that is found
    /// now the person was told (G21).
    pub fn is_answered_by(&self, grant: &Grant) -> bool {
        grant.principal == self.asker.principal
            && grant.grade >= self.grade()
            && grant.told.covers(&self.told())
    }

    /// Whether this is the rest of an execution that a person agreed to, and of everything that is found now they were
    /// told.
    ///
    /// That the session has come to hold words of strangers is no new question about an action that is under way, if they
    /// are its server's own: what the action does was agreed to before they were there. Words of others may be why it is
    /// wanted to go on, and are one. What is added to it is client data on its way out, and about that everything is asked
    /// that is asked otherwise.
    pub fn goes_on_with(&self, round: &ResumedRound) -> bool {
        *round.principal() == self.asker.principal
            && round.digest() == self.digest
            && round.grade() >= self.grade()
            && round.told().covers(&Told::under_way(&self.judgement, &self.asker.session, round.heard()))
    }

    /// Whether all that is asked is whether words of strangers may decide it. A call that is under way was decided before
    /// they were there, if they are its server's own.
    pub fn asks_of_strangers_alone(&self) -> bool {
        let of_strangers = |finding: &Finding| match &finding.id {
            FindingId::Flow(rule) => rule.gate().answered_under_way && finding.effect <= Effect::Confirm,
            _ => false,
        };
        self.findings().iter().filter(|finding| finding.effect > Effect::Allow).all(of_strangers)
    }

    /// Takes the proof that a person agreed. `action` is the hash of exactly this action, as it would be signed: the
    /// proof must be for it, and for whoever asks here.
    ///
    /// A signature that came with the call answers whatever takes a passkey or less; a grant answers what the person was
    /// told, a mandate what was found when it was used, a round what was told before it. The action is judged again in any
    /// case.
    pub fn signed(self, proof: Proof, action: ActionHash) -> Result<Approval, Unapproved> {
        let mine = |principal: &Principal, signed: ActionHash| {
            *principal == self.asker.principal && signed == action && self.grade() <= Effect::Passkey
        };
        match proof {
            Proof::Native(spent) if mine(spent.verified().principal(), spent.verified().action()) => {
                Ok(self.approved(Effect::Passkey, None, Answers::Everything).of(Some(action), None))
            }
            Proof::Grant(spent)
                if mine(&spent.grant().principal, spent.grant().action)
                    && self.is_answered_by(spent.grant()) =>
            {
                let Grant { grade, told, .. } = spent.grant();
                let (grade, told) = ((*grade).min(Effect::Passkey), Some(told.clone()));
                Ok(self.approved(grade, told, Answers::Told).of(Some(action), None))
            }
            Proof::Mandate(spent) if mine(spent.principal(), spent.action()) => {
                Ok(self.approved(Effect::Passkey, None, Answers::Told).of(Some(action), None))
            }
            Proof::Round(spent)
                if mine(spent.round().principal(), spent.round().action())
                    && self.goes_on_with(spent.round()) =>
            {
                let round = spent.round();
                let (grade, told) = (round.grade().min(Effect::Passkey), Some(round.told().clone()));
                let approval = self.approved(grade, told, Answers::UnderWay(round.heard()));
                Ok(approval.of(spent.signed(), Some(round.ends())))
            }
            Proof::Native(_) | Proof::Grant(_) | Proof::Mandate(_) | Proof::Round(_) => {
                Err(Unapproved::AnotherQuestion(self))
            }
        }
    }

    /// Whether a person agreed to this when the challenge of this very call was asked for: they saw its tool and its
    /// arguments then (G17). What is found now and they were not told is a new question. That somebody must look at the
    /// tool's calls is none: somebody has.
    pub fn is_agreed_with(&self, relayed: &RelayedApproval) -> bool {
        let covers = |agreement: &Agreement| {
            *relayed.principal() == self.asker.principal
                && agreement.grade >= self.grade()
                && self.grade() <= Effect::Passkey
                && agreement.told.covers_call(&self.told())
        };
        relayed.agreement().is_some_and(covers)
    }

    /// Takes that agreement.
    pub fn agreed(self, relayed: &RelayedApproval) -> Result<Approval, Unapproved> {
        if self.is_agreed_with(relayed) {
            let grade = self.grade();
            Ok(self.approved(grade, None, Answers::Told))
        } else {
            Err(Unapproved::AnotherQuestion(self))
        }
    }

    /// Takes what a person agreed to when the call was permitted whose server waits for this answer: what they were told of
    /// the call is not asked again (G25). `heard` is the session, if it has heard nobody since but the call's own server.
    pub fn continued(self, consented: &Consented, heard: &Undisturbed) -> Result<Approval, Unapproved> {
        let heard = heard.digest();
        let told = Told::under_way(&self.judgement, &self.asker.session, heard);
        let covers = *consented.principal() == self.asker.principal
            && consented.grade() >= self.grade()
            && consented.told().covers(&told);
        if !covers {
            return Err(Unapproved::AnotherQuestion(self));
        }
        let (grade, told) = (consented.grade().min(Effect::Passkey), consented.told().clone());
        Ok(self.approved(grade, Some(told), Answers::UnderWay(heard)))
    }

    fn approved(self, grade: Effect, told: Option<Told>, answers: Answers) -> Approval {
        Approval {
            told: told.unwrap_or_else(|| self.told()),
            digest: self.digest,
            principal: self.asker.principal,
            grade,
            answers,
            signed: None,
            ends: None,
        }
    }

    /// Takes a no that was said elsewhere.
    pub fn declined(self) -> Denial {
        self.refused(Reason::Declined)
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
            && match self.answers {
                Answers::Everything => true,
                Answers::Told => self.told.covers(&Told::of(judgement)),
                Answers::UnderWay(heard) => {
                    self.told.covers(&Told::under_way(judgement, facts.session, heard))
                }
            }
    }

    /// What an action rests on that it permits by this judgement.
    pub(super) fn consented(&self, facts: &Facts<'_>, judgement: &Judgement) -> Consented {
        let told = match self.answers {
            Answers::Everything => Told::of(judgement),
            Answers::Told | Answers::UnderWay(_) => self.told.clone(),
        };
        let heard = match self.answers {
            Answers::Everything | Answers::Told => Undisturbed::since(facts.session),
            Answers::UnderWay(heard) => Undisturbed::still(facts.session, heard),
        };
        Consented::new(self.principal.clone(), self.signed, self.grade, told, self.ends, heard)
    }

    fn of(self, signed: Option<ActionHash>, ends: Option<Timestamp>) -> Self {
        Self { signed, ends, ..self }
    }

    /// What was agreed to.
    pub(super) fn agreement(&self) -> Agreement {
        Agreement { grade: self.grade, told: self.told.clone() }
    }

    /// The violations that the person knew of.
    pub(super) fn violations(&self) -> FlowViolations {
        self.told.findings().filter_map(FindingId::flow).collect()
    }
}

// === impl QuestionDigest ===

impl QuestionDigest {
    /// Stands for a question that was cleared. No question has it.
    pub const CLEARED: Self = Self([0; 32]);

    /// The digest itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the hexadecimal form.
    pub fn parse(text: &str) -> Option<Self> {
        highwater_notation::from_hex(text).map(Self)
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
