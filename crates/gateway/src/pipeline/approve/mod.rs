//! Asks a person about a call that is held: by a form where a form is enough and the client has them, else at the desk.
//! The answer is bound to the exact call, used once, and the call is judged again before it goes out.

mod arguments;
mod before;
mod context;
mod desk;
mod form;
mod native;
mod pending;
mod rebuild;
mod release;
mod round;
mod signable;
mod wait;
mod words;

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::approval::Round;
use highwater_core::decide::{
    Answer, ApprovedReply, AskKind, Escalation, HeldReply, Pass, QuestionDigest, ReplyVerdict,
    decide_reply_approved,
};
use highwater_core::grant::Forms;
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::method::Method;
use highwater_mcp::text::{member, quote};

pub(super) use desk::PageAnswer;
pub(super) use form::APPROVAL;
use form::{Form, Shown};
pub(crate) use pending::PendingQuestions;
pub(super) use pending::WaitingReply;
use pending::{Pending, Subject};
pub(super) use rebuild::named_capabilities;
use rebuild::{Allowed, Unshown, rebuilt};
pub(crate) use signable::through;
pub(super) use wait::PendingApproval;

use super::arrival::RoutedAction;
use super::ask::put;
use super::gather::Answered;
use super::judge::{Judge, Settled};
use super::layout::Layout;
use super::permitted::{Basis, Granted};
use super::proposed::{Earlier, Proposed};
use super::seals::{GoesOn, Seals};
use super::sent::Sent;
use super::{Arrival, Delivery, Refusal};
use crate::approvals::{By, Desk, Offer, RememberScope};
use crate::client::{Client, LegacySession, declares};
use crate::gateway::fresh_id;

/// How often a person is asked in the course of one call: what has changed while they thought is a new question.
const MAX_QUESTIONS: usize = 3;

/// What an answered question leads on with.
pub(super) enum Resolved {
    /// A call that may now be made.
    Call(Consent),
    /// A reply that may now be released.
    Reply(Box<WaitingReply>, Answer),
}

/// What a person said to a question that an earlier request put.
pub(super) enum Consent {
    /// What they filled in.
    Form(FormAnswer),
    /// What they did when they were sent to the page, and what the call brings back to its upstream.
    Page(PageAnswer, Carried),
    /// They agreed to the whole call before its upstream asked for more.
    Round(Box<Round>),
}

/// What a call brings back to its upstream once a person has answered.
pub(super) struct Carried {
    pub(super) state: Option<String>,
    /// As JSON text.
    pub(super) answers: Option<String>,
}

/// What a person filled in.
pub(super) struct FormAnswer {
    /// Exactly what was asked about.
    action: Arc<Action>,
    question: QuestionDigest,
    answer: Answer,
    kept: Option<Kept>,
}

/// What a person wants to be kept of a yes, and for how long.
type Kept = (Box<Offer>, RememberScope);

/// What becomes of an action that a person must see.
pub(super) enum Approved {
    /// They agreed.
    Granted(Box<Proposed>, Granted),
    /// The client's request ends with the question.
    Asked(Delivery),
}

/// What becomes of a reply that a person must see.
pub(super) enum ReplyApproved {
    /// They agreed.
    Passed(Sent, Pass<Answered>),
    /// The client's request ends with the question.
    Asked(Delivery),
}

/// How this client can be asked.
enum Way<'a> {
    /// By a request on the stream of its own.
    Inline(&'a Arc<LegacySession>),
    /// By ending its request with the question.
    Return,
    /// At the desk.
    Desk(Arc<Desk>),
    /// Not at all.
    None,
}

// === impl Consent ===

impl Consent {
    /// Exactly what was asked about: what was kept with the answer, or the retry without what is for us. A retry that is
    /// the rest of something is that already.
    pub(super) fn asked(&self, retried: RoutedAction) -> RoutedAction {
        let action = match self {
            Self::Form(form) => Arc::clone(&form.action),
            Self::Round(_) => return retried,
            Self::Page(_, carried) => {
                let retried = &retried.action;
                let state = carried.state.as_deref().map(quote);
                let edits = [
                    ("inputResponses", carried.answers.as_deref().map_or(Edit::Remove, Edit::Set)),
                    ("requestState", state.as_deref().map_or(Edit::Remove, Edit::Set)),
                ];
                let params = edit_object(retried.params(), &edits);
                let (method, target) = (Arc::clone(retried.method()), Arc::clone(retried.target()));
                let upstream = retried.upstream().clone();
                Arc::new(Action::new(retried.kind(), upstream, method, target, params))
            }
        };
        RoutedAction { layout: Layout::of(&action), action, ..retried }
    }
}

/// Asks people, and takes their answers.
pub(crate) struct Approvals {
    pub(super) judge: Arc<Judge>,
    pub(super) seals: Arc<Seals>,
    pub(super) questions: Arc<PendingQuestions>,
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
        let (mut form, page) = match consent {
            Some(Consent::Form(form)) => (Some(form), None),
            Some(Consent::Page(page, _)) => (None, Some(page)),
            Some(Consent::Round(round)) => {
                (proposed, escalation) = match self.go_on(arrival, proposed, escalation, *round).await? {
                    Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
                    Settled::Open(proposed, escalation) => (proposed, escalation),
                };
                (None, None)
            }
            None => (None, None),
        };
        for _ in 0..MAX_QUESTIONS {
            self.judge.recorder.escalation(&proposed, &escalation)?;
            // What was asked by a form may have become more than a form may ask.
            // Whether a conversation is new is said on the page or in the terminal, not by a client.
            let by_form = escalation.takes_form(proposed.label()) && proposed.earlier == Earlier::Indifferent;
            let arguments = shown_in_form(&proposed, by_form);
            form = form.filter(|_| arguments.is_some());
            if form.is_none() && page.is_none() {
                (proposed, escalation) = match self.agreed_with_challenge(proposed, escalation).await? {
                    Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
                    Settled::Open(proposed, escalation) => (proposed, escalation),
                };
                (proposed, escalation) = match self.permitted_by_file(proposed, escalation).await? {
                    Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
                    Settled::Open(proposed, escalation) => (proposed, escalation),
                };
            }
            let (question, answer, kept) = match form.take() {
                Some(form) => (form.question, form.answer, form.kept),
                None => match self.way(arrival, &proposed, arguments.is_some(), page) {
                    Way::Desk(desk) => {
                        return self.approve_at_desk(&desk, arrival, proposed, escalation, page).await;
                    }
                    way @ (Way::Inline(_) | Way::Return) => {
                        let (settled, offer) = self.before_form(arrival, proposed, escalation).await?;
                        (proposed, escalation) = match settled {
                            Settled::Granted(proposed, granted) => {
                                return Ok(Approved::of(proposed, granted));
                            }
                            Settled::Open(proposed, escalation) => (proposed, escalation),
                        };
                        let arguments = arguments.as_deref().unwrap_or_default();
                        let form = self.form(&proposed, &escalation, arguments, offer.as_deref());
                        self.judge.recorder.asked(&proposed, escalation.question(), "form")?;
                        let Way::Inline(session) = way else {
                            let asked =
                                self.return_question(arrival, &proposed, &escalation, (form, offer))?;
                            return Ok(Approved::Asked(asked));
                        };
                        let (answer, scope) = ask_person(arrival, session, &form).await;
                        (escalation.question(), answer, offer.zip(scope))
                    }
                    Way::None => return Err(self.judge.recorder.unasked(&proposed, &escalation.unasked())),
                },
            };
            self.judge.recorder.answer(&proposed, question, answer)?;
            let answered = escalation.answered(question, answer);
            if answered.is_ok() {
                // A legacy client can answer a form after the stream of its call broke.
                if !arrival.is_awaited() {
                    return Err(Refusal::gone(&proposed.decision));
                }
                if let Some(kept) = kept {
                    self.keep_answer(&proposed, kept).await;
                }
                proposed = self.judge.renewed(proposed)?;
            }
            let by = format!("a form of {}", proposed.caller.principal);
            // The form showed all that is sent, and the operator says that a person answers it.
            let basis = Basis::on_record(format!("question {question}")).seen().said_by(&by);
            (proposed, escalation) = match self.judge.judge_answered(proposed, answered, basis).await? {
                Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
                Settled::Open(proposed, escalation) => (proposed, escalation),
            };
        }
        Err(self.judge.recorder.declined(&proposed, &escalation.unasked()))
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

    /// Keeps what a person wants to be kept. Where that fails they are asked again next time, and nothing else is lost.
    async fn keep_answer(&self, proposed: &Proposed, (offer, scope): Kept) {
        let Some(desk) = &self.judge.service else { return };
        let by = By::Client(proposed.caller.principal.as_str());
        if let Err(error) = desk.take_offer(*offer, scope, by).await {
            tracing::error!(%error, decision = %proposed.decision, "an answer could not be remembered");
        }
    }

    fn form(
        &self,
        proposed: &Proposed,
        escalation: &Escalation,
        arguments: &str,
        offer: Option<&Offer>,
    ) -> Form {
        let offers = offer.map(Offer::for_form).unwrap_or_default();
        let question = self.judge.sessions.stories.with(proposed.session().key(), |story| {
            words::question(proposed, escalation.findings(), story, !offers.is_empty())
        });
        Form { text: arguments::with_arguments(&question, arguments), offers }
    }

    /// Holds a reply until a person has answered. The call has run.
    pub(super) async fn approve_reply(
        &self,
        arrival: &Arrival,
        mut sent: Sent,
        held: HeldReply<Answered>,
    ) -> Result<ReplyApproved, Refusal> {
        let permitted = Arc::clone(&sent.permitted);
        let asks = words::question_about_reply(
            &permitted,
            held.escalation().findings(),
            held.is_flagged().then(|| held.label()),
        );
        let question = held.escalation().question();
        let arguments = shown_in_form(&permitted, held.escalation().takes_form(permitted.label()));
        let form = Form::once(arguments::with_arguments(&asks, arguments.as_deref().unwrap_or_default()));
        match self.way(arrival, &permitted, arguments.is_some(), None) {
            Way::None => Err(sent.withhold(&held.unasked())),
            Way::Desk(desk) if wait::returns_page(arrival) => {
                self.send_reply_to_page(&desk, arrival, sent, held).await.map(ReplyApproved::Asked)
            }
            Way::Desk(desk) => self.release_at_desk(&desk, arrival, sent, held).await,
            Way::Inline(session) => {
                self.judge.recorder.asked(&permitted, question, "form")?;
                let (answer, _) = ask_person(arrival, session, &form).await;
                self.release_answered(sent, held, answer).await
            }
            Way::Return => {
                self.judge.recorder.asked(&permitted, question, "form")?;
                let waiting = WaitingReply { sent, held };
                let (subject, shown) = (Subject::Reply(Box::new(waiting)), Shown::Form(form));
                let state = self.keep_question(arrival, &permitted, subject, &shown)?;
                // The call has run, so nothing here says that it has not.
                let asked = form::input_required_again(arrival.id(), &shown, &state);
                Ok(ReplyApproved::Asked(Delivery::ours(asked, None)))
            }
        }
    }

    /// Releases a reply if a person said so, judged again with everything as it is now.
    pub(super) async fn release_answered(
        &self,
        mut sent: Sent,
        held: HeldReply<Answered>,
        answer: Answer,
    ) -> Result<ReplyApproved, Refusal> {
        let question = held.escalation().question();
        self.judge.recorder.answer(&sent.permitted, question, answer)?;
        match held.answered(question, answer) {
            Ok(approved) => self.release(sent, approved).await,
            Err(denial) => Err(sent.withhold(&denial)),
        }
    }

    /// Judges a reply that a person agreed to once more, with everything as it is now.
    async fn release(
        &self,
        mut sent: Sent,
        approved: ApprovedReply<Answered>,
    ) -> Result<ReplyApproved, Refusal> {
        let permitted = Arc::clone(&sent.permitted);
        let policy = Arc::clone(&self.judge.world.load().policy);
        let now = self.judge.sessions.current(permitted.session()).await;
        let standing = permitted.caller.standing();
        let session = now.possible();
        let facts = permitted.facts_of_reply(&session, &standing.grant);
        match decide_reply_approved(&policy, &facts, approved) {
            ReplyVerdict::Pass(pass) => Ok(ReplyApproved::Passed(sent, pass)),
            ReplyVerdict::Hold(held) => Err(sent.withhold(&held.unasked())),
            ReplyVerdict::Withhold(denial) => Err(sent.withhold(&denial)),
        }
    }

    /// Ends a modern client's request with the question. Its retry brings the answer.
    fn return_question(
        &self,
        arrival: &Arrival,
        proposed: &Proposed,
        escalation: &Escalation,
        (form, offer): (Form, Option<Box<Offer>>),
    ) -> Result<Delivery, Refusal> {
        let action = Arc::clone(&proposed.action);
        let subject = Subject::Call { action, question: escalation.question(), offer };
        let shown = Shown::Form(form.clone());
        let state = self.keep_question(arrival, proposed, subject, &shown)?;
        Ok(Delivery::ours(form::input_required(arrival.id(), &proposed.decision, &form, &state), None))
    }

    /// Keeps a question until its answer comes, and gives the state that must come with it.
    fn keep_question(
        &self,
        arrival: &Arrival,
        proposed: &Proposed,
        subject: Subject,
        shown: &Shown,
    ) -> Result<String, Refusal> {
        let decision = &proposed.decision;
        let id = fresh_id();
        let state = self
            .seals
            .state(arrival, GoesOn::Asked(id.clone()))
            .ok_or_else(|| Refusal::internal(decision))?;
        let principal = proposed.caller.principal.clone();
        let pending = Pending { principal, subject, shown: shown.clone() };
        let kept = self.questions.put(&self.questions, id, pending);
        kept.map_err(|_| Refusal::too_many_questions(decision))?;
        Ok(state)
    }

    /// Takes the answer out of a retried request; `None` if it brings none, so that the question is put again.
    pub(super) fn answered(&self, arrival: &Arrival, id: &str) -> Result<Option<Resolved>, Refusal> {
        let answers = arrival.frame.param("inputResponses");
        let Some(answer) = answers.and_then(|answers| member(answers, APPROVAL)) else {
            return Ok(None);
        };
        // Taken, and so used up, whatever the answer is.
        let (answer, scope) = (form::answer(Some(answer)), form::scope(Some(answer)));
        Ok(Some(match self.questions.take(id).ok_or_else(Refusal::expired)?.subject {
            Subject::Call { action, question, offer } => {
                let kept = offer.zip(scope);
                Resolved::Call(Consent::Form(FormAnswer { action, question, answer, kept }))
            }
            Subject::Reply(waiting) => Resolved::Reply(waiting, answer),
            // Answered at the page and nowhere else.
            Subject::ReplyAtPage(waiting, _) => Resolved::Reply(waiting, Answer::Silence),
        }))
    }

    /// The question once more, for a retry that did not answer it.
    pub(super) fn question_again(
        &self,
        arrival: &Arrival,
        id: &str,
        state: &str,
    ) -> Result<Delivery, Refusal> {
        let shown = self.questions.shown(id).ok_or_else(Refusal::expired)?;
        Ok(Delivery::ours(form::input_required_again(arrival.id(), &shown, state), None))
    }

    /// How this client's person is asked. A form is enough for what may be asked by one, where the client has forms and
    /// brings no signature; everything else is for the desk.
    fn way<'a>(
        &self,
        arrival: &'a Arrival,
        proposed: &Proposed,
        by_form: bool,
        page: Option<PageAnswer>,
    ) -> Way<'a> {
        let signed = || {
            arrival.method == Some(Method::CallTool)
                && proposed.relayed.is_none()
                && arrival.frame.meta(VERIFIED_APPROVAL).is_some()
        };
        let forms = by_form
            && page.is_none()
            && arrival.attended
            && declares(arrival.client.capabilities(), AskKind::ElicitForm);
        if forms && !(self.judge.service.is_some() && signed()) {
            match (&arrival.client, arrival.method) {
                (Client::Legacy(session), _) => return Way::Inline(session),
                (Client::Modern(_), Some(Method::CallTool | Method::GetPrompt | Method::ReadResource)) => {
                    return Way::Return;
                }
                (Client::Modern(_), _) => {}
            }
        }
        // Nobody is called to what nobody waits for.
        let desk = self.judge.service.as_ref().filter(|_| arrival.attended);
        desk.map_or(Way::None, |desk| Way::Desk(Arc::clone(desk)))
    }
}

/// The arguments as a form shows them, where it may ask and can show all of them: whether a person stands behind it is for
/// the operator to say.
fn shown_in_form(proposed: &Proposed, by_form: bool) -> Option<String> {
    (by_form && proposed.standing.forms == Forms::Person).then(|| arguments::shown(proposed)).flatten()
}

/// Puts a form to a legacy client.
async fn ask_person(
    arrival: &Arrival,
    session: &LegacySession,
    form: &Form,
) -> (Answer, Option<RememberScope>) {
    let params = form::params(form);
    let answer = put(arrival, session, "elicitation/create", Some(&params)).await;
    match &answer {
        Some(answer) => (form::answer(answer.result()), form::scope(answer.result())),
        None => (Answer::Silence, None),
    }
}
