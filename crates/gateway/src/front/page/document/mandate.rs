//! The mandate: a person signs, once, what an agent may do for some hours without asking.

use super::{Frame, vouch};

pub(in super::super) fn document(frame: &Frame<'_>) -> String {
    frame.document(|html| {
        html.raw("<h1>Mandate</h1><p class=\"lead\">Lets one agent call some tools for a few hours without asking ")
            .raw("you each time. You sign the exact terms; every use leaves a receipt that names them.</p>")
            .raw("<section aria-labelledby=\"terms-heading\"><h2 id=\"terms-heading\">Terms</h2>")
            .raw("<form id=\"mandate\" class=\"wide\"><label for=\"terms\">As JSON</label>")
            .raw("<textarea id=\"terms\" class=\"mono\" rows=\"14\" spellcheck=\"false\" required></textarea>")
            .raw("<div class=\"buttons\"><button type=\"submit\">Review</button></div></form></section>")
            .part(|html| vouch(html, "What you sign", "Sign with a passkey"))
            .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p>");
    })
}
