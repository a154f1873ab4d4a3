//! The document of one request: what will be done, why it is asked, and the two answers.

use highwater_core::approval::{AuthenticatorClass, plain};
use highwater_core::id::Timestamp;

use super::super::html::Html;
use super::super::visitors::Visitor;
use super::conversation;
use super::describe;
use super::{Frame, left, state_word, time};
use crate::approvals::{
    ApprovalState as State, EarlierMatters, NeedView, RememberScope, RequestKind as Kind, RequestView,
};
use crate::describe::WhatItIs;

/// A request as somebody may see it who signed in.
pub(in super::super) fn document(
    frame: &Frame<'_>,
    view: &RequestView,
    visitor: &Visitor,
    what_it_is: Option<&WhatItIs>,
) -> String {
    frame.document(|html| {
        html.around("<article class=\"request\" data-id=\"", &view.id, "\"")
            .around(" data-state=\"", state_word(view.state), "\"")
            .around(" data-signed=\"", view.need.signed.len(), "\">")
            .part(|html| head(html, view, frame.now))
            .part(|html| {
                if let Some(conversation) = view.context.conversation.as_ref().filter(|_| is_pending(view)) {
                    conversation::section(html, conversation);
                }
            })
            .part(|html| what(html, view))
            .part(|html| why(html, view))
            .part(|html| signatures(html, &view.need))
            .part(|html| facts(html, view))
            .part(|html| server_words(html, view))
            .part(|html| {
                if let (Some(server), Some(known)) = (&view.server, what_it_is)
                    && view.state == State::Pending
                {
                    describe::section(html, server, known);
                }
            })
            .part(|html| remember(html, view))
            .raw("<div id=\"end\" tabindex=\"-1\"></div>")
            .part(|html| {
                if view.state == State::Pending {
                    answers(html, view, visitor);
                }
            })
            .raw("</article>");
    })
}

fn is_pending(view: &RequestView) -> bool {
    view.state == State::Pending
}

/// Whether the one question is whether this is a new conversation.
fn blocks(view: &RequestView) -> bool {
    view.context.conversation.as_ref().is_some_and(|it| it.matters == EarlierMatters::Blocks)
}

fn head(html: &mut Html, view: &RequestView, now: Timestamp) {
    let kind = match view.kind {
        Kind::Confirm => "Confirmation",
        Kind::Passkey => "Passkey approval",
    };
    html.raw("<header class=\"ask\"><p class=\"over\">").text(kind);
    match view.state {
        State::Pending => {
            html.raw(" · <span class=\"until\">open for <strong>");
            left(html, view.expires, now);
            html.raw("</strong></span>");
        }
        State::Approved | State::Consumed | State::Declined | State::Expired => {}
    }
    html.raw("</p><h1><span class=\"mono\">").text(plain(&view.tool).text).raw("</span>");
    if let Some(server) = &view.server {
        html.around(" <span class=\"on\">on ", plain(server).text, "</span>");
    }
    html.raw("</h1>");
    if view.state != State::Pending {
        outcome(html, view);
    }
    if view.hidden > 0 {
        let (count, noun) = (view.hidden, if view.hidden == 1 { "character" } else { "characters" });
        html.raw("<p class=\"banner warn\" role=\"note\"><strong>")
            .text(format_args!("{count} hidden {noun}."))
            .raw("</strong> What you would not have seen is written as <code>⟦U+…⟧</code>. ")
            .raw("Hidden text is a common way to mislead readers.</p>");
    }
    html.raw("</header>");
}

/// What became of it.
fn outcome(html: &mut Html, view: &RequestView) {
    let (class, words) = match view.state {
        State::Pending => return,
        State::Approved => ("good", "Approved. The call runs as soon as the agent is there for it."),
        State::Consumed => ("good", "Approved, and the call was let through."),
        State::Declined => ("bad", "Declined. The call was not made."),
        State::Expired => ("", "Expired. The call was not made; the agent may ask again."),
    };
    html.around("<p class=\"banner ", class, "\" role=\"status\">").around("<strong>", words, "</strong>");
    if let (Some(by), Some(at)) = (&view.decided_by, view.decided) {
        html.around(" By ", plain(by).text, ", ");
        time(html, at);
        html.raw(".");
    }
    html.raw("</p>");
}

fn what(html: &mut Html, view: &RequestView) {
    html.raw("<section aria-labelledby=\"what\"><h2 id=\"what\">What will be done</h2>")
        // To the letter: this is the text that stands for what is signed.
        .around(
            "<pre class=\"display\" tabindex=\"0\" aria-labelledby=\"what\">",
            &view.display_text,
            "</pre>",
        );
    if !view.context.absent.is_empty() {
        html.raw("<p class=\"small\">Not part of the call, so the server decides:</p><ul class=\"absent\">");
        for field in &view.context.absent {
            html.around("<li><code>", plain(&field.name).text, "</code>");
            match &field.default {
                Some(default) => html.around(" — it says it takes <code>", plain(default).text, "</code>"),
                None => html.raw(" — it names no default"),
            };
            html.raw("</li>");
        }
        html.raw("</ul>");
    }
    html.raw("</section>");
}

fn why(html: &mut Html, view: &RequestView) {
    let context = &view.context;
    html.raw("<section aria-labelledby=\"why\"><h2 id=\"why\">Why you are asked</h2>");
    if context.asks.is_empty() {
        html.raw("<p>A rule of this gateway asks for a person.</p>");
    } else {
        // The desk puts what is unusual first.
        html.raw("<ul class=\"reasons\">");
        for ask in &context.asks {
            html.around("<li>", plain(&ask.says).text, " <span class=\"rule\">")
                .text(plain(&ask.rule).text)
                .raw("</span></li>");
        }
        html.raw("</ul>");
    }
    if let Some(destination) = &context.destination {
        html.around("<p>It goes to <strong>", plain(destination).text, "</strong>.</p>");
    }
    if !context.labels.is_empty() || !context.origins.is_empty() {
        html.raw("<h3>What this session has taken in</h3>");
        if !context.labels.is_empty() {
            html.raw("<ul class=\"tags\">");
            context.labels.iter().for_each(|label| {
                html.around("<li>", plain(label).text, "</li>");
            });
            html.raw("</ul>");
        }
        if !context.origins.is_empty() {
            html.raw("<p class=\"small\">It came from</p><ul class=\"origins\">");
            for origin in &context.origins {
                html.around("<li>", plain(&origin.origin).text, "");
                if !origin.vouched {
                    html.raw(" <span class=\"unusual\">nobody vouches for it</span>");
                }
                html.raw("</li>");
            }
            html.raw("</ul>");
        }
    }
    html.raw("</section>");
}

/// Who has signed, where several must.
fn signatures(html: &mut Html, need: &NeedView) {
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

fn facts(html: &mut Html, view: &RequestView) {
    html.raw("<section aria-labelledby=\"facts\"><h2 id=\"facts\">Who and where</h2><dl class=\"facts\">");
    fact(html, "Wanted by", &view.caller);
    fact(html, "With the token", &view.principal);
    fact(html, "Asked is", view.user.as_str());
    if let Some(server) = &view.server {
        fact(html, "Server", server);
    }
    if let Some(trust) = &view.context.trust {
        fact(html, "Trust", trust);
    }
    if view.kind == Kind::Passkey {
        let class = match view.need.class {
            AuthenticatorClass::CrossPlatform => "a security key or a phone",
            AuthenticatorClass::Platform => "any of yours",
        };
        fact(html, "Passkey", class);
    }
    if let Some(decision) = &view.context.decision {
        html.raw("<div><dt>Decision</dt>").around("<dd class=\"mono\">", plain(decision).text, "</dd></div>");
    }
    html.raw("<div><dt>Since</dt><dd>");
    time(html, view.created);
    html.raw("</dd></div></dl></section>");
}

fn fact(html: &mut Html, name: &'static str, value: &str) {
    html.raw("<div><dt>").raw(name).raw("</dt>").around("<dd>", plain(value).text, "</dd></div>");
}

fn server_words(html: &mut Html, view: &RequestView) {
    let Some(says) = &view.context.server_says else { return };
    let said = [
        ("What is to be approved", &says.display_text),
        ("Title", &says.title),
        ("Description", &says.description),
    ];
    if said.iter().all(|(_, words)| words.is_none()) {
        return;
    }
    html.raw("<section class=\"theirs\" aria-labelledby=\"theirs\"><h2 id=\"theirs\">The server says</h2>")
        .raw("<p class=\"small\">Written by the server and checked by nobody.</p><dl>");
    for (what, words) in said {
        let Some(words) = words else { continue };
        // Lines of theirs stay lines; everything else that cannot be seen is made visible.
        let lines: Vec<String> = words.split('\n').map(|line| plain(line).text).collect();
        html.raw("<dt>").raw(what).raw("</dt>").around("<dd>", lines.join("\n"), "</dd>");
    }
    html.raw("</dl></section>");
}

/// For how long a yes counts. Never offered where a passkey is needed, and nothing is chosen beforehand but the one call.
fn remember(html: &mut Html, view: &RequestView) {
    if view.remember.is_empty() || view.kind != Kind::Confirm || view.state != State::Pending {
        return;
    }
    html.raw(
        "<section aria-label=\"For how long\"><fieldset class=\"remember\"><legend>A yes counts</legend>",
    )
    .raw("<label><input type=\"radio\" name=\"remember\" value=\"\" checked> only this once</label>");
    for scope in &view.remember {
        let words = view.context.rememberable.as_ref().map(|same| same.words(*scope)).unwrap_or_default();
        html.around("<label><input type=\"radio\" name=\"remember\" value=\"", scope_word(*scope), "\"> ")
            .around("for ", words, "</label>");
    }
    html.raw("</fieldset></section>");
}

/// The two answers. The module lets the first be given once the end was seen.
fn answers(html: &mut Html, view: &RequestView, visitor: &Visitor) {
    let has_signed = view.need.signed.contains(&visitor.user);
    html.raw("<section class=\"answers\" aria-label=\"Your answer\">");
    html.raw("<p id=\"hint\" class=\"small\" hidden><a href=\"#end\">Read to the end</a> to approve.</p>")
        .raw("<div class=\"buttons\">");
    match view.kind {
        Kind::Passkey if has_signed => {
            html.raw("<p class=\"small\">You have signed; it waits for the others.</p>");
        }
        Kind::Passkey => {
            html.raw("<button type=\"button\" id=\"approve\" class=\"primary\" disabled>Approve with passkey</button>");
        }
        // With what was read before the silence it would be refused, whatever is said here.
        Kind::Confirm if blocks(view) => {}
        Kind::Confirm => {
            html.raw("<button type=\"button\" id=\"confirm\" class=\"primary\" disabled>Allow it</button>");
        }
    }
    html.raw("<button type=\"button\" id=\"decline\">Decline</button></div>")
        .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p></section>");
}

const fn scope_word(scope: RememberScope) -> &'static str {
    match scope {
        RememberScope::Host => "host",
        RememberScope::Folder => "folder",
        RememberScope::Session => "session",
        RememberScope::ToolWithTargets => "tool-with-targets",
        RememberScope::UntilDefinitionChanges => "until-definition-changes",
    }
}
