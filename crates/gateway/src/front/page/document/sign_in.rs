//! What somebody sees who has not signed in: the name of the tool, and how to be let in.

use highwater_display::plain;

use super::super::html::Html;
use super::Frame;
use crate::approvals::RequestView;

/// The door in front of a request. Its arguments stay behind it.
pub(in super::super) fn before_request(frame: &Frame<'_>, view: &RequestView) -> String {
    frame.document(|html| {
        html.raw("<section class=\"lone\"><p class=\"over\">Somebody is asked</p><h1><span class=\"mono\">")
            .text(plain(&view.tool).text)
            .raw("</span></h1>");
        if frame.visitor.is_some() {
            html.raw("<p>This request is for somebody else. If you are that person, sign in as them.</p>");
        } else {
            html.raw("<p>Sign in to see what will be done, and to answer.</p>");
        }
        doors(html);
        html.raw("</section>");
    })
}

/// The door in front of everything else.
pub(in super::super) fn before_inbox(frame: &Frame<'_>) -> String {
    frame.document(|html| {
        html.raw("<section class=\"lone\"><h1>Inbox</h1><p>Sign in to see what waits for you.</p>");
        doors(html);
        html.raw("</section>");
    })
}

/// The door in front of signing a mandate.
pub(in super::super) fn before_mandate(frame: &Frame<'_>) -> String {
    frame.document(|html| {
        html.raw(
            "<section class=\"lone\"><h1>Mandate</h1><p>Sign in to read the terms and to sign them.</p>",
        );
        doors(html);
        html.raw("</section>");
    })
}

fn doors(html: &mut Html) {
    html.raw("<div class=\"buttons\"><button type=\"button\" id=\"sign-in\" class=\"primary\">")
        .raw("Sign in with a passkey</button></div>")
        .raw("<details><summary>Use the operator token</summary><form id=\"operator\" autocomplete=\"off\">")
        .raw("<label for=\"token\">Operator token</label>")
        .raw("<input id=\"token\" name=\"token\" type=\"password\" required spellcheck=\"false\" ")
        .raw("autocomplete=\"off\" placeholder=\"hwo_…\">")
        .raw("<p class=\"small\">It is in the gateway’s data directory. An agent’s token opens nothing here.</p>")
        .raw("<button type=\"submit\">Sign in</button></form></details>")
        .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p>");
}
