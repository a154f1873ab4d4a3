//! The laws of pins: nothing that differs reads the same, nothing that is the same is an alarm, and no definition is free
//! that nobody approved.

use std::sync::Arc;

use highwater_core::policy::ManifestState;
use highwater_notation::{Json, canonical};
use highwater_pins::{Basis, Definition, Drift, PartClass, Pin, PinEntry, PinKey, PinKind, Terms, stand};
use proptest::prelude::*;
use serde_json::{Map, Value};

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("a number", |float| float.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

type Parts = Vec<(Arc<str>, PartClass, Value)>;

fn parts() -> impl Strategy<Value = Parts> {
    let class = proptest::sample::select(PartClass::ALL.to_vec());
    let pointer = proptest::sample::select(vec!["/a", "/b", "/c"]);
    let value = proptest::sample::select(vec![0, 1, 2]).prop_map(Value::from);
    proptest::collection::btree_map(pointer, (class, value), 0..4).prop_map(|parts| {
        parts.into_iter().map(|(pointer, (class, value))| (pointer.into(), class, value)).collect()
    })
}

fn kind() -> impl Strategy<Value = PinKind> {
    proptest::sample::select(PinKind::ALL.to_vec())
}

fn terms() -> impl Strategy<Value = Terms> {
    let manifest = proptest::sample::select(ManifestState::ALL.to_vec());
    (any::<bool>(), any::<bool>(), manifest, any::<bool>()).prop_map(
        |(vouched, quarantine, manifest, manifest_wanted)| Terms {
            vouched,
            quarantine,
            manifest,
            manifest_wanted,
        },
    )
}

fn define(kind: PinKind, parts: &Parts) -> Definition {
    Definition::new(PinKey::new(kind, "x"), "{}", parts.clone())
}

fn values(parts: &Parts) -> Vec<(&str, &Value)> {
    parts.iter().map(|(pointer, _, value)| (&**pointer, value)).collect()
}

proptest! {
    /// One text for one value, and it reads back as that value.
    #[test]
    fn canonical_text_is_the_value_and_stays_as_it_is(value in json()) {
        let text = Json::from(value.clone()).to_string();
        prop_assert_eq!(canonical(&text).unwrap(), text.clone());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(canonical(&pretty).unwrap(), text.clone());
        let back: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(Json::from(back).to_string(), text);
    }

    #[test]
    fn two_values_that_differ_have_two_texts(one in json(), two in json()) {
        if Json::from(one.clone()) == Json::from(two.clone()) {
            // A whole number and a float of the same value are one value.
            let (one, two): (Value, Value) = (
                serde_json::from_str(&Json::from(one).to_string()).unwrap(),
                serde_json::from_str(&Json::from(two).to_string()).unwrap(),
            );
            prop_assert_eq!(one, two);
        }
    }

    #[test]
    fn there_is_drift_exactly_where_something_differs(one in parts(), two in parts(), kind in kind()) {
        let drift = Drift::between(&define(kind, &one), &define(kind, &two));
        let same = values(&one) == values(&two);
        prop_assert_eq!(drift.is_none(), same);
        prop_assert_eq!(define(kind, &one).digest() == define(kind, &two).digest(), same);
        if let Some(drift) = drift {
            prop_assert!(!drift.changes().is_empty());
            let back = Drift::between(&define(kind, &two), &define(kind, &one)).unwrap();
            prop_assert_eq!(back.changes().len(), drift.changes().len());
            prop_assert_eq!(back.holds(), drift.holds());
        }
    }

    /// With a quarantine nothing is free but what was approved, and then only its claims and its looks may change.
    #[test]
    fn nothing_is_free_that_nobody_approved(
        seen in parts(), was in parts(), kind in kind(), terms in terms(), basis in 0..4_usize, refused: bool,
    ) {
        let (seen, was) = (define(kind, &seen), define(kind, &was));
        let pin = Basis::ALL.get(basis).map(|basis| Pin { definition: was.clone(), basis: *basis, believed: true });
        let honoured = pin.as_ref().is_some_and(|pin| terms.honours(pin.basis));
        let entry = PinEntry { pin, rejected: refused.then(|| seen.digest()) };
        let standing = stand(&seen, Some(&entry), &terms);
        if refused {
            prop_assert!(standing.hold.is_some());
        } else if terms.quarantine && standing.hold.is_none() {
            prop_assert!(honoured);
            prop_assert!(Drift::between(&was, &seen).is_none_or(|drift| !drift.holds()));
        } else if !terms.quarantine {
            prop_assert_eq!(standing.hold, None);
        }
    }

    /// More trust in the operator's word never holds more, and a quarantine never frees anything.
    #[test]
    fn a_quarantine_only_holds(seen in parts(), was in parts(), kind in kind(), terms in terms()) {
        let (seen, was) = (define(kind, &seen), define(kind, &was));
        let pin = Pin { definition: was, basis: Basis::Person, believed: true };
        let entry = PinEntry { pin: Some(pin), rejected: None };
        let on = stand(&seen, Some(&entry), &Terms { quarantine: true, ..terms });
        let off = stand(&seen, Some(&entry), &Terms { quarantine: false, ..terms });
        prop_assert!(on.hold.is_some() || off.hold.is_none());
    }
}
