//! What a mandate and a permit admit: nothing of another type, nothing beyond a limit, whatever it is spelt like; and a
//! narrower one never admits more.

use highwater_core::approval::{PermitUse, StandingPermit};
use highwater_core::decide::Told;
use highwater_core::id::{Principal, UpstreamId};
use highwater_core::label::Label;
use highwater_notation::{ArgumentTypes, CanonicalArguments, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A tool with one argument of this type.
fn types(kind: &str) -> ArgumentTypes {
    let schema = json!({ "type": "object", "properties": { "x": { "type": kind } } });
    ArgumentTypes::read(Some(&schema.to_string()))
}

fn permit(may: &Value) -> Option<StandingPermit> {
    let tool = (UpstreamId::new("up"), "do");
    StandingPermit::new("p", Principal::new("agent"), tool, json!({ "x": may }), Timestamp(10)).ok()
}

/// Whether a permit admits a value, spelt like this, of an argument that does not say where or what.
fn admits(may: &Value, kind: &str, x: &str) -> bool {
    admits_aiming(may, kind, x, &[])
}

fn admits_aiming(may: &Value, kind: &str, x: &str, aims: &[&str]) -> bool {
    let Ok(arguments) = CanonicalArguments::read(Some(&format!(r#"{{"x":{x}}}"#))) else { return false };
    let call = PermitUse {
        principal: &Principal::new("agent"),
        upstream: &UpstreamId::new("up"),
        tool: "do",
        arguments: &arguments,
        types: &types(kind),
        aims,
        label: &Label::bottom().with_open_world(),
        told: &Told::default(),
        now: Timestamp(1),
    };
    permit(may).is_some_and(|permit| permit.admits(&call).is_ok())
}

fn kinds() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["string", "number", "integer", "boolean", "array", "object", "null"])
}

/// Any value, numbers in several spellings.
fn spelt() -> impl Strategy<Value = String> {
    prop_oneof![
        (-2000i64..2000).prop_map(|number| number.to_string()),
        (-2000i64..2000).prop_map(|number| format!("{number}.0")),
        (-2000i64..2000).prop_map(|number| format!("{number}e0")),
        (-200i64..200).prop_map(|number| format!("{number}0E-1")),
        (-2000.0f64..2000.0).prop_map(|number| number.to_string()),
        (-2000i64..2000).prop_map(|number| format!("\"{number}\"")),
        "[a-zäß./0-9]{0,8}".prop_map(|text| Value::String(text).to_string()),
        prop::sample::select(vec!["null", "true", "false", "[]", "[1]", "{}", "{\"a\":1}", "\"\\u0031\""])
            .prop_map(str::to_owned),
    ]
}

/// A constraint, and one that is narrower or the same.
fn narrowed() -> impl Strategy<Value = (Value, Value)> {
    let values = || prop::collection::vec(spelt(), 1..5);
    prop_oneof![
        (-1000i32..1000, 0i32..500, 0i32..500, 0i32..500).prop_map(|(low, one, two, three)| {
            let wide = json!({ "min": low, "max": low + one + two + three });
            (wide, json!({ "min": low + one, "max": low + one + two }))
        }),
        (-1000i32..1000, 0i32..500)
            .prop_map(|(max, less)| (json!({ "max": max }), json!({ "max": max - less }))),
        (0u32..9, 0u32..9).prop_map(|(length, more)| {
            (json!({ "max_length": length + more }), json!({ "max_length": length }))
        }),
        ("[a-z]{0,2}", "[a-z]{0,2}").prop_map(|(begins, goes_on)| {
            (json!({ "prefix": begins }), json!({ "prefix": format!("{begins}{goes_on}"), "max_length": 6 }))
        }),
        (values(), 1usize..5).prop_map(|(values, count)| {
            let values: Vec<Value> =
                values.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
            let fewer: Vec<Value> = values.iter().take(count).cloned().collect();
            (json!({ "enum": values }), json!({ "enum": fewer }))
        }),
    ]
}

proptest! {
    #[test]
    fn a_limit_of_a_number_admits_numbers_within_it_alone(
        min in -1000i32..1000, width in 0i32..1000, kind in kinds(), x in spelt(),
    ) {
        let may = json!({ "min": min, "max": min + width });
        if admits(&may, kind, &x) {
            let value: Value = serde_json::from_str(&x).unwrap();
            let number = value.as_f64();
            prop_assert!(value.is_number(), "{x} is no number");
            prop_assert!(number.is_some_and(|it| it >= f64::from(min) && it <= f64::from(min + width)), "{x}");
            prop_assert!(matches!(kind, "number" | "integer"));
            prop_assert!(kind == "number" || number.is_some_and(|it| it.fract() == 0.0), "{x}");
        }
    }

    #[test]
    fn a_limit_of_a_text_admits_texts_within_it_alone(length in 0u64..9, kind in kinds(), x in spelt()) {
        if admits(&json!({ "max_length": length }), kind, &x) {
            let value: Value = serde_json::from_str(&x).unwrap();
            prop_assert_eq!(kind, "string");
            prop_assert!(value.as_str().is_some_and(|text| text.chars().count() as u64 <= length), "{}", x);
        }
    }

    #[test]
    fn a_narrower_permit_never_admits_more((wide, narrow) in narrowed(), kind in kinds(), x in spelt()) {
        if admits(&narrow, kind, &x) {
            prop_assert!(admits(&wide, kind, &x), "{} admits {} and {} does not", narrow, x, wide);
        }
    }

    #[test]
    fn what_says_where_or_what_is_never_left_open((may, _) in narrowed(), kind in kinds(), x in spelt()) {
        if admits_aiming(&may, kind, &x, &["x"]) {
            prop_assert!(may.get("enum").is_some(), "{}", may);
        }
    }
}
