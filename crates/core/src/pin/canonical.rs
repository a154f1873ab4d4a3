//! Canonical JSON: one text for one value, so that texts can be compared and hashed (RFC 8785).
//!
//! Whole numbers beyond 2^53 are written out where the RFC would round them: two definitions that differ must never read
//! the same.

use std::fmt::Write;

use serde_json::{Number, Value};

/// The canonical text of a JSON text; `None` if it is no JSON.
pub fn canonical(text: &str) -> Option<String> {
    serde_json::from_str(text).ok().map(|value| canonical_value(&value))
}

/// The canonical text of a value.
pub fn canonical_value(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            // By UTF-16 code units, which is not the order of the bytes beyond the basic plane.
            sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            out.push('{');
            for (index, (key, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_value(out, member);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c)).unwrap_or_default(),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_number(out: &mut String, number: &Number) {
    if let Some(whole) = number.as_u64() {
        write!(out, "{whole}").unwrap_or_default();
    } else if let Some(whole) = number.as_i64() {
        write!(out, "{whole}").unwrap_or_default();
    } else {
        write_float(out, number.as_f64().unwrap_or_default());
    }
}

/// As ECMAScript writes it: the shortest digits that read back, and an exponent only for the very large and small.
fn write_float(out: &mut String, float: f64) {
    if float == 0.0 {
        return out.push('0');
    }
    if float < 0.0 {
        out.push('-');
    }
    let scientific = format!("{:e}", float.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // Where the decimal point stands, counted from the first digit.
    let point = exponent.parse::<i32>().unwrap_or(0).saturating_add(1);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    match point {
        1..=21 if count <= point => {
            out.push_str(&digits);
            out.push_str(&zeros(point - count));
        }
        1..=21 => {
            let (whole, rest) =
                digits.split_at_checked(usize::try_from(point).unwrap_or(0)).unwrap_or((&digits, ""));
            write!(out, "{whole}.{rest}").unwrap_or_default();
        }
        -5..=0 => write!(out, "0.{}{digits}", zeros(-point)).unwrap_or_default(),
        _ => {
            let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if point > 0 { "+" } else { "-" };
            write!(out, "{first}{dot}{rest}e{sign}{}", (point - 1).unsigned_abs()).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_by_their_utf_16_units_and_blanks_go() {
        // The sample of RFC 8785, section 3.2.3.
        let text =
            "{\"\u{20ac}\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}";
        let sorted =
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        assert_eq!(canonical(text).unwrap(), sorted);
        assert_eq!(canonical(" { \"b\" : [ 1 , {} ] , \"a\" : null } ").unwrap(), r#"{"a":null,"b":[1,{}]}"#);
        assert_eq!(canonical("{"), None);
    }

    #[test]
    fn numbers_are_written_as_the_rfc_has_them() {
        for (written, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1.0", "1"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("333333333.33333329", "333333333.3333333"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("0.000000000000000000000000001", "1e-27"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("5e-324", "5e-324"),
            ("-12.5", "-12.5"),
            ("9007199254740993", "9007199254740993"),
        ] {
            assert_eq!(canonical(written).as_deref(), Some(expected), "{written}");
        }
    }

    #[test]
    fn texts_are_escaped_where_they_must_be_and_nowhere_else() {
        assert_eq!(
            canonical(r#""\u20ac$\u000F\nA'\u0042\u0022\u005c\\\"\/\u007f""#).unwrap(),
            "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u{7f}\""
        );
    }
}
