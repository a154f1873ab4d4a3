//! Why a person is asked, in plain words; the names of rules, classes of data and origins are folded away.

use highwater_core::approval::AuthenticatorClass;
use highwater_display::plain;

use super::super::html::Html;
use super::time;
use crate::approvals::{ContextView, NeedView, RequestKind as Kind, RequestView};

/// The first reason, which stands at the top while it waits: who sees no more than that knows why they are asked.
pub(super) fn first(html: &mut Html, view: &RequestView) {
    if let Some(first) = all(&view.context).next() {
        html.raw("<p class=\"because\">").prose(&plain(first).text).raw("</p>");
    }
}

/// Every reason in words, as the approval service has ordered them: what is unusual first.
fn all(context: &ContextView) -> impl Iterator<Item = &str> {
    context.values.iter().map(String::as_str).chain(context.asks.iter().map(|ask| ask.says.as_str()))
}

/// All reasons, or those behind the first where that stands at the top.
pub(super) fn why(html: &mut Html, view: &RequestView, first_is_at_top: bool) {
    let context = &view.context;
    html.raw("<section aria-labelledby=\"why\"><h2 id=\"why\">Why you are asked</h2>");
    let mut rest = all(context).skip(usize::from(first_is_at_top)).peekable();
    if rest.peek().is_some() {
        html.raw(if first_is_at_top { "<p>Besides what is said at the top:</p>" } else { "" })
            .raw("<ul class=\"reasons\">");
        for reason in rest {
            html.raw("<li>").prose(&plain(reason).text).raw("</li>");
        }
        html.raw("</ul>");
    } else if all(context).next().is_some() {
        html.raw("<p>For what is said at the top, and nothing else.</p>");
    } else {
        html.raw("<p>A rule of this gateway asks for a person.</p>");
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
