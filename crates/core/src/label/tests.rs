//! Single cases of the label: the stored layout bit by bit, overflow, unknown bits, and what is shown.

use highwater_notation::Words;

use super::*;

/// The layout is a storage format: each bit by its number, so that a renumbering fails here.
#[test]
fn every_bit_stands_where_it_was_first_stored() {
    let bit = |label: Label| label.bits().to_i64();
    let untrusted = 0b111_1100;
    assert_eq!(bit(Label::bottom()), 0);
    assert_eq!(bit(Label::bottom().with_open_world()), 1 | untrusted);
    assert_eq!(bit(Label::bottom().with_malicious()), 2 | untrusted);
    for (level, bits) in [
        (TrustLevel::Owner, 0),
        (TrustLevel::User, 0b100),
        (TrustLevel::System, 0b1100),
        (TrustLevel::Agent, 0b1_1100),
        (TrustLevel::Tool, 0b11_1100),
        (TrustLevel::None, untrusted),
    ] {
        assert_eq!(bit(Label::bottom().with_integrity(level)), bits, "{level}");
    }
    let classes = [
        DataClass::User,
        DataClass::Pii,
        DataClass::Financial,
        DataClass::Credentials,
        DataClass::Regulated,
        DataClass::Confidential,
        DataClass::Unclassified,
    ];
    for (place, class) in classes.into_iter().enumerate() {
        assert_eq!(bit(Label::bottom().with_class(class)), 1 << (8 + place), "{class}");
    }
    let sources =
        [Source::UntrustedPublic, Source::TrustedPublic, Source::Internal, Source::User, Source::System];
    for (place, source) in sources.into_iter().enumerate() {
        assert_eq!(bit(Label::bottom().with_source(source)), 1 << (15 + place), "{source}");
    }
    assert_eq!(bit(Label::bottom().with_wrote_externally()), 1 << 20);
    assert_eq!(bit(Label::bottom().with_names(&TextSet::of(["com.example.x"]))), 1 << 21);
    assert_eq!(bit(Label::bottom().with_class(DataClass::Named)), 1 << 21 | 1 << 59);
    assert_eq!(bit(Label::bottom().with_scopes(&TextSet::EVERY)), 1 << 60);
    assert_eq!(bit(Label::bottom().with_origins(&TextSet::EVERY)), 1 << 61);
    assert_eq!(bit(Label::top()), i64::MAX);
}

#[test]
fn what_is_put_in_is_read_back() {
    for level in TrustLevel::ALL {
        assert_eq!(Label::bottom().with_integrity(*level).integrity(), *level);
    }
    for class in DataClass::ALL {
        assert_eq!(Label::bottom().with_class(*class).classes(), Words::only(*class));
    }
    for source in Source::ALL {
        assert_eq!(Label::bottom().with_source(*source).sources(), Words::only(*source));
    }
}

#[test]
fn a_class_of_ones_own_has_its_name_beside_it() {
    let named = |name: &str| Label::bottom().with_names(&TextSet::of([name]));
    let one = named("com.example.x");
    assert_eq!(one.classes(), Words::only(DataClass::Named));
    let both = one.clone().joined(&named("com.example.y"));
    assert!(both.covers(&one) && !one.covers(&both));
    assert_ne!(LabelDigest::of(&one), LabelDigest::of(&named("com.example.y")));
    // Without a name it may be any.
    let any = Label::bottom().with_class(DataClass::Named);
    assert!(any.covers(&both) && any.names().is_open());
    assert!(Label::from_parts(one.bits(), TextSet::EMPTY, TextSet::EMPTY).covers(&both));
    let shown = |label: &Label| serde_json::to_value(label).unwrap()["secrecy"].clone();
    assert_eq!(shown(&both), serde_json::json!(["com.example.x", "com.example.y"]));
    assert_eq!(shown(&any), serde_json::json!(["named"]));
}

#[test]
fn the_lower_of_two_levels_stays() {
    let label = Label::bottom()
        .with_integrity(TrustLevel::User)
        .joined(&Label::bottom().with_integrity(TrustLevel::Tool));
    assert_eq!(label.integrity(), TrustLevel::Tool);
    assert!(!label.untrusted());
    assert!(label.joined(&Label::bottom().with_integrity(TrustLevel::None)).untrusted());
}

#[test]
fn a_flag_alone_makes_a_label_untrusted() {
    let flagged = Label::from_parts(LabelBits::from_i64(0b10), TextSet::EMPTY, TextSet::EMPTY);
    assert_eq!(flagged.integrity(), TrustLevel::None);
    let open = Label::from_parts(LabelBits::from_i64(0b1), TextSet::EMPTY, TextSet::EMPTY);
    assert!(open.untrusted());
}

#[test]
fn a_bit_of_a_newer_build_is_kept_and_read_as_the_top() {
    for foreign in [7, 22, 40, 58, 62] {
        let stored = 1_i64 << foreign;
        let label = Label::from_parts(LabelBits::from_i64(stored), TextSet::of(["gdpr"]), TextSet::EMPTY);
        assert!(label.bits().is_foreign(), "bit {foreign}");
        assert_ne!(label.bits().to_i64() & stored, 0, "bit {foreign} was lost");
        assert_eq!(label.classes(), Words::all());
        assert_eq!(label.integrity(), TrustLevel::None);
        assert!(label.malicious() && label.open_world() && label.wrote_externally());
        assert_eq!(label.scopes().contains("hipaa"), None);
        let joined = Label::bottom().joined(&label);
        assert_ne!(joined.bits().to_i64() & stored, 0, "bit {foreign} was lost in a join");
    }
    assert!(LabelBits::from_i64(i64::MIN).is_foreign());
}

#[test]
fn the_top_covers_everything_and_leaves_every_membership_open() {
    let top = Label::top();
    assert_eq!(top.origins().contains("anything"), None);
    assert!(top.covers(&Label::bottom().with_origin("x").with_class(DataClass::Pii).with_malicious()));
    assert!(!Label::bottom().covers(&top));
}

#[test]
fn too_many_members_leave_a_set_open_and_mark_the_label() {
    let names: Vec<String> = (0..300).map(|number| format!("origin-{number:03}")).collect();
    let set = TextSet::of(names.iter().map(String::as_str));
    assert_eq!(set.members().len(), TextSet::LIMIT);
    assert!(set.is_open());
    assert_eq!(set.contains("origin-000"), Some(true));
    assert_eq!(set.contains("origin-299"), None, "it may be in it, and nobody can say");
    let label = Label::bottom().with_origins(&set);
    assert!(label.bits().origins_open());
    assert!(!label.bits().scopes_open());

    let full = TextSet::of(names.iter().take(256).map(String::as_str));
    assert!(!full.is_open());
    let label = Label::bottom().with_origins(&full).with_origin("one more");
    assert!(label.bits().origins_open(), "the join is marked, too");
}

#[test]
fn our_own_origins_are_first_and_stay_however_many_others_there_are() {
    let others = TextSet::of((0..300).map(|number| format!("a://{number:03}")));
    for own_last in [false, true] {
        let mut set = if own_last { others.clone() } else { TextSet::of(["mcp:web:fetch"]) };
        set.join(&if own_last { TextSet::of(["mcp:web:fetch"]) } else { others.clone() });
        assert_eq!(set.members().first().map(|first| &**first), Some("mcp:web:fetch"));
        assert_eq!(set.members().len(), TextSet::LIMIT);
        assert_eq!(set.contains("mcp:web:fetch"), Some(true));
        assert_eq!(set.contains("a://255"), None, "it made room for ours");
    }
    assert!(is_own_origin("mcp:web:fetch"));
    assert!(!is_own_origin("mcp://host/a") && !is_own_origin("claimed:mcp:web:fetch"));
}

#[test]
fn an_open_set_still_takes_what_there_is_room_for() {
    let few = TextSet::of(["a"]).opened();
    assert!(few.covers(&TextSet::of(["b"])) && !few.includes(&TextSet::of(["b"])));
    let full = TextSet::of((0..300).map(|number| format!("m{number:03}")));
    assert!(full.includes(&TextSet::of(["z"])), "there is no room for it");
    assert!(!full.includes(&TextSet::of(["a"])), "it comes before others");
    assert!(!TextSet::of(["a"]).includes(&TextSet::EVERY));
    assert_eq!(full.first(2), TextSet::of(["m000", "m001"]).opened());
    assert_eq!(TextSet::of(["a", "b"]).first(2), TextSet::of(["a", "b"]));
}

#[test]
fn a_text_too_long_to_keep_leaves_the_set_open() {
    let long = "x".repeat(TextSet::LONGEST + 1);
    let set = TextSet::of([long.as_str(), "short"]);
    assert_eq!(set.members().len(), 1);
    assert!(set.is_open());
    assert_eq!(set.contains(&long), None);
}

#[test]
fn an_empty_open_set_is_not_empty() {
    assert!(TextSet::EMPTY.is_empty());
    assert!(!TextSet::EVERY.is_empty());
    assert!(TextSet::EVERY.covers(&TextSet::of(["a"])));
    assert!(!TextSet::of(["a"]).covers(&TextSet::EVERY));
}

#[test]
fn a_label_is_shown_in_the_published_spelling() {
    let label = Label::bottom()
        .with_class(DataClass::Confidential)
        .with_class(DataClass::Pii)
        .with_class(DataClass::Regulated)
        .with_scopes(&TextSet::of(["hipaa"]))
        .with_source(Source::UntrustedPublic)
        .with_open_world()
        .with_origin("mcp:mail:list_inbox");
    assert_eq!(
        serde_json::to_string(&label).unwrap(),
        r#"{"secrecy":["pii",{"regulated":{"scopes":["hipaa"]}},"confidential"],"integrity":"none","origins":["mcp:mail:list_inbox"],"flags":["openWorld"],"sources":["untrustedPublic"]}"#
    );
    assert_eq!(
        serde_json::to_string(&Label::bottom()).unwrap(),
        r#"{"secrecy":[],"integrity":"owner","origins":[],"flags":[],"sources":[]}"#
    );
    let shown = serde_json::to_string(&Label::top()).unwrap();
    assert!(shown.contains(
        r#""flags":["openWorld","malicious","wroteExternally","scopesTruncated","originsTruncated"]"#
    ));
}

#[test]
fn risk_runs_from_nothing_to_a_hundred() {
    assert_eq!(Label::bottom().risk(), 0);
    assert_eq!(Label::top().risk(), 100);
}

#[test]
fn private_is_whatever_has_a_class() {
    assert!(!Label::bottom().private());
    assert_eq!(Label::bottom().confidentiality(), Confidentiality::Low);
    let unclassified = Label::bottom().with_class(DataClass::Unclassified);
    assert!(unclassified.private());
    assert_eq!(unclassified.confidentiality(), Confidentiality::High);
}

/// Seals hold digests: what is hashed, and in which order, stays.
#[test]
fn the_digest_of_a_label_is_over_its_own_words() {
    let digest = |label: &Label| LabelDigest::of(label).to_string();
    let label = Label::bottom().with_open_world().with_scopes(&TextSet::of(["a"])).with_origin("b");
    assert_ne!(digest(&label), digest(&Label::bottom().with_open_world().with_origin("b")));
    let split =
        |texts: &[&str]| LabelDigest::of(&Label::bottom().with_origins(&TextSet::of(texts.iter().copied())));
    assert_ne!(split(&["ab", "c"]), split(&["a", "bc"]));
    assert_ne!(split(&["abc"]), split(&["ab", "c"]));
    let scoped = Label::bottom().with_scopes(&TextSet::of(["a"]));
    assert_ne!(digest(&scoped), digest(&Label::bottom().with_origin("a")));
    assert_eq!(digest(&Label::bottom()), "60ceda9657946328c26d6958a817da9cd5b0442820401e99b693a6baf244dad9");
}
