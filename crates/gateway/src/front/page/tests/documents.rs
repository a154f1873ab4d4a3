//! What the documents show, and how.

use highwater_core::id::{ApprovalId, UserId};

use super::super::document::request::Beside;
use super::super::document::{Frame, enroll, inbox, keys, mandate, request};
use super::super::visitors::Visitor;
use super::backend::{NOW, key, request as example};
use crate::approvals::{
    ApprovalState as State, ContextView, CredentialView, InboxView, NeedView, RememberScope,
    RequestKind as Kind, RequestView, ServerSays, Undo,
};

fn shown(view: &RequestView) -> String {
    shown_beside(view, &Beside { passkeys: &[counting("usb")], ..Beside::default() })
}

fn shown_beside(view: &RequestView, beside: &Beside<'_>) -> String {
    let visitor = Visitor { user: UserId::new("owner"), operator: false };
    let frame = Frame { title: "t", page: "request", csrf: "c", visitor: Some(&visitor), now: NOW };
    request::document(&frame, view, &visitor, beside)
}

/// A passkey of the owner that counts, reached in this way.
fn counting(way: &str) -> CredentialView {
    CredentialView { standing: "active".to_owned(), transports: vec![way.to_owned()], ..key("owner") }
}

fn with(kind: Kind, change: impl FnOnce(&mut ContextView)) -> RequestView {
    let mut view = example(kind);
    change(&mut view.context);
    view
}

#[test]
fn c06_display_text_is_shown_to_the_letter_and_as_text() {
    let page = shown(&example(Kind::Passkey));
    let (_, rest) = page.split_once("<pre class=\"display\"").unwrap();
    let text = rest.split_once('>').unwrap().1.split_once("</pre>").unwrap().0;
    assert_eq!(
        text,
        "Call files__delete on files with\n  &quot;path&quot;: &quot;&lt;b&gt;notes&lt;/b&gt;&quot;\n  \
         &quot;why&quot;: &quot;x⟦U+202E⟧y&quot;"
    );
    assert!(page.contains("1 hidden character."));
    assert!(!shown(&RequestView { hidden: 0, ..example(Kind::Passkey) }).contains("hidden character"));
}

#[test]
fn what_is_absent_is_shown_with_its_default() {
    let page = shown(&example(Kind::Passkey));
    assert!(page.contains("<code>recursive</code> — it says it takes <code>true</code>"), "{page}");
    assert!(page.contains("<code>note</code> — it names no default"));
}

#[test]
fn what_is_unusual_comes_first() {
    let page = shown(&example(Kind::Passkey));
    let at = |words: &str| page.find(words).unwrap();
    assert!(at("untrusted text was read") < at("it deletes"));
    assert!(page.contains("mail__read <span class=\"unusual\">nobody vouches for it</span>"), "{page}");
    assert!(page.contains("<li>financial</li>"));
}

#[test]
fn the_servers_own_words_stand_under_a_heading_that_says_so_and_come_last() {
    let page = shown(&example(Kind::Passkey));
    let (ours, theirs) = page.split_once("What the server says about this tool").unwrap();
    assert!(!ours.contains("alert(1)"));
    assert!(ours.ends_with("<details class=\"theirs\"><summary>"), "it is folded: {ours}");
    assert!(theirs.contains("Written by the server and checked by nobody"));
    assert!(theirs.contains("Deletes. &lt;script&gt;alert(1)&lt;/script&gt;⟦U+200B⟧"), "{theirs}");
    assert!(!page.contains("<script>"));
}

#[test]
fn a_passkey_is_never_remembered_and_a_confirmation_may_be() {
    assert!(!shown(&example(Kind::Passkey)).contains("name=\"remember\""));
    let offered = RequestView { remember: example(Kind::Confirm).remember, ..example(Kind::Passkey) };
    assert!(!shown(&offered).contains("name=\"remember\""), "even if somebody offers it");
    let page = shown(&example(Kind::Confirm));
    assert_eq!(page.matches("name=\"remember\"").count(), 4);
    assert!(page.contains("value=\"\" checked"), "once, unless the person chooses more");
}

#[test]
fn c07_the_button_waits_until_the_end_of_the_arguments_was_seen() {
    for (kind, button) in [(Kind::Passkey, "approve"), (Kind::Confirm, "confirm")] {
        let page = shown(&example(kind));
        assert!(page.contains(&format!("id=\"{button}\" class=\"primary\" disabled")), "{page}");
        assert!(page.contains("id=\"decline\">Decline"), "no is always possible");
        let end = page.find("id=\"end\"").unwrap();
        assert!(page.find("x⟦U+202E⟧y").unwrap() < end, "every argument is before it");
        assert!(end < page.find("What the server says").unwrap(), "and nothing of the server's");
        assert!(end < page.find("Why you are asked").unwrap());
    }
}

#[test]
fn what_is_decided_cannot_be_answered_again() {
    for state in [State::Approved, State::Consumed, State::Declined, State::Expired] {
        let (decided, decided_by) = (Some(NOW), Some("owner".to_owned()));
        let page = shown(&RequestView { state, decided, decided_by, ..example(Kind::Passkey) });
        assert!(!page.contains("<button type=\"button\" id=\"approve\""));
        assert!(!page.contains("id=\"decline\""));
        assert!(page.contains("By owner, <time"));
    }
}

#[test]
fn of_several_it_is_shown_who_has_signed() {
    let (owner, alice) = (UserId::new("owner"), UserId::new("alice"));
    let need = NeedView {
        n: 2,
        approvers: vec![owner.clone(), alice],
        signed: vec![owner],
        ..example(Kind::Passkey).need
    };
    let page = shown(&RequestView { need, ..example(Kind::Passkey) });
    assert!(page.contains("1 of 2 have signed"));
    assert!(page.contains("alice may sign"));
    assert!(page.contains("You have signed"), "and nobody signs twice");
    assert!(!page.contains("id=\"approve\""));
}

#[test]
fn a_screen_reader_finds_its_way() {
    let page = shown(&example(Kind::Confirm));
    for mark in [
        "<html lang=\"en\">",
        "<main id=\"main\"",
        "<nav aria-label=\"Pages\">",
        "href=\"#main\">Skip",
        "aria-live=\"polite\"",
        "<fieldset class=\"remember\"><legend>",
        "role=\"group\" aria-labelledby=\"exact\"",
        "aria-label=\"Your answer\"",
        "role=\"timer\"",
    ] {
        assert!(page.contains(mark), "{mark}");
    }
    assert_eq!(page.matches("<h1>").count(), 1);
    let unnamed = page.split("<section").skip(1).filter(|part| {
        let tag = part.split('>').next().unwrap();
        !tag.contains("aria-label")
    });
    assert_eq!(unnamed.count(), 0, "every part has a name");
}

#[test]
fn d11_a_request_begins_with_who_wants_what_and_a_clients_name_is_no_fact() {
    let page =
        shown(&with(Kind::Passkey, |it| it.display = Some("Delete {path} because of {cause}".to_owned())));
    let head = page.split_once("<header class=\"ask\">").unwrap().1;
    assert!(
        head.starts_with(
            "<p class=\"who\">Token <code>laptop</code>, which calls itself “<bdi>claude-code 2.1</bdi>”, wants \
             to:</p><h1>Delete <bdi class=\"value\">“&lt;b&gt;notes&lt;/b&gt;”</bdi> because of <span \
             class=\"on\">(no cause)</span> <span class=\"on\">(files)</span></h1>"
        ),
        "{head}"
    );
    let page = shown(&RequestView { caller: String::new(), ..example(Kind::Passkey) });
    assert!(page.contains("Token <code>laptop</code> wants to:"), "{page}");
}

#[test]
fn without_a_sentence_of_the_operator_the_servers_title_stands_there_as_its_word() {
    let page = shown(&with(Kind::Passkey, |it| {
        it.server_says = Some(ServerSays { title: Some("Tidy <up>".to_owned()), ..ServerSays::default() });
    }));
    assert!(page.contains("<h1>use <bdi class=\"value\">“Tidy &lt;up&gt;”</bdi>"), "{page}");
    assert!(page.contains("what the server calls its tool <code>files__delete</code>"));
    let page = shown(&example(Kind::Passkey));
    assert!(page.contains("<h1>call <bdi class=\"value\">files__delete</bdi>"), "{page}");
}

#[test]
fn arguments_stand_in_the_order_of_the_schema_with_its_titles() {
    let page = shown(&example(Kind::Passkey));
    let rows = page.split_once("<dl class=\"given\">").unwrap().1.split_once("</dl>").unwrap().0;
    let reason = rows.find("Reason <span class=\"key mono\">why</span>").unwrap();
    assert!(reason < rows.find("<dt>path</dt>").unwrap(), "{rows}");
    assert!(rows.contains("The server says: Why it is &lt;i&gt;done&lt;/i&gt;"), "{rows}");
    let odd = RequestView {
        arguments: r#"{"n":"12","t":"a\n\nb","x":{"y":[1,""]}}"#.to_owned(),
        ..example(Kind::Passkey)
    };
    let page = shown(&odd);
    assert!(page.contains(">12</span> <span class=\"note\">as text</span>"), "{page}");
    assert!(page.contains("The tool does not declare it."));
    assert_eq!(page.matches("<span class=\"line\" dir=\"auto\">").count(), 3, "{page}");
    assert!(
        page.contains("<li><span class=\"mono\">1</span></li><li><span class=\"note\">empty text"),
        "{page}"
    );
}

#[test]
fn what_cannot_be_undone_says_so_at_the_top_and_nothing_else_does() {
    let grave = shown(&with(Kind::Passkey, |it| it.undo = Undo::Impossible));
    assert!(grave.find("Cannot be undone.").unwrap() < grave.find("What it is given").unwrap());
    assert!(grave.contains("banner bad grave"));
    for undo in [Undo::Unsaid, Undo::Doubtful] {
        let page = shown(&with(Kind::Passkey, |it| it.undo = undo));
        assert!(!page.contains("Cannot be undone") && !page.contains("banner bad"), "{page}");
    }
}

#[test]
fn words_of_several_scripts_are_warned_of() {
    let page = shown(&RequestView { mixed: 1, ..example(Kind::Passkey) });
    assert!(page.contains("1 word mixes letters that look alike."), "{page}");
}

#[test]
fn names_of_rules_and_tags_are_folded_away() {
    let page = shown(&example(Kind::Passkey));
    let why = page.split_once("Why you are asked").unwrap().1.split_once("</section>").unwrap().0;
    let (plain, details) = why.split_once("<details><summary>Details").unwrap();
    for tag in ["destructive", "financial", "mail__read"] {
        assert!(!plain.contains(tag) && details.contains(tag), "{tag}: {why}");
    }
    assert!(plain.contains("What it is given may be seen by anybody."), "{plain}");
}

#[test]
fn d8_after_the_answer_it_is_said_what_became_of_it_and_what_waits() {
    let decided = |state| RequestView { state, decided: Some(NOW), ..example(Kind::Confirm) };
    let page = shown(&decided(State::Consumed));
    let head = page.split_once("<header class=\"ask\">").unwrap().1;
    assert!(
        head.starts_with("<div id=\"outcome\" class=\"banner good\" role=\"status\" tabindex=\"-1\">"),
        "{head}"
    );
    assert!(page.contains("Nothing else waits for you."));
    assert!(shown(&decided(State::Approved)).contains("within two minutes"));
    let other = |id: &str| RequestView { id: ApprovalId::new(id), ..example(Kind::Passkey) };
    let waiting = [other("next1"), other("next2")];
    let page = shown_beside(&decided(State::Declined), &Beside { waiting: &waiting, ..Beside::default() });
    assert!(page.contains("<a id=\"next\" href=\"/approve/next1\">call files__delete</a>"), "{page}");
    assert!(page.contains("1 more in the inbox"));
}

#[test]
fn d9_who_has_no_passkey_that_fits_is_told_before_they_try() {
    let fits = |passkeys: &[CredentialView]| {
        shown_beside(&example(Kind::Passkey), &Beside { passkeys, ..Beside::default() })
    };
    assert!(fits(&[counting("usb")]).contains("id=\"approve\""));
    for (passkeys, why) in [
        (vec![], "You have no passkey that counts. This needs a security key or a phone."),
        (vec![key("owner")], "You have no passkey that counts."),
        (
            vec![CredentialView { user: UserId::new("alice"), ..counting("usb") }],
            "You have no passkey that counts.",
        ),
        (vec![counting("internal")], "None of your passkeys may approve this tool"),
    ] {
        let page = fits(&passkeys);
        assert!(page.contains(why), "{why}: {page}");
        assert!(page.contains("disabled aria-describedby=\"why-not\"") && !page.contains("id=\"approve\""));
    }
}

#[test]
fn d9_passkeys_say_what_they_are_and_what_they_approve() {
    let visitor = Visitor { user: UserId::new("owner"), operator: false };
    let frame = Frame { title: "t", page: "enroll", csrf: "c", visitor: Some(&visitor), now: NOW };
    let page = enroll::document(&frame, None, &[&counting("internal"), &counting("nfc")]);
    let name = "<bdi>Blue &lt;b&gt;key&lt;/b&gt;</bdi> <span class=\"on\">of owner</span>";
    assert_eq!(page.matches(name).count(), 2, "{page}");
    assert!(page.contains("Built into a device · ") && page.contains("Security key · "), "{page}");
    assert!(page.contains("<form class=\"rename\""), "{page}");
    assert!(page.contains("Approves every tool") && page.contains("Approves only tools that"));
    let one = enroll::document(&frame, None, &[&counting("internal")]);
    assert!(one.contains("This passkey approves nothing yet."), "{one}");
    assert!(!enroll::document(&frame, None, &[&counting("usb")]).contains("approves nothing yet"));
    let nobody = Frame { visitor: None, ..frame };
    assert!(enroll::document(&nobody, None, &[]).contains("Which one to take"));
}

#[test]
fn a_passkey_is_added_by_its_name() {
    assert_eq!(keys::to_be_added(&key("owner")), "Add the passkey “Blue <b>key</b>” for owner");
}

#[test]
fn d16_who_does_not_count_is_not_offered_the_button() {
    let need =
        NeedView { n: 2, approvers: ["ada", "ben"].map(UserId::new).to_vec(), ..example(Kind::Passkey).need };
    let page = shown(&RequestView { need: need.clone(), ..example(Kind::Passkey) });
    assert!(
        page.contains("Your signature does not count for this") && !page.contains("id=\"approve\""),
        "{page}"
    );
    let signed = vec![UserId::new("owner")];
    let page = shown(&RequestView { need: NeedView { signed, ..need }, ..example(Kind::Passkey) });
    assert!(page.contains("You have signed") && !page.contains("id=\"approve\""), "{page}");
}

#[test]
fn d14_a_scope_says_what_it_covers_and_until_when() {
    let mut view = example(Kind::Confirm);
    let same = serde_json::json!({ "targets": "digest", "tool": "files__delete",
        "fixed": [["path", "“<b>notes</b>”"]], "free": ["note"] });
    view.context.rememberable = serde_json::from_value(same).unwrap();
    let page = shown(&view);
    for words in [
        "any `files__delete` with `path` “&lt;b&gt;notes&lt;/b&gt;”, whatever `note` says, until this conversation ends",
        "in every conversation of this agent, for 30 days",
        "until the tool&#39;s definition changes",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let remember = page.find("name=\"remember\"").unwrap();
    assert!(page.find("aria-label=\"Your answer\"").unwrap() < remember, "beside the button");
    for scope in [
        RememberScope::Host,
        RememberScope::Folder,
        RememberScope::Session,
        RememberScope::ToolWithTargets,
        RememberScope::UntilDefinitionChanges,
    ] {
        assert_eq!(serde_json::to_value(scope).unwrap(), scope.word());
    }
}

#[test]
fn rows_of_the_inbox_tell_two_calls_of_one_tool_apart() {
    let visitor = Visitor { user: UserId::new("owner"), operator: false };
    let frame = Frame { title: "t", page: "inbox", csrf: "c", visitor: Some(&visitor), now: NOW };
    let call = |path: &str| {
        let arguments = serde_json::json!({ "path": path }).to_string();
        RequestView { id: ApprovalId::new(path), arguments, ..example(Kind::Confirm) }
    };
    let listed = InboxView { pending: vec![call("/a"), call("/b")], ..InboxView::default() };
    let page = inbox::document(&frame, &listed, &visitor);
    assert!(page.contains("path “/a”") && page.contains("path “/b”"), "{page}");
}

#[test]
fn d15_a_mandate_is_a_form_that_a_call_fills_in() {
    let frame = Frame { title: "t", page: "mandate", csrf: "c", visitor: None, now: NOW };
    let page = mandate::document(&frame, Some(&example(Kind::Passkey)));
    assert!(page.contains("id=\"agent\" required spellcheck=\"false\" value=\"laptop\""), "{page}");
    assert!(
        page.contains("value=\"files__delete\"") && page.contains("value=\"&lt;b&gt;notes&lt;/b&gt;\""),
        "{page}"
    );
    assert_eq!(page.matches("class=\"limit\"").count(), 2, "one row for each argument");
    assert_eq!(mandate::document(&frame, None).matches("class=\"limit\"").count(), 4);
    let terms = r#"{"tools":["a__b"],"max_calls":3,"agent":"bot","expires":"2026-11-18T12:00:00Z"}"#;
    assert_eq!(
        mandate::says(terms),
        "Let token bot make up to 3 calls of a__b until 2026-11-18T12:00:00Z, without asking you"
    );
}
