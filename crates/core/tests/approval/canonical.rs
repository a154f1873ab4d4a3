//! Canonical JSON against RFC 8785 and its published samples, and its laws where arguments are signed.

use highwater_notation::{CanonicalArguments, Json, Unsignable, canonical};
use highwater_passkey::{ActionHash, ServerId, ToolName};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[test]
fn s24_numbers_are_written_as_appendix_b_of_the_rfc_has_them() {
    for (bits, text) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(Json::from(json!(f64::from_bits(bits))).to_string(), text, "{bits:x}");
    }
}

#[test]
fn s24_the_published_samples_have_their_canonical_form() {
    for (text, expected) in [
        (r#"[ 56, { "d": true, "10": null, "1": [ ] } ]"#, r#"[56,{"1":[],"10":null,"d":true}]"#),
        (
            r#"{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}"#,
            r#"{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}"#,
        ),
        (
            r#"{"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{},"":"empty","a":{},"111":[{"e":"yes","E":"no"}],"A":{}}"#,
            r#"{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}"#,
        ),
        (r#"{"Unnormalized Unicode":"A\u030a"}"#, "{\"Unnormalized Unicode\":\"A\u{30a}\"}"),
        (
            r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]}"#,
            r#"{"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}"#,
        ),
        (
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\u000a":"Newline","1":"One","\u0080":"Control\u007f","\ud83d\ude02":"Smiley","\u00f6":"Latin","\ufb33":"Hebrew","</script>":"Browser Challenge"}"#,
            "{\"\\n\":\"Newline\",\"\\r\":\"Carriage Return\",\"1\":\"One\",\"</script>\":\"Browser Challenge\",\"\u{80}\":\"Control\u{7f}\",\"ö\":\"Latin\",\"€\":\"Euro Sign\",\"😂\":\"Smiley\",\"\u{fb33}\":\"Hebrew\"}",
        ),
    ] {
        assert_eq!(canonical(text).as_deref(), Some(expected));
    }
}

/// Arguments that can be signed.
fn value() -> impl Strategy<Value = Value> {
    const MAX: i64 = (1 << 53) - 1;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-MAX..=MAX).prop_map(Value::from),
        (-1e15..1e15).prop_map(Value::from),
        any::<f64>().prop_filter("small", |float| float.abs() < 1e15).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            members(inner).prop_map(Value::Object),
        ]
    })
}

/// Members whose keys do not collide: each begins with its own digit.
fn members(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::vec((any::<String>(), inner), 0..4).prop_map(|members| {
        let numbered = members.into_iter().enumerate();
        numbered.map(|(index, (key, member))| (format!("{index}{key}"), member)).collect()
    })
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    members(value())
}

/// The same JSON in another spelling: members the other way round, blanks everywhere, every character escaped.
fn respelled(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!(" [ {} ] ", items.iter().map(respelled).collect::<Vec<_>>().join(" ,\n"))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(key, member)| format!("{}\t:{}", quoted(key), respelled(member)))
                .collect();
            format!("{{ {} }}", members.join("\r\n, "))
        }
        scalar => format!(" {scalar} "),
    }
}

fn quoted(text: &str) -> String {
    let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{escaped}\"")
}

fn read(value: &Value) -> Result<CanonicalArguments, Unsignable> {
    CanonicalArguments::read(Some(&value.to_string()))
}

proptest! {
    #[test]
    fn s24_however_arguments_are_spelled_they_have_one_canonical_form(members in arguments()) {
        let value = Value::Object(members);
        let once = read(&value).unwrap();
        prop_assert_eq!(&CanonicalArguments::read(Some(&respelled(&value))).unwrap(), &once);
        prop_assert_eq!(&CanonicalArguments::read(Some(once.as_str())).unwrap(), &once);
        prop_assert!(!once.as_str().contains('\0'));
    }

    #[test]
    fn s26_two_calls_that_differ_have_two_hashes(one in arguments(), two in arguments()) {
        let (one, two) = (read(&Value::Object(one)).unwrap(), read(&Value::Object(two)).unwrap());
        let hash = |arguments: &CanonicalArguments, tool: &str, server: &str| {
            ActionHash::of(&ToolName::exposed(tool).unwrap(), arguments, &ServerId::new(server).unwrap())
        };
        prop_assert_eq!(one == two, hash(&one, "t", "s") == hash(&two, "t", "s"));
        prop_assert_ne!(hash(&one, "t", "s"), hash(&one, "u", "s"));
        prop_assert_ne!(hash(&one, "t", "s"), hash(&one, "t", "z"));
    }

    #[test]
    fn s25_what_is_signed_means_what_was_received(members in arguments()) {
        let value = Value::Object(members);
        let back: Value = serde_json::from_str(read(&value).unwrap().as_str()).unwrap();
        prop_assert!(same(&back, &value), "{} {}", back, value);
    }

    #[test]
    fn g01_no_text_is_changed(text: String) {
        let canonical = read(&json!({ "a": text })).unwrap();
        let back: Value = serde_json::from_str(canonical.as_str()).unwrap();
        prop_assert_eq!(&back["a"], &json!(text));
    }

    #[test]
    fn whatever_is_sent_as_arguments_is_read_or_refused(text in ".{0,64}", json in "[\\[\\]{}:,\"a0-9.eE+-]{0,32}") {
        for text in [text, json] {
            if let Ok(read) = CanonicalArguments::read(Some(&text)) {
                let is_object = read.as_str().starts_with('{');
                prop_assert!(is_object);
            }
        }
    }
}

/// Equal as JSON has it: a number is its value.
fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len()
                && one.iter().all(|(key, member)| two.get(key).is_some_and(|other| same(member, other)))
        }
        (one, two) => one == two,
    }
}
