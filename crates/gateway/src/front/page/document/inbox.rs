//! The inbox: what waits for a person, what was decided lately, and what they should know.

use highwater_core::approval::plain;

use super::super::html::Html;
use super::super::view::{InboxEntry, InboxView, Kind, Notice, NoticeAct, State};
use super::{Frame, left, time};

pub(in super::super) fn document(frame: &Frame<'_>, inbox: &InboxView) -> String {
    frame.document(|html| {
        html.raw("<h1>Inbox</h1><p id=\"status\" role=\"status\" aria-live=\"polite\"></p>")
            .raw("<section aria-labelledby=\"pending\"><h2 id=\"pending\">Waiting for you</h2>");
        if inbox.pending.is_empty() {
            html.raw("<p class=\"empty\">Nothing waits for you. This page stays up to date by itself.</p>");
        } else {
            html.raw("<ul class=\"entries\">");
            inbox.pending.iter().for_each(|entry| pending(html, entry, frame.now));
            html.raw("</ul>");
        }
        html.raw("</section>");
        if !inbox.notices.is_empty() {
            html.raw(
                "<section aria-labelledby=\"notices\"><h2 id=\"notices\">To know</h2><ul class=\"notices\">",
            );
            inbox.notices.iter().for_each(|entry| notice(html, entry));
            html.raw("</ul></section>");
        }
        html.raw("<section aria-labelledby=\"recent\"><h2 id=\"recent\">Decided lately</h2>");
        if inbox.recent.is_empty() {
            html.raw("<p class=\"empty\">Nothing yet.</p>");
        } else {
            html.raw("<ul class=\"entries past\">");
            inbox.recent.iter().for_each(|entry| recent(html, entry));
            html.raw("</ul>");
        }
        html.raw("</section>");
    })
}

fn pending(html: &mut Html, entry: &InboxEntry, now: u64) {
    let kind = match entry.kind {
        Kind::Confirm => "confirmation",
        Kind::Passkey => "passkey",
    };
    open(html, entry);
    html.raw("<span class=\"meta\">").text(kind).around(" · asked by ", plain(&entry.caller).text, " · ");
    left(html, entry.expires, now);
    html.raw(" left</span></a></li>");
}

fn recent(html: &mut Html, entry: &InboxEntry) {
    open(html, entry);
    let (class, word) = match entry.state {
        State::Pending => ("", "waits"),
        State::Approved => ("good", "approved"),
        State::Consumed => ("good", "approved and let through"),
        State::Declined => ("bad", "declined"),
        State::Expired => ("", "expired"),
    };
    html.raw("<span class=\"meta\">").around("<span class=\"state ", class, "\">").text(word).raw("</span>");
    match &entry.decided {
        Some((by, at)) => {
            html.around(" by ", plain(by).text, ", ");
            time(html, *at);
        }
        None => {
            html.raw(", ");
            time(html, entry.created);
        }
    }
    html.raw("</span></a></li>");
}

fn open(html: &mut Html, entry: &InboxEntry) {
    html.around("<li><a href=\"/approve/", &entry.id, "\"><span class=\"name\"><span class=\"mono\">")
        .text(plain(&entry.tool).text)
        .raw("</span>");
    if let Some(server) = &entry.server {
        html.around(" <span class=\"on\">on ", plain(server).text, "</span>");
    }
    html.raw("</span>");
}

fn notice(html: &mut Html, notice: &Notice) {
    html.around("<li><p>", plain(&notice.words).text, "</p><p class=\"meta\">");
    time(html, notice.at);
    html.raw("</p>");
    if let Some(act) = &notice.act {
        let label = match act {
            NoticeAct::ResumeTool { .. } => "Resume the tool",
            NoticeAct::CancelReset { .. } => "Cancel the reset",
            NoticeAct::RevokeMandate { .. } => "Revoke it",
            NoticeAct::Forget { .. } => "Forget it",
        };
        let value = serde_json::to_string(act).unwrap_or_default();
        html.around("<button type=\"button\" class=\"act\" data-act=\"", value, "\">")
            .raw(label)
            .raw("</button>");
    }
    html.raw("</li>");
}
