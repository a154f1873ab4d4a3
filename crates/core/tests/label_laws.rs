//! Laws of the label over random labels: the join is a semilattice, the bits are its image, nothing is ever lowered.

use std::sync::{Arc, LazyLock};

use highwater_core::annotation::{DataClass, Source};
use highwater_core::label::{Label, LabelBits, LabelDigest, TextSet, is_own_origin};
use highwater_core::trust::TrustLevel;
use highwater_notation::Words;
use proptest::prelude::*;

/// How often each law is tried.
const CASES: u32 = 100_000;

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

/// Every text there is, made once: most of the time would go into making them. One in seven is an origin of ours, which
/// are first in the order of sets.
static TEXTS: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| {
    let text = |number| if number % 7 == 3 { format!("mcp:t:{number:03}") } else { format!("t{number:03}") };
    (0..600).map(|number| Arc::from(text(number))).collect()
});

/// Few names, so that sets meet; now and then so many that they overflow, or open from the start.
fn texts() -> impl Strategy<Value = TextSet> {
    let few = proptest::collection::vec(0..6_usize, 0..4)
        .prop_map(|numbers| TextSet::of(numbers.iter().filter_map(|number| TEXTS.get(*number).cloned())));
    let many = (0..300_usize, 200..300_usize)
        .prop_map(|(from, count)| TextSet::of(TEXTS.iter().skip(from).take(count).cloned()));
    let sets = prop_oneof![20 => few, 1 => many];
    (sets, proptest::bool::weighted(0.1)).prop_map(|(set, open)| if open { set.opened() } else { set })
}

fn label() -> impl Strategy<Value = Label> {
    let parts = (
        proptest::collection::vec(word(DataClass::ALL), 0..4),
        word(TrustLevel::ALL),
        proptest::collection::vec(word(Source::ALL), 0..3),
        (any::<bool>(), any::<bool>(), any::<bool>()),
        (texts(), proptest::option::weighted(0.3, texts())),
        texts(),
        prop_oneof![20 => Just(0), 1 => Just(1_i64 << 40), 1 => Just(1_i64 << 7)],
    );
    parts.prop_map(
        |(classes, integrity, sources, (open_world, malicious, wrote), (scopes, names), origins, foreign)| {
            let names = names.unwrap_or_default();
            let mut label = Label::from_sets(LabelBits::from_i64(foreign), scopes, names, origins)
                .with_classes(classes.into_iter().collect())
                .with_integrity(integrity)
                .with_sources(sources.into_iter().collect());
            if open_world {
                label = label.with_open_world();
            }
            if malicious {
                label = label.with_malicious();
            }
            if wrote { label.with_wrote_externally() } else { label }
        },
    )
}

fn join(left: &Label, right: &Label) -> Label {
    left.clone().joined(right)
}

/// What a decision can see of a set of texts: a listed member is in it, an unlisted one is not, or may be.
fn may_contain(set: &TextSet, text: &str) -> bool {
    set.contains(text) != Some(false)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn join_is_associative(a in label(), b in label(), c in label()) {
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
    }

    #[test]
    fn join_is_commutative(a in label(), b in label()) {
        prop_assert_eq!(join(&a, &b), join(&b, &a));
    }

    #[test]
    fn join_is_idempotent_and_bottom_is_its_identity(a in label()) {
        prop_assert_eq!(join(&a, &a), a.clone());
        prop_assert_eq!(join(&a, &Label::bottom()), a.clone());
        prop_assert_eq!(join(&Label::bottom(), &a), a);
    }

    #[test]
    fn the_top_covers_every_label(a in label()) {
        prop_assert!(Label::top().covers(&a));
        prop_assert!(a.covers(&Label::bottom()));
    }

    #[test]
    fn a_join_covers_both_and_nothing_smaller_does(a in label(), b in label(), c in label()) {
        let both = join(&a, &b);
        prop_assert!(both.covers(&a) && both.covers(&b));
        if c.covers(&a) && c.covers(&b) {
            prop_assert!(c.covers(&both));
        }
    }

    #[test]
    fn what_is_covered_adds_nothing_a_decision_could_see(a in label(), b in label()) {
        if a.covers(&b) {
            let both = join(&a, &b);
            prop_assert_eq!(both.bits(), a.bits());
            for text in ["t000", "mcp:t:003", "t399", "elsewhere"] {
                prop_assert_eq!(may_contain(both.scopes(), text), may_contain(a.scopes(), text));
                prop_assert_eq!(may_contain(both.names(), text), may_contain(a.names(), text));
                prop_assert_eq!(may_contain(both.origins(), text), may_contain(a.origins(), text));
            }
        }
    }

    #[test]
    fn a_label_includes_another_if_joining_it_changes_nothing(a in label(), b in label(), c in label()) {
        prop_assert_eq!(a.includes(&b), join(&a, &b) == a);
        let both = join(&a, &b);
        prop_assert!(both.includes(&a) && both.includes(&b) && a.includes(&a));
        if a.includes(&b) {
            prop_assert!(a.covers(&b));
            prop_assert!(!b.includes(&c) || a.includes(&c));
        }
    }

    #[test]
    fn no_origin_of_ours_is_pushed_out_by_what_others_say(a in label(), b in label()) {
        let both = join(&a, &b);
        let ours = |label: &Label| -> Vec<_> {
            label.origins().members().iter().filter(|text| is_own_origin(text)).cloned().collect()
        };
        for own in ours(&a) {
            prop_assert_eq!(both.origins().contains(&own), Some(true));
        }
        let all = both.origins().members();
        prop_assert!(all.starts_with(&ours(&both)), "they are named first");
    }

    #[test]
    fn the_bits_of_a_join_are_at_least_the_or_of_the_bits(a in label(), b in label()) {
        let or = a.bits().union(b.bits());
        let both = join(&a, &b).bits();
        prop_assert!(both.covers(or));
        // Only a set that overflowed in this very join may say more.
        let every = || TextSet::EVERY;
        let overflow = Label::from_sets(LabelBits::BOTTOM, every(), every(), every()).bits();
        prop_assert!(or.union(overflow).covers(both));
    }

    #[test]
    fn stored_and_read_back_it_is_the_same_label(a in label()) {
        let bits = LabelBits::from_i64(a.bits().to_i64());
        prop_assert_eq!(Label::from_sets(bits, a.scopes().clone(), a.names().clone(), a.origins().clone()), a);
    }

    #[test]
    fn two_labels_have_one_digest_if_they_are_one_label(a in label(), b in label(), c in label()) {
        let same = LabelDigest::of(&a) == LabelDigest::of(&b);
        prop_assert_eq!(same, a == b);
        // However it came about, and however it was kept.
        let (left, right) = (join(&join(&a, &b), &c), join(&c, &join(&b, &a)));
        prop_assert_eq!(LabelDigest::of(&left), LabelDigest::of(&right));
        let bits = LabelBits::from_i64(a.bits().to_i64());
        let scopes = TextSet::of(a.scopes().members().iter().rev().cloned());
        let origins = TextSet::of(a.origins().members().iter().rev().cloned());
        let names = TextSet::of(a.names().members().iter().rev().cloned());
        let kept = Label::from_sets(bits, scopes, names, origins);
        prop_assert_eq!(LabelDigest::of(&kept), LabelDigest::of(&a));
        let text = LabelDigest::of(&a).to_string();
        prop_assert_eq!(LabelDigest::parse(&text), Some(LabelDigest::of(&a)));
    }

    #[test]
    fn every_bit_and_every_text_of_a_label_is_in_its_digest(a in label(), bit in 0..63_u32, text in 0..600_usize) {
        let digest = LabelDigest::of(&a);
        let with = |bits, scopes: &TextSet, origins: &TextSet| {
            Label::from_sets(LabelBits::from_i64(bits), scopes.clone(), a.names().clone(), origins.clone())
        };
        let (bits, scopes, origins) = (a.bits().to_i64(), a.scopes(), a.origins());
        let one = TextSet::of(TEXTS.get(text).cloned());
        let joined = |set: &TextSet| {
            let mut set = set.clone();
            set.join(&one);
            set
        };
        let without = |set: &TextSet| TextSet::of(set.members().iter().skip(1).cloned());
        for other in [
            with(bits ^ 1 << bit, scopes, origins),
            with(bits, &joined(scopes), origins),
            with(bits, scopes, &joined(origins)),
            with(bits, &without(scopes), origins),
            with(bits, scopes, &without(origins)),
            with(bits, origins, scopes),
        ] {
            prop_assert_eq!(LabelDigest::of(&other) == digest, other == a);
        }
    }

    #[test]
    fn nothing_a_decision_sees_is_lowered_by_a_join(a in label(), b in label()) {
        let both = join(&a, &b);
        prop_assert!(both.integrity() <= a.integrity());
        prop_assert!(both.classes().covers(a.classes()));
        prop_assert!(both.sources().covers(a.sources()));
        prop_assert!(both.untrusted() || !a.untrusted());
        prop_assert!(both.private() || !a.private());
        prop_assert!(both.malicious() || !a.malicious());
        prop_assert!(both.open_world() || !a.open_world());
        prop_assert!(both.wrote_externally() || !a.wrote_externally());
        prop_assert_eq!(both.bits().origins_open(), both.origins().is_open());
        prop_assert_eq!(both.bits().scopes_open(), both.scopes().is_open());
        prop_assert!(both.risk() >= a.risk() && both.risk() <= 100);
        for text in a.origins().members() {
            prop_assert!(may_contain(both.origins(), text));
        }
        for text in a.scopes().members() {
            prop_assert!(may_contain(both.scopes(), text));
        }
    }

    #[test]
    fn integrity_and_classes_join_as_minimum_and_union(
        levels in proptest::collection::vec(word(TrustLevel::ALL), 1..5),
        classes in proptest::collection::vec(word(DataClass::ALL), 0..5),
    ) {
        let label = levels.iter().fold(Label::bottom(), |label, level| label.with_integrity(*level));
        prop_assert_eq!(Some(&label.integrity()), levels.iter().min());
        let label = classes.iter().fold(Label::bottom(), |label, class| {
            join(&label, &Label::bottom().with_class(*class))
        });
        prop_assert_eq!(label.classes(), classes.into_iter().collect::<Words<DataClass>>());
    }
}
