//! An example as it is shown: the facts that matter, by their paths.

use std::fmt;

use highwater_core::action::ActionKind;
use highwater_core::annotation::{Accepts, Axis, Contract, Sensitivity};
use highwater_core::policy::{FACTS, Fact, FactName, Facts, FlowViolations, RuleSet, SeenValue, Val};
use highwater_notation::{Word, Words};
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

/// What is told by the axes of the contract, and the violations, which follow from the rest.
const IMPLIED: [FactName; 6] = [
    FactName::ToolDestination,
    FactName::ToolAccepts,
    FactName::ToolOutcomes,
    FactName::ToolSource,
    FactName::ToolReturns,
    FactName::FlowViolations,
];

// === impl Witness ===

impl Witness {
    /// Tells what every example tells, and of the rest what these rules mention.
    pub(crate) fn new(situation: &Situation, rules: &[&RuleSet]) -> Self {
        let facts = situation.facts();
        let (first, last) = (of_action(situation), of_session(&facts));
        // What is usual there is left out, mentioned or not.
        let known: Vec<FactName> = first.iter().chain(&last).map(|(name, _)| *name).chain(IMPLIED).collect();
        let mentioned: Vec<&Fact> = rules.iter().flat_map(|rules| rules.facts()).collect();
        let further = FACTS.iter().filter(|fact| {
            let is_known = fact.name.is_some_and(|name| known.contains(&name));
            !is_known && mentioned.contains(fact)
        });
        let mut told: Vec<_> = rows(&first).map(|fact| (fact.path, value(&facts, fact))).collect();
        contract(&situation.contract, &mut told);
        told.extend(further.chain(rows(&last)).map(|fact| (fact.path, value(&facts, fact))));
        if situation.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
            told.push(("arguments", situation.arguments.clone()));
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

/// What is done, and where; whether it is worth telling.
fn of_action(situation: &Situation) -> Vec<(FactName, bool)> {
    let (kind, verified) = (situation.action().kind(), situation.server.trust.verified());
    let is_tool =
        matches!(kind, ActionKind::CallTool | ActionKind::ResolveTool | ActionKind::CreateChallenge);
    let is_resource = matches!(kind, ActionKind::ReadResource | ActionKind::Subscribe);
    let mut told = vec![
        (FactName::AgentVirtualServer, true),
        (FactName::ServerId, true),
        (FactName::ServerVerified, verified),
        (FactName::ServerTrust, verified),
        (FactName::ResourceUri, is_resource),
        (FactName::PromptName, kind == ActionKind::GetPrompt),
        (FactName::ToolName, is_tool),
        (FactName::ToolId, is_tool),
    ];
    if !is_tool && !is_resource && kind != ActionKind::GetPrompt {
        told.push((FactName::ActionMethod, true));
    }
    told
}

/// What the session has read; whether it is worth telling.
fn of_session(facts: &Facts<'_>) -> [(FactName, bool); 8] {
    let label = facts.session;
    [
        (FactName::SessionSensitivity, true),
        (FactName::SessionIntegrity, true),
        (FactName::SessionMalicious, label.malicious()),
        (FactName::SessionScopes, !label.scopes().is_empty()),
        (FactName::SessionAttribution, !label.origins().is_empty()),
        (FactName::SessionWroteExternally, label.wrote_externally()),
        (FactName::SessionSources, !label.sources().is_empty()),
        (FactName::RequestOpenWorld, facts.request.open_world),
    ]
}

/// The rows of what is worth telling.
fn rows(told: &[(FactName, bool)]) -> impl Iterator<Item = &'static Fact> {
    let told = told.iter().filter(|(_, worth)| *worth);
    told.filter_map(|(name, _)| FACTS.iter().find(|fact| fact.name == Some(*name)))
}

/// What a fact says of the example.
fn value(facts: &Facts<'_>, fact: &Fact) -> Value {
    let says = facts.value(fact, FlowViolations::EMPTY);
    let open = matches!(says, Val::Texts { open: Some(_), .. }).then(|| "and others".to_owned());
    match SeenValue::of(fact, says) {
        SeenValue::Many(classes) if classes.is_empty() && fact.name == Some(FactName::SessionSensitivity) => {
            json!("none")
        }
        SeenValue::Many(members) => members.into_iter().chain(open).collect(),
        value => json!(value),
    }
}

fn contract(contract: &Contract, told: &mut Vec<(&'static str, Value)>) {
    let said = |axis: Axis, words: Value| match contract.is_declared(axis) {
        true => words,
        false => json!("anything: nobody said"),
    };
    let accepts = match contract.accepts() {
        Accepts::Unknown => json!("nobody said"),
        Accepts::Any => json!("any"),
        Accepts::Only(classes) => sensitivity(classes),
    };
    let axes = [
        (Axis::Destination, said(Axis::Destination, words(contract.destination().members()))),
        (Axis::Accepts, accepts),
        (Axis::Outcomes, said(Axis::Outcomes, words(contract.outcomes().members()))),
        (Axis::Source, said(Axis::Source, words(contract.source().members()))),
        (Axis::Returns, said(Axis::Returns, sensitivity(contract.returns()))),
    ];
    told.extend(axes.map(|(axis, value)| (axis.as_str(), value)));
}

fn words<T: Word>(words: Words<T>) -> Value {
    words.iter().map(|word| json!(word.as_str())).collect()
}

fn sensitivity(sensitivity: &Sensitivity) -> Value {
    let none = sensitivity.may_be_none().then(|| json!("none"));
    none.into_iter().chain(sensitivity.classes().iter().map(|class| json!(class.as_str()))).collect()
}
