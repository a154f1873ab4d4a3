//! Asks a person about a call that is held. What follows what is said by [`question`]; this folder does the
//! work of each step: looking for a yes that was given before, asking, waiting, judging again, using the yes up.

mod arguments;
mod channel;
mod context;
mod form;
mod given;
mod page_request;
mod pending;
mod prior_consent;
mod question;
mod rebuild;
mod reply;
mod retry;
mod round;
mod signable;
mod spend;
mod value_words;
mod wait;
mod words;

use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::approval::Round;
use highwater_core::decide::{Answer, Escalation};
use highwater_core::id::DecisionId;
use highwater_mcp::error_code::INVALID_PARAMS;
use highwater_store::ApprovalRequest;

use self::question::{Channel, Event, Question, Step, Unanswered, Yes};
use page_request::PageRequest;

pub(super) use form::APPROVAL;
use form::Form;
use given::SpendableApproval;
pub(super) use page_request::PageAnswer;
pub(crate) use pending::PendingQuestions;
pub(super) use pending::WaitingReply;
pub(super) use rebuild::named_capabilities;
use rebuild::{Allowed, Unshown, rebuilt};
pub(super) use reply::ReplyApproved;
use retry::FormAnswer;
pub(super) use retry::{Carried, Consent, Resolved};
use signable::NotSignable;
pub(crate) use signable::through;
use spend::Spending;
pub use value_words::{ReplySource, value_sentences};
pub(super) use wait::PendingApproval;
use wait::Waited;

use super::judge::{Judge, Settled};
use super::permitted::Granted;
use super::proposed::Proposed;
use super::seals::Seals;
use super::{Arrival, Delivery, Refusal};
use crate::approvals::Offer;

/// What becomes of an action that a person must see.
pub(super) enum Approved {
    /// They agreed.
    Granted(Box<Proposed>, Granted),
    /// The client's request ends with the question.
    Asked(Delivery),
}

/// Asks people, and takes their answers.
pub(crate) struct Approvals {
    pub(super) judge: Arc<Judge>,
    pub(super) seals: Arc<Seals>,
    pub(super) questions: Arc<PendingQuestions>,
}

/// A call that is held, with what was brought to its question and what was found for it.
struct HeldCall<'a> {
    arrival: &'a Arrival,
    /// The call as it is shown and signed, where there is a page and it can be.
    on_page: Result<PageRequest<'a>, NotSignable>,
    /// What it goes on with, if it is a round of an execution that a person agreed to.
    round: Option<Box<Round>>,
    /// The signature that it brings along, as JSON text.
    evidence: Option<&'a str>,
    /// What the person did whom an earlier request sent to the page.
    visit: Option<PageAnswer>,
    /// The answer to the form that an earlier request put.
    filled_in: Option<FormAnswer>,
    /// The yes that the call may rest on, not used up.
    given: Option<SpendableApproval>,
    /// The question as it was put.
    put: Option<PutQuestion>,
}

/// A question that is with a person.
enum PutQuestion {
    Form(Form, Option<Box<Offer>>),
    Request(Box<ApprovalRequest>),
}

/// What came of asking.
enum Asked {
    Event(Event),
    /// Nobody is asked now, and this is what the client is told.
    NotPut(Refusal),
}

// === impl Approved ===

impl Approved {
    fn of(proposed: Proposed, granted: Granted) -> Self {
        Self::Granted(Box::new(proposed), granted)
    }
}

// === impl Approvals ===

impl Approvals {
    /// Holds an action until a person has answered, and judges it again with everything as it is then.
    pub(super) async fn approve(
        &self,
        arrival: &Arrival,
        proposed: Proposed,
        escalation: Escalation,
        consent: Option<Consent>,
    ) -> Result<Approved, Refusal> {
        let sealed = self.judge.seals(&proposed);
        let rebuilt = self.rebuilt(proposed.sealed_if(sealed), escalation, consent.is_some());
        let (mut proposed, mut escalation) = match rebuilt.await? {
            Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
            Settled::Open(proposed, escalation) => (proposed, escalation),
        };
        let mut call = self.held_call(arrival, &proposed, consent);
        self.judge.recorder.escalation(&proposed, &escalation)?;
        let situation = self.situation(&call, &proposed, &escalation);
        let (mut question, mut step) = match call.filled_in {
            Some(_) => Question::resume(situation, Channel::FormResult),
            None => Question::open(situation),
        };
        let (proposed, granted) = loop {
            let event = match step {
                Step::LookFor(yes) => {
                    call.given = self.look_for(yes, &mut call, &proposed, &escalation).await?;
                    if call.given.is_some() { Event::Found } else { Event::NotFound }
                }
                Step::Ask(channel) => match self.ask(channel, &mut call, &proposed, &escalation).await? {
                    Asked::Event(event) => event,
                    Asked::NotPut(refusal) => {
                        advance(&mut question, Event::NotPut, &proposed.decision);
                        return Err(refusal);
                    }
                },
                Step::Wait(channel) => match self.wait(channel, &mut call, &proposed, &escalation).await? {
                    Waited::Event(event) => event,
                    Waited::StillOpen(refusal) => {
                        advance(&mut question, Event::StillOpen, &proposed.decision);
                        return Err(refusal);
                    }
                    Waited::Returned(delivery) => {
                        advance(&mut question, Event::Returned, &proposed.decision);
                        return Ok(Approved::Asked(delivery));
                    }
                },
                Step::JudgeAgain(yes) if !may_begin(arrival, yes) => Event::CallerGone,
                Step::JudgeAgain(_) => match self.judge_again(&mut call, proposed).await? {
                    Settled::Granted(proposed, granted) => break (proposed, granted),
                    Settled::Open(now, open) => {
                        (proposed, escalation) = (now, open);
                        if call.is_covered(&proposed, &escalation) {
                            Event::Covered
                        } else {
                            self.drop_given(&mut call, &proposed).await?;
                            self.judge.recorder.escalation(&proposed, &escalation)?;
                            Event::Changed(self.situation(&call, &proposed, &escalation))
                        }
                    }
                },
                Step::Spend(_) => match self.spend(&mut call, proposed, escalation).await? {
                    Spending::NotSpent(now, open) => {
                        (proposed, escalation) = (now, open);
                        Event::NotSpent(self.situation(&call, &proposed, &escalation))
                    }
                    Spending::Spent(now, approval, basis) => {
                        // The step that follows is this judgement.
                        advance(&mut question, Event::Spent, &now.decision);
                        match self.judge.judge_answered(now, approval, basis).await? {
                            Settled::Granted(proposed, granted) => break (proposed, granted),
                            Settled::Open(now, open) => {
                                (proposed, escalation) = (now, open);
                                self.judge.recorder.escalation(&proposed, &escalation)?;
                                Event::Changed(self.situation(&call, &proposed, &escalation))
                            }
                        }
                    }
                },
                Step::Refuse(why) => return Err(self.refused(why, &proposed, escalation)),
                Step::JudgeWith(_) | Step::Permit | Step::Return => {
                    return Err(self.refused(Unanswered::OutOfOrder, &proposed, escalation));
                }
            };
            step = advance(&mut question, event, &proposed.decision);
        };
        // Nothing is sent but where the question says so.
        match advance(&mut question, Event::Allowed, &proposed.decision) {
            Step::Permit => Ok(Approved::of(proposed, granted)),
            _ => Err(Refusal::internal(&proposed.decision)),
        }
    }

    /// The action as it is sent once a person has agreed, judged as that: what they are shown is what is sent.
    /// `answers` says whether it may bring its server answers, as a part of a call that a person agreed to.
    async fn rebuilt(
        &self,
        proposed: Proposed,
        escalation: Escalation,
        answers: bool,
    ) -> Result<Settled, Refusal> {
        let allowed = Allowed {
            answers: answers || proposed.action.kind() == ActionKind::Answer,
            relayed: proposed.relayed.is_some(),
        };
        match rebuilt(&proposed.route, &proposed.action, allowed) {
            Ok(None) => Ok(Settled::Open(proposed, escalation)),
            Ok(Some(action)) => self.judge.judge(proposed.saying(action)).await,
            Err(Unshown(member)) => {
                // On record as what nobody can be asked about.
                drop(self.judge.recorder.unasked(&proposed, &escalation.unasked()));
                Err(Refusal::unshown(&proposed.decision, &member))
            }
        }
    }

    /// Puts the question to the person.
    async fn ask(
        &self,
        channel: Channel,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<Asked, Refusal> {
        if channel.is_form() {
            let (form, offer) = self.form(call, proposed, escalation);
            self.judge.recorder.asked(proposed, escalation.question(), "form")?;
            call.put = Some(PutQuestion::Form(form, offer));
            return Ok(Asked::Event(Event::Put));
        }
        match &call.on_page {
            Ok(_) => self.ask_on_page(channel, call, proposed, escalation).await,
            // Refused as what nobody can be asked about.
            Err(NotSignable::Kind) => Ok(Asked::Event(Event::NotPut)),
            Err(NotSignable::Request(why)) => {
                Ok(Asked::NotPut(Refusal::invalid(INVALID_PARAMS, why.clone())))
            }
        }
    }

    /// Judges the call again under the policy, the grants and the label of this moment. A tool whose definition changed is
    /// refused.
    async fn judge_again(&self, call: &mut HeldCall<'_>, proposed: Proposed) -> Result<Settled, Refusal> {
        if let Some(SpendableApproval::Grant(_)) = call.given {
            self.settle_earlier(&proposed).await?;
        }
        let proposed = self.judge.sessions.read_again(self.judge.renewed(proposed)?).await;
        if let Ok(here) = &mut call.on_page {
            here.signable.definition = self.definition_now(&proposed, &here.signable);
        }
        self.judge.judge(proposed).await
    }

    /// Why a question that ends without a permit is refused, on record.
    fn refused(&self, why: Unanswered, proposed: &Proposed, escalation: Escalation) -> Refusal {
        let recorder = &self.judge.recorder;
        match why {
            Unanswered::Declined => recorder.declined(proposed, &escalation.declined()),
            Unanswered::AskedTooOften => recorder.declined(proposed, &escalation.unasked()),
            Unanswered::NobodyToAsk | Unanswered::NotPut => recorder.unasked(proposed, &escalation.unasked()),
            Unanswered::CallerGone => Refusal::gone(&proposed.decision),
            Unanswered::StillOpen | Unanswered::OutOfOrder => {
                tracing::error!(decision = %proposed.decision, ?why, "a question was driven out of order");
                Refusal::internal(&proposed.decision)
            }
        }
    }
}

// === impl HeldCall ===

impl HeldCall<'_> {
    /// Whether the yes that was found answers what is asked now.
    fn is_covered(&self, proposed: &Proposed, escalation: &Escalation) -> bool {
        self.given.as_ref().is_some_and(|given| given.covers(proposed, escalation))
    }
}

/// Tells the question what came of a step.
fn advance(question: &mut Question, event: Event, decision: &DecisionId) -> Step {
    let (transition, step) = question.apply(event);
    tracing::debug!(%decision, ?transition, ?step, "question");
    step
}

/// Whether a call may rest on a yes now. Nothing is begun for a caller who has gone: the answer stays for the identical
/// call that comes next. A legacy client can answer a form after the stream of its call broke.
fn may_begin(arrival: &Arrival, yes: Option<Yes>) -> bool {
    !yes.is_some_and(Yes::is_for_caller_who_waits) || arrival.is_awaited()
}

/// What a person said, as an event of its question.
fn event_of(answer: Answer) -> Event {
    match answer {
        Answer::Approve => Event::Agreed,
        Answer::Decline | Answer::Cancel | Answer::Silence => Event::Declined,
    }
}
