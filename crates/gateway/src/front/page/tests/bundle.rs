//! Which calls are shown together, and what that page shows.

use highwater_core::id::{ApprovalId, UserId};
use highwater_notation::Timestamp;

use super::super::bundle::Bundle;
use super::super::document::{Frame, bundle, inbox};
use super::super::visitors::Visitor;
use super::backend::{NOW, key, request as example};
use crate::approvals::{ApprovalState as State, CredentialView, InboxView, RequestKind as Kind, RequestView};

fn call(id: &str, kind: Kind, arguments: &str) -> RequestView {
    let mut view = RequestView {
        id: ApprovalId::new(id),
        hidden: 0,
        arguments: arguments.to_owned(),
        display_text: format!("exactly {arguments}"),
        ..example(kind)
    };
    view.context.session = Some("s".to_owned());
    view.context.conversation = None;
    view.context.decision = Some(format!("hwd_{id}"));
    view
}

fn three(kind: Kind) -> Vec<RequestView> {
    let of = |id: &str| call(id, kind, &format!(r#"{{"path":"/{id}","why":"tidy"}}"#));
    ["a", "b", "c"].map(of).to_vec()
}

fn ids(one: &RequestView, all: &[RequestView]) -> Vec<String> {
    Bundle::of(one, all)
        .map(|it| it.members.iter().map(|view| view.id.to_string()).collect())
        .unwrap_or_default()
}

fn page(all: &[RequestView]) -> String {
    let visitor = Visitor { user: UserId::new("owner"), operator: false };
    let frame = Frame { title: "t", page: "bundle", csrf: "c", visitor: Some(&visitor), now: NOW };
    let bundle = Bundle::of(all.first().unwrap(), all).unwrap();
    let usb = CredentialView { standing: "active".to_owned(), ..key("owner") };
    bundle::document(&frame, &bundle, &visitor, &[usb])
}

#[test]
fn calls_of_one_conversation_that_differ_in_a_few_values_are_together() {
    let calls = three(Kind::Confirm);
    assert_eq!(ids(&calls[1], &calls), ["a", "b", "c"]);
    assert_eq!(ids(&calls[0], &calls[..1]), Vec::<String>::new(), "one is none");
    let changes: [fn(&mut RequestView); 9] = [
        |view| view.tool = "files__move".to_owned(),
        |view| view.principal = "another".to_owned(),
        |view| view.user = UserId::new("ada"),
        |view| view.context.session = Some("another".to_owned()),
        |view| view.hidden = 1,
        |view| view.mixed = 1,
        |view| view.context.labels.push("pii".to_owned()),
        |view| view.arguments = String::new(),
        |view| (view.created, view.expires) = (Timestamp(NOW.0 + 900_000), Timestamp(NOW.0 + 999_000)),
    ];
    for (at, change) in changes.iter().enumerate() {
        let mut calls = calls.clone();
        change(&mut calls[2]);
        assert_eq!(ids(&calls[0], &calls), ["a", "b"], "change {at}");
    }
    let far = call("d", Kind::Confirm, r#"{"a":1,"b":2,"c":3,"d":4}"#);
    assert_eq!(ids(&calls[0], &[calls[0].clone(), far]), Vec::<String>::new(), "they differ in too much");
}

#[test]
fn everything_that_is_answered_is_shown_and_each_has_its_own_answer() {
    let html = page(&three(Kind::Confirm));
    let (same, rows) = html.split_once("Each call").unwrap();
    assert_eq!(
        (same.matches("tidy").count(), rows.matches("<span class=\"text\" dir=\"auto\">tidy").count()),
        (1, 0)
    );
    for id in ["a", "b", "c"] {
        assert!(rows.contains(&format!("data-id=\"{id}\" data-state=\"pending\"")), "{rows}");
        assert!(rows.contains(&format!("<span class=\"text\" dir=\"auto\">/{id}</span>")), "{rows}");
    }
    assert_eq!(rows.matches("class=\"tick\"").count(), 3);
    assert!(!rows.contains("checked>") && !rows.contains("checked="), "nothing is ticked beforehand");
    assert!(rows.contains("id=\"allow-ticked\" class=\"primary\" disabled"), "{rows}");
    assert!(rows.find("id=\"end\"").unwrap() > rows.find("/c</span>").unwrap());
}

#[test]
fn a_passkey_signs_each_for_itself() {
    let html = page(&three(Kind::Passkey));
    assert_eq!(html.matches("class=\"primary sign\"").count(), 3);
    assert_eq!(html.matches("<pre class=\"display\"").count(), 3);
    assert!(!html.contains("class=\"tick\"") && !html.contains("allow-ticked"));
}

#[test]
fn what_is_answered_stays_in_view_and_cannot_be_answered_again() {
    let mut calls = three(Kind::Confirm);
    (calls[1].state, calls[1].decided) = (State::Consumed, Some(NOW));
    let html = page(&calls);
    assert!(html.contains("1 of 3 answered.") && html.contains("1 approved, 0 declined"), "{html}");
    assert_eq!((html.matches("class=\"tick\"").count(), html.matches("class=\"refuse\"").count()), (2, 2));
}

#[test]
fn the_inbox_has_one_entry_for_them() {
    let visitor = Visitor { user: UserId::new("owner"), operator: false };
    let frame = Frame { title: "t", page: "inbox", csrf: "c", visitor: Some(&visitor), now: NOW };
    let inbox = InboxView { pending: three(Kind::Confirm), ..InboxView::default() };
    let html = inbox::document(&frame, &inbox, &visitor);
    assert!(
        html.contains("<a href=\"/approve/a/together\"><span class=\"name\">3 calls of files__delete"),
        "{html}"
    );
    assert_eq!(html.matches("href=\"/approve/").count(), 1, "{html}");
}
