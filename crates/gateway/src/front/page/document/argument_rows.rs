//! What a call is given: its arguments in rows, the exact text that stands for them, and what the server wrote.

use highwater_display::{lines, plain};
use serde_json::Value;

use super::super::html::Html;
use super::headline::{arguments, in_order};
use crate::approvals::{RequestKind as Kind, RequestView};

/// How deep values within values are indented.
const MAX_DEPTH: usize = 16;

/// Every argument in full, in the order and with the titles of the tool's schema. Its end is what has to be seen.
pub(super) fn rows(html: &mut Html, view: &RequestView) {
    html.raw("<section aria-labelledby=\"what\"><h2 id=\"what\">What it is given</h2>");
    match arguments(view) {
        Some(given) => {
            let named = in_order(view, &given);
            if named.is_empty() {
                html.raw("<p>Nothing: the call has no arguments.</p>");
            } else {
                html.raw("<dl class=\"given\">");
                named.iter().for_each(|(name, value)| row(html, view, name, value));
                html.raw("</dl>");
            }
        }
        None => {
            html.around("<p class=\"text\">", &view.display_text, "</p>");
        }
    }
    html.raw("<div id=\"end\" tabindex=\"-1\"></div>");
    absent(html, view);
    html.raw("</section>");
}

/// Some of the arguments, in full.
pub(super) fn some(html: &mut Html, view: &RequestView, chosen: impl Fn(&str) -> bool) {
    let given = arguments(view).unwrap_or_default();
    html.raw("<dl class=\"given\">");
    let named = in_order(view, &given).into_iter().filter(|(name, _)| chosen(name));
    named.for_each(|(name, value)| row(html, view, name, value));
    html.raw("</dl>");
}

fn row(html: &mut Html, view: &RequestView, name: &str, value: &Value) {
    let field = view.context.fields.iter().find(|field| field.name == name);
    let title = field.and_then(|field| field.title.as_deref()).filter(|title| !title.trim().is_empty());
    html.raw("<div><dt>");
    match title {
        Some(title) => {
            html.text(plain(title).text).around(" <span class=\"key mono\">", plain(name).text, "</span>")
        }
        None => html.text(plain(name).text),
    };
    if let Some(words) = field.and_then(|field| field.description.as_deref()) {
        html.around("<span class=\"says\">The server says: ", plain(words).text, "</span>");
    } else if field.is_none() && !view.context.fields.is_empty() {
        html.raw("<span class=\"says\">The tool does not declare it.</span>");
    }
    html.raw("</dt><dd>");
    shown(html, value, 0);
    for thing in view.context.listed.iter().filter(|thing| thing.argument == name) {
        html.around(
            "<span class=\"says\">The server listed it as “<bdi>",
            plain(&thing.name).text,
            "</bdi>”",
        );
        if let Some(tool) = &thing.tool {
            html.around(" in the reply of <code>", plain(tool).text, "</code>");
        }
        html.raw(".</span>");
    }
    html.raw("</dd></div>");
}

/// A value in full. What is a text and reads like something else says that it is a text.
fn shown(html: &mut Html, value: &Value, depth: usize) {
    match value {
        Value::String(text) if text.is_empty() => {
            html.raw("<span class=\"note\">empty text</span>");
        }
        Value::String(text) => {
            let rendered = lines(text).text;
            if text.contains('\n') {
                html.raw("<div class=\"block\">");
                rendered.split('\n').for_each(|line| {
                    html.around("<span class=\"line\" dir=\"auto\">", line, "</span>");
                });
                html.raw("</div>");
            } else {
                html.around("<span class=\"text\" dir=\"auto\">", rendered, "</span>");
            }
            if reads_otherwise(text) {
                html.raw(" <span class=\"note\">as text</span>");
            }
        }
        Value::Array(items) if items.is_empty() => {
            html.raw("<span class=\"note\">empty list</span>");
        }
        Value::Object(members) if members.is_empty() => {
            html.raw("<span class=\"note\">nothing in it</span>");
        }
        Value::Array(items) if depth < MAX_DEPTH => {
            html.raw("<ol class=\"items\">");
            for item in items {
                html.raw("<li>");
                shown(html, item, depth + 1);
                html.raw("</li>");
            }
            html.raw("</ol>");
        }
        Value::Object(members) if depth < MAX_DEPTH => {
            html.raw("<dl class=\"inner\">");
            for (name, member) in members {
                html.around("<div><dt>", plain(name).text, "</dt><dd>");
                shown(html, member, depth + 1);
                html.raw("</dd></div>");
            }
            html.raw("</dl>");
        }
        other => {
            html.around("<span class=\"mono\">", plain(&other.to_string()).text, "</span>");
        }
    }
}

/// Whether a text could be taken for a number, a truth value, or nothing.
fn reads_otherwise(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || matches!(text, "true" | "false" | "null") || text.parse::<f64>().is_ok()
}

fn absent(html: &mut Html, view: &RequestView) {
    if view.context.absent.is_empty() {
        return;
    }
    html.raw("<details class=\"absent\"><summary>Not given, so the server decides</summary><ul>");
    for field in &view.context.absent {
        html.around("<li><code>", plain(&field.name).text, "</code>");
        match &field.default {
            Some(default) => html.around(" — it says it takes <code>", plain(default).text, "</code>"),
            None => html.raw(" — it names no default"),
        };
        html.raw("</li>");
    }
    html.raw("</ul></details>");
}

/// To the letter: this is the text that stands for what is signed.
pub(super) fn exact(html: &mut Html, view: &RequestView) {
    html.raw("<details class=\"exact\"><summary id=\"exact\">");
    html.raw(match view.kind {
        Kind::Passkey => "The exact text that your passkey signs",
        Kind::Confirm => "The exact call",
    })
    .raw("</summary>")
    .around(
        "<pre class=\"display\" tabindex=\"0\" role=\"group\" aria-labelledby=\"exact\">",
        &view.display_text,
        "</pre></details>",
    );
}

/// What the server wrote, folded away: however long it is, nobody has to read past it.
pub(super) fn server_words(html: &mut Html, view: &RequestView) {
    let Some(says) = &view.context.server_says else { return };
    let said = [
        ("What is to be approved", &says.display_text),
        ("Title", &says.title),
        ("Description", &says.description),
    ];
    if said.iter().all(|(_, words)| words.is_none()) {
        return;
    }
    html.raw("<details class=\"theirs\"><summary>What the server says about this tool</summary>")
        .raw("<p class=\"small\">Written by the server and checked by nobody.</p><dl>");
    for (what, words) in said {
        let Some(words) = words else { continue };
        html.raw("<dt>").raw(what).raw("</dt>").around("<dd dir=\"auto\">", lines(words).text, "</dd>");
    }
    html.raw("</dl></details>");
}
