//! Two plain questions about a server that nobody described, so that it need not be asked about again.

use highwater_core::profile::Profile;
use highwater_display::plain;

use super::super::html::Html;
use crate::describe::WhatItIs;

/// The questions, where nobody has said what the server is.
pub(super) fn section(html: &mut Html, server: &str, known: &WhatItIs) {
    if known.by_file || known.profile != Profile::Unknown {
        return;
    }
    let server = plain(server).text;
    html.raw("<section id=\"described\" aria-labelledby=\"describe-title\"><h2 id=\"describe-title\">")
        .around("What is <span class=\"mono\">", &server, "</span>?</h2>")
        .raw("<p>Nobody has said, so its tools are taken for the worst and asked about again and again. ")
        .raw("Two answers describe all of them. <code>highwater servers</code> shows what you said and undoes it.</p>");
    question(html, "strangers", "Can anybody but you put text there?", "a mailbox, a tracker, the web");
    question(html, "sends", "Can it send anything off this machine?", "a message, an upload, a web request");
    if let Some(why) = &known.not_local {
        html.around("<p class=\"small\">Two times no is not offered: ", plain(why).text, ".</p>");
    }
    html.raw("<div class=\"buttons\"><button type=\"button\" id=\"describe\">Keep what I said</button></div></section>");
}

fn question(html: &mut Html, name: &str, words: &str, such_as: &str) {
    html.around("<fieldset class=\"remember\"><legend>", words, "</legend>")
        .around("<label><input type=\"radio\" name=\"", name, "\" value=\"yes\"> Yes")
        .around(", such as ", such_as, "</label>")
        .around("<label><input type=\"radio\" name=\"", name, "\" value=\"no\"> No</label></fieldset>");
}
