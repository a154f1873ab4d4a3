//! What is wanted, in one sentence: the operator's where there is one, else the server's name for it, which says so.

use highwater_display::{Said, Sentence, glance, plain};
use highwater_notation::CanonicalArguments;
use highwater_passkey::ReservedAction;
use serde_json::Value;

use super::super::html::Html;
use crate::approvals::RequestView;

/// How many arguments are named beside a tool that has no sentence.
const MAX_GLANCED: usize = 3;

/// What a request is about.
pub(super) struct Headline {
    parts: Vec<Said>,
    /// Whether the words are the server's, and not the operator's or ours.
    pub(super) is_theirs: bool,
}

// === impl Headline ===

impl Headline {
    pub(super) fn of(view: &RequestView) -> Self {
        let arguments = arguments(view);
        let sentence = view.context.display.as_deref().and_then(|text| Sentence::parse(text).ok());
        if let (Some(sentence), Some(arguments)) = (&sentence, &arguments) {
            return Self { parts: sentence.about(arguments), is_theirs: false };
        }
        if let Some(ours) = reserved(&view.tool).and_then(|text| Sentence::parse(text).ok()) {
            return Self { parts: ours.about(&arguments.unwrap_or(Value::Null)), is_theirs: false };
        }
        let title = view.context.server_says.as_ref().and_then(|says| says.title.as_deref());
        match title.map(str::trim).filter(|title| !title.is_empty()) {
            Some(title) => {
                let title = Said::Value(glance(&Value::String(title.to_owned())));
                Self { parts: vec![Said::Words("use ".to_owned()), title], is_theirs: true }
            }
            None => Self {
                parts: vec![Said::Words("call ".to_owned()), Said::Value(plain(&view.tool).text)],
                is_theirs: false,
            },
        }
    }

    /// The sentence, with what the agent or the server wrote apart from what the operator or we wrote.
    pub(super) fn write(&self, html: &mut Html) {
        for part in &self.parts {
            match part {
                Said::Words(words) => html.text(words),
                Said::Value(value) => html.around("<bdi class=\"value\">", value, "</bdi>"),
                Said::Absent(name) => html.around("<span class=\"on\">(no ", name, ")</span>"),
            };
        }
    }

    /// As plain text.
    pub(super) fn text(&self) -> String {
        self.parts.iter().map(ToString::to_string).collect()
    }
}

/// The tool's own arguments; `None` where they are not kept.
pub(in super::super) fn arguments(view: &RequestView) -> Option<Value> {
    if view.arguments.is_empty() {
        return None;
    }
    let whole = CanonicalArguments::read(Some(&view.arguments)).ok()?.value();
    match whole {
        Value::Object(mut members) if view.context.wrapped => {
            Some(members.remove("arguments").unwrap_or_else(|| Value::Object(serde_json::Map::new())))
        }
        whole => Some(whole),
    }
}

/// The arguments of a call in the order of the tool's schema, and then whatever it does not declare.
pub(super) fn in_order<'a>(view: &'a RequestView, arguments: &'a Value) -> Vec<(&'a str, &'a Value)> {
    let Value::Object(members) = arguments else { return Vec::new() };
    let fields = &view.context.fields;
    let known = fields.iter().filter_map(|field| Some((field.name.as_str(), members.get(&field.name)?)));
    let others = members.iter().filter(|(name, _)| fields.iter().all(|field| field.name != **name));
    known.chain(others.map(|(name, value)| (name.as_str(), value))).collect()
}

/// The first arguments at a glance, to tell one call from another.
pub(super) fn glimpse(view: &RequestView) -> String {
    let Some(arguments) = arguments(view) else { return String::new() };
    let named = in_order(view, &arguments);
    let told =
        named.iter().take(MAX_GLANCED).map(|(name, value)| format!("{} {}", plain(name).text, glance(value)));
    let mut told = told.collect::<Vec<_>>().join(" · ");
    if named.len() > MAX_GLANCED {
        told.push_str(" …");
    }
    told
}

/// What our own actions do.
fn reserved(tool: &str) -> Option<&'static str> {
    let word = tool.strip_prefix("highwater/")?;
    Some(match ReservedAction::parse(word)? {
        ReservedAction::ReadResource => "read the resource {uri}",
        ReservedAction::GetPrompt => "get the prompt {name}",
        ReservedAction::Release => "let the agent read a reply that is held back",
        ReservedAction::Challenge => "have its server ask you about {toolName}",
        ReservedAction::Enroll => "add a passkey",
        ReservedAction::Delegate => "sign a mandate",
        ReservedAction::Policy => "change the policy",
        ReservedAction::Recover => "start over without passkeys",
    })
}
