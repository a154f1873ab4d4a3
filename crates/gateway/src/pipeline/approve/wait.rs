//! Waiting for a person: how the client is told meanwhile, by what it can do, and for how long its call is held.

use std::sync::Arc;
use std::time::Duration;

use highwater_core::approval::{ApprovalReason, to_iso};
use highwater_core::decide::{AskKind, Effect};
use highwater_mcp::error_code;
use highwater_mcp::method::Method;
use highwater_mcp::text::{quote, string_member};
use highwater_store::{ApprovalRequest, RequestState};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::super::ask::put;
use super::super::proposed::Proposed;
use super::super::seals::GoesOn;
use super::super::{Arrival, Delivery, Refusal};
use super::Approvals;
use super::desk::{AtDesk, PageAnswer, failed};
use super::form::APPROVAL;
use crate::approvals::By;
use crate::client::{Client, LegacySession, declares};

/// How long a retry that says the page was opened waits for the answer there.
pub(super) const RETRY_WAIT: Duration = Duration::from_secs(45);

/// How often a client that wants progress hears that we wait.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// Clients, by the beginning of their names, that do not give a call up while it makes progress.
const HONOURS_PROGRESS: [&str; 1] = ["claude-code"];

/// What came of waiting.
pub(super) enum Waited {
    /// A person agreed.
    Approved(Box<ApprovalRequest>),
    /// The client's request ends with the question.
    Asked(Delivery),
    /// A person said no.
    Declined,
    /// Its time is over, or somebody else used it up: it is asked anew.
    Over,
}

/// How a client is told where to answer.
enum Way<'a> {
    /// It lets calls be signed by itself, so it is told that a signature is missing.
    Native,
    /// By a request on the stream of its call.
    Inline(&'a Arc<LegacySession>),
    /// By ending its request with the address.
    Return,
    /// Not at all: the call is held.
    Hold,
}

// === impl Approvals ===

impl Approvals {
    /// Waits for a person in the way that the client has.
    pub(super) async fn await_person(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        proposed: &Proposed,
        request: &ApprovalRequest,
        said: Option<PageAnswer>,
    ) -> Result<Waited, Refusal> {
        if !arrival.attended {
            return Err(Refusal::pending(&proposed.decision, proposed.name(), &pending(here, request)));
        }
        let question = request.question;
        match way(here, arrival, proposed, request.kind) {
            Way::Native => {
                self.judge.recorder.asked(proposed, question, "missing-evidence")?;
                let url = here.desk.url(&request.id);
                Err(Refusal::rejected(&ApprovalReason::MissingEvidence.into(), Some(&url)))
            }
            Way::Return => {
                if said == Some(PageAnswer::Opened) {
                    let waited = held(here, arrival, proposed, request, None, RETRY_WAIT).await?;
                    if let Some(waited) = waited {
                        return Ok(waited);
                    }
                }
                self.judge.recorder.asked(proposed, question, "url")?;
                self.send_to_page(here, arrival, proposed, request).map(Waited::Asked)
            }
            Way::Inline(session) => {
                self.judge.recorder.asked(proposed, question, "url")?;
                let longest = hold(here, arrival, &session.name, true);
                let waited = held(here, arrival, proposed, request, Some(session), longest).await?;
                or_pending(waited, here, proposed, request)
            }
            Way::Hold => {
                self.judge.recorder.asked(proposed, question, "page")?;
                let longest = hold(here, arrival, &arrival.caller_name(), false);
                let waited = held(here, arrival, proposed, request, None, longest).await?;
                or_pending(waited, here, proposed, request)
            }
        }
    }

    /// Ends a modern client's request with the address of the page.
    fn send_to_page(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        proposed: &Proposed,
        request: &ApprovalRequest,
    ) -> Result<Delivery, Refusal> {
        let decision = &proposed.decision;
        let state = self.seals.state(arrival, GoesOn::page(&proposed.action));
        let state = state.ok_or_else(|| Refusal::internal(decision))?;
        let (url, text, state) =
            (quote(&here.desk.url(&request.id)), quote(&message(request, proposed)), quote(&state));
        let decision = quote(decision.as_str());
        let result = format!(
            r#"{{"resultType":"input_required","inputRequests":{{"{APPROVAL}":{{"method":"elicitation/create","params":{{"mode":"url","url":{url},"message":{text}}}}}}},"requestState":{state},"_meta":{{"io.modelcontextprotocol/authorization":{{"reason":"insufficient_authorization","remediation":"available","authorizationContextId":{decision},"remediationHints":[{{"type":"url"}}]}},"dev.highwater/decision":{{"id":{decision}}}}}}}"#
        );
        Ok(Delivery::ours(error_code::result_response(arrival.id(), &result), None))
    }
}

fn or_pending(
    waited: Option<Waited>,
    here: &AtDesk<'_>,
    proposed: &Proposed,
    request: &ApprovalRequest,
) -> Result<Waited, Refusal> {
    waited.ok_or_else(|| Refusal::pending(&proposed.decision, proposed.name(), &pending(here, request)))
}

/// Holds a call until its request is answered; nothing if it is still open when the time is over.
async fn held(
    here: &AtDesk<'_>,
    arrival: &Arrival,
    proposed: &Proposed,
    request: &ApprovalRequest,
    session: Option<&Arc<LegacySession>>,
    longest: Duration,
) -> Result<Option<Waited>, Refusal> {
    let url = here.desk.url(&request.id);
    let settled = here.desk.settled(&request.id, Instant::now() + longest);
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
                    here.desk.decline(&request.id, by).await.map_err(|fault| failed(proposed, &fault))?;
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
        (RequestState::Approved, Some(request)) => Some(Waited::Approved(Box::new(request))),
        (RequestState::Pending, _) => None,
        (RequestState::Declined, _) => Some(Waited::Declined),
        (RequestState::Approved | RequestState::Consumed | RequestState::Expired, _) => Some(Waited::Over),
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
fn pending(here: &AtDesk<'_>, request: &ApprovalRequest) -> PendingApproval {
    PendingApproval { url: here.desk.url(&request.id), expires: to_iso(request.expires) }
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

fn way<'a>(here: &AtDesk<'_>, arrival: &'a Arrival, proposed: &Proposed, grade: Effect) -> Way<'a> {
    let client = &arrival.client;
    let native = client.speaks_approval() || proposed.standing.native || here.desk.is_native_only();
    // A call that brings what its server verifies has no room for a signature of ours.
    let is_open = here.signable.is_call && proposed.relayed.is_none();
    // What takes no passkey has no challenge: such a client is asked like every other (§4.2).
    if native && is_open && grade == Effect::Passkey {
        return Way::Native;
    }
    let pages = declares(client.capabilities(), AskKind::ElicitUrl);
    match client {
        Client::Legacy(session) if pages => Way::Inline(session),
        Client::Modern(_) if returns_page(arrival) => Way::Return,
        Client::Legacy(_) | Client::Modern(_) => Way::Hold,
    }
}

/// Whether this client is given the address of the page, or lets its own person sign: nobody else needs to call them.
pub(super) fn has_link(here: &AtDesk<'_>, arrival: &Arrival, proposed: &Proposed, grade: Effect) -> bool {
    match way(here, arrival, proposed, grade) {
        Way::Native | Way::Inline(_) | Way::Return => true,
        Way::Hold => false,
    }
}

/// Whether a request may end with the address of a page: only the modern era has that, and only these methods.
pub(super) fn returns_page(arrival: &Arrival) -> bool {
    matches!(arrival.client, Client::Modern(_))
        && declares(arrival.client.capabilities(), AskKind::ElicitUrl)
        && matches!(arrival.method, Some(Method::CallTool | Method::GetPrompt | Method::ReadResource))
}

/// How long a call is held: longer for a client that is shown progress and goes by it, and for one that was given the
/// address of the page. Of others nothing is known, and some give a call up after five seconds.
fn hold(here: &AtDesk<'_>, arrival: &Arrival, name: &str, has_link: bool) -> Duration {
    let settings = here.desk.settings();
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
