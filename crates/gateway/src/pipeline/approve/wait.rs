//! Waiting for a person: how the client is told meanwhile, by what it can do, and for how long its call is held.

use std::sync::Arc;
use std::time::Duration;

use highwater_core::approval::ApprovalReason;
use highwater_core::decide::{Answer, Effect, Escalation, QuestionDigest};
use highwater_mcp::era::Era;
use highwater_mcp::error_code;
use highwater_mcp::text::{quote, string_member};
use highwater_notation::to_iso;
use highwater_store::{ApprovalRequest, RequestState};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::super::ask::put;
use super::super::proposed::Proposed;
use super::super::seals::GoesOn;
use super::super::{Arrival, Delivery, Refusal};
use super::form::{APPROVAL, Form};
use super::given::{Kept, SpendableApproval};
use super::page_request::{PageAnswer, PageRequest, failed};
use super::question::{Channel, Event};
use super::retry::{FormAnswer, ask_person};
use super::{Approvals, HeldCall, PutQuestion, event_of};
use crate::approvals::{By, Offer};
use crate::client::{Client, LegacySession};
use crate::handshake::by_us;

/// How long a retry that says the page was opened waits for the answer there.
pub(super) const RETRY_WAIT: Duration = Duration::from_secs(45);

/// How often a client that wants progress hears that we wait.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// Clients, by the beginning of their names, that do not give a call up while it makes progress.
const HONOURS_PROGRESS: [&str; 1] = ["claude-code"];

/// What came of waiting.
pub(super) enum Waited {
    Event(Event),
    /// The client does not wait any longer, and this is what it is told.
    StillOpen(Refusal),
    /// The client's request ends with the question.
    Returned(Delivery),
}

// === impl Approvals ===

impl Approvals {
    /// Waits for the person in the way that the client has.
    pub(super) async fn wait(
        &self,
        channel: Channel,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<Waited, Refusal> {
        if let Some(FormAnswer { question, answer, kept, definition, .. }) = call.filled_in.take() {
            if definition != self.judge.tool_definition(proposed) {
                return Err(Refusal::changed(&proposed.decision));
            }
            return self.take_form_answer(call, proposed, (question, answer, kept)).map(Waited::Event);
        }
        match call.put.take() {
            Some(PutQuestion::Form(form, offer)) => {
                self.wait_for_form(channel, call, proposed, escalation.question(), (form, offer)).await
            }
            Some(PutQuestion::Request(request)) => {
                self.wait_for_page(channel, call, proposed, &request).await
            }
            None => Err(Refusal::internal(&proposed.decision)),
        }
    }

    /// Waits for a form that is with a legacy client, or ends a modern client's request with it.
    async fn wait_for_form(
        &self,
        channel: Channel,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
        question: QuestionDigest,
        (form, offer): (Form, Option<Box<Offer>>),
    ) -> Result<Waited, Refusal> {
        match (&call.arrival.client, channel) {
            (Client::Legacy(session), Channel::FormRequest) => {
                let (answer, scope) = ask_person(call.arrival, session, &form).await;
                let filled_in = (question, answer, offer.zip(scope));
                self.take_form_answer(call, proposed, filled_in).map(Waited::Event)
            }
            _ => self.return_question(call.arrival, proposed, question, (form, offer)).map(Waited::Returned),
        }
    }

    /// Takes what a person filled in, whatever it says.
    fn take_form_answer(
        &self,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
        (question, answer, kept): (QuestionDigest, Answer, Option<Kept>),
    ) -> Result<Event, Refusal> {
        self.judge.recorder.answer(proposed, question, answer)?;
        call.given = Some(SpendableApproval::Form(question, kept));
        Ok(event_of(answer))
    }

    /// Waits for a request on the page.
    async fn wait_for_page(
        &self,
        channel: Channel,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
        request: &ApprovalRequest,
    ) -> Result<Waited, Refusal> {
        let Ok(here) = &call.on_page else { return Err(Refusal::internal(&proposed.decision)) };
        let (arrival, question) = (call.arrival, request.question);
        let (session, longest, how) = match (channel, &arrival.client) {
            (Channel::MissingEvidence, _) => {
                self.judge.recorder.asked(proposed, question, "missing-evidence")?;
                let url = here.approval_service.url(&request.id);
                let refusal = Refusal::rejected(&ApprovalReason::MissingEvidence.into(), Some(&url));
                return Ok(Waited::StillOpen(refusal));
            }
            (Channel::UrlResult, _) => {
                if call.visit.take() == Some(PageAnswer::Opened)
                    && let Some(state) = held(here, arrival, proposed, request, None, RETRY_WAIT).await?
                {
                    return Ok(Waited::Event(take_state(&mut call.given, state)));
                }
                self.judge.recorder.asked(proposed, question, "url")?;
                return self.send_to_page(here, arrival, proposed, request).map(Waited::Returned);
            }
            (Channel::UrlRequest, Client::Legacy(session)) => {
                (Some(session), hold(here, arrival, &session.name, true), "url")
            }
            _ => (None, hold(here, arrival, &arrival.caller_name(), false), "page"),
        };
        self.judge.recorder.asked(proposed, question, how)?;
        Ok(match held(here, arrival, proposed, request, session, longest).await? {
            Some(state) => Waited::Event(take_state(&mut call.given, state)),
            None => {
                let pending = pending(here, request);
                Waited::StillOpen(Refusal::pending(&proposed.decision, proposed.name(), &pending))
            }
        })
    }

    /// Ends a modern client's request with the address of the page.
    fn send_to_page(
        &self,
        here: &PageRequest<'_>,
        arrival: &Arrival,
        proposed: &Proposed,
        request: &ApprovalRequest,
    ) -> Result<Delivery, Refusal> {
        let decision = &proposed.decision;
        let state = self.seals.state(arrival, GoesOn::page(&proposed.action));
        let state = state.ok_or_else(|| Refusal::internal(decision))?;
        let (url, text, state) = (
            quote(&here.approval_service.url(&request.id)),
            quote(&message(request, proposed)),
            quote(&state),
        );
        let decision = quote(decision.as_str());
        let result = format!(
            r#"{{"resultType":"input_required","inputRequests":{{"{APPROVAL}":{{"method":"elicitation/create","params":{{"mode":"url","url":{url},"message":{text}}}}}}},"requestState":{state},"_meta":{{"io.modelcontextprotocol/authorization":{{"reason":"insufficient_authorization","remediation":"available","authorizationContextId":{decision},"remediationHints":[{{"type":"url"}}]}},"dev.highwater/decision":{{"id":{decision}}}}}}}"#
        );
        let result = by_us(Era::Modern, &result);
        Ok(Delivery::ours(error_code::result_response(arrival.id(), &result), None))
    }
}

/// How a request stands that waits no longer.
enum Settled {
    Approved(Box<ApprovalRequest>),
    Declined,
    /// Its time is over, or another call rests on it.
    Over,
}

/// Keeps the yes that came, and says what happened.
fn take_state(given: &mut Option<SpendableApproval>, state: Settled) -> Event {
    match state {
        Settled::Approved(request) => {
            *given = Some(SpendableApproval::Grant(request));
            Event::Agreed
        }
        Settled::Declined => Event::Declined,
        Settled::Over => {
            *given = None;
            Event::Expired
        }
    }
}

/// Holds a call until its request is answered; nothing if it is still open when the time is over.
async fn held(
    here: &PageRequest<'_>,
    arrival: &Arrival,
    proposed: &Proposed,
    request: &ApprovalRequest,
    session: Option<&Arc<LegacySession>>,
    longest: Duration,
) -> Result<Option<Settled>, Refusal> {
    let url = here.approval_service.url(&request.id);
    let settled = here.approval_service.settled(&request.id, Instant::now() + longest);
    tokio::pin!(settled);
    let mut asking = session.map(|session| Box::pin(elicit(arrival, session, request, &url, proposed)));
    let token = arrival.frame.meta("progressToken");
    let mut ticks = interval_at(Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut count = 0u32;
    let settled = loop {
        tokio::select! {
            settled = &mut settled => break settled,
            answer = answered(&mut asking), if asking.is_some() => {
                asking = None;
                // To agree to open the page is not to agree to the call.
                if matches!(answer, Elicited::Refused) {
                    let by = By::Client(proposed.caller.principal.as_str());
                    here.approval_service.decline(&request.id, by).await.map_err(|fault| failed(proposed, &fault))?;
                }
            }
            _ = ticks.tick(), if token.is_some() => {
                count = count.saturating_add(1);
                if let Some(token) = token {
                    progress(arrival, token, count, &url).await;
                }
            }
        }
    };
    drop(asking);
    let settled = settled.map_err(|fault| failed(proposed, &fault))?;
    let state = settled.as_ref().map_or(RequestState::Expired, |request| request.state);
    if session.is_some() && state != RequestState::Pending {
        let params = format!(r#"{{"elicitationId":{}}}"#, quote(request.id.as_str()));
        let told = error_code::notification("notifications/elicitation/complete", Some(&params));
        // Whoever does not hear it sees the answer.
        arrival.outlet.send(told.into()).await.ok();
    }
    Ok(match (state, settled) {
        (RequestState::Approved, Some(request)) => Some(Settled::Approved(Box::new(request))),
        (RequestState::Pending, _) => None,
        (RequestState::Declined, _) => Some(Settled::Declined),
        (RequestState::Approved | RequestState::Consumed | RequestState::Expired, _) => Some(Settled::Over),
    })
}

/// Asks a legacy client to send its person to the page.
async fn elicit(
    arrival: &Arrival,
    session: &LegacySession,
    request: &ApprovalRequest,
    url: &str,
    proposed: &Proposed,
) -> Elicited {
    let params = format!(
        r#"{{"mode":"url","elicitationId":{},"url":{},"message":{}}}"#,
        quote(request.id.as_str()),
        quote(url),
        quote(&message(request, proposed)),
    );
    let answer = put(arrival, session, "elicitation/create", Some(&params)).await;
    let action = answer
        .as_ref()
        .and_then(|answer| answer.result())
        .and_then(|result| string_member(result, "action").map(|action| action.into_owned()));
    match action.as_deref() {
        Some("decline" | "cancel") => Elicited::Refused,
        // Also a client that cannot after all: the page is there whatever it says.
        _ => Elicited::Opened,
    }
}

/// Where a request stands, for hosts that know us.
fn pending(here: &PageRequest<'_>, request: &ApprovalRequest) -> PendingApproval {
    PendingApproval { url: here.approval_service.url(&request.id), expires: to_iso(request.expires) }
}

/// A request that nobody has answered yet.
pub(in crate::pipeline) struct PendingApproval {
    pub(in crate::pipeline) url: String,
    pub(in crate::pipeline) expires: String,
}

/// What a person did when their client asked them to open the page.
enum Elicited {
    Opened,
    Refused,
}

/// The answer of an elicitation that is under way.
async fn answered<F: Future<Output = Elicited> + Unpin>(asking: &mut Option<F>) -> Elicited {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

/// Names the tool and the server, and nothing from the arguments or the server.
fn message(request: &ApprovalRequest, proposed: &Proposed) -> String {
    let how = match request.kind {
        Effect::Passkey => "Approve with your passkey",
        _ => "Approve or decline",
    };
    format!("{how}: {} on {}", proposed.name(), proposed.action.upstream())
}

/// How long a call is held: longer for a client that is shown progress and goes by it, and for one that was given the
/// address of the page. Of others nothing is known, and some give a call up after five seconds.
fn hold(here: &PageRequest<'_>, arrival: &Arrival, name: &str, has_link: bool) -> Duration {
    let settings = here.approval_service.settings();
    let honours = HONOURS_PROGRESS.iter().any(|known| name.starts_with(known));
    if honours && arrival.frame.meta("progressToken").is_some() {
        settings.hold_with_progress
    } else if has_link {
        settings.hold_with_link
    } else {
        settings.hold
    }
}

/// Tells a client that wants progress that its call waits. Small steps, so that the server's own progress is beyond them.
async fn progress(arrival: &Arrival, token: &str, count: u32, url: &str) {
    let message = quote(&format!("waiting for approval: {url}"));
    let params = format!(r#"{{"progressToken":{token},"progress":0.{count:06},"message":{message}}}"#);
    let told = error_code::notification("notifications/progress", Some(&params));
    // Whoever does not read it waits all the same.
    arrival.outlet.send(told.into()).await.ok();
}
