//! The form that a person fills in, and how its answer is read. Only an explicit yes is a yes.

use std::borrow::Cow;

use highwater_core::decide::Answer;
use highwater_core::id::DecisionId;
use highwater_mcp::era::Era;
use highwater_mcp::error_code::result_response;
use highwater_mcp::text::{is_true, pointer, quote, string_member};

use crate::approvals::RememberScope;
use crate::handshake::by_us;

/// The key of our question among those of a result.
pub(in crate::pipeline) const APPROVAL: &str = "highwater_approval";

/// One box that nothing ticks by default: a client that accepts forms by itself approves nothing.
const SCHEMA: &str = r#"{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow this call","description":"Tick to allow exactly this call, once."}},"required":["allow"]}"#;

/// What a person is shown by their client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormView {
    Form(Form),
    Page(Page),
}

/// A page to go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) text: String,
}

/// A form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// What the person reads.
    pub(super) text: String,
    /// What else than this one call the answer may be chosen to cover, each with its sentence.
    pub(super) offers: Vec<(RememberScope, String)>,
}

/// The parameters of `elicitation/create`.
pub(super) fn params(form: &Form) -> String {
    format!(r#"{{"message":{},"requestedSchema":{}}}"#, quote(&form.text), form.schema())
}

/// A result that ends a modern client's request with the question.
pub(super) fn input_required(id: &str, decision: &DecisionId, form: &Form, state: &str) -> Vec<u8> {
    let decision = quote(decision.as_str());
    let meta = format!(
        r#","_meta":{{"io.modelcontextprotocol/authorization":{{"reason":"insufficient_authorization","remediation":"available","authorizationContextId":{decision}}},"dev.highwater/decision":{{"id":{decision}}}}}"#
    );
    result_response(id, &by_us(Era::Modern, &required(&form.params(), state, &meta)))
}

/// The same once more.
pub(super) fn input_required_again(id: &str, shown: &FormView, state: &str) -> Vec<u8> {
    let params = match shown {
        FormView::Form(form) => form.params(),
        FormView::Page(Page { url, text }) => {
            format!(r#"{{"mode":"url","url":{},"message":{}}}"#, quote(url), quote(text))
        }
    };
    result_response(id, &by_us(Era::Modern, &required(&params, state, "")))
}

fn required(params: &str, state: &str, meta: &str) -> String {
    let state = quote(state);
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{"{APPROVAL}":{{"method":"elicitation/create","params":{params}}}}},"requestState":{state}{meta}}}"#
    )
}

// === impl Form ===

impl Form {
    /// One whose answer counts once.
    pub(super) fn once(text: String) -> Self {
        Self { text, offers: Vec::new() }
    }

    /// The parameters of the question in a result.
    fn params(&self) -> String {
        let (text, schema) = (quote(&self.text), self.schema());
        format!(r#"{{"mode":"form","message":{text},"requestedSchema":{schema}}}"#)
    }

    /// Once, unless something else is chosen.
    fn schema(&self) -> Cow<'static, str> {
        if self.offers.is_empty() {
            return SCHEMA.into();
        }
        let mut says = "once: this call alone.".to_owned();
        let mut words = vec![quote("once")];
        for (scope, sentence) in &self.offers {
            let word = serde_json::to_string(scope).unwrap_or_default();
            says.push_str(&format!(" {}: {sentence}.", word.trim_matches('"')));
            words.push(word);
        }
        format!(
            r#"{{"type":"object","properties":{{"allow":{{"type":"boolean","title":"Allow this call","description":"Tick to allow exactly this call."}},"remember":{{"type":"string","title":"What a yes covers","description":{},"enum":[{}],"default":"once"}}}},"required":["allow"]}}"#,
            quote(&says),
            words.join(",")
        )
        .into()
    }
}

/// For how long a yes is to count. Whatever was not offered counts once: the yes was explicit, and once is the least of it.
pub(super) fn scope(result: Option<&str>) -> Option<RememberScope> {
    let chosen = pointer(result?, &["content", "remember"])?;
    serde_json::from_str(chosen).ok().filter(|scope: &RememberScope| scope.ends_with_conversation())
}

/// What a person said, by the JSON text of an elicitation's result. Whatever is no plain yes is a no.
pub(super) fn answer(result: Option<&str>) -> Answer {
    let Some(result) = result else { return Answer::Decline };
    match string_member(result, "action").as_deref() {
        Some("accept") if pointer(result, &["content", "allow"]).is_some_and(is_true) => Answer::Approve,
        Some("cancel") => Answer::Cancel,
        _ => Answer::Decline,
    }
}

#[cfg(test)]
mod tests {
    use highwater_mcp::text::member;

    use super::*;

    #[test]
    fn only_an_explicit_yes_is_a_yes() {
        assert_eq!(answer(Some(r#"{"action":"accept","content":{"allow":true}}"#)), Answer::Approve);
        for no in [
            r#"{"action":"accept"}"#,
            r#"{"action":"accept","content":{}}"#,
            r#"{"action":"accept","content":{"allow":false}}"#,
            r#"{"action":"accept","content":{"allow":"true"}}"#,
            r#"{"action":"decline","content":{"allow":true}}"#,
            r#"{"action":"cancel"}"#,
            "{}",
        ] {
            assert_ne!(answer(Some(no)), Answer::Approve, "{no}");
        }
        assert_eq!(answer(None), Answer::Decline);
    }

    #[test]
    fn the_question_is_json_whatever_it_says() {
        let text = "a \"quoted\"\nline";
        let form = Form::once(text.to_owned());
        assert_eq!(string_member(&params(&form), "message").as_deref(), Some(text));
        let result = required(&form.params(), "hw1.x", "");
        let shown = pointer(&result, &["inputRequests", APPROVAL, "params", "message"]);
        assert_eq!(shown.and_then(highwater_mcp::text::unquote).as_deref(), Some(text));
        assert!(member(&result, "requestState").is_some());
    }

    #[test]
    fn what_is_offered_is_what_is_read_and_everything_else_counts_once() {
        let offers =
            [RememberScope::Folder, RememberScope::Session].map(|scope| (scope, "any \"x\"".to_owned()));
        let form = Form { text: String::new(), offers: offers.to_vec() };
        let offered: serde_json::Value = serde_json::from_str(&params(&form)).unwrap();
        let offered = &offered["requestedSchema"]["properties"]["remember"];
        let words: Vec<&str> =
            offered["enum"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let read = |word: &str| scope(Some(&format!(r#"{{"content":{{"remember":{}}}}}"#, quote(word))));
        let offers = [RememberScope::Folder, RememberScope::Session];
        assert_eq!(words.iter().filter_map(|word| read(word)).collect::<Vec<_>>(), offers);
        assert_eq!((words.first(), &offered["default"]), (Some(&"once"), &"once".into()));
        for none in ["", "once", "always", "Session", "tool-with-targets", "until-definition-changes"] {
            assert_eq!(read(none), None, "{none}");
        }
        for none in ["{}", r#"{"content":{"remember":null}}"#, r#"{"content":{"remember":["session"]}}"#] {
            assert_eq!(scope(Some(none)), None, "{none}");
        }
        let plain: serde_json::Value = serde_json::from_str(&params(&Form::once(String::new()))).unwrap();
        assert_eq!(plain["requestedSchema"]["properties"]["remember"], serde_json::Value::Null);
    }
}
