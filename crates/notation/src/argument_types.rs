//! Which types a tool's input schema names for its arguments.

use std::collections::BTreeMap;

use serde_json::Value;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgumentType {
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A text.
    Text,
    /// Yes or no.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
    /// `null`.
    Null,
}

/// The types of a tool's arguments, by name. An argument of which the schema names no type, or several that a value could
/// be read as, has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentTypes(BTreeMap<String, ArgumentType>);

// === impl ArgumentType ===

impl ArgumentType {
    fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::Text,
            "boolean" => Self::Boolean,
            "array" => Self::List,
            "object" => Self::Object,
            "null" => Self::Null,
            _ => return None,
        })
    }

    /// The word that a schema has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "string",
            Self::Boolean => "boolean",
            Self::List => "array",
            Self::Object => "object",
            Self::Null => "null",
        }
    }

    /// Whether a value is of it. `1.0` is a whole number, as JSON Schema has it.
    pub fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => {
                number.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            (Self::Number, Value::Number(_))
            | (Self::Text, Value::String(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::List, Value::Array(_))
            | (Self::Object, Value::Object(_))
            | (Self::Null, Value::Null) => true,
            _ => false,
        }
    }
}

// === impl ArgumentTypes ===

impl ArgumentTypes {
    /// Reads an input schema, as JSON text.
    pub fn read(input_schema: Option<&str>) -> Self {
        let schema: Option<Value> = input_schema.and_then(|text| serde_json::from_str(text).ok());
        let properties = schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
        let types = properties.into_iter().flatten();
        Self(types.filter_map(|(name, schema)| Some((name.clone(), type_of(schema)?))).collect())
    }

    /// The type of an argument, if the schema names exactly one beside `null`.
    pub fn of(&self, argument: &str) -> Option<ArgumentType> {
        self.0.get(argument).copied()
    }
}

impl<const N: usize> From<[(&str, ArgumentType); N]> for ArgumentTypes {
    fn from(types: [(&str, ArgumentType); N]) -> Self {
        Self(types.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect())
    }
}

/// The one type that a schema names beside `null`. What has to be looked up elsewhere names none here.
fn type_of(schema: &Value) -> Option<ArgumentType> {
    let mut found = Vec::new();
    add(schema, &mut found)?;
    found.retain(|kind| *kind != ArgumentType::Null);
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// Collects the types of a schema and its alternatives; nothing where one of them says none.
fn add(schema: &Value, found: &mut Vec<ArgumentType>) -> Option<()> {
    match (schema.get("type"), schema.get("anyOf").or_else(|| schema.get("oneOf"))) {
        (Some(Value::String(word)), _) => found.push(ArgumentType::of_word(word)?),
        (Some(Value::Array(words)), _) => {
            for word in words {
                found.push(ArgumentType::of_word(word.as_str()?)?);
            }
        }
        (None, Some(Value::Array(alternatives))) => {
            for alternative in alternatives {
                // Alternatives of alternatives are nothing that people write for a plain value.
                alternative.get("type")?;
                add(alternative, found)?;
            }
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_has_the_one_type_that_its_schema_names() {
        let schema = r##"{"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},
            "c":{"anyOf":[{"type":"number"},{"type":"null"}]},"d":{"type":["string","number"]},"e":{},"f":true,
            "g":{"$ref":"#/x"},"h":{"type":"text"},"i":{"anyOf":[{"type":"string"},{}]},"j":{"type":"null"}}}"##;
        let types = ArgumentTypes::read(Some(schema));
        assert_eq!(types.of("a"), Some(ArgumentType::Text));
        assert_eq!(types.of("b"), Some(ArgumentType::Integer));
        assert_eq!(types.of("c"), Some(ArgumentType::Number));
        for none in ["d", "e", "f", "g", "h", "i", "j", "k"] {
            assert_eq!(types.of(none), None, "{none}");
        }
        for none in [None, Some("{"), Some("[]"), Some(r#"{"properties":[]}"#)] {
            assert_eq!(ArgumentTypes::read(none), ArgumentTypes::default());
        }
    }
}
