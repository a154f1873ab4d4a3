//! Forms, and questions that end a client's request: the question is kept here, and its retry brings the answer.

use std::sync::Arc;

use highwater_core::action::Action;
use highwater_core::approval::Round;
use highwater_core::decide::{Answer, Escalation, QuestionDigest};
use highwater_core::pin::PinDigest;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::text::{member, quote};

use super::super::arrival::RoutedAction;
use super::super::ask::put;
use super::super::layout::Layout;
use super::super::proposed::Proposed;
use super::super::seals::GoesOn;
use super::super::{Arrival, Delivery, Refusal};
use super::channel::call_in_form;
use super::form::{self, APPROVAL, Form, FormView};
use super::given::Kept;
use super::page_request::PageAnswer;
use super::pending::{Pending, Subject, WaitingReply};
use super::{Approvals, HeldCall, arguments, words};
use crate::approvals::{By, Offer, RememberScope};
use crate::client::LegacySession;
use crate::gateway::fresh_id;

/// What a person said to a question that an earlier request put.
pub(in crate::pipeline) enum Consent {
    /// What they filled in.
    Form(FormAnswer),
    /// What they did when they were sent to the page, and what the call brings back to its upstream.
    Page(PageAnswer, Carried),
    /// They agreed to the whole call before its upstream asked for more.
    Round(Box<Round>),
}

/// What an answered question leads on with.
pub(in crate::pipeline) enum Resolved {
    /// A call that may now be made.
    Call(Consent),
    /// A reply that may now be released.
    Reply(Box<WaitingReply>, Answer),
}

/// What a call brings back to its upstream once a person has answered.
pub(in crate::pipeline) struct Carried {
    pub(in crate::pipeline) state: Option<String>,
    /// As JSON text.
    pub(in crate::pipeline) answers: Option<String>,
}

/// What a person filled in.
pub(in crate::pipeline) struct FormAnswer {
    /// Exactly what was asked about.
    action: Arc<Action>,
    pub(super) question: QuestionDigest,
    pub(super) definition: Option<PinDigest>,
    pub(super) answer: Answer,
    pub(super) kept: Option<Kept>,
}

// === impl Consent ===

impl Consent {
    /// Exactly what was asked about: what was kept with the answer, or the retry without what is for us. A retry that is
    /// the rest of something is that already.
    pub(in crate::pipeline) fn asked(&self, retried: RoutedAction) -> RoutedAction {
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

// === impl Approvals ===

impl Approvals {
    /// The form that asks about a call, and what may be kept of a yes.
    pub(super) fn form(
        &self,
        call: &HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> (Form, Option<Box<Offer>>) {
        // What cannot be signed is asked about as it came, and nothing of it is remembered.
        let here = call.on_page.as_ref().ok();
        let offer = here.and_then(|here| self.offer(here, proposed, escalation)).map(Box::new);
        let offers = offer.as_deref().map(Offer::for_form).unwrap_or_default();
        let values = self.value_words(proposed, escalation);
        let question = self.judge.sessions.stories.with(proposed.session().key(), |story| {
            words::question(proposed, escalation.findings(), story, values, !offers.is_empty())
        });
        let arguments = call_in_form(proposed, escalation).unwrap_or_default();
        (Form { text: arguments::with_arguments(&question, &arguments), offers }, offer)
    }

    /// Keeps what a person wants to be kept. Where that fails they are asked again next time, and nothing else is lost.
    pub(super) async fn keep_answer(&self, proposed: &Proposed, (offer, scope): Kept) {
        let Some(approval_service) = &self.judge.service else { return };
        let by = By::Client(proposed.caller.principal.as_str());
        if let Err(error) = approval_service.take_offer(*offer, scope, by).await {
            tracing::error!(%error, decision = %proposed.decision, "an answer could not be remembered");
        }
    }

    /// Ends a modern client's request with the question. Its retry brings the answer.
    pub(super) fn return_question(
        &self,
        arrival: &Arrival,
        proposed: &Proposed,
        question: QuestionDigest,
        (form, offer): (Form, Option<Box<Offer>>),
    ) -> Result<Delivery, Refusal> {
        let definition = self.judge.tool_definition(proposed);
        let subject = Subject::Call { action: Arc::clone(&proposed.action), question, definition, offer };
        let shown = FormView::Form(form.clone());
        let state = self.keep_question(arrival, proposed, subject, &shown)?;
        Ok(Delivery::ours(form::input_required(arrival.id(), &proposed.decision, &form, &state), None))
    }

    /// Keeps a question until its answer comes, and gives the state that must come with it.
    pub(super) fn keep_question(
        &self,
        arrival: &Arrival,
        proposed: &Proposed,
        subject: Subject,
        shown: &FormView,
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
    pub(in crate::pipeline) fn answered(
        &self,
        arrival: &Arrival,
        id: &str,
    ) -> Result<Option<Resolved>, Refusal> {
        let answers = arrival.frame.param("inputResponses");
        let Some(answer) = answers.and_then(|answers| member(answers, APPROVAL)) else {
            return Ok(None);
        };
        // Taken, and so used up, whatever the answer is.
        let (answer, scope) = (form::answer(Some(answer)), form::scope(Some(answer)));
        Ok(Some(match self.questions.take(id).ok_or_else(Refusal::expired)?.subject {
            Subject::Call { action, question, definition, offer } => {
                let kept = offer.zip(scope);
                Resolved::Call(Consent::Form(FormAnswer { action, question, definition, answer, kept }))
            }
            Subject::Reply(waiting) => Resolved::Reply(waiting, answer),
            // Answered at the page and nowhere else.
            Subject::ReplyAtPage(waiting, _) => Resolved::Reply(waiting, Answer::Silence),
        }))
    }

    /// The question once more, for a retry that did not answer it.
    pub(in crate::pipeline) fn question_again(
        &self,
        arrival: &Arrival,
        id: &str,
        state: &str,
    ) -> Result<Delivery, Refusal> {
        let shown = self.questions.shown(id).ok_or_else(Refusal::expired)?;
        Ok(Delivery::ours(form::input_required_again(arrival.id(), &shown, state), None))
    }
}

/// Puts a form to a legacy client.
pub(super) async fn ask_person(
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
