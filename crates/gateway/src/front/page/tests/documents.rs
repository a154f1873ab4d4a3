//! What the documents show, and how.

use highwater_core::id::UserId;

use super::super::document::{Frame, request};
use super::super::visitors::Visitor;
use super::counter::{NOW, request as example};
use crate::approvals::{ApprovalState as State, NeedView, RequestKind as Kind, RequestView};

fn shown(view: &RequestView) -> String {
    let visitor = Visitor { user: UserId::new("owner"), operator: false };
    let frame = Frame { title: "t", page: "request", csrf: "c", visitor: Some(&visitor), now: NOW };
    request::document(&frame, view, &visitor, None)
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
    let (ours, theirs) = page.split_once("The server says").unwrap();
    assert!(!ours.contains("alert(1)"));
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
fn c07_the_button_waits_until_the_end_was_seen() {
    for (kind, button) in [(Kind::Passkey, "approve"), (Kind::Confirm, "confirm")] {
        let page = shown(&example(kind));
        assert!(page.contains(&format!("id=\"{button}\" class=\"primary\" disabled")), "{page}");
        assert!(page.contains("id=\"decline\">Decline"), "no is always possible");
        assert!(page.find("id=\"end\"").unwrap() < page.find("id=\"decline\"").unwrap());
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
