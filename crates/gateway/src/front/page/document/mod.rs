//! The documents: what they have in common, and how times are written in them.

mod argument_rows;
pub(super) mod bundle;
mod conversation;
mod describe;
pub(super) mod enroll;
pub(super) mod headline;
pub(super) mod inbox;
pub(super) mod keys;
pub(super) mod mandate;
mod reasons;
pub(super) mod request;
pub(super) mod sign_in;

use highwater_notation::{Timestamp, to_iso};

use super::html::Html;
use super::visitors::Visitor;
use crate::approvals::ApprovalState;

/// What every document is made with.
pub(super) struct Frame<'a> {
    /// Shown in the window's title, before our name.
    pub(super) title: &'a str,
    /// What the module is to do.
    pub(super) page: &'static str,
    /// What the document has to send back with every change.
    pub(super) csrf: &'a str,
    pub(super) visitor: Option<&'a Visitor>,
    /// The time it is made.
    pub(super) now: Timestamp,
}

// === impl Frame ===

impl Frame<'_> {
    /// The whole document around its main part.
    pub(super) fn document(&self, main: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::default();
        html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">")
            .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
            .raw("<meta name=\"color-scheme\" content=\"light dark\">")
            .around("<title>", self.title, " · Highwater</title>")
            .raw("<link rel=\"icon\" href=\"/page.svg\" type=\"image/svg+xml\">")
            .raw("<link rel=\"stylesheet\" href=\"/page.css\">")
            .raw("<script type=\"module\" src=\"/page.js\"></script></head>")
            .around("<body data-page=\"", self.page, "\"")
            .around(" data-csrf=\"", self.csrf, "\">")
            .raw("<a class=\"skip\" href=\"#main\">Skip to the content</a>")
            .raw("<header class=\"top\"><a class=\"brand\" href=\"/inbox\">")
            .raw("<img src=\"/page.svg\" width=\"22\" height=\"22\" alt=\"\">Highwater</a>")
            .raw("<nav aria-label=\"Pages\"><a href=\"/inbox\">Inbox</a><a href=\"/enroll\">Passkeys</a>")
            .part(|html| {
                if let Some(visitor) = self.visitor {
                    html.raw("<button type=\"button\" class=\"quiet\" id=\"sign-out\" title=\"Signed in as ")
                        .text(&visitor.user)
                        .raw("\">Sign out</button>");
                }
            })
            .raw("</nav></header>")
            .raw("<noscript><p class=\"banner\">This page needs JavaScript to talk to your passkey. ")
            .raw("Nothing is approved without it.</p></noscript>")
            .raw("<main id=\"main\" tabindex=\"-1\">")
            .part(main)
            .raw("</main></body></html>");
        html.finish()
    }
}

/// A moment. The module writes it in the reader's own time zone.
pub(super) fn time(html: &mut Html, at: Timestamp) {
    let iso = to_iso(at);
    html.around("<time datetime=\"", &iso, "\">").text(&iso).raw("</time>");
}

/// How long something still lasts. Counted down by the module, from the gateway's clock and not the browser's.
pub(super) fn left(html: &mut Html, until: Timestamp, now: Timestamp) {
    let left = until.0.saturating_sub(now.0);
    let (minutes, seconds) = (left / 60_000, left / 1000 % 60);
    html.around("<span role=\"timer\" class=\"left\" data-left=\"", left, "\">")
        .text(format_args!("{minutes}:{seconds:02}"))
        .raw("</span>");
}

/// A message without anything to do.
pub(super) fn message(frame: &Frame<'_>, heading: &str, words: &str) -> String {
    frame.document(|html| {
        html.around("<section class=\"lone\"><h1>", heading, "</h1>").around("<p>", words, "</p></section>");
    })
}

/// A part that shows what is about to be signed, which is not about a call, and waits for the signature.
pub(super) fn vouch(html: &mut Html, heading: &'static str, button: &'static str) {
    html.raw("<section id=\"vouch\" hidden aria-labelledby=\"vouch-heading\">")
        .raw("<h2 id=\"vouch-heading\" tabindex=\"-1\">")
        .raw(heading)
        .raw("</h2><p id=\"vouch-says\" class=\"says-so\"></p>")
        .raw("<details><summary id=\"vouch-exact\">The exact text that your passkey signs</summary>")
        .raw("<pre id=\"vouch-text\" class=\"display\" tabindex=\"0\" role=\"group\" aria-labelledby=\"vouch-exact\"></pre>")
        .raw("</details>")
        .raw("<div class=\"buttons\"><button type=\"button\" id=\"vouch-button\" class=\"primary\">")
        .raw(button)
        .raw("</button></div></section>");
}

pub(super) const fn state_word(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "pending",
        ApprovalState::Approved => "approved",
        ApprovalState::Consumed => "consumed",
        ApprovalState::Declined => "declined",
        ApprovalState::Expired => "expired",
    }
}
