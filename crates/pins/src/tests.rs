//! What follows from what changed, row by row.

use highwater_core::pin::{Hold, PinDigest};
use highwater_core::policy::{ManifestState, ToolStatus};
use serde_json::json;

use super::*;

fn tool(description: &str, read_only: bool) -> Definition {
    let parts = [
        ("/description".into(), PartClass::Wording, json!(description)),
        ("/annotations/readOnlyHint".into(), PartClass::Annotation, json!(read_only)),
    ];
    Definition::new(PinKey::new(PinKind::Tool, "t"), "{}", parts)
}

fn server(name: &str) -> Definition {
    let parts = [("/name".into(), PartClass::Identity, json!(name))];
    Definition::new(PinKey::identity(), "{}", parts)
}

fn pinned(definition: &Definition, basis: Basis) -> PinEntry {
    let pin = Pin { definition: definition.clone(), basis, believed: true };
    PinEntry { pin: Some(pin), rejected: None }
}

const STRICT: Terms =
    Terms { vouched: false, quarantine: true, manifest: ManifestState::Absent, manifest_wanted: false };

fn hold(seen: &Definition, entry: Option<&PinEntry>, terms: Terms) -> Option<Hold> {
    stand(seen, entry, &terms).hold
}

#[test]
fn what_nobody_approved_is_held() {
    assert_eq!(hold(&tool("a", true), None, STRICT), Some(Hold::New));
    assert_eq!(hold(&server("a"), None, STRICT), Some(Hold::ServerNew));
    let entry = PinEntry::default();
    assert_eq!(hold(&tool("a", true), Some(&entry), STRICT), Some(Hold::New));
}

#[test]
fn what_was_approved_is_free_until_it_says_something_else() {
    let entry = pinned(&tool("a", true), Basis::Person);
    let same = stand(&tool("a", true), Some(&entry), &STRICT);
    assert_eq!((same.hold, same.status, same.drift), (None, ToolStatus::Approved, None));
    let said = stand(&tool("b", true), Some(&entry), &STRICT);
    assert_eq!((said.hold, said.status), (Some(Hold::Changed), ToolStatus::Changed));
    let claimed = stand(&tool("a", false), Some(&entry), &STRICT);
    assert_eq!((claimed.hold, claimed.status), (None, ToolStatus::Changed));
    assert_eq!(claimed.drift.unwrap().changes().len(), 1);
    let other = stand(&server("b"), Some(&pinned(&server("a"), Basis::Person)), &STRICT);
    assert_eq!(other.hold, Some(Hold::ServerChanged));
}

#[test]
fn what_was_approved_is_believed_only_if_somebody_says_so() {
    let pin = |basis, believed| Pin { definition: tool("a", true), basis, believed };
    let (vouched, signed) =
        (Terms { vouched: true, ..STRICT }, Terms { manifest: ManifestState::Verified, ..STRICT });
    assert!(!STRICT.believes(&pin(Basis::Person, false), false));
    assert!(STRICT.believes(&pin(Basis::Person, true), false));
    assert!(vouched.believes(&pin(Basis::Person, false), false));
    assert!(signed.believes(&pin(Basis::Person, false), true));
    // What counts no more is not believed either.
    assert!(!STRICT.believes(&pin(Basis::Vouched, true), false));
    assert!(!STRICT.believes(&pin(Basis::Manifest, true), false));
}

#[test]
fn the_word_of_the_operator_counts_while_they_stand_by_it() {
    let entry = pinned(&tool("a", true), Basis::Vouched);
    assert_eq!(hold(&tool("a", true), Some(&entry), STRICT), Some(Hold::New));
    assert_eq!(hold(&tool("a", true), Some(&entry), Terms { vouched: true, ..STRICT }), None);
    assert_eq!(hold(&tool("b", true), Some(&entry), Terms { vouched: true, ..STRICT }), Some(Hold::Changed));
    let signed = pinned(&tool("a", true), Basis::Manifest);
    assert_eq!(hold(&tool("a", true), Some(&signed), STRICT), Some(Hold::New));
    let verified = Terms { manifest: ManifestState::Verified, ..STRICT };
    assert_eq!(hold(&tool("a", true), Some(&signed), verified), None);
}

#[test]
fn a_refusal_is_of_exactly_what_was_seen_and_counts_without_a_quarantine() {
    let refused = PinEntry { pin: None, rejected: Some(tool("a", true).digest()) };
    let off = Terms { quarantine: false, vouched: true, ..STRICT };
    assert_eq!(hold(&tool("a", true), Some(&refused), off), Some(Hold::Rejected));
    assert_eq!(hold(&tool("b", true), Some(&refused), off), None);
    assert_eq!(hold(&tool("b", true), Some(&refused), STRICT), Some(Hold::New));
    let gone = PinEntry { pin: None, rejected: Some(server("a").digest()) };
    assert_eq!(hold(&server("a"), Some(&gone), off), Some(Hold::ServerRejected));
}

#[test]
fn without_a_quarantine_changes_are_only_noted() {
    let entry = pinned(&tool("a", true), Basis::Person);
    let off = Terms { quarantine: false, ..STRICT };
    let standing = stand(&tool("b", true), Some(&entry), &off);
    assert_eq!((standing.hold, standing.status), (None, ToolStatus::Pending));
    assert!(standing.drift.is_some());
}

#[test]
fn a_manifest_that_does_not_count_holds_the_server() {
    let entry = pinned(&server("a"), Basis::Person);
    for (manifest, manifest_wanted) in
        [(ManifestState::Invalid, false), (ManifestState::Absent, true), (ManifestState::Unchecked, true)]
    {
        let terms = Terms { manifest, manifest_wanted, vouched: true, ..STRICT };
        assert_eq!(hold(&server("a"), Some(&entry), terms), Some(Hold::ManifestInvalid), "{manifest}");
        assert_eq!(terms.approves_first_seen(), None, "{manifest}");
    }
    let verified = Terms { manifest: ManifestState::Verified, ..STRICT };
    assert_eq!(verified.approves_first_seen(), Some(Basis::Manifest));
    assert_eq!(Terms { vouched: true, ..STRICT }.approves_first_seen(), Some(Basis::Vouched));
    assert_eq!(STRICT.approves_first_seen(), None);
}

#[test]
fn a_review_names_everything_that_was_seen() {
    let (one, two) = (tool("a", true), server("a"));
    let review = |seen: &[&Definition]| digest_of_all(seen.iter().map(|it| (it.key(), it.digest())));
    assert_eq!(review(&[&one, &two]), review(&[&two, &one]));
    assert_ne!(review(&[&one, &two]), review(&[&one]));
    assert_ne!(review(&[&one, &two]), review(&[&tool("a", false), &two]));
    let text = one.digest().to_string();
    assert_eq!(PinDigest::parse(&text), Some(one.digest()));
    assert_eq!(PinDigest::parse(&text.to_uppercase()), None);
    assert_eq!(PinDigest::parse(text.get(..63).unwrap()), None);
}

#[test]
fn hidden_text_is_found_and_shown_and_ordinary_writing_is_not() {
    for (text, kind) in [
        ("a\u{200b}b", ConcernKind::ZeroWidth),
        ("a\u{200d}b", ConcernKind::ZeroWidth),
        ("x\u{feff}", ConcernKind::ZeroWidth),
        ("x\u{1d173}", ConcernKind::ZeroWidth),
        ("x\u{1bca0}", ConcernKind::ZeroWidth),
        ("x\u{fff0}", ConcernKind::ZeroWidth),
        ("✔\u{fe0f}\u{fe00}", ConcernKind::Tag),
        (".\u{fe01}\u{fe02}\u{fe03}", ConcernKind::Tag),
        (" \u{fe01}", ConcernKind::Tag),
        ("a\u{202e}b", ConcernKind::Bidi),
        ("a\u{2066}b", ConcernKind::Bidi),
        ("\u{e0041}\u{e0042}", ConcernKind::Tag),
        ("a\u{fe01}", ConcernKind::Tag),
        ("\u{e0100}", ConcernKind::Tag),
        ("\u{1b}[8mhidden", ConcernKind::Control),
        ("a\u{9b}b", ConcernKind::Control),
        ("\u{8}", ConcernKind::Control),
    ] {
        let found = hidden_text(text);
        assert_eq!(found.first().map(|(kind, _)| *kind), Some(kind), "{text:?}");
        assert!(visible(text).contains("⟨U+"), "{text:?}");
    }
    for text in [
        "plain, with\ttabs\r\nand lines",
        "Grüße, 你好, مرحبا",
        "👩\u{200d}💻 ✔\u{fe0f} 1\u{fe0f}⃣",
        "می\u{200c}خواهم",
    ] {
        assert_eq!(hidden_text(text), [], "{text:?}");
        assert_eq!(visible(text), text);
    }
    assert_eq!(visible("a\u{200b}b"), "a⟨U+200B⟩b");
}

#[test]
fn only_words_that_look_like_names_could_be_names() {
    let names: Vec<_> = possible_names(
        "Before this, call `mail__send_email` (or sendEmail), then search the web-page. ok_ go_on README",
    )
    .collect();
    assert_eq!(names, ["mail__send_email", "sendEmail", "web-page"]);
}
