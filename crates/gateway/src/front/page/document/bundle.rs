//! Calls that differ in a few values, on one page: what is the same once, then a row for each with its own answer.

use highwater_display::plain;

use super::super::bundle::Bundle;
use super::super::html::Html;
use super::super::visitors::Visitor;
use super::headline::Headline;
use super::request::{who, why_not};
use super::{Frame, argument_rows, left, reasons, state_word};
use crate::approvals::{ApprovalState as State, CredentialView, RequestKind as Kind, RequestView, Undo};

/// What stands in the tab.
pub(in super::super) fn title(bundle: &Bundle<'_>) -> String {
    match open(bundle) {
        0 => "Answered".to_owned(),
        waiting => format!("({waiting}) Calls that wait"),
    }
}

fn open(bundle: &Bundle<'_>) -> usize {
    bundle.members.iter().filter(|view| view.state == State::Pending).count()
}

pub(in super::super) fn document(
    frame: &Frame<'_>,
    bundle: &Bundle<'_>,
    visitor: &Visitor,
    passkeys: &[CredentialView],
) -> String {
    let [first, ..] = bundle.members.as_slice() else { return String::new() };
    let why_not = match first.kind {
        Kind::Passkey => why_not(first, visitor, passkeys),
        Kind::Confirm => None,
    };
    frame.document(|html| {
        html.raw("<article class=\"request bundle\">")
            .part(|html| head(html, bundle, first))
            .part(|html| same(html, bundle, first))
            .raw("<section aria-labelledby=\"calls\"><h2 id=\"calls\">Each call</h2><ol class=\"calls\">");
        for (number, view) in (1..).zip(&bundle.members) {
            call(html, frame, bundle, number, view, why_not.is_none());
        }
        html.raw("</ol><div id=\"end\" tabindex=\"-1\"></div></section>")
            .part(|html| reasons::why(html, first, false))
            .part(|html| argument_rows::server_words(html, first))
            .part(|html| {
                if open(bundle) > 0 {
                    answers(html, first.kind, why_not.as_ref());
                }
            })
            .raw("</article>");
    })
}

fn head(html: &mut Html, bundle: &Bundle<'_>, first: &RequestView) {
    html.raw("<header class=\"ask\">").part(|html| outcome(html, bundle));
    html.raw("<p class=\"who\">").part(|html| who(html, first));
    html.raw(if first.caller.trim().is_empty() { " wants to:</p><h1>" } else { ", wants to:</p><h1>" })
        .text(format_args!("make {} calls of ", bundle.members.len()))
        .around("<bdi class=\"value mono\">", plain(&first.tool).text, "</bdi>");
    if let Some(server) = &first.server {
        html.around(" <span class=\"on\">(", plain(server).text, ")</span>");
    }
    html.raw("</h1>");
    let headline = Headline::of(first);
    if headline.is_theirs {
        html.raw("<p class=\"small\">The server calls that: ").part(|html| headline.write(html));
        html.raw(". Nobody has checked that name.</p>");
    }
    html.raw("<p class=\"over\">")
        .raw(match first.kind {
            Kind::Confirm => "Each needs your yes. Your answer to one is for that one.",
            Kind::Passkey => "Each needs a signature of its own.",
        })
        .raw("</p>");
    match first.context.undo {
        Undo::Impossible => {
            html.raw("<p class=\"banner bad grave\"><strong>Cannot be undone.</strong></p>");
        }
        Undo::Doubtful => {
            html.raw("<p class=\"banner\">It may be that this cannot be undone.</p>");
        }
        Undo::Unsaid => {}
    }
    html.raw("</header>");
}

/// What became of those that are answered.
fn outcome(html: &mut Html, bundle: &Bundle<'_>) {
    let (all, waiting) = (bundle.members.len(), open(bundle));
    if waiting == all {
        return;
    }
    let count = |wanted: &[State]| bundle.members.iter().filter(|view| wanted.contains(&view.state)).count();
    let yes = count(&[State::Approved, State::Consumed]);
    let class = if yes > 0 { "good" } else { "" };
    html.around(
        "<div id=\"outcome\" class=\"banner ",
        class,
        "\" role=\"status\" tabindex=\"-1\"><p><strong>",
    )
    .text(format_args!("{} of {all} answered.", all - waiting))
    .raw("</strong> ")
    .text(format_args!(
        "{yes} approved, {} declined, {} expired.",
        count(&[State::Declined]),
        count(&[State::Expired])
    ))
    .raw("</p><p>")
    .raw(match waiting {
        0 => "Nothing of this waits for you any more. <a href=\"/inbox\">Go to the inbox</a>",
        _ => "The rest waits below.",
    })
    .raw("</p></div>");
}

/// What all of them are given alike.
fn same(html: &mut Html, bundle: &Bundle<'_>, first: &RequestView) {
    html.raw("<section aria-labelledby=\"same\"><h2 id=\"same\">The same in each</h2>");
    let given = super::headline::arguments(first).unwrap_or_default();
    let is_same = |name: &str| !bundle.differing.contains(name);
    if given.as_object().is_some_and(|given| given.keys().any(|name| is_same(name))) {
        argument_rows::some(html, first, is_same);
    } else {
        html.raw("<p class=\"empty\">Nothing: every argument stands with its call.</p>");
    }
    html.raw("</section>");
}

/// One call: what is its own, and its answer.
fn call(
    html: &mut Html,
    frame: &Frame<'_>,
    bundle: &Bundle<'_>,
    number: usize,
    view: &RequestView,
    may_sign: bool,
) {
    let is_pending = view.state == State::Pending;
    html.around("<li class=\"call\" data-id=\"", &view.id, "\"").around(
        " data-state=\"",
        state_word(view.state),
        "\">",
    );
    if is_pending && view.kind == Kind::Confirm {
        html.around(
            "<label class=\"check\"><input type=\"checkbox\" class=\"tick\" id=\"tick-",
            number,
            "\"> ",
        )
        .around("<span>Call ", number, "</span></label>");
    } else {
        html.around("<p class=\"number\">Call ", number, "</p>");
    }
    if view.context.display.is_some() {
        html.raw("<p class=\"sentence\">").part(|html| Headline::of(view).write(html)).raw("</p>");
    }
    argument_rows::some(html, view, |name| bundle.differing.contains(name));
    if !is_pending {
        let (class, word) = match view.state {
            State::Pending => ("", "waits"),
            State::Approved | State::Consumed => ("good", "approved"),
            State::Declined => ("bad", "declined"),
            State::Expired => ("", "expired"),
        };
        html.around("<p class=\"state ", class, "\">").raw(word).raw("</p></li>");
        return;
    }
    html.raw("<details><summary>The exact call</summary>")
        .around(
            "<pre class=\"display\" tabindex=\"0\" role=\"group\" aria-label=\"The exact text of call ",
            number,
            "\">",
        )
        .text(&view.display_text)
        .raw("</pre></details><div class=\"buttons\">");
    match view.kind {
        Kind::Passkey if may_sign => {
            html.around("<button type=\"button\" class=\"primary sign\" id=\"sign-", number, "\" disabled>")
                .around("Approve call ", number, " with passkey</button>");
        }
        Kind::Passkey | Kind::Confirm => {}
    }
    html.around("<button type=\"button\" class=\"refuse\" id=\"refuse-", number, "\">")
        .around("Decline call ", number, "</button>")
        .around("<a href=\"/approve/", &view.id, "\">")
        .around("Call ", number, " on its own page</a><span class=\"small\">");
    left(html, view.expires, frame.now);
    html.raw(" left</span></div></li>");
}

fn answers(html: &mut Html, kind: Kind, why_not: Option<&(String, bool)>) {
    html.raw("<section class=\"answers\" aria-label=\"Your answer\">")
        .raw("<p id=\"hint\" class=\"small\" hidden><a href=\"#end\">Read the calls to their end</a> to approve.</p>");
    match kind {
        Kind::Confirm => {
            html.raw("<div class=\"buttons\"><button type=\"button\" id=\"allow-ticked\" class=\"primary\" disabled>")
                .raw("Allow those ticked</button><button type=\"button\" id=\"decline-ticked\">Decline those ticked</button>")
                .raw("<button type=\"button\" id=\"tick-all\">Tick all</button></div>");
        }
        Kind::Passkey => match why_not {
            Some((why, may_add)) => {
                html.around("<p id=\"why-not\" class=\"small\">", why, "")
                    .raw(if *may_add { " <a href=\"/enroll\">Add one</a>" } else { "" })
                    .raw("</p>");
            }
            None => {
                html.raw("<p class=\"small\">One signature for each call, one after the other.</p>");
            }
        },
    }
    html.raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p></section>");
}
