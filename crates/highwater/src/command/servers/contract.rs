//! How calls of a tool are judged, in one line.

use serde::Deserialize;
use serde_json::Value;

use crate::explain::{plain, published};

/// A tool's contract, as clients are told it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contract {
    input_metadata: Input,
    return_metadata: Returned,
    approval: String,
    /// The axes of which nobody said anything.
    undeclared: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Input {
    destination: Vec<String>,
    sensitivity: Value,
    outcomes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Returned {
    source: Vec<String>,
    sensitivity: Value,
}

// === impl Contract ===

impl Contract {
    pub(super) fn words(&self) -> String {
        let Self { input_metadata: input, return_metadata: returned, .. } = self;
        let takes = self.said(private(&input.sensitivity), "inputMetadata.sensitivity");
        let holds = self.said(private(&returned.sensitivity), "returnMetadata.sensitivity");
        let mut words = format!(
            "arguments go to {}, built to receive {takes}; outcome {}; replies are from {} and hold {holds}",
            self.of(&input.destination, "inputMetadata.destination"),
            self.of(&input.outcomes, "inputMetadata.outcomes"),
            self.of(&returned.source, "returnMetadata.source"),
        );
        if self.approval != "none" {
            words.push_str(&format!("; wants {}", plain(&self.approval)));
        }
        words
    }

    /// Of what nobody said, the worst counts, which is the last word.
    fn of(&self, words: &[String], axis: &str) -> String {
        match words.last() {
            Some(worst) if self.is_undeclared(axis) => self.said(plain(worst), axis),
            _ => plain(&words.join(" or ")),
        }
    }

    fn said(&self, words: String, axis: &str) -> String {
        if self.is_undeclared(axis) { format!("{words} (nobody says)") } else { words }
    }

    fn is_undeclared(&self, axis: &str) -> bool {
        self.undeclared.iter().any(|undeclared| undeclared == axis)
    }
}

/// What may be private, of what is published as possible.
fn private(sensitivity: &Value) -> String {
    let none = Value::from("none");
    match sensitivity.as_array() {
        Some(list) => published(&Value::from_iter(list.iter().filter(|class| **class != none).cloned())),
        None => published(sensitivity),
    }
}
