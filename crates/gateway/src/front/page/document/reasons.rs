//! Why a person is asked, in plain words; the names of rules, classes of data and origins are folded away.

use highwater_core::approval::{AuthenticatorClass, plain};

use super::super::html::Html;
use super::time;
use crate::approvals::{NeedView, RequestKind as Kind, RequestView};

/// The first reason, which stands at the top: who sees no more than that knows why they are asked.
pub(super) fn first(html: &mut Html, view: &RequestView) {
    let context = &view.context;
    let first = context.values.first().or_else(|| context.asks.first().map(|ask| &ask.says));
    if let Some(first) = first {
        html.raw("<p class=\"because\">").prose(&plain(first).text).raw("</p>");
    }
}

pub(super) fn why(html: &mut Html, view: &RequestView) {
    let context = &view.context;
    html.raw("<section aria-labelledby=\"why\"><h2 id=\"why\">Why you are asked</h2>");
    if context.asks.is_empty() && context.values.is_empty() {
        html.raw("<p>A rule of this gateway asks for a person.</p>");
    } else {
        // The desk puts what is unusual first.
        html.raw("<ul class=\"reasons\">");
        for value in &context.values {
            html.raw("<li>").prose(&plain(value).text).raw("</li>");
        }
        for ask in &context.asks {
            html.raw("<li>").prose(&plain(&ask.says).text).raw("</li>");
        }
        html.raw("</ul>");
    }
    if let Some(destination) = &context.destination {
        html.around("<p>", plain(destination).text, "</p>");
    }
    details(html, view);
    html.raw("</section>");
}

fn details(html: &mut Html, view: &RequestView) {
    let context = &view.context;
    html.raw("<details><summary>Details</summary><dl class=\"facts\">");
    let rules: Vec<String> = context.asks.iter().map(|ask| plain(&ask.rule).text).collect();
    if !rules.is_empty() {
        html.around("<div><dt>Rules</dt><dd class=\"mono\">", rules.join(", "), "</dd></div>");
    }
    fact(html, "Tool", &view.tool);
    if let Some(server) = &view.server {
        fact(html, "Server", server);
    }
    if let Some(trust) = &context.trust {
        fact(html, "Server is", trust);
    }
    fact(html, "Token", &view.principal);
    fact(html, "Client calls itself", &view.caller);
    fact(html, "Who is asked", view.user.as_str());
    if view.kind == Kind::Passkey {
        fact(html, "Passkey", needed(view.need.class));
    }
    if let Some(decision) = &context.decision {
        html.raw("<div><dt>Decision</dt>").around("<dd class=\"mono\">", plain(decision).text, "</dd></div>");
    }
    html.raw("<div><dt>Asked at</dt><dd>");
    time(html, view.created);
    html.raw("</dd></div></dl>");
    if !context.labels.is_empty() {
        html.raw("<h3>What this conversation has read</h3><ul class=\"tags\">");
        context.labels.iter().for_each(|label| {
            html.around("<li>", plain(label).text, "</li>");
        });
        html.raw("</ul>");
    }
    if !context.origins.is_empty() {
        html.raw("<h3>Where that came from</h3><ul class=\"origins\">");
        for origin in &context.origins {
            html.around("<li>", plain(&origin.origin).text, "");
            if !origin.vouched {
                html.raw(" <span class=\"unusual\">nobody vouches for it</span>");
            }
            html.raw("</li>");
        }
        html.raw("</ul>");
    }
    html.raw("</details>");
}

fn fact(html: &mut Html, name: &'static str, value: &str) {
    html.raw("<div><dt>").raw(name).raw("</dt>").around("<dd>", plain(value).text, "</dd></div>");
}

/// Which passkeys a request takes, in words.
pub(super) const fn needed(class: AuthenticatorClass) -> &'static str {
    match class {
        AuthenticatorClass::CrossPlatform => "a security key or a phone",
        AuthenticatorClass::Platform => "any passkey of yours",
    }
}

/// Who has signed, where several must.
pub(super) fn signatures(html: &mut Html, need: &NeedView) {
    if need.n < 2 && need.approvers.is_empty() {
        return;
    }
    html.raw("<section aria-labelledby=\"who\"><h2 id=\"who\">")
        .text(format_args!("{} of {} have signed", need.signed.len(), need.n))
        .raw("</h2><ul class=\"people\">");
    for user in &need.signed {
        html.around("<li class=\"done\">", plain(user.as_str()).text, " has signed</li>");
    }
    for user in need.approvers.iter().filter(|user| !need.signed.contains(user)) {
        html.around("<li>", plain(user.as_str()).text, " may sign</li>");
    }
    html.raw("</ul></section>");
}
