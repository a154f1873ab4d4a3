//! What a mark meets, and what it does not: by name, by content, and in a crowd of texts of one mould.

use highwater_core::annotation::DataClass;
use highwater_core::label::ANOTHER_CONVERSATION;
use proptest::prelude::*;

use super::*;

fn key() -> PrintKey {
    PrintKey::new(&[42; 24])
}

fn named(pairs: &[(&str, &str)]) -> Named {
    let mut named = Named::default();
    pairs.iter().for_each(|(kind, name)| named.add(kind, Name::new(name)));
    named
}

fn notes() -> UpstreamId {
    UpstreamId::new("notes")
}

fn written(texts: &[&str]) -> Prints {
    Prints::of_written(&key(), texts.iter().copied())
}

fn mark(id: &str, thing: Thing) -> Arc<Mark> {
    let by = Writer {
        session: SessionKey::new("one"),
        principal: Principal::new("ada"),
        tool: "write".into(),
        decision: DecisionId::new("d1"),
        at: Timestamp(1),
    };
    let label = Label::bottom().with_class(DataClass::Pii).with_open_world().with_origin("mcp:crm:read");
    Arc::new(Mark { id: id.into(), thing, label, by })
}

fn index(marks: impl IntoIterator<Item = Thing>) -> MarkIndex {
    let mut index = MarkIndex::default();
    for (number, thing) in marks.into_iter().enumerate() {
        index.insert(mark(&number.to_string(), thing));
    }
    index
}

fn met(index: &MarkIndex, reading: &Reading, text: &str) -> Vec<String> {
    let prints = ReadPrints::of(&key(), [text]);
    let prints = index.wants_text(reading).then_some(&prints);
    let found = index.met_by(reading, prints, &Principal::new("ada"));
    found.iter().map(|(mark, _)| mark.id.to_string()).collect()
}

fn reads(pairs: &[(&str, &str)]) -> Reading {
    Reading { named: named(pairs), ..Reading::default() }
}

/// A text of so many words, others for each seed.
fn prose(seed: u64, words: usize) -> String {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut text = String::new();
    for at in 0..words {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(
            ["mill", "stone", "river", "lamp", "grain", "sail", "cart", "wheel"]
                [usize::try_from((state >> 40) % 8).unwrap()],
        );
        text.push_str(&((state >> 50) % 97).to_string());
        text.push_str(if at % 11 == 10 { ". " } else { " " });
    }
    text
}

/// Wording that every text of the corpus has: a form with headings, a greeting and a notice.
fn form(seed: u64, own: usize) -> String {
    format!(
        "Describe the problem. A clear and concise description of what the problem is and what you did before. {} \
         Steps to reproduce the behaviour, one after another, as exactly as you can. {} \
         By opening this issue you agree to the code of conduct of this project and its contributors. {}",
        prose(seed, own),
        prose(seed + 1_000_000, own),
        prose(seed + 2_000_000, own / 3),
    )
}

#[test]
fn one_marked_note_says_nothing_of_the_others_of_its_mould() {
    let note = form(1, 40);
    let index = index([Thing::content(notes(), written(&[&note]))]);
    let tainted =
        (2..1002).filter(|seed| !met(&index, &Reading::default(), &form(*seed, 40)).is_empty()).count();
    assert!(tainted < 10, "{tainted} of 1000");
    // They do have wording in common.
    let (one, other) = (written(&[&note]), written(&[&form(2, 40)]));
    assert!(one.all().filter(|print| other.all().any(|other| other == *print)).count() > 3);
}

#[test]
fn the_marked_note_is_known_again_whole_cut_and_as_html() {
    for own in [4, 40, 400, 6000] {
        let note = form(1, own);
        let index = index([Thing::content(notes(), written(&[&note]))]);
        let words: Vec<&str> = note.split(' ').collect();
        let half = words[..words.len() / 2].join(" ");
        let other_half = words[words.len() / 2..].join(" ");
        let html = format!(
            "<html><body><h1>Note</h1><p>{}</p></body></html>",
            note.replace(". ", ".</p>\n<p class=\"x\">")
        );
        let json = serde_json::to_string(&serde_json::json!({ "id": 7, "body": note })).unwrap();
        let among = format!("{} {note} {}", prose(77, own), prose(78, own));
        for (how, text) in [
            ("whole", &note),
            ("half", &half),
            ("other half", &other_half),
            ("html", &html),
            ("json", &json),
            ("among", &among),
        ] {
            assert_eq!(met(&index, &Reading::default(), text), ["0"], "{how} of {own}");
            assert_eq!(
                met(&index, &reads(&[("path", "elsewhere")]), text),
                ["0"],
                "{how}: whatever is named"
            );
        }
        assert!(met(&index, &Reading::default(), &prose(5, 400)).is_empty());
    }
}

#[test]
fn wording_that_trusted_replies_have_shown_does_not_count() {
    // Nearly all of it is the mould.
    let (note, other) = (form(1, 3), form(2, 3));
    let mut fresh = index([Thing::content(notes(), written(&[&note]))]);
    assert_eq!(met(&fresh, &Reading::default(), &other), ["0"]);
    let mut learned = index([]);
    learned.learn(&ReadPrints::of(&key(), [form(3, 3).as_str()]));
    learned.insert(mark("0", Thing::content(notes(), written(&[&note]))));
    assert!(met(&learned, &Reading::default(), &other).is_empty());
    assert_eq!(met(&learned, &Reading::default(), &note), ["0"], "what is its own still counts");
    // What is part of a mark is not learnt from a reply that holds too little of it to bear it.
    fresh.learn(&ReadPrints::of(&key(), [note.as_str()]));
    assert_eq!(met(&fresh, &Reading::default(), &note), ["0"]);
}

#[test]
fn short_contents_are_known_by_all_of_them() {
    let index = index([Thing::content(notes(), written(&["the code is 4711", "ok"]))]);
    for text in ["The code is 4711.", "first\nthe code is 4711\nlast", r#"{"note":"The code is: 4711"}"#] {
        assert_eq!(met(&index, &Reading::default(), text), ["0"], "{text}");
    }
    for text in ["the code is 4712", "ok", "what the code is 4711 times"] {
        assert!(met(&index, &Reading::default(), text).is_empty(), "{text}");
    }
    assert!(written(&["ok", "yes"]).is_empty(), "what everybody says is nobody's");
}

#[test]
fn what_was_named_is_met_by_name_and_by_who_reads_without_one() {
    let text = prose(9, 100);
    let thing = Thing::object(notes(), &named(&[("path", "team/a.txt")]), written(&[&text]));
    let index = index([thing]);
    assert_eq!(met(&index, &reads(&[("path", "team/a.txt")]), "other text"), ["0"]);
    assert_eq!(met(&index, &reads(&[("path", "/srv/team")]), ""), ["0"]);
    assert_eq!(met(&index, &reads(&[("path", "")]), ""), ["0"], "the root");
    assert!(met(&index, &reads(&[("path", "team/b.txt")]), &text).is_empty(), "who names it reads that");
    assert_eq!(met(&index, &Reading::default(), &text), ["0"], "a search that finds it");
    assert!(met(&index, &Reading::default(), "other text").is_empty(), "a search that does not");
    let resource = |uri: &str| Reading { resource: Some(Name::new(uri)), ..Reading::default() };
    assert_eq!(met(&index, &resource("file:///srv/team/a.txt"), ""), ["0"]);
    assert!(met(&index, &resource("file:///srv/team/b.txt"), "").is_empty());
    assert_eq!(met(&index, &resource("search://team"), &text), ["0"], "by its content");
}

#[test]
fn a_folder_that_was_written_as_a_whole_is_met_in_every_part() {
    let index = index([Thing::object(notes(), &named(&[("path", "/")]), Prints::default())]);
    assert_eq!(met(&index, &reads(&[("path", "a/b")]), ""), ["0"]);
    assert_eq!(met(&index, &reads(&[("path", "/a/b")]), ""), ["0"]);
}

#[test]
fn handles_are_met_by_who_has_them() {
    let upstream = notes();
    let index = index([
        Thing::resource(upstream.clone(), "note://A/1"),
        Thing::task(upstream.clone(), "a/B"),
        Thing::resource(upstream.clone(), "x://y").without_room("list"),
        Thing::content(upstream.clone(), Prints::default()).without_room("write"),
        Thing::server(upstream),
    ]);
    let resource = |uri: &str| Reading { resource: Some(Name::new(uri)), ..Reading::default() };
    let task = |id: &str| Reading { task: Some(id.into()), ..Reading::default() };
    assert_eq!(met(&index, &resource("note://a/1"), ""), ["0", "2", "3", "4"]);
    assert_eq!(met(&index, &resource("note://a/2"), ""), ["2", "3", "4"]);
    assert_eq!(met(&index, &task("a/B"), ""), ["1", "2", "3", "4"]);
    assert_eq!(met(&index, &task("a/b"), ""), ["2", "3", "4"]);
    assert_eq!(met(&index, &Reading::default(), ""), ["3", "4"]);
}

#[test]
fn of_anothers_mark_nothing_is_told_and_of_content_no_flag() {
    let text = prose(3, 60);
    let index = index([Thing::object(notes(), &named(&[("path", "a")]), written(&[&text]))]);
    let prints = ReadPrints::of(&key(), [text.as_str()]);
    let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
    let label =
        |reading: &Reading, reader: &Principal| index.met_by(reading, Some(&prints), reader).remove(0).1;
    let own = label(&reads(&[("path", "a")]), &ada);
    assert!(own.open_world() && own.origins().contains("mcp:crm:read") == Some(true));
    let by_content = label(&Reading::default(), &ada);
    assert!(!by_content.open_world() && by_content.untrusted());
    for reading in [reads(&[("path", "a")]), Reading::default()] {
        let others = label(&reading, &bob);
        assert_eq!(others.origins().members(), [Arc::<str>::from(ANOTHER_CONVERSATION)]);
        assert!(others.classes().contains(DataClass::Pii) && others.untrusted());
        assert!(!others.told().classes().contains(DataClass::Pii));
    }
}

#[test]
fn what_a_write_leaves_says_nothing_of_the_session() {
    let session = Label::bottom().with_class(DataClass::User).with_open_world().with_wrote_externally();
    let left = left_by_write(&session, false);
    assert!(left.open_world() && left.untrusted() && !left.wrote_externally());
    let seen = left_by_write(&session, true);
    assert!(!seen.untrusted() && !seen.open_world() && seen.private());
    let harmless = Label::bottom().with_open_world().with_origin("web");
    let anothers = session.of_another();
    assert_eq!(
        left_by_write(&anothers, false).told().classes(),
        anothers.told().classes(),
        "what is not told stays so"
    );
    assert!(says_nothing(&left_by_write(&harmless, true)));
    assert!(!says_nothing(&left_by_write(&harmless, false)));
}

proptest! {
    /// Taking a mark out leaves what was there before it.
    #[test]
    fn an_index_forgets_what_is_taken_out(kept in 0_u64..50, gone in 50_u64..99) {
        let content = |seed| Thing::content(notes(), written(&[&prose(seed, 30)]));
        let mut index = index([content(kept)]);
        index.insert(mark("gone", Thing::object(notes(), &named(&[("path", "a/b")]), written(&[&prose(gone, 30)]))));
        index.remove("gone");
        prop_assert_eq!(index.len(), 1);
        prop_assert!(met(&index, &reads(&[("path", "a/b")]), "").is_empty());
        prop_assert!(met(&index, &Reading::default(), &prose(gone, 30)).is_empty());
        prop_assert_eq!(met(&index, &Reading::default(), &prose(kept, 30)), ["0"]);
    }

    /// What is looked up by steps is what meets by name: nothing is missed.
    #[test]
    fn whatever_meets_by_name_is_found(
        written in prop::collection::vec("(/?[ab](/[abc]){0,3}|/|c)", 1..6),
        read in "(/?[ab](/[abc]){0,3}|/|c)",
    ) {
        let index = index(written.iter().map(|name| Thing::object(notes(), &named(&[("path", name)]), Prints::default())));
        let expected: Vec<String> = (0..written.len())
            .filter(|at| Name::new(&written[*at]).meets(&Name::new(&read)))
            .map(|at| at.to_string())
            .collect();
        prop_assert_eq!(met(&index, &reads(&[("path", &read)]), ""), expected);
    }

    /// Whoever holds what all marks say by their content learns nothing from a text that bears some of them.
    #[test]
    fn no_text_bears_more_than_all_marks_say(seeds in prop::collection::vec((0_u64..20, any::<bool>(), any::<bool>()), 1..8)) {
        let mut index = MarkIndex::default();
        for (seed, named_too, ours) in &seeds {
            let prints = written(&[&prose(*seed, 30)]);
            let thing = if *named_too {
                Thing::object(notes(), &named(&[("path", "a/b")]), prints)
            } else {
                Thing::content(notes(), prints)
            };
            let mut left = Mark::clone(&mark(&format!("{seed}{named_too}"), thing));
            left.by.principal = Principal::new(if *ours { "ada" } else { "ben" });
            left.label = Label::bottom().with_class(DataClass::ALL[usize::try_from(*seed).unwrap() % DataClass::ALL.len()]);
            left.label = left.label.with_origin(&format!("mcp:crm:{seed}"));
            index.insert(Arc::new(left));
        }
        let reader = Principal::new("ada");
        for gone in [None, seeds.first()] {
            if let Some((seed, named_too, _)) = gone {
                index.remove(&format!("{seed}{named_too}"));
            }
            let all = index.said_by_content(&reader);
            for (seed, ..) in &seeds {
                let text = ReadPrints::of(&key(), [prose(*seed, 30).as_str()]);
                for (mark, label) in index.met_by(&Reading::default(), Some(&text), &reader) {
                    prop_assert!(all.includes(&label), "{}: {:?} in {:?}", mark.id, label, all);
                }
            }
        }
        for (seed, named_too, _) in &seeds {
            index.remove(&format!("{seed}{named_too}"));
        }
        prop_assert_eq!(index.said_by_content(&reader), Label::bottom());
    }

    /// Every cut of a third or more is known, wherever it begins.
    #[test]
    fn a_third_is_enough_wherever_it_is_cut(seed in 0_u64..1000, words in 60_usize..600, from in 0_usize..100) {
        let text = prose(seed, words);
        let all: Vec<&str> = text.split(' ').collect();
        let length = all.len() * 2 / 5 + 8;
        let from = (all.len() - length) * from / 100;
        let cut = all[from..from + length].join(" ");
        let index = index([Thing::content(notes(), written(&[&text]))]);
        prop_assert_eq!(met(&index, &Reading::default(), &format!("{} {cut}", prose(seed + 7, 4000))), ["0"]);
    }
}
