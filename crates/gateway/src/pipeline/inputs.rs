//! Questions of modern upstreams (`input_required`) for clients that cannot be asked that way, and the reverse for the
//! one error of the legacy era that is a question.

use std::borrow::Cow;

use highwater_core::action::{Action, ActionKind};
use highwater_core::id::DecisionId;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::{Era, reply};
use highwater_mcp::error_code::{self, URL_ELICITATION_REQUIRED};
use highwater_mcp::method::Method;
use highwater_mcp::text::{elements, member, members, quote, string_member, unquote};
use highwater_upstream::Reply;

use super::arrival::RoutedAction;
use super::ask::{ServerQuestions, ask_kind, legacy_question, modern_question, put_cleared};
use super::asked_page::marked;
use super::permitted::Permitted;
use super::{Arrival, Refusal};
use crate::client::Client;
use crate::gateway::fresh_id;

/// What a modern upstream wants to know before it goes on.
pub(super) struct Questions {
    /// Key, method and parameters of each.
    requests: Vec<(String, String, String)>,
    /// What it wants back with the answers, as JSON text.
    state: Option<String>,
}

// === impl Questions ===

impl Questions {
    /// Reads what a result asks.
    pub(super) fn read(result: &str) -> Self {
        let requests = member(result, "inputRequests").into_iter().flat_map(members);
        let requests = requests.filter_map(|(key, request)| {
            let params = member(request, "params").unwrap_or("{}");
            Some((key.into_owned(), string_member(request, "method")?.into_owned(), params.to_owned()))
        });
        Self { requests: requests.collect(), state: member(result, "requestState").map(str::to_owned) }
    }

    /// What it wants back with the answers.
    pub(super) fn state(&self) -> Option<String> {
        self.state.as_deref().and_then(unquote).map(Cow::into_owned)
    }
}

/// The questions in a reply to a legacy client, which must be put to it as requests.
pub(super) fn questions_for_legacy(arrival: &Arrival, reply: &Reply) -> Option<Questions> {
    asks_of_legacy(arrival, reply).then(|| reply.frame.result().map(Questions::read)).flatten()
}

/// Whether a reply asks something of a client that knows no such reply.
pub(super) fn asks_of_legacy(arrival: &Arrival, reply: &Reply) -> bool {
    arrival.client.era() == Era::Legacy
        && reply::type_of(&reply.frame, reply.era) == reply::ResultType::InputRequired
}

// === impl ServerQuestions ===

impl ServerQuestions {
    /// Puts the questions to the client and makes the call that brings the answers back.
    pub(super) async fn collect_answers(
        &self,
        arrival: &Arrival,
        asked: &Permitted,
        questions: Questions,
    ) -> Result<RoutedAction, Refusal> {
        let answers = self.ask_all(arrival, asked, &questions).await?;
        let mut edits = vec![("inputResponses", Edit::Set(answers.as_str()))];
        match &questions.state {
            Some(state) => edits.push(("requestState", Edit::Set(state))),
            None => edits.push(("requestState", Edit::Remove)),
        }
        let params = edit_object(asked.action.params(), &edits);
        let route = &asked.route;
        let method = route.method.map_or("", Method::as_str);
        // An answer is an action: it carries the client's data to the server that asked.
        let action = Action::new(ActionKind::Answer, route.upstream().clone(), method, method, params);
        Ok(RoutedAction::new(action, route.clone()))
    }

    /// Puts the questions to a legacy client one after the other; the answers as the JSON of `inputResponses`.
    pub(super) async fn ask_all(
        &self,
        arrival: &Arrival,
        during: &Permitted,
        questions: &Questions,
    ) -> Result<String, Refusal> {
        let Client::Legacy(session) = &arrival.client else {
            return Err(Refusal::internal(&during.decision));
        };
        let mut answers = Vec::with_capacity(questions.requests.len());
        for (key, method, params) in &questions.requests {
            let answer = match self.clear_ask(arrival, during, method, params).await {
                None => None,
                Some(cleared) => {
                    let params = legacy_question(method, params, fresh_id);
                    let params = marked(during.route.upstream(), method, &params);
                    put_cleared(arrival, session, method, Some(&params), cleared).await
                }
            };
            let answer = answer.as_ref().and_then(|answer| answer.result()).map(str::to_owned);
            let answer = match answer {
                Some(answer) => answer,
                // Nobody answers in a user's name.
                None => return Err(Refusal::unanswered(&during.decision)),
            };
            answers.push(format!("{}:{answer}", quote(key)));
        }
        Ok(format!("{{{}}}", answers.join(",")))
    }

    /// The legacy error "visit a page first", as the question a modern client understands.
    pub(super) async fn url_round(
        &self,
        arrival: &Arrival,
        during: &Permitted,
        error: &str,
        from: Era,
    ) -> Option<String> {
        let code = member(error, "code").and_then(|code| code.parse::<i64>().ok());
        if (from, arrival.client.era(), code) != (Era::Legacy, Era::Modern, Some(URL_ELICITATION_REQUIRED)) {
            return None;
        }
        let mut requests = Vec::new();
        for (index, page) in elements(member(member(error, "data")?, "elicitations")?).enumerate() {
            ask_kind("elicitation/create", page)?;
            self.clear_ask(arrival, during, "elicitation/create", page).await?;
            let params = modern_question(page);
            let params = marked(during.route.upstream(), "elicitation/create", &params);
            requests.push(format!(r#""page_{index}":{{"method":"elicitation/create","params":{params}}}"#));
        }
        let requests = requests.join(",");
        (!requests.is_empty())
            .then(|| format!(r#"{{"resultType":"input_required","inputRequests":{{{requests}}}}}"#))
    }
}

impl Refusal {
    /// The server asked something that the client did not answer.
    fn unanswered(decision: &DecisionId) -> Self {
        Self::about(
            decision,
            error_code::UPSTREAM_UNAVAILABLE,
            "the server asked something that this client did not answer",
        )
    }
}
