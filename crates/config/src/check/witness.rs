//! An example as it is shown: the facts that matter, by their paths.

use std::fmt;

use highwater_core::annotation::{Accepts, Axis, Contract, Sensitivity, Word, Words};
use highwater_core::label::{Label, TextSet};
use highwater_core::policy::Phase;
use serde_json::{Map, Value, json};

use super::situation::Situation;

/// A concrete set of facts.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// What is done: `call` or `resource`.
    pub phase: &'static str,
    /// The facts by their paths; what is left out is as usual, or empty.
    pub facts: Vec<(&'static str, Value)>,
}

// === impl Witness ===

impl Witness {
    pub(crate) fn new(situation: &Situation) -> Self {
        let facts = situation.facts();
        let mut told = Vec::new();
        let mut tell = |path: &'static str, value: Value| told.push((path, value));
        tell("agent.virtualServer", json!(situation.virtual_server().as_str()));
        tell("server.id", json!(situation.action().upstream().as_str()));
        if situation.server.trust.verified() {
            tell("server.verified", json!(true));
            tell("server.trust", json!(situation.server.trust.effective().as_str()));
        }
        match situation.phase {
            Phase::Call | Phase::List => {
                if let Some(name) = facts.tool_name {
                    tell("tool.name", json!(name));
                }
                if let Some(id) = facts.tool_id {
                    tell("tool.id", json!(id));
                }
                contract(&situation.contract, &mut tell);
            }
            Phase::Resource | Phase::Result => {
                tell("action.method", json!(&**situation.action().method()));
                tell("resource.uri", json!(&**situation.action().target()));
            }
        }
        session(&situation.session, &mut tell);
        if facts.request.open_world {
            tell("request.annotations.openWorldHint", json!(true));
        }
        if situation.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
            tell("arguments", situation.arguments.clone());
        }
        Self { phase: situation.phase.as_str(), facts: told }
    }

    /// As JSON: one member for each fact.
    pub fn to_json(&self) -> Value {
        let facts: Map<String, Value> =
            self.facts.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
        json!({ "phase": self.phase, "facts": facts })
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.facts.iter().map(|(path, _)| path.len()).max().unwrap_or(0);
        for (index, (path, value)) in self.facts.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Array(items) => {
                    let items: Vec<String> = items
                        .iter()
                        .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                        .collect();
                    items.join(", ")
                }
                other => other.to_string(),
            };
            write!(f, "{line_end}  {path:<width$}  {value}")?;
        }
        Ok(())
    }
}

fn contract(contract: &Contract, tell: &mut impl FnMut(&'static str, Value)) {
    let said = |axis: Axis, words: Value| match contract.is_declared(axis) {
        true => words,
        false => json!("anything: nobody said"),
    };
    tell(
        "tool.annotations.inputMetadata.destination",
        said(Axis::Destination, words(contract.destination().members())),
    );
    tell(
        "tool.annotations.inputMetadata.sensitivity",
        match contract.accepts() {
            Accepts::Unknown => json!("nobody said"),
            Accepts::Any => json!("any"),
            Accepts::Only(classes) => sensitivity(classes),
        },
    );
    tell(
        "tool.annotations.inputMetadata.outcomes",
        said(Axis::Outcomes, words(contract.outcomes().members())),
    );
    tell("tool.annotations.returnMetadata.source", said(Axis::Source, words(contract.source().members())));
    tell("tool.annotations.returnMetadata.sensitivity", said(Axis::Returns, sensitivity(contract.returns())));
}

fn session(label: &Label, tell: &mut impl FnMut(&'static str, Value)) {
    tell("session.sensitivity", if label.private() { words(label.classes()) } else { json!("none") });
    tell("session.integrity", json!(label.integrity().as_str()));
    if label.malicious() {
        tell("session.malicious", json!(true));
    }
    for (path, set) in [("session.scopes", label.scopes()), ("session.attribution", label.origins())] {
        if !set.is_empty() {
            tell(path, texts(set));
        }
    }
    if label.wrote_externally() {
        tell("session.wroteExternally", json!(true));
    }
    if !label.sources().is_empty() {
        tell("session.sources", words(label.sources()));
    }
}

fn words<T: Word>(words: Words<T>) -> Value {
    words.iter().map(|word| json!(word.as_str())).collect()
}

fn sensitivity(sensitivity: &Sensitivity) -> Value {
    let none = sensitivity.may_be_none().then(|| json!("none"));
    none.into_iter().chain(sensitivity.classes().iter().map(|class| json!(class.as_str()))).collect()
}

fn texts(set: &TextSet) -> Value {
    let more = set.is_open().then(|| json!("and others"));
    set.members().iter().map(|text| json!(&**text)).chain(more).collect()
}
