//! What an example server says about the data it returns, in the words of the trust annotations proposal.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Where returned data comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Source {
    /// Anybody may have written it.
    UntrustedPublic,
    /// Public and curated.
    TrustedPublic,
    /// A system of the organisation.
    Internal,
    /// The user's own.
    User,
    /// Made by the server itself.
    System,
}

/// How sensitive returned data is; no class at all is the proposal's `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DataClass {
    /// Belongs to the user.
    User,
    /// Tells something about a person.
    Pii,
    /// Pay, prices, accounts.
    Financial,
    /// Opens something.
    Credentials,
}

/// The label of one reply: one statement for the whole of it, as the proposal asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DataLabel {
    sources: Vec<Source>,
    classes: BTreeSet<DataClass>,
    attribution: BTreeSet<String>,
    malicious: bool,
}

// === impl DataLabel ===

impl DataLabel {
    /// Data of one source and these classes.
    pub(crate) fn new(source: Source, classes: &[DataClass]) -> Self {
        Self { sources: vec![source], classes: classes.iter().copied().collect(), ..Self::default() }
    }

    /// What the server made itself and anybody may know, such as "message sent".
    pub(crate) fn system() -> Self {
        Self::new(Source::System, &[])
    }

    /// Names a place the data came from.
    pub(crate) fn at(mut self, uri: impl Into<String>) -> Self {
        self.attribution.insert(uri.into());
        self
    }

    /// Marks the data as looking like an attack.
    pub(crate) fn suspicious(mut self, malicious: bool) -> Self {
        self.malicious |= malicious;
        self
    }

    /// Joins the label of more data in the same reply.
    pub(crate) fn with(mut self, other: Self) -> Self {
        for source in other.sources {
            if !self.sources.contains(&source) {
                self.sources.push(source);
            }
        }
        self.classes.extend(other.classes);
        self.attribution.extend(other.attribution);
        self.malicious |= other.malicious;
        self
    }

    /// Whether anybody outside may have written some of it.
    pub(crate) fn open_world(&self) -> bool {
        self.sources.contains(&Source::UntrustedPublic)
    }

    /// The value of `result._meta.annotations`. Hints appear only when they are true: `false` is no claim.
    pub(crate) fn annotations(&self) -> Value {
        let mut members = Map::new();
        if self.open_world() {
            members.insert("openWorldHint".into(), Value::Bool(true));
        }
        if self.malicious {
            members.insert("maliciousActivityHint".into(), Value::Bool(true));
        }
        members.insert("sensitivity".into(), self.sensitivity());
        members.insert("attribution".into(), json!(self.attribution));
        Value::Object(members)
    }

    /// The value of `annotations.returnMetadata` once the arguments are known.
    pub(crate) fn return_metadata(&self) -> Value {
        json!({ "source": one_or_many(&self.sources), "sensitivity": self.sensitivity() })
    }

    /// The places the data comes from.
    pub(crate) fn attribution(&self) -> Value {
        json!(self.attribution)
    }

    fn sensitivity(&self) -> Value {
        if self.classes.is_empty() {
            return json!("none");
        }
        one_or_many(&self.classes.iter().copied().collect::<Vec<_>>())
    }
}

fn one_or_many<T: Serialize>(values: &[T]) -> Value {
    match values {
        [only] => json!(only),
        several => json!(several),
    }
}

#[cfg(test)]
mod tests {
    use super::{DataClass, DataLabel, Source};
    use serde_json::json;

    #[test]
    fn one_reply_is_labelled_as_a_whole() {
        let letter = DataLabel::new(Source::Internal, &[DataClass::Pii]).at("mcp://a/1");
        let page = DataLabel::new(Source::UntrustedPublic, &[DataClass::Pii, DataClass::User])
            .at("mcp://a/2")
            .suspicious(true);
        let both = letter.with(page);
        assert_eq!(
            both.annotations(),
            json!({
                "openWorldHint": true, "maliciousActivityHint": true,
                "sensitivity": ["user", "pii"], "attribution": ["mcp://a/1", "mcp://a/2"]
            })
        );
        assert_eq!(
            both.return_metadata(),
            json!({"source": ["internal", "untrustedPublic"], "sensitivity": ["user", "pii"]})
        );
    }

    #[test]
    fn no_hint_is_ever_written_as_false() {
        assert_eq!(DataLabel::system().annotations(), json!({"sensitivity": "none", "attribution": []}));
    }
}
