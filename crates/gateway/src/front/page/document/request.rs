//! The document of one request: what will be done, why it is asked, and the two answers.

use highwater_core::approval::plain;

use super::super::html::Html;
use super::super::view::{Kind, QuorumView, RememberScope, RequestView, State};
use super::super::visitors::Visitor;
use super::{Frame, left, time};

/// A request as somebody may see it who signed in.
pub(in super::super) fn document(frame: &Frame<'_>, view: &RequestView, visitor: &Visitor) -> String {
    frame.document(|html| {
        html.around("<article class=\"request\" data-id=\"", &view.id, "\"")
            .around(" data-state=\"", view.state.word(), "\"")
            .around(" data-signed=\"", view.quorum.as_ref().map_or(0, |quorum| quorum.signed.len()), "\">")
            .part(|html| head(html, view, frame.now))
            .part(|html| what(html, view))
            .part(|html| why(html, view))
            .part(|html| {
                if let Some(quorum) = &view.quorum {
                    signatures(html, quorum);
                }
            })
            .part(|html| facts(html, view))
            .part(|html| server_words(html, view))
            .raw("<div id=\"end\" tabindex=\"-1\"></div>")
            .part(|html| {
                if view.state == State::Pending {
                    answers(html, view, visitor);
                }
            })
            .raw("</article>");
    })
}

fn head(html: &mut Html, view: &RequestView, now: u64) {
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
    html.raw("</p><h1><span class=\"mono\">").text(&view.tool).raw("</span>");
    if let Some(server) = &view.server {
        html.around(" <span class=\"on\">on ", plain(&server.name).text, "</span>");
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
    if let Some((by, at)) = &view.decided {
        html.around(" By ", plain(by).text, ", ");
        time(html, *at);
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
    if !view.absent.is_empty() {
        html.raw("<p class=\"small\">Not part of the call, so the server decides:</p><ul class=\"absent\">");
        for field in &view.absent {
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
    html.raw("<section aria-labelledby=\"why\"><h2 id=\"why\">Why you are asked</h2>");
    if view.reasons.is_empty() {
        html.raw("<p>A rule of this gateway asks for a person.</p>");
    } else {
        html.raw("<ul class=\"reasons\">");
        let (first, then): (Vec<_>, Vec<_>) = view.reasons.iter().partition(|reason| reason.unusual);
        for reason in first.into_iter().chain(then) {
            html.raw(if reason.unusual { "<li class=\"unusual\">" } else { "<li>" })
                .text(plain(&reason.words).text)
                .around(" <span class=\"rule\">", plain(&reason.rule).text, "</span></li>");
        }
        html.raw("</ul>");
    }
    if let Some(destination) = &view.destination {
        html.around("<p>It would go to <strong>", plain(destination).text, "</strong>.</p>");
    }
    if !view.labels.is_empty() {
        html.raw("<h3>What this session has seen</h3><dl class=\"labels\">");
        let (first, then): (Vec<_>, Vec<_>) = view.labels.iter().partition(|label| label.unusual);
        for label in first.into_iter().chain(then) {
            html.raw(if label.unusual { "<div class=\"unusual\"><dt>" } else { "<div><dt>" })
                .text(plain(&label.label).text)
                .raw("</dt>");
            for origin in &label.origins {
                html.around("<dd>", plain(origin).text, "</dd>");
            }
            if label.origins.is_empty() {
                html.raw("<dd>origin not known</dd>");
            }
            html.raw("</div>");
        }
        html.raw("</dl>");
    }
    html.raw("</section>");
}

fn signatures(html: &mut Html, quorum: &QuorumView) {
    html.raw("<section aria-labelledby=\"who\"><h2 id=\"who\">")
        .text(format_args!("{} of {} have signed", quorum.signed.len(), quorum.needed))
        .raw("</h2><ul class=\"people\">");
    for (user, at) in &quorum.signed {
        html.around("<li class=\"done\">", plain(user).text, " signed, ");
        time(html, *at);
        html.raw("</li>");
    }
    for user in &quorum.waiting {
        html.around("<li>", plain(user).text, " has not signed</li>");
    }
    html.raw("</ul></section>");
}

fn facts(html: &mut Html, view: &RequestView) {
    html.raw("<section aria-labelledby=\"facts\"><h2 id=\"facts\">Who and where</h2><dl class=\"facts\">");
    fact(html, "Asked by", &view.caller);
    fact(html, "With the token", &view.token);
    fact(html, "Asks", &view.user);
    if let Some(server) = &view.server {
        fact(html, "Server", &server.name);
        fact(html, "Reached by", &server.place);
        let trust = if server.verified { "somebody vouches for it" } else { "nobody vouches for it" };
        html.raw("<div><dt>Trust</dt>")
            .raw(if server.verified { "<dd>" } else { "<dd class=\"unusual\">" })
            .text(plain(&server.trust).text)
            .around(", ", trust, "</dd></div>");
    }
    html.raw("<div><dt>Since</dt><dd>");
    time(html, view.created);
    html.raw("</dd></div></dl></section>");
}

fn fact(html: &mut Html, name: &'static str, value: &str) {
    html.raw("<div><dt>").raw(name).raw("</dt>").around("<dd>", plain(value).text, "</dd></div>");
}

fn server_words(html: &mut Html, view: &RequestView) {
    if view.server_words.is_empty() {
        return;
    }
    html.raw("<section class=\"theirs\" aria-labelledby=\"theirs\"><h2 id=\"theirs\">The server says</h2>")
        .raw("<p class=\"small\">Written by the server and checked by nobody.</p><dl>");
    for (what, words) in &view.server_words {
        html.around("<dt>", plain(what).text, "</dt>");
        // Lines of theirs stay lines; everything else that cannot be seen is made visible.
        let lines: Vec<String> = words.split('\n').map(|line| plain(line).text).collect();
        html.around("<dd>", lines.join("\n"), "</dd>");
    }
    html.raw("</dl></section>");
}

/// The two answers. The module lets the first be given once the end was seen.
fn answers(html: &mut Html, view: &RequestView, visitor: &Visitor) {
    let has_signed =
        view.quorum.as_ref().is_some_and(|it| it.signed.iter().any(|(user, _)| *user == visitor.user));
    html.raw("<section class=\"answers\" aria-label=\"Your answer\">");
    if !view.remember.is_empty() && view.kind == Kind::Confirm {
        html.raw("<fieldset class=\"remember\"><legend>This answer counts</legend>")
            .raw("<label><input type=\"radio\" name=\"remember\" value=\"\" checked> only this once</label>");
        for scope in &view.remember {
            html.around("<label><input type=\"radio\" name=\"remember\" value=\"", scope.word(), "\"> ")
                .raw(scope_words(*scope))
                .raw("</label>");
        }
        html.raw("</fieldset>");
    }
    html.raw("<p id=\"hint\" class=\"small\" hidden><a href=\"#end\">Read to the end</a> to approve.</p>")
        .raw("<div class=\"buttons\">");
    match view.kind {
        Kind::Passkey if has_signed => {
            html.raw("<p class=\"small\">You have signed; it waits for the others.</p>");
        }
        Kind::Passkey => {
            html.raw("<button type=\"button\" id=\"approve\" class=\"primary\" disabled>Approve with passkey</button>");
        }
        Kind::Confirm => {
            html.raw("<button type=\"button\" id=\"confirm\" class=\"primary\" disabled>Allow it</button>");
        }
    }
    html.raw("<button type=\"button\" id=\"decline\">Decline</button></div>")
        .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p></section>");
}

const fn scope_words(scope: RememberScope) -> &'static str {
    match scope {
        RememberScope::Session => "for the rest of this session",
        RememberScope::ToolWithTargets => "for this tool with these targets",
        RememberScope::UntilDefinitionChanges => "for this tool, until its definition changes",
    }
}
