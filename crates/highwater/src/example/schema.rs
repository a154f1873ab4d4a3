//! Checks a JSON value against the part of JSON Schema that the example servers use, so that what a tool
//! advertises and what it accepts are one statement.

use serde_json::{Map, Value};

/// What is wrong with a value, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The place, as a dotted path of member names; empty for the value itself.
    pub(crate) path: String,
    /// What is wrong there, worded to follow the path.
    pub(crate) why: String,
}

/// Finds the first member of `value` that `schema` does not allow.
///
/// Understood are `type`, `enum`, `required`, `properties`, `additionalProperties`, `items` and the usual
/// bounds. Other keywords are ignored, so the example definitions use no others.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), Fault> {
    check_at(schema, value, "")
}

fn check_at(schema: &Value, value: &Value, path: &str) -> Result<(), Fault> {
    let fault = |why: String| Err(Fault { path: path.to_owned(), why });
    if let Some(wanted) = schema.get("type")
        && !has_type(wanted, value)
    {
        return fault(format!("must be of type {}", type_words(wanted)));
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        let words: Vec<String> = allowed.iter().map(|word| format!("`{}`", plain(word))).collect();
        return fault(format!("must be one of {}", words.join(", ")));
    }
    match value {
        Value::String(text) => {
            let length = text.chars().count() as u64;
            within(schema, "minLength", "maxLength", length, "characters").or_else(fault)
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let at = |key: &str| schema.get(key).and_then(Value::as_f64);
            match (at("minimum"), at("maximum")) {
                (Some(least), _) if number < least => fault(format!("must be {least} or more")),
                (_, Some(most)) if number > most => fault(format!("must be {most} or less")),
                _ => Ok(()),
            }
        }
        Value::Array(items) => {
            within(schema, "minItems", "maxItems", items.len() as u64, "items").or_else(fault)?;
            let Some(inner) = schema.get("items") else { return Ok(()) };
            items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| check_at(inner, item, &join(path, &index.to_string())))
        }
        Value::Object(members) => {
            within(schema, "minProperties", "maxProperties", members.len() as u64, "members")
                .or_else(fault)?;
            check_members(schema, members, path)
        }
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn check_members(schema: &Value, members: &Map<String, Value>, path: &str) -> Result<(), Fault> {
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return Err(Fault { path: join(path, name), why: "is required".into() });
        }
    }
    for (name, member) in members {
        let here = join(path, name);
        match (schema.get("properties").and_then(|known| known.get(name)), schema.get("additionalProperties"))
        {
            (Some(known), _) => check_at(known, member, &here)?,
            (None, Some(Value::Bool(false))) => {
                return Err(Fault { path: here, why: "is not known here".into() });
            }
            (None, Some(others @ Value::Object(_))) => check_at(others, member, &here)?,
            (None, _) => {}
        }
    }
    Ok(())
}

fn within(schema: &Value, least: &str, most: &str, count: u64, unit: &str) -> Result<(), String> {
    let at = |key: &str| schema.get(key).and_then(Value::as_u64);
    match (at(least), at(most)) {
        (Some(1), _) if count == 0 => Err("must not be empty".into()),
        (Some(least), _) if count < least => Err(format!("must have at least {least} {unit}")),
        (_, Some(most)) if count > most => Err(format!("must have at most {most} {unit}")),
        _ => Ok(()),
    }
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(words) => words.iter().any(|word| has_type(word, value)),
        Value::String(word) => match word.as_str() {
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            _ => false,
        },
        _ => false,
    }
}

fn type_words(wanted: &Value) -> String {
    match wanted {
        Value::Array(words) => words.iter().map(plain).collect::<Vec<_>>().join(" or "),
        word => plain(word),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::{Fault, check};
    use serde_json::{Value, json};

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "maxLength": 4},
                "limit": {"type": "integer", "minimum": 1, "maximum": 9},
                "kind": {"type": ["string", "null"], "enum": ["a", "b", null]},
                "rows": {"type": "array", "maxItems": 2, "items": {"type": "object", "required": ["id"]}},
                "fields": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}}
            },
            "required": ["path"],
            "additionalProperties": false
        })
    }

    #[test]
    fn each_fault_names_its_place() {
        for (value, path, why) in [
            (json!({}), "path", "is required"),
            (json!({"path": 1}), "path", "must be of type string"),
            (json!({"path": ""}), "path", "must not be empty"),
            (json!({"path": "ééééé"}), "path", "must have at most 4 characters"),
            (json!({"path": "p", "limit": 0}), "limit", "must be 1 or more"),
            (json!({"path": "p", "limit": 10}), "limit", "must be 9 or less"),
            (json!({"path": "p", "limit": 1.5}), "limit", "must be of type integer"),
            (json!({"path": "p", "kind": "c"}), "kind", "must be one of `a`, `b`, `null`"),
            (json!({"path": "p", "kind": true}), "kind", "must be of type string or null"),
            (json!({"path": "p", "rows": [{"id": 1}, {}]}), "rows.1.id", "is required"),
            (json!({"path": "p", "rows": [{}, {}, {}]}), "rows", "must have at most 2 items"),
            (json!({"path": "p", "fields": {"x": 1}}), "fields.x", "must be of type string"),
            (json!({"path": "p", "fields": {"x": "", "y": ""}}), "fields", "must have at most 1 members"),
            (json!({"path": "p", "other": 1}), "other", "is not known here"),
            (json!([]), "", "must be of type object"),
        ] {
            assert_eq!(
                check(&schema(), &value),
                Err(Fault { path: path.into(), why: why.into() }),
                "{value}"
            );
        }
    }

    #[test]
    fn what_fits_passes() {
        let value = json!({"path": "éééé", "limit": 9, "kind": null, "rows": [{"id": 1, "more": 2}], "fields": {"x": "y"}});
        assert_eq!(check(&schema(), &value), Ok(()));
    }
}
