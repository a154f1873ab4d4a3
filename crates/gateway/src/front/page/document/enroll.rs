//! Passkeys: adding one, and making those count that wait for it.

use highwater_core::approval::AuthenticatorClass;
use highwater_display::plain;

use super::super::html::Html;
use super::{Frame, keys, time, vouch};
use crate::approvals::{CredentialView, passkey_kind};

/// Who is meant if nobody else is named.
const OWNER: &str = "owner";

/// How a passkey stands that nobody has confirmed.
const DORMANT: &str = "dormant";

/// How one stands that counts no more.
const REVOKED: &str = "revoked";

/// How far a person has come.
enum Stage {
    /// They have none that counts, or nobody knows who they are.
    First,
    /// They have one, and are not done.
    Second,
    /// They have as many as they need.
    Done,
}

/// `named` is for whom the page was opened, by its address.
pub(in super::super) fn document(
    frame: &Frame<'_>,
    named: Option<&str>,
    credentials: &[&CredentialView],
) -> String {
    let visiting = frame.visitor.map(|visitor| visitor.user.as_str());
    let user = named.or(visiting).unwrap_or(OWNER);
    let stage = stage(frame, user, credentials);
    frame.document(|html| {
        html.raw(
            "<h1>Passkeys</h1><p class=\"lead\">A passkey lets you approve calls that need more than a ",
        )
        .raw("button. It stays on your device or security key; the gateway keeps the public half alone.</p>");
        match stage {
            Stage::First => {
                first(html, "Add a passkey", user);
                which(html);
                second_is_advised(html);
            }
            Stage::Second => {
                let fits = |key: &CredentialView| {
                    key.counts() && keys::may_approve(key, AuthenticatorClass::CrossPlatform)
                };
                if !credentials.iter().any(|key| fits(key)) {
                    html.raw("<p class=\"banner warn\"><strong>This passkey approves nothing yet.</strong> It is built ")
                        .raw("into a device, and no tool takes that unless your configuration says so. Take a ")
                        .raw("security key or a phone for the second.</p>");
                }
                second(html, user);
                which(html);
            }
            Stage::Done => {
                html.raw("<p class=\"banner good\"><strong>Finished.</strong> Two or more of your passkeys ")
                    .raw("count. If one is lost, take it back with another.</p>");
            }
        }
        if frame.visitor.is_some() {
            listed(html, credentials);
        }
        if matches!(stage, Stage::Done) {
            first(html, "Add another passkey", user);
        }
        html.part(|html| vouch(html, "Confirm it with a passkey you have", "Confirm with a passkey"))
            .raw("<p id=\"status\" role=\"status\" aria-live=\"polite\"></p>");
    })
}

/// Said before a passkey is made that then approves nothing.
fn which(html: &mut Html) {
    html.raw("<section aria-labelledby=\"which\"><h2 id=\"which\">Which one to take</h2><ul class=\"plain\">")
        .raw("<li><strong>A security key or your phone</strong> approves every tool that asks for a passkey.</li>")
        .raw("<li><strong>The one built into this computer</strong> (Touch ID, Windows Hello) approves only tools that your ")
        .raw("configuration gives to <code>class: platform</code> under <code>approvals.tools</code>. No tool is unless ")
        .raw("somebody wrote it there. It signs you in here, and confirms other passkeys.</li></ul></section>");
}

/// Only of the person who is signed in is it known how far they are. The operator helps with everybody's.
fn stage(frame: &Frame<'_>, user: &str, credentials: &[&CredentialView]) -> Stage {
    match frame.visitor {
        Some(visitor) if !visitor.operator && visitor.user.as_str() == user => {
            match credentials.iter().filter(|credential| credential.counts()).count() {
                0 => Stage::First,
                1 => Stage::Second,
                _ => Stage::Done,
            }
        }
        Some(_) | None => Stage::First,
    }
}

/// The form for a passkey that a code confirms, or a passkey that is there already. The page types the code where the
/// program that opened it said so.
fn first(html: &mut Html, heading: &'static str, user: &str) {
    html.raw("<section aria-labelledby=\"add\"><h2 id=\"add\">")
        .raw(heading)
        .raw("</h2><ol class=\"steps\" id=\"steps\"><li>Run <code>highwater approvals enroll</code> in a terminal of yours.</li>")
        .raw("<li>For your first passkey, type the code that it prints. If you have one here already, leave the ")
        .raw("code empty: the one you have will confirm the new one.</li></ol>")
        .raw("<form id=\"enroll\" autocomplete=\"off\">")
        .raw("<label for=\"user\">For whom</label>")
        .around("<input id=\"user\" name=\"user\" required spellcheck=\"false\" value=\"", user, "\">")
        .raw("<label for=\"code\">One-time code</label>")
        .raw("<input id=\"code\" name=\"code\" class=\"mono\" spellcheck=\"false\" autocapitalize=\"characters\" ")
        .raw("autocomplete=\"one-time-code\" aria-describedby=\"code-note\">")
        .raw("<p id=\"code-note\" class=\"small\">Five attempts, ten minutes.</p>")
        .part(key_name)
        .raw("<div class=\"buttons\"><button type=\"submit\" class=\"primary\">Create a passkey</button></div>")
        .raw("</form></section>");
}

fn key_name(html: &mut Html) {
    html.raw("<label for=\"key-name\">Name of the passkey, if you like</label>")
        .raw("<input id=\"key-name\" name=\"key-name\" maxlength=\"60\" placeholder=\"Blue security key\" ")
        .raw("aria-describedby=\"name-note\"><p id=\"name-note\" class=\"small\">Without one it is called by what it is ")
        .raw("and by the day. You can rename it later.</p>");
}

fn second_is_advised(html: &mut Html) {
    html.raw("<section aria-labelledby=\"two\"><h2 id=\"two\">A second one, now or later</h2>")
        .raw("<p>One passkey signs as well as two. But there are no recovery codes: if your only passkey is lost, ")
        .raw("approvals stay closed until a reset, which takes a day. A second one on another device or key spares ")
        .raw("you that. You can add it at any time; until then the inbox reminds you.</p></section>");
}

/// The first counts. The second passkey comes next, now or later, and there is a way out for who cannot have one.
fn second(html: &mut Html, user: &str) {
    html.raw("<p id=\"ready\" class=\"banner warn\" tabindex=\"-1\"><strong>Your passkey is ready.</strong> You can approve with it from now on. ")
        .raw("It is the only one: if it is lost, approvals stay closed until a reset, which takes a day. There are no ")
        .raw("recovery codes. <a href=\"/inbox\">Go to the inbox</a></p>")
        .raw("<section id=\"second\" aria-labelledby=\"add\"><h2 id=\"add\">Add your second, now or later</h2>")
        .raw("<p>Take another device or security key than before. Your first passkey then confirms it.</p>")
        .raw("<form id=\"enroll\" autocomplete=\"off\">")
        .around("<input type=\"hidden\" id=\"user\" name=\"user\" value=\"", user, "\">")
        .part(key_name)
        .raw("<div class=\"buttons\"><button type=\"submit\" class=\"primary\">Create the second passkey</button></div>")
        .raw("</form><details><summary>I have no second device or key</summary>")
        .raw("<form id=\"alone\"><label class=\"check\"><input type=\"checkbox\" id=\"alone-yes\" required> ")
        .raw("<span>I accept that I cannot approve anything for at least a day if I lose my one passkey. ")
        .raw("That I said so goes on record.</span></label>")
        .raw("<div class=\"buttons\"><button type=\"submit\">Finish with one passkey</button></div>")
        .raw("</form></details></section>");
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
            "active" => ("good", "confirmed"),
            _ => ("bad", "revoked"),
        };
        let ways = match credential.transports.as_slice() {
            [] => "way unknown".to_owned(),
            some => some.join(", "),
        };
        html.raw("<li><div class=\"entry\"><span class=\"name\">")
            .around("<bdi>", plain(&credential.name).text, "</bdi>")
            .around(" <span class=\"on\">of ", plain(credential.user.as_str()).text, "</span>")
            .around(" <span class=\"state ", class, "\">")
            .text(word)
            .around("</span></span><span class=\"meta\">", passkey_kind(&credential.transports), " · ")
            .around("", plain(&ways).text, " · since ");
        time(html, credential.created);
        html.raw("</span>")
            .around("<span class=\"fits\">", keys::approves(credential), "</span>")
            .raw("<details><summary>Details</summary>")
            .around("<span class=\"meta\">enrolled by ", plain(&credential.enrolled_by).text, "</span>")
            .around("<span class=\"meta mono\">id ", &credential.id, "</span>")
            .around("<span class=\"meta mono\">model ", plain(&credential.aaguid).text, "</span></details>");
        if let Some(by) = &credential.attested_by {
            html.around("<span class=\"meta\">attested by ", plain(by).text, "</span>");
        }
        if credential.standing != REVOKED {
            rename(html, credential);
        }
        if credential.standing == DORMANT {
            html.around("<button type=\"button\" class=\"confirm-key\" data-id=\"", &credential.id, "\">")
                .raw("It is mine; confirm it</button>");
        }
        html.raw("</div></li>");
    }
    html.raw("</ul></section>");
}

fn rename(html: &mut Html, credential: &CredentialView) {
    let name = plain(&credential.name).text;
    html.raw("<details><summary>Rename</summary>")
        .around("<form class=\"rename\" data-id=\"", &credential.id, "\">")
        .around("<label>New name of “", &name, "” ")
        .around("<input required maxlength=\"60\" value=\"", &credential.name, "\"></label>")
        .raw("<button type=\"submit\">Keep this name</button></form></details>");
}
