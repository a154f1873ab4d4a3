//! What an action says, as a form shows it: in the words of the page's renderer and in the order of the tool's schema, or
//! not at all. A person who is shown a part agrees to what they did not see.

use std::borrow::Cow;

use highwater_core::action::{Action, ActionKind};
use highwater_display::render;
use highwater_mcp::text::{member, members, pointer, quote};
use highwater_notation::CanonicalArguments;
use highwater_passkey::{ReservedAction, ToolName};

use super::super::proposed::Proposed;
use super::page_request::definition_text;

/// How many characters of arguments a form holds. What is longer is not read in a dialog, and some clients cut it.
const LONGEST: usize = 2_000;

/// The most bytes that one character takes in canonical JSON.
const LONGEST_CHARACTER: usize = 6;

/// The arguments, one a line; nothing if a form cannot show all of them.
pub(super) fn shown(proposed: &Proposed) -> Option<String> {
    let definition = definition_text(proposed);
    lines(&parts(&proposed.action, definition.as_deref()))
}

/// A question with the arguments below its first line, which names what is to be done.
pub(super) fn with_arguments(question: &str, arguments: &str) -> String {
    let (first, rest) = question.split_once('\n').unwrap_or((question, ""));
    let said = match arguments {
        "" => "Without arguments.".to_owned(),
        lines => format!("Arguments, as the agent wrote them:{lines}"),
    };
    format!("{first}\n\n{said}\n{rest}")
}

/// What is said, by name: the arguments of a tool, else all parameters that are not the protocol's own.
fn parts<'a>(action: &'a Action, definition: Option<&str>) -> Vec<(Cow<'a, str>, &'a str)> {
    let params = action.params();
    if action.kind() != ActionKind::CallTool && &**action.method() != "tools/call" {
        let is_said = |key: &str| !matches!(key, "_meta" | "requestState");
        return members(params).filter(|(key, _)| is_said(key)).collect();
    }
    let mut parts: Vec<_> = member(params, "arguments").into_iter().flat_map(members).collect();
    let schema = definition.and_then(|definition| pointer(definition, &["inputSchema", "properties"]));
    let order: Vec<Cow<'_, str>> = schema.into_iter().flat_map(members).map(|(name, _)| name).collect();
    parts.sort_by_key(|(name, _)| order.iter().position(|known| known == name).unwrap_or(usize::MAX));
    parts.extend(member(params, "inputResponses").map(|answers| (Cow::Borrowed("inputResponses"), answers)));
    parts
}

fn lines(parts: &[(Cow<'_, str>, &str)]) -> Option<String> {
    let bytes: usize = parts.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > LONGEST * LONGEST_CHARACTER {
        return None;
    }
    let head = ToolName::reserved(ReservedAction::Release);
    let mut text = String::new();
    for (name, value) in parts {
        let one = CanonicalArguments::read(Some(&format!("{{{}:{value}}}", quote(name)))).ok()?;
        let rendered = render(&head, None, &one).text;
        // The question names what is called already, so the line that does is left out.
        let (_, argument) = rendered.split_once('\n')?;
        text.push('\n');
        text.push_str(argument);
    }
    (text.chars().count() <= LONGEST).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use highwater_core::id::UpstreamId;

    use super::*;

    fn shown_of(kind: ActionKind, method: &str, params: &str, definition: Option<&str>) -> Option<String> {
        let (method, target): (Arc<str>, Arc<str>) = (method.into(), "t".into());
        let action = Action::new(kind, UpstreamId::new("up"), method, target, params.to_owned());
        lines(&parts(&action, definition))
    }

    fn call(params: &str, definition: Option<&str>) -> Option<String> {
        shown_of(ActionKind::CallTool, "tools/call", params, definition)
    }

    #[test]
    fn arguments_stand_in_the_order_of_the_schema_and_what_it_does_not_name_comes_last() {
        let definition = r#"{"inputSchema":{"properties":{"to":{},"amount":{},"note":{}}}}"#;
        let params = r#"{"arguments":{"amount":5,"extra":true,"note":"a","to":"ada"},"name":"pay"}"#;
        let text = call(params, Some(definition)).unwrap();
        let names: Vec<&str> = text.lines().filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!(names, ["to", "amount", "note", "extra"], "{text}");
        assert_eq!(call(r#"{"name":"pay","arguments":{}}"#, Some(definition)).as_deref(), Some(""));
        assert_eq!(call(r#"{"name":"pay"}"#, None).as_deref(), Some(""));
    }

    #[test]
    fn what_a_form_cannot_show_whole_it_does_not_show() {
        let params = |text: &str| format!(r#"{{"arguments":{{"text":"{text}"}}}}"#);
        assert!(call(&params(&"a".repeat(LONGEST - 100)), None).is_some());
        assert!(call(&params(&"a".repeat(LONGEST)), None).is_none());
        assert!(call(&params(&"a".repeat(LONGEST * LONGEST_CHARACTER)), None).is_none());
        // Hidden characters are longer when they are shown.
        assert!(call(&params(&"\u{202e}".repeat(LONGEST / 4)), None).is_none());
        assert!(
            call(r#"{"arguments":{"n":1e400}}"#, None).is_none(),
            "what cannot be signed cannot be shown"
        );
    }

    #[test]
    fn of_everything_else_all_parameters_are_shown() {
        let read = shown_of(ActionKind::ReadResource, "resources/read", r#"{"uri":"x:y","_meta":{}}"#, None);
        let read = read.unwrap();
        assert!(read.contains("\"uri\": \"x:y\"") && !read.contains("_meta"), "{read}");
        let answer = r#"{"arguments":{"a":1},"inputResponses":{"q":{"action":"accept"}},"requestState":"s"}"#;
        let answer = shown_of(ActionKind::Answer, "tools/call", answer, None).unwrap();
        assert!(answer.contains("\"a\": 1") && answer.contains("inputResponses"), "{answer}");
        assert!(answer.contains("accept") && !answer.contains("requestState"), "{answer}");
    }

    #[test]
    fn the_arguments_stand_between_what_is_asked_and_why() {
        let text = with_arguments("Allow `a`?\n\nBecause.", "\n  \"to\": \"ada\"");
        let expected = "Allow `a`?\n\nArguments, as the agent wrote them:\n  \"to\": \"ada\"\n\nBecause.";
        assert_eq!(text, expected);
        assert_eq!(with_arguments("Allow `a`?", ""), "Allow `a`?\n\nWithout arguments.\n");
    }
}
