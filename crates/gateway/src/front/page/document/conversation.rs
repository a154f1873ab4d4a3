//! Whether this is a new conversation, where nobody but a person can say so.

use highwater_core::approval::plain;

use super::super::html::Html;
use super::time;
use crate::approvals::{ConversationView, EarlierMatters};

/// What the conversation rests on, what was read in it, and the button that begins a new one.
pub(super) fn section(html: &mut Html, view: &ConversationView) {
    if view.way.is_none() {
        return;
    }
    html.raw("<section aria-labelledby=\"conversation-title\"><h2 id=\"conversation-title\">")
        .raw("Is this a new conversation?</h2>")
        .raw("<p class=\"small\">How it is told from others: ")
        .prose(&plain(&view.rests_on).text)
        .raw(".</p>");
    match &view.earlier {
        Some(earlier) => {
            html.raw("<p>There was a silence. Before it, from ");
            time(html, earlier.since);
            html.raw(" to ");
            time(html, earlier.until);
            html.raw(", the agent read:</p><ul class=\"tags\">");
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
            html.raw(match view.matters {
                EarlierMatters::No => "<p>It makes no difference to this call.</p>",
                EarlierMatters::Asks => {
                    "<p>If the agent no longer has that, this call may not need your answer. Any other answer says that \
                     it still has.</p>"
                }
                EarlierMatters::Blocks => {
                    "<p>If the agent still has that, this call is refused. If it is a new conversation, it no longer \
                     counts.</p>"
                }
            });
        }
        None => {
            html.raw("<p>If the agent began anew and has nothing left of what it has read, say so.</p>");
        }
    }
    html.raw("<div class=\"buttons\"><button type=\"button\" id=\"new-conversation\">")
        .raw("This is a new conversation</button></div></section>");
}
