//! Passkeys: adding one, and making those count that wait for it.

use highwater_core::approval::plain;

use super::super::html::Html;
use super::{Frame, time, vouch};
use crate::approvals::CredentialView;

/// Who is meant if nobody else is named.
const OWNER: &str = "owner";

/// How a passkey stands that nobody has confirmed.
const DORMANT: &str = "dormant";

pub(in super::super) fn document(frame: &Frame<'_>, credentials: &[&CredentialView]) -> String {
    let user = frame.visitor.map_or(OWNER, |visitor| visitor.user.as_str());
    frame.document(|html| {
        html.raw("<h1>Passkeys</h1><p class=\"lead\">A passkey lets you approve calls that need more than a ")
            .raw("button. It stays on your device or security key; the gateway keeps the public half alone.</p>");
        if frame.visitor.is_some() {
            listed(html, credentials);
        }
        html.raw("<section aria-labelledby=\"add\"><h2 id=\"add\">Add a passkey</h2>")
            .raw("<ol class=\"steps\"><li>Run <code>highwater approvals enroll</code> in a terminal of yours.</li>")
            .raw("<li>For your first passkey, type the code that it prints. If you have one here already, leave the ")
            .raw("code empty: the one you have will confirm the new one.</li></ol>")
            .raw("<form id=\"enroll\" autocomplete=\"off\">")
            .raw("<label for=\"user\">Name</label>")
            .around("<input id=\"user\" name=\"user\" required spellcheck=\"false\" value=\"", user, "\">")
            .raw("<label for=\"code\">One-time code</label>")
            .raw("<input id=\"code\" name=\"code\" class=\"mono\" spellcheck=\"false\" autocapitalize=\"characters\" ")
            .raw("autocomplete=\"one-time-code\" aria-describedby=\"code-note\">")
            .raw("<p id=\"code-note\" class=\"small\">Five attempts, ten minutes.</p>")
            .raw("<div class=\"buttons\"><button type=\"submit\" class=\"primary\">Create a passkey</button></div>")
            .raw("</form></section>")
            .part(|html| vouch(html, "Confirm it with a passkey you have", "Confirm with a passkey"))
            .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p>");
        html.raw("<section aria-labelledby=\"two\"><h2 id=\"two\">Have two</h2>")
            .raw("<p>There are no recovery codes. If your only passkey is lost, approvals stay closed until a ")
            .raw("reset, which takes a day. A second passkey on another device or key spares you that.</p></section>");
    })
}

fn listed(html: &mut Html, credentials: &[&CredentialView]) {
    html.raw("<section aria-labelledby=\"have\"><h2 id=\"have\">Enrolled</h2>");
    if credentials.is_empty() {
        html.raw("<p class=\"empty\">None yet.</p></section>");
        return;
    }
    html.raw("<ul class=\"entries keys\">");
    for credential in credentials {
        let (class, word) = match credential.standing.as_str() {
            DORMANT => ("unusual", "waits to be confirmed"),
            "active" => ("good", "counts"),
            _ => ("bad", "revoked"),
        };
        let ways = match credential.transports.as_slice() {
            [] => "way unknown".to_owned(),
            some => some.join(", "),
        };
        html.raw("<li><div class=\"entry\"><span class=\"name\">")
            .text(plain(credential.user.as_str()).text)
            .around(" <span class=\"state ", class, "\">")
            .text(word)
            .around("</span></span><span class=\"meta\">", plain(&ways).text, " · since ");
        time(html, credential.created);
        html.around(" · by ", plain(&credential.enrolled_by).text, "</span>")
            .around("<span class=\"meta mono\">id ", &credential.id, "</span>")
            .around("<span class=\"meta mono\">model ", plain(&credential.aaguid).text, "</span>");
        if credential.standing == DORMANT {
            html.around("<button type=\"button\" class=\"confirm-key\" data-id=\"", &credential.id, "\">")
                .raw("It is mine; confirm it</button>");
        }
        html.raw("</div></li>");
    }
    html.raw("</ul></section>");
}
