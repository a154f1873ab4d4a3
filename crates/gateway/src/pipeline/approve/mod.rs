//! Asks a person about a call that is held: by a form where a form is enough and the client has them, else at the desk.
//! The answer is bound to the exact call, used once, and the call is judged again before it goes out.

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
    Answer, AskKind, Effect, Escalation, HeldReply, Pass, Permit, QuestionDigest, ReplyVerdict, Unapproved,
    Verdict, decide_reply_approved,
};
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::method::Method;
use highwater_mcp::text::quote;

use before::Posed;
pub(super) use desk::PageAnswer;
use desk::Settled;
pub(super) use form::APPROVAL;
use form::{Form, Shown};
pub(crate) use pending::PendingQuestions;
pub(super) use pending::WaitingReply;
use pending::{Pending, Subject};
use rebuild::{Allowed, Unshown, rebuilt};
pub(crate) use signable::through;
pub(super) use wait::PendingApproval;

use super::arrival::Course;
use super::gather::Letter;
use super::layout::Layout;
use super::undertaking::Undertaking;
use super::{Arrival, Delivery, Flight, Refusal};
use crate::approvals::{By, Desk, Offer, RememberScope};
use crate::client::{Client, declares};
use crate::gateway::Gateway;

/// How often a person is asked in the course of one call: what has changed while they thought is a new question.
const MAX_QUESTIONS: usize = 3;

/// What an answered question leads on with.
pub(super) enum Answered {
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

/// What becomes of an action, or of a reply, that a person must see.
pub(super) enum Approved<T> {
    /// They agreed.
    Granted(T),
    /// The client's request ends with the question.
    Asked(Delivery),
}

/// How this client can be asked.
enum Way<'a> {
    /// By a request on the stream of its own.
    Inline(&'a Arc<crate::client::LegacySession>),
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
    pub(super) fn asked(&self, retried: Action) -> Arc<Action> {
        match self {
            Self::Form(form) => Arc::clone(&form.action),
            Self::Round(_) => Arc::new(retried),
            Self::Page(_, carried) => {
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
        }
    }
}

impl Gateway {
    /// Holds an action until a person has answered, and judges it again with everything as it is then.
    pub(super) async fn approve(
        &self,
        arrival: &Arrival,
        course: &Course,
        undertaking: &mut Undertaking,
        escalation: Escalation,
        consent: Option<Consent>,
    ) -> Result<Approved<Permit>, Refusal> {
        undertaking.sealed = self.seals(undertaking);
        let allowed = Allowed {
            answers: consent.is_some() || undertaking.action.kind() == ActionKind::Answer,
            relayed: undertaking.relayed.is_some(),
        };
        let rebuilt = match rebuilt(course, &undertaking.action, allowed) {
            Ok(rebuilt) => rebuilt,
            Err(Unshown(member)) => {
                // On record as what nobody can be asked about.
                drop(self.unasked(undertaking, &escalation.unasked()));
                return Err(Refusal::unshown(&undertaking.decision, &member));
            }
        };
        let mut escalation = escalation;
        // What a person is shown is what is sent, so that is what is judged.
        if let Some(action) = rebuilt {
            undertaking.layout = Layout::of(&action);
            undertaking.action = action;
            escalation = match self.judge(undertaking).await {
                Verdict::Allow(permit) => return Ok(Approved::Granted(permit)),
                Verdict::Block(denial) => return Err(self.block(undertaking, &denial)),
                Verdict::Escalate(escalation) => escalation,
            };
        }
        let (mut form, page) = match consent {
            Some(Consent::Form(form)) => (Some(form), None),
            Some(Consent::Page(page, _)) => (None, Some(page)),
            Some(Consent::Round(round)) => {
                escalation = match self.go_on(arrival, course, undertaking, escalation, *round).await? {
                    Settled::Granted(permit) => return Ok(Approved::Granted(permit)),
                    Settled::Open(escalation) => escalation,
                };
                (None, None)
            }
            None => (None, None),
        };
        for _ in 0..MAX_QUESTIONS {
            self.record_escalation(undertaking, &escalation)?;
            if form.is_none() && page.is_none() {
                escalation = match self.agreed_with_challenge(undertaking, escalation).await? {
                    Settled::Granted(permit) => return Ok(Approved::Granted(permit)),
                    Settled::Open(escalation) => escalation,
                };
            }
            let (question, answer, kept) = match form.take() {
                Some(form) => (form.question, form.answer, form.kept),
                None => match self.way(arrival, undertaking, escalation.grade(), page) {
                    Way::Desk(desk) => {
                        return self
                            .approve_at_desk(&desk, arrival, course, undertaking, escalation, page)
                            .await;
                    }
                    Way::Inline(session) => {
                        let posed = self.before_form(arrival, course, undertaking, escalation).await?;
                        let Posed { escalation: posed, offer } = match posed {
                            Ok(permit) => return Ok(Approved::Granted(permit)),
                            Err(posed) => posed,
                        };
                        escalation = posed;
                        let form = self.form(undertaking, &escalation, offer.is_some());
                        self.record_asked(undertaking, escalation.question(), "form")?;
                        let (answer, scope) = self.ask_person(arrival, session, &form).await;
                        (escalation.question(), answer, offer.zip(scope))
                    }
                    Way::Return => {
                        let posed = match self.before_form(arrival, course, undertaking, escalation).await? {
                            Ok(permit) => return Ok(Approved::Granted(permit)),
                            Err(posed) => posed,
                        };
                        self.record_asked(undertaking, posed.escalation.question(), "form")?;
                        let delivery = self.return_question(arrival, undertaking, posed)?;
                        return Ok(Approved::Asked(delivery));
                    }
                    Way::None => return Err(self.unasked(undertaking, &escalation.unasked())),
                },
            };
            self.record_answer(undertaking, question, answer)?;
            escalation = match escalation.answered(question, answer) {
                Ok(approval) => {
                    // A legacy client can answer a form after the stream of its call broke.
                    if !arrival.is_awaited() {
                        return Err(Refusal::gone(&undertaking.decision));
                    }
                    if let Some(kept) = kept {
                        self.keep_answer(undertaking, kept).await;
                    }
                    self.refresh(course, undertaking)?;
                    undertaking.agreed = Some(format!("question {question}").into());
                    match self.judge_approved(undertaking, approval).await {
                        Verdict::Allow(permit) => return Ok(Approved::Granted(permit)),
                        Verdict::Escalate(another) => another,
                        Verdict::Block(denial) => return Err(self.block(undertaking, &denial)),
                    }
                }
                Err(Unapproved::Declined(denial)) => return Err(self.declined(undertaking, &denial)),
                Err(Unapproved::AnotherQuestion(escalation)) => escalation,
            };
        }
        Err(self.declined(undertaking, &escalation.unasked()))
    }

    /// Keeps what a person wants to be kept. Where that fails they are asked again next time, and nothing else is lost.
    async fn keep_answer(&self, undertaking: &Undertaking, (offer, scope): Kept) {
        let Some(desk) = self.desk() else { return };
        let by = By::Client(undertaking.caller.principal.as_str());
        if let Err(error) = desk.take_offer(*offer, scope, by).await {
            tracing::error!(%error, decision = %undertaking.decision, "an answer could not be remembered");
        }
    }

    fn form(&self, undertaking: &Undertaking, escalation: &Escalation, offers: bool) -> Form {
        let text = self.stories.with(undertaking.session().key(), |story| {
            words::question(undertaking, escalation.findings(), story, offers)
        });
        Form { text, offers }
    }

    /// Whether nothing of a call that waits for a person may stay behind but what an auditor can open. What is read is
    /// named in the log, so its address is no secret.
    pub(super) fn seals(&self, undertaking: &Undertaking) -> bool {
        let Some(desk) = self.desk() else { return false };
        let action = &undertaking.action;
        match action.kind() {
            // What a call is given later goes with its arguments.
            ActionKind::CallTool
            | ActionKind::CreateChallenge
            | ActionKind::GetPrompt
            | ActionKind::Answer => {}
            _ => return false,
        }
        let tool = undertaking.tool.as_ref().map(|tool| &*tool.own);
        desk.seals(action.upstream(), tool, &undertaking.before.label, &undertaking.judged)
    }

    /// The policy and the tool's definition of this moment: a person may have thought for long.
    fn refresh(&self, course: &Course, undertaking: &mut Undertaking) -> Result<(), Refusal> {
        let world = self.world.load_full();
        let gone = || Refusal::changed(&undertaking.decision);
        let server = world.virtual_server(&undertaking.caller.virtual_server).ok_or_else(gone)?;
        let names = server.known();
        let contracts = names.contracts(undertaking.action.upstream()).ok_or_else(gone)?;
        if let Some(tool) = &course.tool
            && contracts.tool(&tool.own).contract != undertaking.known.contract
        {
            return Err(gone());
        }
        undertaking.policy = Arc::clone(&world.policy);
        Ok(())
    }

    /// Holds a reply until a person has answered. The call has run.
    pub(super) async fn approve_reply(
        &self,
        arrival: &Arrival,
        course: &Course,
        mut flight: Flight,
        held: HeldReply<Letter>,
    ) -> Result<Delivery, Refusal> {
        let undertaking = Arc::clone(&flight.undertaking);
        let form = Form::once(words::question_about_reply(&undertaking, held.escalation().findings()));
        let question = held.escalation().question();
        match self.way(arrival, &undertaking, held.escalation().grade(), None) {
            Way::None => Err(self.withhold(&mut flight, &held.unasked())),
            Way::Desk(desk) if wait::returns_page(arrival) => {
                self.send_reply_to_page(&desk, arrival, course, flight, held).await
            }
            Way::Desk(desk) => self.release_at_desk(&desk, arrival, course, flight, held).await,
            Way::Inline(session) => {
                self.record_asked(&undertaking, question, "form")?;
                let (answer, _) = self.ask_person(arrival, session, &form).await;
                self.release_approved(arrival, course, flight, held, answer).await
            }
            Way::Return => {
                self.record_asked(&undertaking, question, "form")?;
                let waiting = WaitingReply { flight, course: course.clone(), held };
                let (subject, shown) = (Subject::Reply(Box::new(waiting)), Shown::Form(form));
                let state = self.keep_question(arrival, &undertaking, subject, &shown)?;
                // The call has run, so nothing here says that it has not.
                Ok(Delivery::ours(form::input_required_again(arrival.id(), &shown, &state), None))
            }
        }
    }

    /// Releases a reply if a person said so, judged again with everything as it is now.
    pub(super) async fn release_approved(
        &self,
        arrival: &Arrival,
        course: &Course,
        mut flight: Flight,
        held: HeldReply<Letter>,
        answer: Answer,
    ) -> Result<Delivery, Refusal> {
        let pass = self.approved(&mut flight, held, answer).await?;
        self.commit(arrival, course, flight, pass).await
    }

    async fn approved(
        &self,
        flight: &mut Flight,
        held: HeldReply<Letter>,
        answer: Answer,
    ) -> Result<Pass<Letter>, Refusal> {
        let undertaking = Arc::clone(&flight.undertaking);
        let question = held.escalation().question();
        self.record_answer(&undertaking, question, answer)?;
        let approved = match held.answered(question, answer) {
            Ok(approved) => approved,
            Err(denial) => return Err(self.withhold(flight, &denial)),
        };
        let policy = Arc::clone(&self.world.load().policy);
        let now = self.label_of_moment(undertaking.session()).await;
        let standing = undertaking.caller.standing();
        let facts = undertaking.facts_of_reply(&now.label, &standing.grant);
        match decide_reply_approved(&policy, &facts, approved) {
            ReplyVerdict::Pass(pass) => Ok(pass),
            ReplyVerdict::Hold(held) => Err(self.withhold(flight, &held.unasked())),
            ReplyVerdict::Withhold(denial) => Err(self.withhold(flight, &denial)),
        }
    }

    /// Ends a modern client's request with the question. Its retry brings the answer.
    fn return_question(
        &self,
        arrival: &Arrival,
        undertaking: &Undertaking,
        Posed { escalation, offer }: Posed,
    ) -> Result<Delivery, Refusal> {
        let decision = &undertaking.decision;
        let form = self.form(undertaking, &escalation, offer.is_some());
        let action = Arc::clone(&undertaking.action);
        let subject = Subject::Call { action, question: escalation.question(), offer };
        let shown = Shown::Form(form.clone());
        let state = self.keep_question(arrival, undertaking, subject, &shown)?;
        Ok(Delivery::ours(form::input_required(arrival.id(), decision, &form, &state), None))
    }

    /// Keeps a question until its answer comes, and gives the state that must come with it.
    fn keep_question(
        &self,
        arrival: &Arrival,
        undertaking: &Undertaking,
        subject: Subject,
        shown: &Shown,
    ) -> Result<String, Refusal> {
        let decision = &undertaking.decision;
        let id = self.fresh_id();
        let state = self.asked_state(arrival, id.clone()).ok_or_else(|| Refusal::internal(decision))?;
        let principal = undertaking.caller.principal.clone();
        let pending = Pending { principal, subject, shown: shown.clone() };
        self.pending.put(&self.pending, id, pending).map_err(|_| Refusal::too_many_questions(decision))?;
        Ok(state)
    }

    /// Takes the answer out of a retried request; `None` if it brings none, so that the question is put again.
    pub(super) fn answered(&self, arrival: &Arrival, id: &str) -> Result<Option<Answered>, Refusal> {
        let answers = arrival.frame.param("inputResponses");
        let Some(answer) = answers.and_then(|answers| highwater_mcp::text::member(answers, APPROVAL)) else {
            return Ok(None);
        };
        // Taken, and so used up, whatever the answer is.
        let (answer, scope) = (form::answer(Some(answer)), form::scope(Some(answer)));
        Ok(Some(match self.pending.take(id).ok_or_else(Refusal::expired)?.subject {
            Subject::Call { action, question, offer } => {
                let kept = offer.zip(scope);
                Answered::Call(Consent::Form(FormAnswer { action, question, answer, kept }))
            }
            Subject::Reply(waiting) => Answered::Reply(waiting, answer),
            // Answered at the page and nowhere else.
            Subject::ReplyAtPage(waiting, _) => Answered::Reply(waiting, Answer::Silence),
        }))
    }

    /// The question once more, for a retry that did not answer it.
    pub(super) fn question_again(
        &self,
        arrival: &Arrival,
        id: &str,
        state: &str,
    ) -> Result<Delivery, Refusal> {
        let shown = self.pending.shown(id).ok_or_else(Refusal::expired)?;
        Ok(Delivery::ours(form::input_required_again(arrival.id(), &shown, state), None))
    }

    /// How this client's person is asked. A form is enough for what takes no passkey, where the client has forms and
    /// brings no signature; everything else is for the desk.
    fn way<'a>(
        &self,
        arrival: &'a Arrival,
        undertaking: &Undertaking,
        grade: Effect,
        page: Option<PageAnswer>,
    ) -> Way<'a> {
        let signed = || {
            arrival.method == Some(Method::CallTool)
                && undertaking.relayed.is_none()
                && arrival.frame.meta(VERIFIED_APPROVAL).is_some()
        };
        let forms = grade <= Effect::Confirm
            && page.is_none()
            && arrival.attended
            && declares(arrival.client.capabilities(), AskKind::ElicitForm);
        if forms && !(self.desk().is_some() && signed()) {
            match (&arrival.client, arrival.method) {
                (Client::Legacy(session), _) => return Way::Inline(session),
                (Client::Modern(_), Some(Method::CallTool | Method::GetPrompt | Method::ReadResource)) => {
                    return Way::Return;
                }
                (Client::Modern(_), _) => {}
            }
        }
        // Nobody is called to what nobody waits for.
        let desk = self.desk().filter(|_| arrival.attended);
        desk.map_or(Way::None, |desk| Way::Desk(Arc::clone(desk)))
    }

    async fn ask_person(
        &self,
        arrival: &Arrival,
        session: &crate::client::LegacySession,
        form: &Form,
    ) -> (Answer, Option<RememberScope>) {
        let params = form::params(form);
        let answer = self.put(arrival, session, "elicitation/create", Some(&params)).await;
        match &answer {
            Some(answer) => (form::answer(answer.result()), form::scope(answer.result())),
            None => (Answer::Silence, None),
        }
    }
}
