//! Arguments as they are signed: read strictly once, canonical (RFC 8785), and short enough for a person to read.
//!
//! What is hashed is what is shown and what is sent: the one canonical text. Whatever two parsers could read in two
//! ways is refused, because it would have one hash and two meanings.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::json::Json;

/// The longest canonical arguments that can be approved: nobody reviews more.
pub const MAX_ARGUMENTS: usize = 64 * 1024;

/// The greatest whole number that every parser reads as the same number, 2^53 - 1.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The arguments of a call in their canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CanonicalArguments(Arc<str>);

/// Why arguments cannot be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unsignable {
    /// They are no JSON, or nested too deeply.
    #[error("`arguments` cannot be read as JSON")]
    Malformed,
    /// They are something else than an object.
    #[error("`arguments` must be an object")]
    NotAnObject,
    /// A key occurs twice in one object.
    #[error("`arguments` has an object with the same key twice")]
    DuplicateKey,
    /// Two keys of one object differ in case alone.
    #[error("`arguments` has an object with two keys that differ in case alone")]
    CollidingKeys,
    /// A number that not every parser reads alike.
    #[error("`arguments` has a number beyond 9007199254740991; send it as text")]
    LargeNumber,
    /// More than a person can review.
    #[error("`arguments` is longer than {MAX_ARGUMENTS} bytes, which is more than a person can review")]
    TooLong,
}

// === impl CanonicalArguments ===

impl CanonicalArguments {
    /// No arguments: an empty object.
    pub fn none() -> Self {
        Self("{}".into())
    }

    /// Reads the arguments of a call as they were received. Absent arguments are an empty object.
    pub fn read(text: Option<&str>) -> Result<Self, Unsignable> {
        let Some(text) = text else { return Ok(Self::none()) };
        let read = read_strictly(text)?;
        if !read.is_object() {
            return Err(Unsignable::NotAnObject);
        }
        let canonical = Json::from(read).to_string();
        if canonical.len() > MAX_ARGUMENTS {
            return Err(Unsignable::TooLong);
        }
        Ok(Self(canonical.into()))
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value that they are the text of.
    pub fn value(&self) -> Value {
        // They were read in this way when they were made.
        read_strictly(&self.0).unwrap_or_default()
    }
}

fn read_strictly(text: &str) -> Result<Value, Unsignable> {
    let fault = Cell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    Strict { fault: &fault }
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|_| fault.get().unwrap_or(Unsignable::Malformed))
}

impl fmt::Display for CanonicalArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a value and refuses what is ambiguous. Not `Value`'s own reading, which has a key with a meaning of its own.
#[derive(Clone, Copy)]
struct Strict<'a> {
    fault: &'a Cell<Option<Unsignable>>,
}

// === impl Strict ===

impl Strict<'_> {
    fn refuse<T, E: serde::de::Error>(self, fault: Unsignable) -> Result<T, E> {
        self.fault.set(Some(fault));
        Err(E::custom(fault))
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON that can be read in one way only")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        if value > MAX_NUMBER { self.refuse(Unsignable::LargeNumber) } else { Ok(value.into()) }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > MAX_NUMBER {
            self.refuse(Unsignable::LargeNumber)
        } else {
            Ok(value.into())
        }
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // Every double beyond is a whole number, so there is one bound for both; it is exact as a double.
        if value.is_finite() && value.abs() <= MAX_NUMBER as f64 {
            Ok(value.into())
        } else {
            self.refuse(Unsignable::LargeNumber)
        }
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            read.push(item);
        }
        Ok(read.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        let mut folded = BTreeSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if read.contains_key(&key) {
                return self.refuse(Unsignable::DuplicateKey);
            }
            if !folded.insert(fold(&key)) {
                return self.refuse(Unsignable::CollidingKeys);
            }
            let member = members.next_value_seed(self)?;
            read.insert(key, member);
        }
        Ok(read.into())
    }
}

/// A key without its case. Letter by letter, since lowering a whole text hangs on what stands around a letter.
fn fold(key: &str) -> String {
    key.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, Unsignable> {
        CanonicalArguments::read(Some(text)).map(|arguments| arguments.to_string())
    }

    #[test]
    fn s24_arguments_are_canonical_as_received() {
        assert_eq!(CanonicalArguments::read(None).unwrap().as_str(), "{}");
        assert_eq!(read(" { } ").unwrap(), "{}");
        assert_eq!(read(r#"{"b":[ 1.0, -0, 5e-1 ],"a":null}"#).unwrap(), r#"{"a":null,"b":[1,0,0.5]}"#);
        // The sample of RFC 8785, section 3.2.2, without its numbers beyond 2^53.
        assert_eq!(
            read(
                r#"{ "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
                 "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }"#
            )
            .unwrap(),
            concat!(
                r#"{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],"#,
                r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
            )
        );
    }

    #[test]
    fn g01_nothing_is_normalised() {
        assert_eq!(read(r#"{"z":"e\u0301"}"#).unwrap(), "{\"z\":\"e\u{301}\"}");
        assert_ne!(read("{\"z\":\"\u{e9}\"}"), read("{\"z\":\"e\u{301}\"}"));
    }

    #[test]
    fn s25_what_can_be_read_in_two_ways_is_refused() {
        for (text, fault) in [
            ("", Unsignable::Malformed),
            ("{} {}", Unsignable::Malformed),
            (r#"{"a":1e400}"#, Unsignable::Malformed),
            (r#"{"a":NaN}"#, Unsignable::Malformed),
            (r#"{"a":"\ud800"}"#, Unsignable::Malformed),
            ("[]", Unsignable::NotAnObject),
            ("null", Unsignable::NotAnObject),
            (r#""{}""#, Unsignable::NotAnObject),
            (r#"{"a":1,"\u0061":2}"#, Unsignable::DuplicateKey),
            (r#"{"x":[{"a":1,"a":1}]}"#, Unsignable::DuplicateKey),
            (r#"{"path":1,"Path":2}"#, Unsignable::CollidingKeys),
            ("{\"k\":1,\"\u{212a}\":2}", Unsignable::CollidingKeys),
            ("{\"\u{3c3}\":1,\"\u{3c2}\":2}", Unsignable::CollidingKeys),
            (r#"{"a":9007199254740992}"#, Unsignable::LargeNumber),
            (r#"{"a":9007199254740993}"#, Unsignable::LargeNumber),
            (r#"{"a":-9007199254740992}"#, Unsignable::LargeNumber),
            (r#"{"a":18446744073709551616}"#, Unsignable::LargeNumber),
            (r#"{"a":123456789012345678901234567890}"#, Unsignable::LargeNumber),
            (r#"{"a":1e30}"#, Unsignable::LargeNumber),
            (r#"{"a":9007199254740991.5}"#, Unsignable::LargeNumber),
        ] {
            assert_eq!(read(text), Err(fault), "{text}");
        }
        assert_eq!(read(r#"{"a":-9007199254740991}"#).unwrap(), r#"{"a":-9007199254740991}"#);
        assert_eq!(read(r#"{"a":9007199254740991.0}"#).unwrap(), r#"{"a":9007199254740991}"#);
    }

    #[test]
    fn a_key_that_the_json_library_treats_specially_is_a_key() {
        let text = r#"{"$serde_json::private::RawValue":"{\"a\":1}"}"#;
        assert_eq!(read(text).unwrap(), text);
    }

    #[test]
    fn more_than_a_person_can_review_is_refused() {
        let of = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length));
        assert!(read(&of(MAX_ARGUMENTS - 8)).is_ok());
        assert_eq!(read(&of(MAX_ARGUMENTS - 7)), Err(Unsignable::TooLong));
        // It is the canonical form that counts.
        assert!(read(&format!("{{{}}}", " ".repeat(MAX_ARGUMENTS))).is_ok());
        assert_eq!(read(&format!("{}{}", "[".repeat(200), "]".repeat(200))), Err(Unsignable::Malformed));
    }
}
