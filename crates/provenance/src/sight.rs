//! Where a value was first read, for an explanation: it never counts as evidence.

use highwater_core::id::DecisionId;
use serde_json::Value;

use crate::kept::Kept;
use crate::normal::{lower, normal};
use crate::record::scalar_text;

/// The shortest value that is looked for: shorter ones stand everywhere.
const SHORTEST: usize = 3;

/// The first reply in which a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The decision that let the call through whose reply it is.
    pub decision: DecisionId,
    /// The server.
    pub server: String,
    /// The tool, as its server names it.
    pub tool: String,
    /// The place in the reply, as a JSON pointer; empty for plain text.
    pub pointer: String,
}

/// Looks through replies, oldest first.
pub(crate) fn first_sight<'a>(mut replies: impl Iterator<Item = &'a Kept>, value: &str) -> Option<Sight> {
    let wanted = normal(value);
    if wanted.chars().count() < SHORTEST {
        return None;
    }
    replies.find_map(|kept| {
        let documents = kept.documents_once();
        let in_prose =
            documents.prose.iter().find(|(_, text)| holds(text, &wanted)).map(|(place, _)| place.clone());
        let pointer = in_prose.or_else(|| {
            documents
                .structured
                .iter()
                .find_map(|(place, document)| place_in(document, place.clone(), &wanted))
        })?;
        Some(Sight {
            decision: kept.decision.clone(),
            server: kept.server.to_string(),
            tool: kept.tool.clone(),
            pointer,
        })
    })
}

fn holds(text: &str, wanted: &str) -> bool {
    lower(text).contains(wanted) || !text.is_ascii() && normal(text).contains(wanted)
}

fn place_in(document: &Value, place: String, wanted: &str) -> Option<String> {
    let below = |part: &str| format!("{place}/{}", part.replace('~', "~0").replace('/', "~1"));
    match document {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            if holds(key, wanted) { Some(below(key)) } else { place_in(value, below(key), wanted) }
        }),
        Value::Array(rows) => {
            rows.iter().enumerate().find_map(|(at, row)| place_in(row, below(&at.to_string()), wanted))
        }
        value => scalar_text(value).filter(|text| holds(text, wanted)).map(|_| place),
    }
}
