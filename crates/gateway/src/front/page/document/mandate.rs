//! The mandate: a person signs, once, what an agent may do for some hours without asking.

use highwater_core::approval::plain;
use serde_json::Value;

use super::{Frame, vouch};

pub(in super::super) fn document(frame: &Frame<'_>) -> String {
    frame.document(|html| {
        html.raw("<h1>Mandate</h1><p class=\"lead\">Lets one agent call some tools for a few hours without asking ")
            .raw("you each time. You sign the exact terms; every use leaves a receipt that names them.</p>")
            .raw("<section aria-labelledby=\"terms-heading\"><h2 id=\"terms-heading\">Terms</h2>")
            .raw("<form id=\"mandate\" class=\"wide\"><label for=\"terms\">As JSON</label>")
            .raw("<textarea id=\"terms\" class=\"mono\" rows=\"14\" spellcheck=\"false\" required></textarea>")
            .raw("<div class=\"buttons\"><button type=\"submit\">Review</button></div></form></section>")
            .part(|html| vouch(html, "What you sign", "Sign with a passkey"))
            .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p>");
    })
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
