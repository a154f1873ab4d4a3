//! An example as it is shown: the facts that matter, by their paths.

use std::fmt;

use highwater_core::action::ActionKind;
use highwater_core::annotation::{Accepts, Axis, Contract, Sensitivity, Word, Words};
use highwater_core::label::{Label, TextSet};
use highwater_core::policy::{SightingKind, ToolStatus};
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
    /// Tells what every example tells, and of the rest what `mentioned` asks for.
    pub(crate) fn new(situation: &Situation, mentioned: impl Fn(&str) -> bool) -> Self {
        let facts = situation.facts();
        let mut told = Vec::new();
        let mut tell = |path: &'static str, value: Value| told.push((path, value));
        tell("agent.virtualServer", json!(situation.virtual_server().as_str()));
        tell("server.id", json!(situation.action().upstream().as_str()));
        if situation.server.trust.verified() {
            tell("server.verified", json!(true));
            tell("server.trust", json!(situation.server.trust.effective().as_str()));
        }
        let action = situation.action();
        match action.kind() {
            ActionKind::ReadResource | ActionKind::Subscribe => {
                tell("resource.uri", json!(&**action.target()))
            }
            ActionKind::GetPrompt => tell("prompt.name", json!(&**action.target())),
            ActionKind::CallTool | ActionKind::ResolveTool | ActionKind::CreateChallenge => {
                tell("tool.name", json!(facts.tool_name));
                tell("tool.id", json!(facts.tool_id));
            }
            ActionKind::Complete | ActionKind::TaskStep | ActionKind::Answer | ActionKind::ExtraMethod => {
                tell("action.method", json!(&**action.method()));
            }
        }
        contract(&situation.contract, &mut tell);
        for (path, value) in further(situation) {
            if mentioned(path) {
                tell(path, value);
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
    tell("inputMetadata.destination", said(Axis::Destination, words(contract.destination().members())));
    tell(
        "inputMetadata.sensitivity",
        match contract.accepts() {
            Accepts::Unknown => json!("nobody said"),
            Accepts::Any => json!("any"),
            Accepts::Only(classes) => sensitivity(classes),
        },
    );
    tell("inputMetadata.outcomes", said(Axis::Outcomes, words(contract.outcomes().members())));
    tell("returnMetadata.source", said(Axis::Source, words(contract.source().members())));
    tell("returnMetadata.sensitivity", said(Axis::Returns, sensitivity(contract.returns())));
}

/// Facts that are told where a condition mentions them.
fn further(situation: &Situation) -> Vec<(&'static str, Value)> {
    let facts = situation.facts();
    let hints = situation.contract.hints();
    let seen = |seen: Option<Words<SightingKind>>| seen.map_or_else(|| json!("nobody looked"), words);
    vec![
        ("tool.annotations.idempotentHint", json!(hints.idempotent)),
        ("tool.annotations.maliciousActivityHint", json!(situation.contract.malicious())),
        ("tool.annotations.attribution", texts(situation.contract.attribution())),
        ("tool.callWith", json!(situation.contract.variant().as_str())),
        ("tool.destructive", json!(situation.contract.destroys())),
        ("tool.capabilities", words(situation.contract.capabilities().effective())),
        ("tool.undeclared", words(situation.contract.undeclared())),
        ("tool.status", json!(facts.tool_status.as_str())),
        ("tool.approved", json!(facts.tool_status == ToolStatus::Approved)),
        ("tool.requiresApproval", json!(situation.contract.requires_verified())),
        ("server.resourceTrust", json!(situation.server.trust.resources().as_str())),
        ("server.manifest", json!(situation.server.manifest.as_str())),
        ("server.transport", json!(situation.server.transport.map(|transport| transport.as_str()))),
        ("server.sandboxed", json!(situation.server.sandboxed)),
        ("agent.id", json!(facts.principal.as_str())),
        ("agent.permissions", words(facts.grant.permissions)),
        ("action.method", json!(&**situation.action().method())),
        ("request.annotations.attribution", texts(&facts.request.attribution)),
        ("arguments.sightings", seen(facts.argument_sightings)),
        ("session.risk", json!(situation.session.risk())),
    ]
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
