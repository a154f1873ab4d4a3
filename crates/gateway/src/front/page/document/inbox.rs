//! The inbox: what waits for a person, what was decided lately, and what they should know.

use highwater_core::id::ApprovalId;
use highwater_display::plain;
use highwater_notation::Timestamp;
use serde_json::{Value, json};

use super::super::bundle::Bundle;
use super::super::html::Html;
use super::super::visitors::Visitor;
use super::headline::{Headline, glimpse};
use super::request::who;
use super::{Frame, left, time, vouch};
use crate::approvals::{ApprovalState as State, InboxView, RequestKind as Kind, RequestView, with_one};

/// What ends later than this ends with something else: an answer that counts until a tool changes.
const YEARS_MS: u64 = 2 * 365 * 24 * 60 * 60 * 1000;

pub(in super::super) fn document(frame: &Frame<'_>, inbox: &InboxView, visitor: &Visitor) -> String {
    let theirs = |requests: &'_ [RequestView]| -> Vec<RequestView> {
        requests.iter().filter(|view| visitor.may_see(view)).cloned().collect()
    };
    let (waiting, past) = (theirs(&inbox.pending), theirs(&inbox.recent));
    frame.document(|html| {
        html.raw("<h1>Inbox</h1>")
            .raw("<section aria-labelledby=\"pending\"><h2 id=\"pending\">Waiting for you</h2>");
        if waiting.is_empty() {
            html.raw("<p class=\"empty\">Nothing waits for you. This page stays up to date by itself.</p>");
        } else {
            html.raw("<ul class=\"entries\">");
            listed(html, &waiting, frame.now);
            html.raw("</ul>");
        }
        html.raw("</section>")
            .part(|html| notices(html, inbox, visitor, frame.now))
            .part(|html| vouch(html, "Stop the reset", "Sign with a passkey"))
            .raw("<section aria-labelledby=\"recent\"><h2 id=\"recent\">Decided lately</h2>");
        if past.is_empty() {
            html.raw("<p class=\"empty\">Nothing yet.</p>");
        } else {
            html.raw("<ul class=\"entries past\">");
            past.iter().for_each(|view| recent(html, view));
            html.raw("</ul>");
        }
        html.raw("</section><p id=\"status\" role=\"status\" aria-live=\"polite\"></p>");
    })
}

/// Each once: those that differ in a few values together.
fn listed(html: &mut Html, waiting: &[RequestView], now: Timestamp) {
    let mut told: Vec<&ApprovalId> = Vec::new();
    for view in waiting {
        if told.contains(&&view.id) {
            continue;
        }
        match Bundle::of(view, waiting) {
            Some(bundle) if bundle.members.iter().all(|member| !told.contains(&&member.id)) => {
                told.extend(bundle.members.iter().map(|member| &member.id));
                together(html, &bundle, now);
            }
            Some(_) | None => {
                told.push(&view.id);
                pending(html, view, now);
            }
        }
    }
}

fn together(html: &mut Html, bundle: &Bundle<'_>, now: Timestamp) {
    let Some(first) = bundle.members.first() else { return };
    html.around("<li><a href=\"/approve/", &first.id, "/together\"><span class=\"name\">")
        .text(format_args!("{} calls of {}", bundle.members.len(), plain(&first.tool).text))
        .raw("</span>");
    for member in &bundle.members {
        html.around("<span class=\"glimpse\">", glimpse(member), "</span>");
    }
    html.raw("<span class=\"meta\">")
        .raw(match first.kind {
            Kind::Confirm => "need your yes",
            Kind::Passkey => "need your passkey, each",
        })
        .raw(" · ")
        .part(|html| who(html, first))
        .raw(" · ");
    left(html, first.expires, now);
    html.raw(" left</span></a></li>");
}

fn pending(html: &mut Html, view: &RequestView, now: Timestamp) {
    let kind = match view.kind {
        Kind::Confirm => "needs your yes",
        Kind::Passkey => "needs your passkey",
    };
    open(html, view);
    html.raw("<span class=\"meta\">").raw(kind).raw(" · ").part(|html| who(html, view)).raw(" · ");
    left(html, view.expires, now);
    html.raw(" left</span></a></li>");
}

fn recent(html: &mut Html, view: &RequestView) {
    open(html, view);
    let (class, word) = match view.state {
        State::Pending => ("", "waits"),
        State::Approved => ("good", "approved"),
        State::Consumed => ("good", "approved and let through"),
        State::Declined => ("bad", "declined"),
        State::Expired => ("", "expired"),
    };
    html.raw("<span class=\"meta\">").around("<span class=\"state ", class, "\">").raw(word).raw("</span>");
    if let Some(by) = &view.decided_by {
        html.around(" by ", plain(by).text, "");
    }
    html.raw(", ");
    time(html, view.decided.unwrap_or(view.created));
    html.raw("</span></a></li>");
}

/// What is wanted, and enough of the arguments to tell two calls of one tool apart.
fn open(html: &mut Html, view: &RequestView) {
    html.around("<li><a href=\"/approve/", &view.id, "\"><span class=\"name\">");
    let headline = Headline::of(view);
    headline.write(html);
    if let Some(server) = &view.server {
        html.around(" <span class=\"on\">(", plain(server).text, ")</span>");
    }
    html.raw("</span>");
    let glimpse = glimpse(view);
    if view.context.display.is_none() && !glimpse.is_empty() {
        html.around("<span class=\"glimpse\">", glimpse, "</span>");
    }
}

/// What people should hear of, each with what they can do about it.
fn notices(html: &mut Html, inbox: &InboxView, visitor: &Visitor, now: Timestamp) {
    let mut said = false;
    let mut say = |html: &mut Html,
                   words: String,
                   until: Option<Timestamp>,
                   act: Option<(&'static str, Value)>| {
        if !said {
            html.raw(
                "<section aria-labelledby=\"notices\"><h2 id=\"notices\">Good to know</h2><ul class=\"notices\">",
            );
            said = true;
        }
        html.around("<li><p>", plain(&words).text, "</p>");
        match until {
            Some(until) if until.0.saturating_sub(now.0) > YEARS_MS => {
                html.raw("<p class=\"meta\">until the server changes this tool</p>");
            }
            Some(until) => {
                html.raw("<p class=\"meta\">until ");
                time(html, until);
                html.raw("</p>");
            }
            None => {}
        }
        if let Some((label, act)) = act {
            html.around("<button type=\"button\" class=\"act\" data-act=\"", act, "\">")
                .raw(label)
                .raw("</button>");
        }
        html.raw("</li>");
    };
    for reset in &inbox.resets {
        let words = format!("All passkeys of {} will be reset, as {} asked.", reset.user, reset.begun_by);
        let act = json!({ "act": "cancel-reset", "user": reset.user.as_str() });
        say(html, words, Some(reset.due), Some(("Stop it with an old passkey", act)));
    }
    for paused in &inbox.paused {
        let words = format!(
            "You declined {} several times, so {} is not asked about any more.",
            paused.tool, paused.principal
        );
        let act = json!({ "act": "resume-tool", "principal": paused.principal, "tool": paused.tool });
        say(html, words, None, Some(("Let it ask again", act)));
    }
    for window in &inbox.windows {
        let words = format!("A passkey may be enrolled for {}, as {} asked.", window.user, window.opened_by);
        say(html, words, Some(window.expires), None);
    }
    for credential in inbox.credentials.iter().filter(|credential| credential.standing == "dormant") {
        let words =
            format!("A passkey of {} waits to be confirmed; see the page “Passkeys”.", credential.user);
        say(html, words, None, None);
    }
    let theirs = |user: &highwater_core::id::UserId| visitor.operator || *user == visitor.user;
    for user in with_one(&inbox.credentials).iter().filter(|user| theirs(user)) {
        let words = format!(
            "{user} has only one passkey. If it is lost, nothing that needs {user} is approved until a reset, which \
             takes a day. Add a second on the page “Passkeys”."
        );
        say(html, words, None, None);
    }
    for mandate in inbox.mandates.iter().filter(|it| it.revoked.is_none() && theirs(&it.user)) {
        let words =
            format!("A mandate of {} has {} calls left: {}", mandate.user, mandate.remaining, mandate.terms);
        let act = json!({ "act": "revoke-mandate", "id": mandate.id });
        say(html, words, Some(mandate.expires), Some(("Revoke it", act)));
    }
    for remembered in inbox.remembered.iter().filter(|it| theirs(&it.user)) {
        let words = format!("Your yes to {} is remembered for {}.", remembered.tool, remembered.principal);
        let act = json!({ "act": "forget", "id": remembered.id });
        say(html, words, Some(remembered.until), Some(("Forget it", act)));
    }
    if said {
        html.raw("</ul></section>");
    }
}
