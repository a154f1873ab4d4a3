//! The mandate: a person signs, once, what an agent may do for some hours without asking.

use highwater_display::plain;
use serde_json::Value;

use super::super::html::Html;
use super::headline::{arguments, in_order};
use super::{Frame, vouch};
use crate::approvals::RequestView;

/// How many arguments can be limited in the form. Whoever needs more writes the terms as JSON.
const MAX_ROWS: usize = 16;

/// How many rows there are for a mandate that begins with nothing.
const EMPTY_ROWS: usize = 4;

/// How an argument is limited: the value of a choice, and its words.
const LIMITS: [(&str, &str); 8] = [
    ("text", "is the text"),
    ("number", "is the number"),
    ("enum", "is one of these texts, with commas between"),
    ("prefix", "begins with"),
    ("range", "is a number from … to …, such as 0 to 50"),
    ("max", "is at most the number, however far below zero"),
    ("max_length", "is a text of at most this many characters"),
    ("json", "is the JSON value"),
];

/// The form, filled from a call of the same kind where there is one.
pub(in super::super) fn document(frame: &Frame<'_>, like: Option<&RequestView>) -> String {
    frame.document(|html| {
        html.raw("<h1>Mandate</h1><p class=\"lead\">Lets one agent call some tools for a few hours without asking ")
            .raw("you each time. You sign the exact terms; every use leaves a receipt that names them.</p>")
            .raw("<section aria-labelledby=\"terms-heading\"><h2 id=\"terms-heading\">Terms</h2>")
            .part(|html| form(html, like))
            .raw("</section><details class=\"lone-details\" id=\"written\"><summary>Write the terms as JSON</summary>")
            .raw("<form id=\"mandate\" class=\"wide\"><label for=\"terms\">Terms as JSON</label>")
            .raw("<textarea id=\"terms\" class=\"mono\" rows=\"14\" spellcheck=\"false\" required></textarea>")
            .raw("<div class=\"buttons\"><button type=\"submit\">Review</button></div></form></details>")
            .part(|html| vouch(html, "What you sign", "Sign with a passkey"))
            .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p>");
    })
}

fn form(html: &mut Html, like: Option<&RequestView>) {
    let agent = like.map(|view| view.principal.as_str()).unwrap_or_default();
    let tool = like.filter(|view| !view.context.wrapped).map(|view| view.tool.as_str()).unwrap_or_default();
    html.raw("<form id=\"terms-form\" class=\"wide\" autocomplete=\"off\">")
        .around("<label for=\"agent\">Token of the agent</label><input id=\"agent\" required spellcheck=\"false\" value=\"", agent, "\">")
        .raw("<label for=\"tools\">Tools, with commas between</label>")
        .around("<input id=\"tools\" class=\"mono\" required spellcheck=\"false\" value=\"", tool, "\">")
        .raw("<label for=\"calls\">How many calls</label>")
        .raw("<input id=\"calls\" type=\"number\" min=\"1\" max=\"1000\" required value=\"10\">")
        .raw("<label for=\"hours\">For how many hours, from now</label>")
        .raw("<input id=\"hours\" type=\"number\" min=\"0.25\" max=\"8\" step=\"0.25\" required value=\"4\">")
        .raw("<fieldset class=\"limits\"><legend>Arguments</legend><p class=\"small\">An argument that is not named ")
        .raw("here may not be in a call, and one that is named may not be left out.</p>");
    let given = like.and_then(arguments).unwrap_or_default();
    let named = like.map(|view| in_order(view, &given)).unwrap_or_default();
    let rows = named.iter().take(MAX_ROWS).map(|(name, value)| (*name, Some(*value)));
    let empty = std::iter::repeat_n(("", None), if named.is_empty() { EMPTY_ROWS } else { 0 });
    for (number, (name, value)) in (1..).zip(rows.chain(empty)) {
        row(html, number, name, value);
    }
    if named.len() > MAX_ROWS {
        html.raw("<p class=\"small\">The call has more arguments than fit here. Write the terms as JSON below.</p>");
    }
    html.raw("</fieldset><label class=\"check\"><input type=\"checkbox\" id=\"tainted\"> <span>Also after the agent has ")
        .raw("read text of strangers. Then every target must be given exactly.</span></label>")
        .raw("<div class=\"buttons\"><button type=\"submit\" class=\"primary\">Review</button></div></form>");
}

fn row(html: &mut Html, number: usize, name: &str, value: Option<&Value>) {
    let (chosen, text) = match value {
        None => ("text", String::new()),
        Some(Value::String(text)) => ("text", text.clone()),
        Some(Value::Number(number)) => ("number", number.to_string()),
        Some(other) => ("json", other.to_string()),
    };
    html.raw("<div class=\"limit\">")
        .around("<input class=\"limit-name mono\" placeholder=\"name\" spellcheck=\"false\" aria-label=\"Argument ", number, "\"")
        .around(" value=\"", name, "\">")
        .around("<select class=\"limit-kind\" aria-label=\"How argument ", number, " is limited\">");
    for (kind, words) in LIMITS {
        html.raw("<option value=\"").raw(kind).raw(if kind == chosen { "\" selected>" } else { "\">" });
        html.raw(words).raw("</option>");
    }
    html.around(
        "</select><input class=\"limit-value\" placeholder=\"value\" spellcheck=\"false\" aria-label=\"Value of argument ",
        number,
        "\"",
    )
    .around(" value=\"", text, "\"></div>");
}

/// What terms let an agent do, in a sentence. They are shown in full beside it.
pub(in super::super) fn says(terms: &str) -> String {
    let terms: Value = serde_json::from_str(terms).unwrap_or_default();
    let word = |key: &str| terms.get(key).and_then(Value::as_str).map(|text| plain(text).text);
    let tools = terms.get("tools").and_then(Value::as_array).into_iter().flatten();
    let tools: Vec<String> = tools.filter_map(Value::as_str).map(|tool| plain(tool).text).collect();
    let calls = terms.get("max_calls").and_then(Value::as_u64);
    match (word("agent"), word("expires"), calls) {
        (Some(agent), Some(expires), Some(calls)) if !tools.is_empty() => {
            let tools = tools.join(", ");
            format!(
                "Let token {agent} make up to {calls} calls of {tools} until {expires}, without asking you"
            )
        }
        _ => "Let an agent do what the terms say, without asking you".to_owned(),
    }
}
