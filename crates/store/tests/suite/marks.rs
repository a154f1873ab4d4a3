//! Labels of what agents wrote.

use highwater_core::annotation::DataClass;
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_core::label::{ANOTHER_CONVERSATION, Label, TextSet};
use highwater_core::session::Doubt;
use highwater_marks::{MarkKind, Name, Named, Prints, ReadPrints, Reading, Thing, Writer};
use highwater_notation::Timestamp;
use highwater_store::{MarkQuery, MetMarks, Store, StoreError};

use super::Backend;

const TEXT: &str = "nine words are more than eight, which is enough for this";

fn notes() -> UpstreamId {
    UpstreamId::new("notes")
}

pub(super) fn named(name: &str) -> Named {
    let mut named = Named::default();
    named.add("path", Name::new(name));
    named
}

pub(super) fn note(name: &str) -> Thing {
    Thing::object(notes(), &named(name), Prints::default())
}

fn content(store: &Store, text: &str) -> Thing {
    Thing::content(notes(), Prints::of_written(store.print_key(), [text]))
}

pub(super) fn writer(session: &str) -> Writer {
    Writer {
        session: SessionKey::new(session),
        principal: Principal::new("agent"),
        tool: "write".into(),
        decision: DecisionId::new("d"),
        at: Timestamp(7),
    }
}

async fn query(store: &Store, reading: &Reading, text: &str, reader: &str) -> Result<MetMarks, StoreError> {
    let prints = || ReadPrints::of(store.print_key(), [text]);
    let reader = Principal::new(reader);
    store.met(&MarkQuery { servers: &[notes()], reading, reader: &reader, text: &prints, held: None }).await
}

/// What who reads the thing of this name takes over.
pub(super) async fn read(store: &Store, name: &str) -> Label {
    let reading = Reading { named: named(name), ..Reading::default() };
    query(store, &reading, "", "agent").await.unwrap().label()
}

async fn found(store: &Store, text: &str) -> Label {
    query(store, &Reading::default(), text, "agent").await.unwrap().label()
}

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii).with_origin("crm")
}

fn web() -> Label {
    Label::bottom().with_open_world().with_origin("web")
}

pub(crate) async fn marks_only_rise_and_come_back<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let by = writer("one");
    assert_eq!(read(&store, "1").await, Label::bottom());
    store.leave(vec![note("1"), note("2")], &pii(), &by).await.unwrap();
    store.leave(vec![note("2"), note("2")], &web(), &by).await.unwrap();
    for store in [&store, &other] {
        assert_eq!(read(store, "1").await, pii());
        assert_eq!(read(store, "2").await, pii().joined(&web()));
        assert_eq!(read(store, "3").await, Label::bottom());
    }
    // What was found without a mark can still get one.
    other.leave(vec![note("4")], &web(), &writer("two")).await.unwrap();
    assert_eq!(read(&other, "4").await, web());
    if store.is_shared() {
        assert_eq!(read(&store, "4").await, web());
    }
}

pub(crate) async fn marks_outlive_the_store<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let by = writer("one");
    store.leave(vec![note("1"), content(&store, TEXT)], &pii(), &by).await.unwrap();
    let before = store.all_marks().await.unwrap();
    store.close().await.unwrap();
    let store = place.open().await;
    assert_eq!(store.all_marks().await.unwrap(), before);
    assert_eq!(found(&store, &format!("<p>{TEXT}</p>")).await, pii(), "its key is still the same");
    // A mark of the new run adds to that of the old one.
    store.leave(vec![note("1")], &web(), &by).await.unwrap();
    assert_eq!(read(&store, "1").await, pii().joined(&web()));
}

pub(crate) async fn a_thing_of_any_name_can_be_marked<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let (long, zero) = ("x".repeat(20_000), "a\0b");
    let label = pii().with_origin("nul\0character").with_scopes(&TextSet::of(["hipaa"]));
    store.leave(vec![note(&long), note(zero), note("say \"no\"")], &label, &writer("one")).await.unwrap();
    for name in [long.as_str(), zero, "say \"no\""] {
        assert!(read(&store, name).await.covers(&pii()), "{name:.10}");
    }
    let many = (0..=highwater_store::MOST_MARKS).map(|number| note(&number.to_string())).collect();
    assert!(matches!(store.leave(many, &pii(), &writer("one")).await, Err(StoreError::TooMany { .. })));
}

pub(crate) async fn what_was_not_written_is_as_it_was<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let by = writer("one");
    let marked = store.leave(vec![note("new"), content(&store, TEXT)], &pii(), &by).await.unwrap();
    assert_eq!(found(&store, TEXT).await, pii());
    store.take_back(marked).await.unwrap();
    assert_eq!(read(&store, "new").await, Label::bottom());
    assert_eq!(found(&store, TEXT).await, Label::bottom());

    store.leave(vec![note("old")], &web(), &by).await.unwrap();
    let marked = store.leave(vec![note("old")], &pii(), &by).await.unwrap();
    store.take_back(marked).await.unwrap();
    assert_eq!(read(&store, "old").await, web(), "what was there before stays");

    // Who has added to it since has written.
    let marked = store.leave(vec![note("both")], &pii(), &by).await.unwrap();
    store.leave(vec![note("both")], &web(), &by).await.unwrap();
    store.take_back(marked).await.unwrap();
    assert_eq!(read(&store, "both").await, pii().joined(&web()));
    if store.is_shared() {
        for (name, label) in [("new", Label::bottom()), ("old", web()), ("both", pii().joined(&web()))] {
            assert_eq!(read(&other, name).await, label, "{name}");
        }
    }
    // And what is left twice is taken back once.
    let marked = store.leave(vec![note("again")], &pii(), &by).await.unwrap();
    store.take_back(marked).await.unwrap();
    store.leave(vec![note("again")], &pii(), &by).await.unwrap();
    assert_eq!(read(&store, "again").await, pii());
}

pub(crate) async fn people_take_marks_off<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    store.leave(vec![note("1"), note("2")], &pii(), &writer("one")).await.unwrap();
    assert_eq!(read(&other, "1").await, if store.is_shared() { pii() } else { read(&other, "1").await });
    let marks = store.all_marks().await.unwrap();
    let mark = marks.iter().find(|mark| mark.thing == note("1")).unwrap();
    let ids = vec![mark.id.to_string(), "mrk_unknown".to_owned()];
    let cleared = store.clear_marks(ids, "ada", "I wrote that").await.unwrap();
    assert_eq!(cleared.marks, [(**mark).clone()]);
    for store in [&store, &other] {
        if store.is_shared() {
            assert_eq!(read(store, "1").await, Label::bottom());
            assert_eq!(read(store, "2").await, pii());
        }
    }
    assert_eq!(read(&store, "1").await, Label::bottom());
    assert_eq!(read(&store, "2").await, pii());
    assert!(store.clear_marks(vec![mark.id.to_string()], "ada", "again").await.unwrap().marks.is_empty());
    // What is written again is marked again.
    store.leave(vec![note("1")], &pii(), &writer("one")).await.unwrap();
    assert_eq!(read(&store, "1").await, pii());
    store.close().await.unwrap();
    let store = place.open().await;
    assert_eq!(store.all_marks().await.unwrap().len(), 2);
}

pub(crate) async fn a_yes_takes_doubts_off_and_nothing_else<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let no_file = || {
        let mut named = Named::default();
        named.add("topic", Name::new("travel"));
        Thing::object(notes(), &named, Prints::default())
    };
    let untrusted = web().joined(&pii());
    let by = writer("one");
    let things = vec![note("/app/a.sh"), note("/app/b.sh"), note("/other/c.sh"), no_file()];
    store.leave(things, &untrusted, &by).await.unwrap();
    store.leave(vec![note("/app/private.txt")], &pii(), &by).await.unwrap();
    let doubts = async |store: &Store, folder: Option<&str>| {
        let folders: Option<Vec<Name>> = folder.map(|folder| vec![Name::new(folder)]);
        store.doubts(&[notes()], folders.as_deref(), &by.principal).await.unwrap()
    };
    let names = |doubts: &[Doubt]| -> Vec<String> {
        let mut names: Vec<_> =
            doubts.iter().map(|doubt| doubt.name.as_deref().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let told = doubts(&store, Some("/app")).await;
    assert_eq!(names(&told), ["/app/a.sh", "/app/b.sh"]);
    assert_eq!(names(&doubts(&store, None).await), ["/app/a.sh", "/app/b.sh", "/other/c.sh"]);
    // One of them is written again before the person answers.
    let again = Writer { decision: DecisionId::new("later"), ..by.clone() };
    let text = "a text of its own that is long enough to have fingerprints of its own";
    let b = Thing { prints: content(&store, text).prints, ..note("/app/b.sh") };
    store.leave(vec![b], &untrusted, &again).await.unwrap();
    let cleared = store.clear_doubts(told, "ada", "looked at it").await.unwrap();
    assert_eq!(cleared.marks.len(), 1);
    assert_eq!(names(&doubts(&store, Some("/app")).await), ["/app/b.sh"]);
    if store.is_shared() {
        assert_eq!(names(&doubts(&other, Some("/app")).await), ["/app/b.sh"]);
    }
    // What was private stays so, and whoever reads it is as trusted as before.
    let marks = store.all_marks().await.unwrap();
    let left = marks.iter().find(|mark| mark.thing == note("/app/a.sh")).unwrap();
    assert!(left.label.private() && !left.label.untrusted(), "{left:?}");
    store.close().await.unwrap();
    let store = place.open().await;
    assert_eq!(names(&doubts(&store, None).await), ["/app/b.sh", "/other/c.sh"]);
}

pub(crate) async fn what_there_is_no_room_for_is_on_the_tool<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let by = writer("one");
    store.leave(vec![note("elsewhere")], &web(), &writer("two")).await.unwrap();
    for first in [0, 256, 512] {
        let some = (first..first + 256).map(|number| note(&format!("n{number}"))).collect();
        store.leave(some, &pii(), &by).await.unwrap();
    }
    let marks = store.all_marks().await.unwrap();
    assert!(marks.len() < 768, "{}", marks.len());
    let tool: Vec<_> = marks.iter().filter(|mark| mark.thing.kind == MarkKind::Tool).collect();
    assert_eq!(tool.iter().map(|mark| &*mark.thing.name).collect::<Vec<_>>(), ["write"]);
    for number in 0..768 {
        assert!(read(&store, &format!("n{number}")).await.covers(&pii()), "{number}");
    }
    assert!(
        marks.iter().any(|mark| mark.thing == note("elsewhere")),
        "another conversation has its own room"
    );
    // A conversation may not fill the store with one long text after another, either.
    for seed in 0..12 {
        let text: String = (0..20_000).map(|number| format!("w{} ", number * 31 + seed)).collect();
        store.leave(vec![content(&store, &text)], &pii(), &writer("three")).await.unwrap();
    }
    let all = store.all_marks().await.unwrap();
    let prints: usize = all.iter().map(|mark| mark.thing.prints.count()).sum();
    assert!(prints < 96 * 1024, "{prints}");
    let again = place.open_beside().await;
    if again.is_shared() {
        assert_eq!(again.all_marks().await.unwrap(), all);
    }
}

pub(crate) async fn of_anothers_mark_only_that_it_is_anothers_is_told<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.leave(vec![note("1")], &pii(), &writer("one")).await.unwrap();
    let reading = Reading { named: named("1"), ..Reading::default() };
    let met = query(&store, &reading, "", "another").await.unwrap().label();
    assert!(met.classes().contains(DataClass::Pii));
    assert_eq!(met.origins(), &TextSet::of([ANOTHER_CONVERSATION]));
    assert!(!met.told().classes().contains(DataClass::Pii));
}
