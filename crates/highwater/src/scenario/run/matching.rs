//! Whether a value has everything another asks for.

use serde_json::Value;

/// Where two values part, and how.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) expected: String,
    pub(super) seen: String,
}

/// Asks of a list that it has these items, wherever they stand.
const CONTAINS: &str = "contains";

/// Every member that is asked for is there and has everything that is asked of it. Lists are compared item by item and
/// must be equally long, unless `{ contains: [...] }` asks for some items alone; everything else must be equal.
pub(super) fn subset(expected: &Value, seen: &Value) -> Result<(), Difference> {
    at("", expected, seen)
}

fn at(path: &str, expected: &Value, seen: &Value) -> Result<(), Difference> {
    let differ = || Difference { expected: format!("{path} {expected}"), seen: format!("{path} {seen}") };
    match (expected, seen) {
        (Value::Object(wanted), Value::Array(items)) if wanted.len() == 1 => {
            let Some(Value::Array(wanted)) = wanted.get(CONTAINS) else { return Err(differ()) };
            let is_there = |wanted: &Value| items.iter().any(|item| at(path, wanted, item).is_ok());
            if wanted.iter().all(is_there) { Ok(()) } else { Err(differ()) }
        }
        (Value::Object(wanted), Value::Object(members)) => {
            for (key, value) in wanted {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                match members.get(key) {
                    Some(member) => at(&path, value, member)?,
                    // What must not be there is asked for as null.
                    None if value.is_null() => {}
                    None => {
                        return Err(Difference {
                            expected: format!("{path} {value}"),
                            seen: format!("no {path}"),
                        });
                    }
                }
            }
            Ok(())
        }
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => wanted
            .iter()
            .zip(items)
            .enumerate()
            .try_for_each(|(index, (wanted, item))| at(&format!("{path}/{index}"), wanted, item)),
        _ if expected == seen => Ok(()),
        _ => Err(differ()),
    }
}

/// Whether a text stands anywhere in a value: in a string, or in a key.
pub(super) fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(members) => {
            members.iter().any(|(key, member)| key.contains(text) || contains(member, text))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{contains, subset};
    use serde_json::json;

    #[test]
    fn what_is_not_asked_for_may_be_anything() {
        let seen = json!({ "a": 1, "b": { "c": [1, { "d": 2, "e": 3 }] } });
        assert!(subset(&json!({}), &seen).is_ok());
        assert!(subset(&json!({ "b": { "c": [1, { "d": 2 }] } }), &seen).is_ok());
        assert!(subset(&json!({ "z": null }), &seen).is_ok(), "null asks for absence");
    }

    #[test]
    fn a_difference_is_named_with_its_place() {
        let seen = json!({ "a": { "x/y": [1, 2] } });
        let difference = subset(&json!({ "a": { "x/y": [1, 3] } }), &seen).unwrap_err();
        assert_eq!((difference.expected.as_str(), difference.seen.as_str()), ("/a/x~1y/1 3", "/a/x~1y/1 2"));
        assert!(subset(&json!({ "a": { "x/y": [1] } }), &seen).is_err(), "lists are as long as they are");
        assert!(subset(&json!({ "a": null }), &seen).is_err());
    }

    #[test]
    fn some_items_of_a_list_may_be_asked_for() {
        let seen = json!({ "a": [1, 2, { "b": 3, "c": 4 }] });
        assert!(subset(&json!({ "a": { "contains": [2, { "b": 3 }] } }), &seen).is_ok());
        assert!(subset(&json!({ "a": { "contains": [5] } }), &seen).is_err());
        assert!(subset(&json!({ "a": { "holds": [1] } }), &seen).is_err());
    }

    #[test]
    fn a_text_is_found_in_keys_and_strings() {
        let value = json!({ "secret-key": ["deep", { "x": "a needle here" }] });
        assert!(contains(&value, "needle") && contains(&value, "secret") && !contains(&value, "nothing"));
    }
}
