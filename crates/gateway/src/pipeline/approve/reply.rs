//! A reply that a person must see first: the call has run, so the reply waits here and nothing is run again.

use std::sync::Arc;

use highwater_core::decide::{
    Answer, ApprovedReply, HeldReply, Pass, Proof, ReplyVerdict, decide_reply_approved,
};
use highwater_core::id::ApprovalId;
use highwater_notation::CanonicalArguments;
use highwater_passkey::{ActionHash, ReservedAction, ToolName};
use highwater_store::{ApprovalRequest, RequestState};
use tokio::time::Instant;

use super::super::gather::Answered;
use super::super::permitted::Permitted;
use super::super::resume::Resumed;
use super::super::sent::Sent;
use super::super::{Arrival, Delivery, Refusal};
use super::channel::shown_in_form;
use super::form::{Form, FormView, Page, input_required_again};
use super::page_request::{PageAnswer, failed, granted};
use super::pending::{Subject, WaitingReply};
use super::question::Channel;
use super::retry::ask_person;
use super::wait::RETRY_WAIT;
use super::{Approvals, arguments, words};
use crate::approvals::{
    ApprovalFault, ApprovalService, AskAnswer, AskView, By, ContextView, ConversationView, NewAsk, rules_of,
};
use crate::client::Client;

/// What becomes of a reply that a person must see.
pub(in crate::pipeline) enum ReplyApproved {
    /// They agreed.
    Passed(Sent, Pass<Answered>),
    /// The client's request ends with the question.
    Asked(Delivery),
}

/// How a person is led to the page by the address that their client was given, for the record.
const URL: &str = "url";

// === impl Approvals ===

impl Approvals {
    /// Holds a reply until a person has answered. The call has run.
    pub(in crate::pipeline) async fn approve_reply(
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
        let arguments = shown_in_form(&permitted, held.escalation());
        let form = Form::once(arguments::with_arguments(&asks, arguments.as_deref().unwrap_or_default()));
        let channel = self.reply_channel(arrival, &permitted, held.escalation());
        match (channel, &arrival.client, &self.judge.service) {
            (Some(Channel::FormRequest), Client::Legacy(session), _) => {
                self.judge.recorder.asked(&permitted, question, "form")?;
                let (answer, _) = ask_person(arrival, session, &form).await;
                self.release_answered(sent, held, answer).await
            }
            (Some(Channel::FormResult), ..) => {
                self.judge.recorder.asked(&permitted, question, "form")?;
                let waiting = WaitingReply { sent, held };
                let (subject, shown) = (Subject::Reply(Box::new(waiting)), FormView::Form(form));
                let state = self.keep_question(arrival, &permitted, subject, &shown)?;
                // The call has run, so nothing here says that it has not.
                let asked = input_required_again(arrival.id(), &shown, &state);
                Ok(ReplyApproved::Asked(Delivery::ours(asked, None)))
            }
            (Some(Channel::UrlResult), _, Some(approval_service)) => {
                self.send_reply_to_page(approval_service, arrival, sent, held).await.map(ReplyApproved::Asked)
            }
            (Some(_), _, Some(approval_service)) => {
                self.release_on_page(approval_service, arrival, sent, held).await
            }
            (None, ..) | (_, _, None) => Err(sent.withhold(&held.unasked())),
        }
    }

    /// Releases a reply if a person said so, judged again with everything as it is now.
    pub(in crate::pipeline) async fn release_answered(
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

    /// Holds a reply until a person has answered at the approval service, and releases it if they agreed.
    async fn release_on_page(
        &self,
        approval_service: &Arc<ApprovalService>,
        arrival: &Arrival,
        mut sent: Sent,
        held: HeldReply<Answered>,
    ) -> Result<ReplyApproved, Refusal> {
        let permitted = Arc::clone(&sent.permitted);
        let answer = match self.ask_about_reply(approval_service, arrival, &permitted, &held, "page").await {
            Ok(Some(request)) => {
                // Nobody can call for it again.
                let until = Instant::now() + approval_service.settings().hold_with_link;
                let settled = approval_service.settled(&request.id, until).await;
                settled.map_err(|fault| failed(&permitted, &fault))
            }
            Ok(None) => Ok(None),
            Err(refusal) => Err(refusal),
        };
        match answer {
            // Nobody agreed while its caller waited.
            Ok(request) => {
                let agreed = |request: &ApprovalRequest| {
                    request.state == RequestState::Approved && arrival.is_awaited()
                };
                self.release_granted(sent, held, request.filter(agreed)).await
            }
            Err(refusal) => {
                drop(sent.withhold(&held.unasked()));
                Err(refusal)
            }
        }
    }

    /// Ends a modern client's request with the address of the page. The reply stays here until the answer is fetched, and
    /// what goes out holds nothing of it.
    async fn send_reply_to_page(
        &self,
        approval_service: &Arc<ApprovalService>,
        arrival: &Arrival,
        mut sent: Sent,
        held: HeldReply<Answered>,
    ) -> Result<Delivery, Refusal> {
        let permitted = Arc::clone(&sent.permitted);
        let request = match self.ask_about_reply(approval_service, arrival, &permitted, &held, URL).await {
            Ok(Some(request)) => request,
            Ok(None) => return Err(sent.withhold(&held.unasked())),
            Err(refusal) => {
                drop(sent.withhold(&held.unasked()));
                return Err(refusal);
            }
        };
        let text = format!(
            "Let the agent read a reply, or withhold it: {} on {}",
            permitted.name(),
            permitted.action.upstream()
        );
        let shown = FormView::Page(Page { url: approval_service.url(&request.id), text });
        let waiting = Box::new(WaitingReply { sent, held });
        let subject = Subject::ReplyAtPage(waiting, request.id);
        let state = self.keep_question(arrival, &permitted, subject, &shown)?;
        // The call has run, so nothing here says that it has not.
        Ok(Delivery::ours(input_required_again(arrival.id(), &shown, &state), None))
    }

    /// A retry that comes from the page. The reply is fetched once, by whoever waits for it, when the person has answered.
    pub(in crate::pipeline) async fn resume_at_page(
        &self,
        arrival: &Arrival,
        (id, state): (&str, &str),
        request: &ApprovalId,
        said: PageAnswer,
    ) -> Result<Resumed, Refusal> {
        let again = || self.question_again(arrival, id, state).map(Resumed::AskedAgain);
        let approval_service = self.judge.service.as_ref().ok_or_else(Refusal::expired)?;
        let lost = |fault: ApprovalFault| {
            tracing::error!(error = %fault, "a reply stays here: nobody could be asked about it");
            Refusal::expired()
        };
        match said {
            PageAnswer::Nothing => return again(),
            PageAnswer::Refused => {
                let by = By::Client(arrival.client.caller().principal.as_str());
                approval_service.decline(request, by).await.map_err(lost)?;
            }
            PageAnswer::Opened => {}
        }
        let settled = approval_service.settled(request, Instant::now() + RETRY_WAIT).await.map_err(lost)?;
        let state_now = settled.as_ref().map_or(RequestState::Expired, |request| request.state);
        // Whoever has gone can fetch it with the next retry.
        if state_now == RequestState::Pending || !arrival.is_awaited() {
            return again();
        }
        // Taken, and so used up, whatever the answer is.
        match self.questions.take(id).map(|pending| pending.subject) {
            Some(Subject::ReplyAtPage(waiting, _)) => {
                let agreed = settled.filter(|_| state_now == RequestState::Approved);
                Ok(Resumed::Fetched(waiting, agreed.map(Box::new)))
            }
            _ => Err(Refusal::expired()),
        }
    }

    /// Releases a reply if a person agreed at the approval service, judged again with everything as it is now.
    pub(in crate::pipeline) async fn release_granted(
        &self,
        mut sent: Sent,
        held: HeldReply<Answered>,
        request: Option<ApprovalRequest>,
    ) -> Result<ReplyApproved, Refusal> {
        let permitted = Arc::clone(&sent.permitted);
        let (Some(approval_service), Some(request)) = (&self.judge.service, request) else {
            return Err(sent.withhold(&held.unasked()));
        };
        let caller = (&permitted.caller.principal, permitted.session().key());
        let used = approval_service.use_grant(&request, caller, request.action, None).await;
        let grant = granted(&request);
        let Some(spent) = used.ok().and_then(|used| grant.spend(used).ok()) else {
            return Err(sent.withhold(&held.unasked()));
        };
        let by = request.decided_by.as_deref().unwrap_or_default();
        self.judge.recorder.answer_by(&permitted, held.escalation().question(), Answer::Approve, by)?;
        match held.signed(Proof::Grant(spent), request.action) {
            Ok(approved) => self.release(sent, approved).await,
            Err(denial) => Err(sent.withhold(&denial)),
        }
    }

    /// Asks. `how` is how the person is led there, for the record.
    async fn ask_about_reply(
        &self,
        approval_service: &Arc<ApprovalService>,
        arrival: &Arrival,
        permitted: &Permitted,
        held: &HeldReply<Answered>,
        how: &'static str,
    ) -> Result<Option<ApprovalRequest>, Refusal> {
        let escalation = held.escalation();
        let reply: String = held.digest().iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!(r#"{{"action":"{}","reply":"{reply}"}}"#, permitted.action.digest());
        let Ok(arguments) = CanonicalArguments::read(Some(&text)) else { return Ok(None) };
        let tool = ToolName::reserved(ReservedAction::Release);
        let says = super::words::question_about_reply(
            permitted,
            escalation.findings(),
            held.is_flagged().then(|| held.label()),
        );
        let told = escalation.told();
        let asks = rules_of(&told).into_iter().map(|rule| AskView { rule, says: says.clone() }).collect();
        let context = ContextView {
            asks,
            decision: Some(permitted.decision.to_string()),
            session: Some(permitted.session().key().to_string()),
            // The call has run: what is said of the conversation now changes nothing for it.
            conversation: Some(ConversationView { way: None, ..super::context::conversation(permitted) }),
            ..ContextView::default()
        };
        let ask = NewAsk {
            kind: escalation.grade(),
            user: permitted.standing.user.clone(),
            principal: &permitted.caller.principal,
            session: permitted.session().key(),
            caller: arrival.caller_name(),
            tool: &tool,
            upstream: Some(permitted.action.upstream()),
            definition: None,
            arguments: &arguments,
            action: ActionHash::of(&tool, &arguments, approval_service.server()),
            context,
            told: &told,
            question: escalation.question(),
            class: Default::default(),
            quorum: None,
            // It holds digests of the call and of its reply.
            sealed: permitted.sealed || self.judge.seals(permitted),
            has_link: how == URL,
            decision: &permitted.decision,
        };
        self.judge.recorder.asked(permitted, escalation.question(), how)?;
        let asked = approval_service.ask(ask).await.map_err(|fault| failed(permitted, &fault))?;
        let AskAnswer::Open(request) = asked else { return Ok(None) };
        Ok(Some(*request))
    }
}
