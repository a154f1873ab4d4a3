//! The road in the other direction: a server asks the client something in the middle of a call. The question is judged
//! and recorded before the client sees it; the answer is an action of its own (`answer.rs`).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use highwater_audit::{Happened, Question};
use highwater_config::Settings;
use highwater_core::decide::{AskFacts, AskKind, AskVerdict, decide_ask};
use highwater_core::label::Label;
use highwater_mcp::annotations::result_says;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code;
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{member, quote, string_member};
use highwater_store::{Appended, Joined};
use highwater_upstream::event::Ask;
use tokio::sync::oneshot;

use super::Arrival;
use super::asked_page::marked;
use super::judge::Judge;
use super::permitted::Permitted;
use super::sessions::Absorbed;
use crate::asked_pages::AskedPages;
use crate::client::{LegacySession, Outlet, declares};

/// How long a person may think before the question is taken back.
const QUESTION_PATIENCE: Duration = Duration::from_secs(900);

/// A question that was put. It is taken back when nobody waits for its answer any more.
struct OpenQuestion<'a> {
    session: &'a LegacySession,
    number: u64,
    answer: oneshot::Receiver<Frame>,
    /// Where the client is told that it need not answer any more: a server's question ends with its call at the latest.
    take_back: Option<&'a Outlet>,
}

impl OpenQuestion<'_> {
    async fn answer(mut self) -> Option<Frame> {
        tokio::time::timeout(QUESTION_PATIENCE, &mut self.answer).await.ok()?.ok()
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let unanswered = self.session.forget_question(self.number);
        if let Some(outlet) = self.take_back.filter(|_| unanswered) {
            // The server's reason is its own words and stays here.
            let params = format!(r#"{{"requestId":{}}}"#, self.number);
            let message = error_code::notification("notifications/cancelled", Some(&params));
            if outlet.try_send(message.into()).is_err() {
                tracing::debug!("nobody is there to be told that a question was taken back");
            }
        }
    }
}

/// What is being asked, or `None` for something nobody may ask.
pub(super) fn ask_kind(method: &str, params: &str) -> Option<AskKind> {
    match method {
        "sampling/createMessage" => Some(AskKind::Sample),
        "roots/list" => Some(AskKind::Roots),
        "elicitation/create" => match string_member(params, "mode").as_deref() {
            None if member(params, "mode").is_none() => Some(AskKind::ElicitForm),
            Some("form") => Some(AskKind::ElicitForm),
            Some("url") => Some(AskKind::ElicitUrl),
            _ => None,
        },
        _ => None,
    }
}

/// A question that may be put: judged, on record, and in the session's label.
pub(super) struct Cleared {
    pub(super) recorded: Appended,
    pub(super) joined: Joined,
    pub(super) label: Label,
}

/// Puts servers' questions to clients, and brings the answers back.
pub(crate) struct ServerQuestions {
    pub(super) judge: Arc<Judge>,
    pub(super) settings: Arc<ArcSwap<Settings>>,
    /// Whom servers asked to send a person to a page.
    pub(crate) pages: AskedPages,
}

// === impl ServerQuestions ===

impl ServerQuestions {
    /// Whether this question may be put to this client; recorded either way. It is text of an upstream, so it is in the
    /// session's label before anybody reads it.
    pub(super) async fn clear_ask(
        &self,
        arrival: &Arrival,
        permitted: &Permitted,
        method: &str,
        params: &str,
    ) -> Option<Cleared> {
        let kind = ask_kind(method, params)?;
        let declared = declares(arrival.client.capabilities(), kind);
        let says = result_says(params);
        let now = self.judge.sessions.current(permitted.session()).await;
        let standing = permitted.caller.standing();
        let during = permitted.facts_of_reply(&now.label, &standing.grant);
        let facts = AskFacts {
            during: Some(&during),
            upstream: permitted.action.upstream(),
            kind,
            declared,
            refused_page: self.asks_for_bad_page(kind, params),
            claims: &says.claims,
        };
        let verdict = decide_ask(&permitted.policy, &permitted.decision, &facts);
        let (judgement, label) = match &verdict {
            AskVerdict::Put(pass) => (pass.judgement(), Some(pass.label())),
            AskVerdict::Refuse(denial) => (denial.judgement(), None),
        };
        let decision = &permitted.decision;
        let absorbed = match label {
            Some(label) => self.judge.sessions.absorb_of(permitted, label).await.map_err(|error| {
                tracing::error!(%error, %decision, "a question's label could not be stored, so it is not asked");
            }),
            None => Err(()),
        };
        let upstream = permitted.action.upstream();
        let raised = absorbed.as_ref().is_ok_and(|absorbed| absorbed.raised);
        let put = absorbed.is_ok();
        let provenance = Some(permitted.provenance().labelled(label));
        let label_put = label.filter(|_| put);
        let question = Question { upstream, kind, judgement, put, label: label_put, raised, provenance };
        let recorded = self.judge.recorder.happened(permitted, Happened::Question(question));
        let recorded = recorded.map_err(|error| {
            tracing::error!(%error, %decision, "a question could not be recorded and is not asked");
        });
        match (absorbed, recorded, label) {
            (Ok(Absorbed { joined, .. }), Ok(recorded), Some(label)) => {
                Some(Cleared { recorded, joined, label: label.clone() })
            }
            _ => None,
        }
    }

    /// Puts a legacy upstream's question to a legacy client and brings the answer back.
    pub(super) async fn question(
        &self,
        arrival: &Arrival,
        session: Arc<LegacySession>,
        during: Arc<Permitted>,
        mut ask: Ask,
    ) {
        let params = ask.params.clone().unwrap_or_default();
        let params = std::str::from_utf8(&params).ok().filter(|params| !params.is_empty());
        let Some(cleared) = self.clear_ask(arrival, &during, &ask.method, params.unwrap_or("{}")).await
        else {
            self.refuse(ask);
            return;
        };
        // Unanswered, `ask` is dropped, and its upstream is told so.
        let params = params.map(|params| {
            Cow::<str>::Owned(
                marked(during.route.upstream(), &ask.method, &without_ours(params)).into_owned(),
            )
        });
        if let Some(params) = params.as_deref() {
            self.pages.note(during.action.upstream(), params, session.upstream.number());
        }
        let asked = send_question(arrival, &session, &ask.method, params.as_deref()).await;
        // Nobody lowers the label before the question is out; the answer may take as long as it takes.
        drop(cleared);
        let Some(mut asked) = asked else { return };
        asked.take_back = Some(&arrival.outlet);
        let answer = tokio::select! {
            answer = asked.answer() => answer,
            () = ask.answer.withdrawn() => None,
        };
        if let Some(answer) = answer {
            self.give(arrival, &during, ask, &answer).await;
        }
    }

    /// Refuses a question, and says why.
    fn refuse(&self, ask: Ask) {
        let params =
            ask.params.as_deref().and_then(|params| std::str::from_utf8(params).ok()).unwrap_or("{}");
        let kind = ask_kind(&ask.method, params);
        if kind.is_some_and(|kind| self.asks_for_bad_page(kind, params)) {
            return ask.answer.refuse(error_code::INVALID_PARAMS, "the user cannot be sent to this page");
        }
        // An error: to say that the person cancelled would be to speak in their name.
        ask.answer.refuse(error_code::METHOD_NOT_FOUND, "the client cannot be asked this");
    }

    /// Whether a modern client may be asked this; a question it may not be asked is refused here and now.
    pub(super) async fn may_hold(
        &self,
        arrival: &Arrival,
        during: &Permitted,
        ask: Ask,
    ) -> Option<(Ask, Cleared)> {
        let params = ask.params.clone().unwrap_or_default();
        let params = std::str::from_utf8(&params).ok().filter(|params| !params.is_empty()).unwrap_or("{}");
        match self.clear_ask(arrival, during, &ask.method, params).await {
            Some(cleared) => Some((ask, cleared)),
            None => {
                self.refuse(ask);
                None
            }
        }
    }
}

/// Asks a legacy client what an upstream wants to know.
pub(super) async fn put_cleared(
    arrival: &Arrival,
    session: &LegacySession,
    method: &str,
    params: Option<&str>,
    cleared: Cleared,
) -> Option<Frame> {
    let asked = send_question(arrival, session, method, params).await;
    // Nobody lowers the label before the question is out; the answer may take as long as it takes.
    drop(cleared);
    asked?.answer().await
}

/// Asks a legacy client in our own name and waits for its answer.
pub(super) async fn put(
    arrival: &Arrival,
    session: &LegacySession,
    method: &str,
    params: Option<&str>,
) -> Option<Frame> {
    send_question(arrival, session, method, params).await?.answer().await
}

async fn send_question<'a>(
    arrival: &Arrival,
    session: &'a LegacySession,
    method: &str,
    params: Option<&str>,
) -> Option<OpenQuestion<'a>> {
    let (number, answer) = session.ask();
    let asked = OpenQuestion { session, number, answer, take_back: None };
    let message = error_code::request(&number.to_string(), method, params);
    arrival.outlet.send(message.into()).await.ok()?;
    Some(asked)
}

/// A question's parameters for a client of the legacy era, which wants an id on every page to visit.
pub(super) fn legacy_question<'a>(
    method: &str,
    params: &'a str,
    fresh_id: impl FnOnce() -> String,
) -> Cow<'a, str> {
    let is_page = ask_kind(method, params) == Some(AskKind::ElicitUrl);
    if is_page && member(params, "elicitationId").is_none() {
        Cow::Owned(edit_object(params, &[("elicitationId", Edit::Set(&quote(&fresh_id())))]))
    } else {
        Cow::Borrowed(params)
    }
}

/// A question's parameters for a client of the modern era, which has no such id.
pub(super) fn modern_question(params: &str) -> Cow<'_, str> {
    if member(params, "elicitationId").is_some() {
        Cow::Owned(edit_object(params, &[("elicitationId", Edit::Remove)]))
    } else {
        Cow::Borrowed(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_questions_are_questions() {
        assert_eq!(ask_kind("elicitation/create", "{}"), Some(AskKind::ElicitForm));
        assert_eq!(ask_kind("elicitation/create", r#"{"mode":"url"}"#), Some(AskKind::ElicitUrl));
        assert_eq!(ask_kind("elicitation/create", r#"{"mode":"voice"}"#), None);
        assert_eq!(ask_kind("elicitation/create", r#"{"mode":1}"#), None);
        assert_eq!(ask_kind("tools/call", "{}"), None);
    }

    #[test]
    fn a_page_gets_an_id_for_the_old_era_and_loses_it_for_the_new() {
        let page = r#"{"mode":"url","url":"u"}"#;
        let old = legacy_question("elicitation/create", page, || "e1".into());
        assert_eq!(old, r#"{"mode":"url","url":"u","elicitationId":"e1"}"#);
        assert_eq!(modern_question(&old), page);
    }
}
