//! The numbers above which a person is asked, whatever else is known of a call.

use std::sync::Arc;

use serde_json::{Number, Value};

/// The bounds that the operator set on the numbers in a tool's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caps(Vec<Cap>);

/// The bound on one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cap {
    /// Which: an RFC 6901 pointer without its first slash, `*` for every item of a list and every member of a map.
    pub argument: Arc<str>,
    /// The largest number that nobody is asked about.
    pub most: Number,
}

// === impl Caps ===

impl Caps {
    /// No bound on anything.
    pub const NONE: Self = Self(Vec::new());

    /// Whether there is no bound.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every bound.
    pub fn iter(&self) -> impl Iterator<Item = &Cap> {
        self.0.iter()
    }

    /// These bounds, and of another set those for arguments that have none here.
    #[must_use]
    pub fn over(&self, general: &Self) -> Self {
        let unsaid = |cap: &&Cap| self.0.iter().all(|own| own.argument != cap.argument);
        Self(self.0.iter().chain(general.0.iter().filter(unsaid)).cloned().collect())
    }

    /// The bounds that these arguments do not keep, given as JSON text. What cannot be read as a number keeps none; what
    /// is not there keeps all.
    pub fn exceeded(&self, arguments: &str) -> Vec<&Cap> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let Ok(arguments) = serde_json::from_str::<Value>(arguments) else { return self.0.iter().collect() };
        self.0.iter().filter(|cap| cap.is_exceeded(&arguments, &cap.argument)).collect()
    }
}

impl FromIterator<Cap> for Caps {
    fn from_iter<I: IntoIterator<Item = Cap>>(caps: I) -> Self {
        Self(caps.into_iter().collect())
    }
}

// === impl Cap ===

impl Cap {
    fn is_exceeded(&self, value: &Value, pointer: &str) -> bool {
        let (step, rest) = pointer.split_once('/').unwrap_or((pointer, ""));
        let below = |value: &Value| {
            if rest.is_empty() { self.is_above(value) } else { self.is_exceeded(value, rest) }
        };
        match value {
            Value::Array(items) if step == "*" => items.iter().any(below),
            Value::Object(members) if step == "*" => members.values().any(below),
            Value::Array(items) => step.parse().ok().and_then(|at: usize| items.get(at)).is_some_and(below),
            Value::Object(members) => {
                members.get(&step.replace("~1", "/").replace("~0", "~")).is_some_and(below)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    fn is_above(&self, value: &Value) -> bool {
        let number = match value {
            Value::Null => return false,
            Value::Number(number) => number.as_f64(),
            // Some tools take their numbers as texts.
            Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        match (number, self.most.as_f64()) {
            (Some(number), Some(most)) => number > most,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(bounds: &[(&str, f64)]) -> Caps {
        bounds
            .iter()
            .map(|(argument, most)| Cap {
                argument: (*argument).into(),
                most: Number::from_f64(*most).unwrap(),
            })
            .collect()
    }

    #[test]
    fn a_number_above_its_bound_is_found_wherever_it_stands() {
        let amount = caps(&[("amount", 100.0)]);
        for kept in [r#"{"amount":100}"#, r#"{"amount":99.95}"#, r#"{"amount":"100.00"}"#, r#"{"amount":-5}"#]
        {
            assert!(amount.exceeded(kept).is_empty(), "{kept}");
        }
        for above in
            [r#"{"amount":101}"#, r#"{"amount":100.01}"#, r#"{"amount":"1e3"}"#, r#"{"amount":1e400}"#]
        {
            assert_eq!(amount.exceeded(above).len(), 1, "{above}");
        }
        let items = caps(&[("order/items/*/price", 10.0)]);
        assert!(items.exceeded(r#"{"order":{"items":[{"price":1},{"price":10}]}}"#).is_empty());
        assert_eq!(items.exceeded(r#"{"order":{"items":[{"price":1},{"price":11}]}}"#).len(), 1);
        assert_eq!(caps(&[("a~1b", 1.0)]).exceeded(r#"{"a/b":2}"#).len(), 1);
    }

    #[test]
    fn what_is_no_number_keeps_no_bound_and_what_is_missing_keeps_all() {
        let amount = caps(&[("amount", 100.0)]);
        for strange in
            [r#"{"amount":"a lot"}"#, r#"{"amount":"NaN"}"#, r#"{"amount":[1]}"#, r#"{"amount":true}"#, "{"]
        {
            assert_eq!(amount.exceeded(strange).len(), 1, "{strange}");
        }
        for missing in ["{}", r#"{"amount":null}"#, r#"{"other":1000}"#] {
            assert!(amount.exceeded(missing).is_empty(), "{missing}");
        }
    }

    #[test]
    fn the_bound_of_a_tool_replaces_that_of_every_tool() {
        let both = caps(&[("amount", 5.0)]).over(&caps(&[("amount", 500.0), ("count", 3.0)]));
        assert_eq!(both, caps(&[("amount", 5.0), ("count", 3.0)]));
    }
}
