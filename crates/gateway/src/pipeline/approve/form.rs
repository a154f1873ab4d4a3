//! The form that a person fills in, and how its answer is read. Only an explicit yes is a yes.

use highwater_core::decide::Answer;
use highwater_core::id::DecisionId;
use highwater_mcp::error_code::result_response;
use highwater_mcp::text::{is_true, pointer, quote, string_member};

/// The key of our question among those of a result.
pub(in crate::pipeline) const APPROVAL: &str = "highwater_approval";

/// One box that nothing ticks by default: a client that accepts forms by itself approves nothing.
const SCHEMA: &str = r#"{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow this call","description":"Tick to allow exactly this call, once."}},"required":["allow"]}"#;

/// The parameters of `elicitation/create`.
pub(super) fn params(text: &str) -> String {
    format!(r#"{{"message":{},"requestedSchema":{SCHEMA}}}"#, quote(text))
}

/// A result that ends a modern client's request with the question.
pub(super) fn input_required(id: &str, decision: &DecisionId, text: &str, state: &str) -> Vec<u8> {
    let decision = quote(decision.as_str());
    let meta = format!(
        r#","_meta":{{"io.modelcontextprotocol/authorization":{{"reason":"insufficient_authorization","remediation":"available","authorizationContextId":{decision}}},"dev.highwater/decision":{{"id":{decision}}}}}"#
    );
    result_response(id, &required(text, state, &meta))
}

/// The same once more.
pub(super) fn input_required_again(id: &str, text: &str, state: &str) -> Vec<u8> {
    result_response(id, &required(text, state, ""))
}

fn required(text: &str, state: &str, meta: &str) -> String {
    let (text, state) = (quote(text), quote(state));
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{"{APPROVAL}":{{"method":"elicitation/create","params":{{"mode":"form","message":{text},"requestedSchema":{SCHEMA}}}}}}},"requestState":{state}{meta}}}"#
    )
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
        assert_eq!(string_member(&params(text), "message").as_deref(), Some(text));
        let result = required(text, "hw1.x", "");
        let shown = pointer(&result, &["inputRequests", APPROVAL, "params", "message"]);
        assert_eq!(shown.and_then(highwater_mcp::text::unquote).as_deref(), Some(text));
        assert!(member(&result, "requestState").is_some());
    }
}
