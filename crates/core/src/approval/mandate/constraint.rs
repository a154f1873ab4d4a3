//! What an argument may be, in a mandate and in a permit of the configuration. There are no other constraints, so that a
//! person can tell what they sign.

use highwater_notation::{ArgumentType, Json};
use serde_json::Value;

/// What an argument may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Constraint {
    /// This value.
    Const(Value),
    /// One of these.
    Enum(Vec<Value>),
    /// A number. No text is within it: a server may read one as a number.
    Number { min: Option<f64>, max: Option<f64> },
    /// A text: how it begins, and how many characters it has at most.
    Text { prefix: Option<String>, max_length: Option<u64> },
}

/// Why something is no constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoConstraint {
    /// It is not in the form of one.
    Malformed,
    /// A prefix that would match more than it seems to.
    LoosePrefix,
}

// === impl Constraint ===

/// Numbers of JSON are finite.
impl Eq for Constraint {}

impl Constraint {
    /// Reads an object.
    pub(crate) fn read(value: Value) -> Result<Self, NoConstraint> {
        let Value::Object(mut members) = value else { return Err(NoConstraint::Malformed) };
        let mut take = |name: &str| members.remove(name);
        let read = match (take("const"), take("enum")) {
            (Some(value), None) => Self::Const(value),
            (None, Some(Value::Array(values))) if !values.is_empty() => Self::Enum(values),
            (None, None) => {
                let (min, max) = (number(take("min"))?, number(take("max"))?);
                let prefix = match take("prefix") {
                    None => None,
                    Some(Value::String(prefix)) => Some(prefix),
                    Some(_) => return Err(NoConstraint::Malformed),
                };
                let max_length = match take("max_length") {
                    None => None,
                    Some(length) => Some(length.as_u64().ok_or(NoConstraint::Malformed)?),
                };
                limits((min, max), (prefix, max_length))?
            }
            _ => return Err(NoConstraint::Malformed),
        };
        if members.is_empty() { Ok(read) } else { Err(NoConstraint::Malformed) }
    }

    /// Whether it leaves nothing to choose but among what was written down.
    pub(crate) fn fixes(&self) -> bool {
        match self {
            Self::Const(_) | Self::Enum(_) => true,
            Self::Number { .. } | Self::Text { .. } => false,
        }
    }

    /// Whether a value is within it.
    pub(crate) fn admits(&self, value: &Value) -> bool {
        let same = |known: &Value| Json::from(known.clone()) == Json::from(value.clone());
        match (self, value) {
            (Self::Const(known), _) => same(known),
            (Self::Enum(known), _) => known.iter().any(same),
            (Self::Number { min, max }, Value::Number(number)) => number.as_f64().is_some_and(|number| {
                // Whole numbers are at most 2^53 - 1, so a double holds them exactly.
                min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
            }),
            (Self::Text { prefix, max_length }, Value::String(text)) => {
                let begins = |prefix: &String| text.starts_with(prefix) && is_plain_path(text);
                let fits =
                    |length: u64| u64::try_from(text.chars().count()).is_ok_and(|count| count <= length);
                prefix.as_ref().is_none_or(begins) && max_length.is_none_or(fits)
            }
            (Self::Number { .. } | Self::Text { .. }, _) => false,
        }
    }

    /// Whether a value is within it, and of the type that the tool's definition names. A limit of what has no type, or
    /// another, says nothing of what the server makes of it.
    pub(crate) fn admits_typed(&self, value: &Value, kind: Option<ArgumentType>) -> bool {
        self.admits(value) && (self.fixes() || kind.is_some_and(|kind| kind.holds(value)))
    }

    /// What does not fit about it to an argument of this type, if anything.
    pub(crate) fn misfit(&self, kind: Option<ArgumentType>) -> Option<String> {
        let of_type = |value: &Value| kind.is_none_or(|kind| kind.holds(value));
        match (self, kind) {
            (Self::Const(value), _) if !of_type(value) => Some(wrong_type(kind)),
            (Self::Enum(values), _) if !values.iter().all(of_type) => Some(wrong_type(kind)),
            (Self::Const(_) | Self::Enum(_), _) => None,
            (_, None) => Some(
                "the tool's definition does not name one type for it, so that a limit says nothing; fix it with `const` or \
                 `enum`"
                    .to_owned(),
            ),
            (Self::Number { .. }, Some(ArgumentType::Integer | ArgumentType::Number))
            | (Self::Text { .. }, Some(ArgumentType::Text)) => None,
            (Self::Number { .. }, Some(kind)) => {
                Some(format!("it is of type `{}`, and `min` and `max` are for numbers", kind.as_str()))
            }
            (Self::Text { .. }, Some(kind)) => {
                Some(format!("it is of type `{}`, and `prefix` and `max_length` are for texts", kind.as_str()))
            }
        }
    }
}

fn wrong_type(kind: Option<ArgumentType>) -> String {
    format!(
        "it is of type `{}`, and a value of another type is listed",
        kind.map_or("?", ArgumentType::as_str)
    )
}

fn number(value: Option<Value>) -> Result<Option<f64>, NoConstraint> {
    match value {
        None => Ok(None),
        Some(Value::Number(number)) => number.as_f64().map(Some).ok_or(NoConstraint::Malformed),
        Some(_) => Err(NoConstraint::Malformed),
    }
}

/// The limits of one type: those of a number or those of a text, at least one and not both.
fn limits(
    (min, max): (Option<f64>, Option<f64>),
    (prefix, max_length): (Option<String>, Option<u64>),
) -> Result<Constraint, NoConstraint> {
    match (min.or(max).is_some(), prefix.is_some() || max_length.is_some()) {
        (true, false) if min.zip(max).is_none_or(|(min, max)| min <= max) => {
            Ok(Constraint::Number { min, max })
        }
        (false, true) if prefix.as_deref().is_none_or(is_sound_prefix) => {
            Ok(Constraint::Text { prefix, max_length })
        }
        (false, true) => Err(NoConstraint::LoosePrefix),
        _ => Err(NoConstraint::Malformed),
    }
}

/// Whether a path or an address says where it leads: nothing in it is left out, taken back or written in another way.
/// What would have to be normalised is refused instead, since servers do not normalise alike.
fn is_plain_path(text: &str) -> bool {
    let behind = text.split_once("://").map_or(text, |(_, behind)| behind);
    let path = behind.strip_prefix('/').unwrap_or(behind);
    let path = path.strip_suffix('/').unwrap_or(path);
    let plain = |c: char| !c.is_control() && !matches!(c, '\\' | '%' | '@');
    path.chars().all(plain) && path.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// A prefix without a `/` behind the host would match other hosts that begin alike.
fn is_sound_prefix(prefix: &str) -> bool {
    match prefix.split_once("://") {
        Some((_, behind)) => behind.contains('/') && is_plain_path(prefix),
        None => prefix.is_empty() || is_plain_path(prefix),
    }
}
