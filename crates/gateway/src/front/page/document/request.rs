//! The document of one request: who wants what, whether it can be undone, why it is asked, and the two answers.

use highwater_display::plain;
use highwater_notation::Timestamp;

use super::super::html::Html;
use super::super::visitors::Visitor;
use super::headline::Headline;
use super::keys::may_approve;
use super::{Frame, argument_rows, conversation, describe, left, reasons, state_word, time};
use crate::approvals::{
    ApprovalState as State, CredentialView, EarlierMatters, RequestKind as Kind, RequestView, Undo,
};
use crate::describe::WhatItIs;

/// What is known beside a request.
#[derive(Default)]
pub(in super::super) struct Beside<'a> {
    /// What its server is, where the visitor may say so.
    pub(in super::super) server: Option<&'a WhatItIs>,
    /// Every passkey.
    pub(in super::super) passkeys: &'a [CredentialView],
    /// How many calls wait that differ from it in a few values, itself among them.
    pub(in super::super) alike: usize,
    /// What else waits for the visitor, the oldest first.
    pub(in super::super) waiting: &'a [RequestView],
}

/// A request as somebody may see it who signed in.
pub(in super::super) fn document(
    frame: &Frame<'_>,
    view: &RequestView,
    visitor: &Visitor,
    beside: &Beside<'_>,
) -> String {
    frame.document(|html| {
        html.around("<article class=\"request\" data-id=\"", &view.id, "\"")
            .around(" data-state=\"", state_word(view.state), "\"")
            .around(" data-signed=\"", view.need.signed.len(), "\">")
            .part(|html| head(html, view, frame.now, beside))
            .part(|html| {
                if let Some(conversation) =
                    view.context.conversation.as_ref().filter(|it| asks_first(view, it))
                {
                    conversation::section(html, conversation);
                }
            })
            .part(|html| argument_rows::rows(html, view))
            .part(|html| reasons::why(html, view, is_pending(view)))
            .part(|html| reasons::signatures(html, &view.need))
            .part(|html| {
                if let Some(conversation) =
                    view.context.conversation.as_ref().filter(|it| asks_later(view, it))
                {
                    conversation::section(html, conversation);
                }
            })
            .part(|html| {
                if let (Some(server), Some(known)) = (&view.server, beside.server)
                    && is_pending(view)
                {
                    describe::section(html, server, known);
                }
            })
            .part(|html| argument_rows::exact(html, view))
            .part(|html| argument_rows::server_words(html, view))
            .part(|html| {
                if is_pending(view) {
                    answers(html, view, visitor, beside);
                }
            })
            .raw("</article>");
    })
}

/// What stands in the tab.
pub(in super::super) fn title(view: &RequestView) -> String {
    let state = match view.state {
        State::Pending => "Waiting",
        State::Approved | State::Consumed => "Approved",
        State::Declined => "Declined",
        State::Expired => "Expired",
    };
    format!("{state}: {}", Headline::of(view).text())
}

fn is_pending(view: &RequestView) -> bool {
    view.state == State::Pending
}

/// Where what was read before a silence decides, that is the first question.
fn asks_first(view: &RequestView, conversation: &crate::approvals::ConversationView) -> bool {
    is_pending(view) && conversation.matters != EarlierMatters::No
}

fn asks_later(view: &RequestView, conversation: &crate::approvals::ConversationView) -> bool {
    is_pending(view) && conversation.matters == EarlierMatters::No
}

/// Whether the one question is whether this is a new conversation.
fn blocks(view: &RequestView) -> bool {
    view.context.conversation.as_ref().is_some_and(|it| it.matters == EarlierMatters::Blocks)
}

fn head(html: &mut Html, view: &RequestView, now: Timestamp, beside: &Beside<'_>) {
    html.raw("<header class=\"ask\">");
    if !is_pending(view) {
        outcome(html, view, now, beside.waiting);
    }
    html.raw("<p class=\"who\">").part(|html| who(html, view));
    html.raw(if view.caller.trim().is_empty() { " wants to:</p><h1>" } else { ", wants to:</p><h1>" });
    let headline = Headline::of(view);
    headline.write(html);
    if let Some(server) = &view.server {
        html.around(" <span class=\"on\">(", plain(server).text, ")</span>");
    }
    html.raw("</h1>");
    if headline.is_theirs {
        html.around(
            "<p class=\"small\">That is what the server calls its tool <code>",
            plain(&view.tool).text,
            "",
        )
        .raw("</code>. Nobody has checked that name.</p>");
    }
    if is_pending(view) {
        let kind = match view.kind {
            Kind::Confirm => "It needs your yes",
            Kind::Passkey => "It needs your passkey",
        };
        html.raw("<p class=\"over\">").text(kind).raw(" · <span class=\"until\">open for <strong>");
        left(html, view.expires, now);
        html.raw("</strong></span></p>");
        reasons::first(html, view);
    }
    match view.context.undo {
        Undo::Impossible => {
            html.raw("<p class=\"banner bad grave\"><strong>Cannot be undone.</strong></p>");
        }
        Undo::Doubtful => {
            html.raw("<p class=\"banner\">It may be that this cannot be undone.</p>");
        }
        Undo::Unsaid => {}
    }
    warnings(html, view);
    if beside.alike > 1 {
        html.around("<p class=\"alike\">", beside.alike, " calls like this wait. ").around(
            "<a href=\"/approve/",
            &view.id,
            "/together\">Answer them on one page</a></p>",
        );
    }
    html.raw("</header>");
}

/// A client's name is what it says of itself, and no fact.
pub(super) fn who(html: &mut Html, view: &RequestView) {
    html.around("Token <code>", plain(&view.principal).text, "</code>");
    if !view.caller.trim().is_empty() {
        html.around(", which calls itself “<bdi>", plain(&view.caller).text, "</bdi>”");
    }
}

fn warnings(html: &mut Html, view: &RequestView) {
    if view.hidden > 0 {
        let (count, noun) = (view.hidden, if view.hidden == 1 { "character" } else { "characters" });
        html.raw("<p class=\"banner warn\" role=\"note\"><strong>")
            .text(format_args!("{count} hidden {noun}."))
            .raw("</strong> What you would not have seen is written as <code>⟦U+…⟧</code>. ")
            .raw("Hidden text is a common way to mislead readers.</p>");
    }
    if view.mixed > 0 {
        let (count, noun) = (view.mixed, if view.mixed == 1 { "word mixes" } else { "words mix" });
        html.raw("<p class=\"banner warn\" role=\"note\"><strong>")
            .text(format_args!("{count} {noun} letters that look alike."))
            .raw("</strong> It may be another name than it seems: see what stands in <code>⟦…⟧</code> behind it.</p>");
    }
}

/// What became of it, what happens next, and what waits.
fn outcome(html: &mut Html, view: &RequestView, now: Timestamp, waiting: &[RequestView]) {
    let (class, words, next) = match view.state {
        State::Pending => return,
        State::Approved => (
            "good",
            "Approved.",
            "The agent was not waiting any more. If it makes the same call within two minutes of your yes, it runs; \
             tell it to try again.",
        ),
        State::Consumed => ("good", "Approved, and the call was let through.", "The agent has its answer."),
        State::Declined => (
            "bad",
            "Declined. The call was not made.",
            "The same call is refused without a question for ten minutes.",
        ),
        State::Expired => ("", "Expired. The call was not made.", "The agent may ask again."),
    };
    html.around("<div id=\"outcome\" class=\"banner ", class, "\" role=\"status\" tabindex=\"-1\"><p>")
        .around("<strong>", words, "</strong>");
    if let (Some(by), Some(at)) = (&view.decided_by, view.decided) {
        html.around(" By ", plain(by).text, ", ");
        time(html, at);
        html.raw(".");
    }
    html.around("</p><p>", next, "</p>");
    let is_yes = matches!(view.state, State::Approved | State::Consumed);
    if is_yes && view.kind == Kind::Passkey && !view.arguments.is_empty() {
        html.around(
            "<p><a href=\"/mandate?like=",
            &view.id,
            "\">Sign a mandate for more calls like this</a></p>",
        );
    }
    match waiting {
        [] => {
            html.raw("<p>Nothing else waits for you. You can close this tab.</p>");
        }
        [first, rest @ ..] => {
            html.raw("<p class=\"next\">Next: ")
                .around("<a id=\"next\" href=\"/approve/", &first.id, "\">")
                .text(Headline::of(first).text())
                .raw("</a> · ");
            left(html, first.expires, now);
            html.raw(" left");
            if !rest.is_empty() {
                html.text(format_args!(" · {} more in the inbox", rest.len()));
            }
            html.raw("</p>");
        }
    }
    html.raw("</div>");
}

/// For how long a yes counts. Never offered where a passkey is needed, and nothing is chosen beforehand but the one call.
fn remember(html: &mut Html, view: &RequestView) {
    if view.remember.is_empty() || view.kind != Kind::Confirm {
        return;
    }
    html.raw("<details class=\"scope\"><summary>Your yes covers <strong id=\"scope\">only this call</strong></summary>")
        .raw("<fieldset class=\"remember\"><legend>Your yes covers</legend>")
        .raw("<label><input type=\"radio\" name=\"remember\" value=\"\" checked> <span>only this call</span></label>");
    for scope in &view.remember {
        let words = view.context.rememberable.as_ref().map(|same| same.words(*scope)).unwrap_or_default();
        html.around("<label><input type=\"radio\" name=\"remember\" value=\"", scope.word(), "\"> <span>")
            .text(words)
            .raw("</span></label>");
    }
    html.raw("</fieldset></details>");
}

/// The two answers. The module lets the first be given once all arguments were seen.
fn answers(html: &mut Html, view: &RequestView, visitor: &Visitor, beside: &Beside<'_>) {
    html.raw("<section class=\"answers\" aria-label=\"Your answer\">")
        .part(|html| if !blocks(view) { remember(html, view) })
        .raw("<p id=\"hint\" class=\"small\" hidden><a href=\"#end\">Read the arguments to their end</a> to approve.</p>");
    let why_not = match view.kind {
        Kind::Passkey => why_not(view, visitor, beside.passkeys),
        Kind::Confirm => None,
    };
    if let Some((why, may_add)) = &why_not {
        html.around("<p id=\"why-not\" class=\"small\">", why, "")
            .raw(if *may_add { " <a href=\"/enroll\">Add one</a>" } else { "" })
            .raw("</p>");
    }
    html.raw("<div class=\"buttons\">");
    match view.kind {
        Kind::Passkey if why_not.is_some() => {
            html.raw("<button type=\"button\" id=\"cannot\" class=\"primary\" disabled aria-describedby=\"why-not\">")
                .raw("Approve with passkey</button>");
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

/// Why a person cannot sign, said before they try, and whether another passkey would help.
pub(super) fn why_not(
    view: &RequestView,
    visitor: &Visitor,
    passkeys: &[CredentialView],
) -> Option<(String, bool)> {
    let need = &view.need;
    // The operator sits in for whoever is asked; that person's passkey is still needed.
    let signer = if visitor.operator { &view.user } else { &visitor.user };
    if need.signed.contains(signer) {
        return Some(("You have signed; it waits for the others.".to_owned(), false));
    }
    if !need.approvers.is_empty() && !need.approvers.contains(signer) {
        return Some(("Your signature does not count for this: it waits for others.".to_owned(), false));
    }
    let theirs: Vec<_> = passkeys.iter().filter(|key| key.user == *signer && key.counts()).collect();
    if theirs.iter().any(|key| may_approve(key, need.class)) {
        return None;
    }
    let needed = reasons::needed(need.class);
    let words = match (theirs.is_empty(), visitor.operator) {
        (true, false) => format!("You have no passkey that counts. This needs {needed}."),
        (false, false) => format!(
            "None of your passkeys may approve this tool: they are built into a device, and this needs {needed}."
        ),
        (_, true) => {
            let user = plain(signer.as_str()).text;
            format!("{user} has no passkey that may approve this tool. It needs {needed}.")
        }
    };
    Some((words, true))
}
