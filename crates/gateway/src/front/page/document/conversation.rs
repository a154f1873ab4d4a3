//! Whether this is a new conversation, where nobody but a person can say so.

use highwater_display::plain;

use super::super::html::Html;
use super::time;
use crate::approvals::{ConversationView, EarlierMatters, EarlierView, OpenedView};

/// What the conversation rests on, what was read in it, and the button that begins a new one.
pub(super) fn section(html: &mut Html, view: &ConversationView) {
    if view.way.is_none() {
        return;
    }
    let (title, button) = match view.opened {
        Some(_) => ("Is this conversation yours?", "This conversation is mine"),
        None => ("Is this a new conversation?", "This is a new conversation"),
    };
    html.raw("<section aria-labelledby=\"conversation-title\"><h2 id=\"conversation-title\">")
        .raw(title)
        .raw("</h2><p class=\"small\">How it is told from others: ")
        .prose(&plain(&view.rests_on).text)
        .raw(".</p>");
    match (&view.opened, &view.earlier) {
        (Some(opened), earlier) => another(html, opened, earlier.as_ref(), view.matters),
        (None, Some(earlier)) => silence(html, earlier, view.matters),
        (None, None) => {
            html.raw("<p>If the agent began anew and has nothing left of what it has read, say so.</p>");
        }
    }
    html.raw("<div class=\"buttons\"><button type=\"button\" id=\"new-conversation\">")
        .raw(button)
        .raw("</button></div></section>");
}

/// What was read before a silence.
fn silence(html: &mut Html, earlier: &EarlierView, matters: EarlierMatters) {
    html.raw("<p>There was a silence. Before it, from ");
    time(html, earlier.since);
    html.raw(" to ");
    time(html, earlier.until);
    html.raw(", the agent read:</p>");
    read(html, earlier);
    html.raw(match matters {
        EarlierMatters::No => "<p>It makes no difference to this call.</p>",
        EarlierMatters::Asks => {
            "<p>If the agent no longer has that, this call may not need your answer. Any other answer says that it still \
             has.</p>"
        }
        EarlierMatters::Blocks => {
            "<p>If the agent still has that, this call is refused. If it is a new conversation, it no longer counts.</p>"
        }
    });
}

/// A conversation that another one may have opened.
fn another(html: &mut Html, opened: &OpenedView, earlier: Option<&EarlierView>, matters: EarlierMatters) {
    html.around("<p>", plain(&opened.host).text, "");
    if let Some(folder) = &opened.folder {
        html.around(" in <code>", plain(folder).text, "</code>");
    }
    html.raw(", opened ");
    time(html, opened.at);
    html.raw(
        ". Another conversation that has read what strangers wrote has run commands shortly before, and could have opened \
         this one. Until you say that it is yours, what is typed in it is nobody’s word.</p>",
    );
    if let Some(earlier) = earlier {
        html.raw("<p>The other one has read:</p>");
        read(html, earlier);
    }
    html.raw(match matters {
        EarlierMatters::No => "",
        EarlierMatters::Asks => "<p>If you opened it yourself, this call may not need your answer.</p>",
        EarlierMatters::Blocks => {
            "<p>If the other one opened it, this call is refused. If you did, that does not count.</p>"
        }
    });
}

fn read(html: &mut Html, earlier: &EarlierView) {
    html.raw("<ul class=\"tags\">");
    earlier.labels.iter().for_each(|label| {
        html.around("<li>", plain(label).text, "</li>");
    });
    html.raw("</ul>");
    if !earlier.origins.is_empty() {
        html.raw("<p class=\"small\">It came from</p><ul class=\"origins\">");
        earlier.origins.iter().for_each(|origin| {
            html.around("<li>", plain(origin).text, "</li>");
        });
        html.raw("</ul>");
    }
}
