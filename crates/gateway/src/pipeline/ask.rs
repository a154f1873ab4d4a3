//! The road in the other direction: a server asks the client something in the middle of a call. The question is judged
//! and recorded before the client sees it; the answer is an action of its own (`answer.rs`).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::Claims;
use highwater_core::decide::{AskFacts, AskKind, AskVerdict, decide_ask};
use highwater_core::id::DecisionId;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code;
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{member, quote, string_member};
use highwater_store::Appended;
use highwater_upstream::event::Ask;

use super::arrival::Course;
use super::{Arrival, facts_of};
use crate::client::{LegacySession, declares};
use crate::gateway::Gateway;

/// How long a person may think before the question is taken back.
const QUESTION_PATIENCE: Duration = Duration::from_secs(900);

/// Takes a question back when nobody waits for its answer any more.
struct Asked<'a> {
    session: &'a LegacySession,
    number: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.session.forget_question(self.number);
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

impl Gateway {
    /// Whether this question may be put to this client; recorded either way.
    pub(super) fn judge_ask(
        &self,
        arrival: &Arrival,
        course: &Course,
        during: &DecisionId,
        method: &str,
        params: &str,
    ) -> Option<Appended> {
        let kind = ask_kind(method, params)?;
        let declared = declares(arrival.client.capabilities(), kind);
        let asking = Action::new(ActionKind::CallTool, course.upstream().clone(), "", "", "{}");
        let call = facts_of(arrival, during, &asking);
        let claims = Claims::new();
        let facts =
            AskFacts { during: Some(&call), upstream: course.upstream(), kind, declared, claims: &claims };
        let verdict = decide_ask(&arrival.world.policy, during, &facts);
        match self.record_question(during, &facts, &verdict) {
            Ok(appended) => matches!(verdict, AskVerdict::Put(_)).then_some(appended),
            Err(error) => {
                tracing::error!(%error, decision = %during, "a question could not be recorded and is not asked");
                None
            }
        }
    }

    /// Puts a legacy upstream's question to a legacy client and brings the answer back.
    pub(super) async fn question(
        &self,
        arrival: &Arrival,
        session: Arc<LegacySession>,
        course: &Course,
        during: DecisionId,
        ask: Ask,
    ) {
        let params = ask.params.clone().unwrap_or_default();
        let params = std::str::from_utf8(&params).ok().filter(|params| !params.is_empty());
        if self.judge_ask(arrival, course, &during, &ask.method, params.unwrap_or("{}")).is_none() {
            refuse(ask);
            return;
        }
        // Unanswered, `ask` is dropped, and its upstream is told so.
        let params = params.map(without_ours);
        if let Some(answer) = self.put(arrival, &session, &ask.method, params.as_deref()).await {
            self.give(arrival, course, ask, &answer);
        }
    }

    /// Asks a legacy client and waits for its answer.
    pub(super) async fn put(
        &self,
        arrival: &Arrival,
        session: &LegacySession,
        method: &str,
        params: Option<&str>,
    ) -> Option<Frame> {
        let (number, answer) = session.ask();
        let _asked = Asked { session, number };
        let message = error_code::request(&number.to_string(), method, params);
        arrival.outlet.send(message.into()).await.ok()?;
        tokio::time::timeout(QUESTION_PATIENCE, answer).await.ok()?.ok()
    }

    /// Whether a modern client may be asked this; a question it may not be asked is refused here and now.
    pub(super) fn may_hold(
        &self,
        arrival: &Arrival,
        course: &Course,
        during: &DecisionId,
        ask: Ask,
    ) -> Option<(Ask, Appended)> {
        let params = ask.params.clone().unwrap_or_default();
        let params = std::str::from_utf8(&params).ok().filter(|params| !params.is_empty()).unwrap_or("{}");
        match self.judge_ask(arrival, course, during, &ask.method, params) {
            Some(recorded) => Some((ask, recorded)),
            None => {
                refuse(ask);
                None
            }
        }
    }
}

/// Refuses a question in the manner its method has for that.
fn refuse(ask: Ask) {
    // An elicitation that is dropped is answered as cancelled, which is no error to its server.
    if ask.method != "elicitation/create" {
        ask.answer.refuse(error_code::METHOD_NOT_FOUND, "the client cannot be asked this");
    }
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
