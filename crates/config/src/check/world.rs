//! Everything that can be the case in one phase: the facts as functions of shared variables.
//!
//! Facts that are made of the same things share their variables, so that no example contradicts itself: what the
//! session has read, what is known of the tool, who the server is.

use std::collections::BTreeMap;

use highwater_core::annotation::{Axis, Destination, Outcome, Source};
use highwater_core::decide::FlowPolicy;
use highwater_core::policy::{Check, Condition, FACTS, Fact, Phase, Slot, Subject, Test};

use super::argument::{Arguments, Asked};
use super::condition;
use super::contract::{ClassVariables, ContractModel};
use super::diagram::{Function, NEVER};
use super::flow::FlowModel;
use super::label::LabelModel;
use super::model::{Model, UNKNOWN};
use super::others::{Others, Sightings};
use super::scopes::ScopeList;
use super::space::{GaveUp, Rails, Space};
use super::texts::Pattern;

/// What can be the case.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) space: Space,
    pub(crate) phase: Phase,
    pub(crate) label: LabelModel,
    pub(crate) contract: ContractModel,
    pub(crate) arguments: Arguments,
    pub(crate) others: Others,
    models: BTreeMap<&'static str, Model>,
}

/// The fact that depends on the flow policy.
const FLOW: &str = "flow.violations";

/// What all conditions together ask.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    arguments: BTreeMap<String, Asked>,
    texts: BTreeMap<&'static str, Vec<Pattern>>,
}

// === impl Questions ===

impl Questions {
    /// Takes note of what a condition asks.
    pub(crate) fn note<'s>(&mut self, condition: &Condition, subject: impl Fn(Slot) -> Option<&'s Subject>) {
        for test in condition.tests() {
            match subject(test.slot()) {
                Some(Subject::Argument(pointer)) => {
                    self.arguments.entry(pointer.as_str().to_owned()).or_default().note(test.check());
                }
                Some(Subject::Fact(id)) => {
                    let patterns = match test.check() {
                        Check::Text(texts) => {
                            texts.iter().map(|text| Pattern::Exact(text.to_string())).collect()
                        }
                        Check::Matches(glob) => vec![Pattern::Glob(glob.as_str().to_owned())],
                        _ => continue,
                    };
                    self.texts.entry(id.fact().path).or_default().extend(patterns);
                }
                None => {}
            }
        }
    }

    pub(crate) fn take(&mut self, paths: &[&'static str]) -> Vec<Pattern> {
        paths.iter().filter_map(|path| self.texts.get(path)).flatten().cloned().collect()
    }
}

// === impl World ===

impl World {
    /// Makes the variables. The client is connected to one of `virtual_servers`.
    pub(crate) fn new(
        phase: Phase,
        virtual_servers: &[&str],
        mut questions: Questions,
        most_nodes: usize,
    ) -> Result<Self, GaveUp> {
        let mut space = Space::new(most_nodes);
        // Names come first: rules that speak of different tools or servers then never meet in the diagram.
        let others = Others::new(&mut space, phase, virtual_servers, &mut questions)?;
        let classes = ClassVariables::new(&mut space)?;
        let scopes = ScopeList::new(questions.take(&[
            "session.scopes",
            "tool.annotations.inputMetadata.regulatedScopes",
            "tool.annotations.returnMetadata.regulatedScopes",
        ]));
        let scopes_open = space.switch()?;
        let session_scopes = scopes.set(&mut space, scopes_open)?;
        let origins = questions.take(&["session.attribution", "request.annotations.attribution"]);
        let label = LabelModel::new(&mut space, classes.held.clone(), session_scopes, origins)?;
        let attribution = questions.take(&["tool.annotations.attribution"]);
        let contract = ContractModel::new(&mut space, &classes, &scopes, attribution)?;
        if phase == Phase::Resource {
            // Asking for data changes nothing; the protocol says so.
            let benign = contract.benign(&mut space)?;
            space.require(benign)?;
        }
        let granted = others.granted(&mut space, &contract.variant)?;
        space.require(granted)?;
        let arguments = Arguments::new(&mut space, std::mem::take(&mut questions.arguments))?;
        let mut world = Self { space, phase, label, contract, arguments, others, models: BTreeMap::new() };
        for fact in FACTS.iter().filter(|fact| fact.phases.has(phase) && fact.path != FLOW) {
            let model = world.model(fact)?;
            world.models.insert(fact.path, model);
        }
        Ok(world)
    }

    /// The flow rules under one policy.
    pub(crate) fn flow(&mut self, policy: &FlowPolicy) -> Result<FlowModel, GaveUp> {
        FlowModel::new(&mut self.space, policy, &self.label, &self.contract)
    }

    /// When a condition may hold, and when it certainly does. `flow` is what the flow rules find.
    pub(crate) fn rails<'s>(
        &mut self,
        flow: &FlowModel,
        condition: &Condition,
        subject: impl Fn(Slot) -> Option<&'s Subject>,
    ) -> Result<Rails, GaveUp> {
        let Self { space, models, arguments, phase, label, .. } = self;
        condition::rails(space, condition, &mut |space, test: &Test| match subject(test.slot()) {
            Some(Subject::Fact(id)) if id.is(FLOW) && id.fact().phases.has(*phase) => {
                let violated = Model::Members { has: flow.violated.to_vec(), unknown: NEVER };
                violated.rails(space, label, test.check())
            }
            Some(Subject::Fact(id)) => match models.get(id.fact().path) {
                Some(model) => model.rails(space, label, test.check()),
                // Not known in this phase.
                None => Ok(UNKNOWN),
            },
            // Nobody has chosen arguments while tools are listed.
            Some(Subject::Argument(_)) if *phase == Phase::List => Ok(UNKNOWN),
            Some(Subject::Argument(pointer)) => arguments.rails(space, pointer.as_str(), test.check()),
            None => Ok(UNKNOWN),
        })
    }

    /// The functions of a fact.
    fn model(&mut self, fact: &Fact) -> Result<Model, GaveUp> {
        let Self { space, label, contract, others, .. } = self;
        let flag = |space: &mut Space, is: Function| -> Result<Model, GaveUp> {
            Ok(Model::Possible(vec![space.diagram.not(is)?, is]))
        };
        let known = |has: &[Function]| Model::Members { has: has.to_vec(), unknown: NEVER };
        let seen = |seen: &Sightings| Model::Members { has: seen.kinds.clone(), unknown: seen.unseen };
        Ok(match fact.path {
            "tool.annotations.readOnlyHint" => {
                let benign = contract.benign(space)?;
                flag(space, benign)?
            }
            "tool.annotations.destructiveHint" => flag(space, contract.outcome(Outcome::Irreversible))?,
            "tool.annotations.idempotentHint" => flag(space, contract.idempotent)?,
            "tool.annotations.openWorldHint" => {
                let (to, from) =
                    (contract.destination(Destination::Public), contract.source(Source::UntrustedPublic));
                let open = space.diagram.or(to, from)?;
                flag(space, open)?
            }
            "tool.annotations.maliciousActivityHint" => flag(space, contract.malicious)?,
            "tool.annotations.attribution" => {
                Model::Texts { ids: vec![contract.attribution], open: contract.attribution_open }
            }
            "tool.annotations.inputMetadata.destination" => Model::Possible(contract.destination.clone()),
            "tool.annotations.inputMetadata.sensitivity" => {
                Model::Members { has: contract.accepts.members(space)?, unknown: contract.accepts.unknown }
            }
            "tool.annotations.inputMetadata.outcomes" => Model::Possible(contract.outcomes.clone()),
            "tool.annotations.inputMetadata.regulatedScopes" => Model::Scopes {
                set: contract.accepts.scopes.clone(),
                unknown: space.diagram.or(contract.accepts.unknown, contract.accepts.any)?,
            },
            "tool.annotations.returnMetadata.source" => Model::Possible(contract.source.clone()),
            "tool.annotations.returnMetadata.sensitivity" => {
                Model::Possible(contract.returns.possible(space)?)
            }
            "tool.annotations.returnMetadata.regulatedScopes" => Model::Scopes {
                set: contract.returns.scopes.clone(),
                unknown: contract.returns.scopes_unknown(space)?,
            },
            "tool.readConfidentiality" => {
                let private = contract.returns_private(space)?;
                flag(space, private)?
            }
            "tool.writeConfidentiality" => {
                let low = contract.destination(Destination::Public);
                Model::Possible(vec![low, space.diagram.not(low)?])
            }
            "tool.capabilities" => known(&contract.capabilities),
            "tool.undeclared" => {
                let mut has = Vec::new();
                for axis in Axis::ALL {
                    let said = contract.said(space, *axis)?;
                    has.push(space.diagram.not(said)?);
                }
                known(&has)
            }
            "tool.id" | "tool.name" => Model::Text {
                id: others.text(fact.path),
                absent: others.kind.is_reading(space)?,
                unknown: others.kind.is_of_unknown_tool(space)?,
            },
            "tool.callWith" => Model::Possible(contract.variant.clone()),
            "tool.destructive" => {
                let destroys = space.diagram.minus(contract.outcome(Outcome::Irreversible), contract.adds)?;
                flag(space, destroys)?
            }
            "tool.status" => Model::Possible(others.status.clone()),
            "tool.approved" => flag(space, others.status.first().copied().unwrap_or(NEVER))?,
            "tool.requiresApproval" => flag(space, contract.requires_verified)?,
            "server.id" | "agent.id" | "agent.virtualServer" | "action.method" => {
                Model::Text { id: others.text(fact.path), absent: NEVER, unknown: NEVER }
            }
            "server.trust" => Model::Possible(others.server.trust.clone()),
            "server.resourceTrust" => Model::Possible(others.server.resource_trust.clone()),
            "server.verified" => flag(space, others.server.verified)?,
            "server.manifest" => Model::Possible(others.server.manifest.clone()),
            "server.transport" => Model::Possible(others.server.transport.clone()),
            "server.sandboxed" => flag(space, others.server.sandboxed)?,
            "agent.permissions" => known(&others.permissions),
            "action.kind" => Model::Possible(others.kind.possible(space)?),
            "resource.uri" => Model::Text {
                id: others.text(fact.path),
                absent: others.kind.names_no_resource(space)?,
                unknown: NEVER,
            },
            "prompt.name" => Model::Text {
                id: others.text(fact.path),
                absent: others.kind.names_no_prompt(space)?,
                unknown: NEVER,
            },
            "ask.kind" => {
                // A message that asks nothing is of none of these kinds.
                Model::Members { has: others.response.ask.clone(), unknown: NEVER }
            }
            "request.annotations.openWorldHint" => {
                let open = space.diagram.or(others.request_open_world, label.open_world)?;
                flag(space, open)?
            }
            "request.annotations.attribution" => Model::Texts {
                ids: vec![others.request_attribution, label.origins],
                open: label.origins_open,
            },
            "response.annotations.openWorldHint" => flag(space, others.response.open_world)?,
            "response.annotations.maliciousActivityHint" => flag(space, others.response.malicious)?,
            "response.annotations.attribution" => {
                Model::Texts { ids: vec![others.response.attribution], open: NEVER }
            }
            "response.annotations.returnMetadata.source" => {
                let response = &others.response;
                Model::Possible(either(space, response.source_said, &response.source, &contract.source)?)
            }
            "response.annotations.returnMetadata.sensitivity" => {
                let response = &others.response;
                let declared = contract.returns.possible(space)?;
                let unclassified = response.sensitivity.last().copied().unwrap_or(NEVER);
                let mut said = Vec::new();
                for word in &response.sensitivity {
                    said.push(space.diagram.or(*word, unclassified)?);
                }
                Model::Possible(either(space, response.sensitivity_said, &said, &declared)?)
            }
            "session.untrusted" => flag(space, label.untrusted())?,
            "session.malicious" => flag(space, label.malicious)?,
            "session.private" | "session.confidentiality" => {
                let private = label.private(space)?;
                flag(space, private)?
            }
            "session.integrity" => Model::Possible(label.integrity.clone()),
            "session.sensitivity" => known(&label.classes),
            "session.scopes" => Model::Scopes { set: label.scopes.clone(), unknown: NEVER },
            "session.attribution" => Model::Texts { ids: vec![label.origins], open: label.origins_open },
            "session.sources" => known(&label.sources),
            "session.wroteExternally" => flag(space, label.wrote_externally)?,
            "session.risk" => Model::Risk,
            "arguments.sightings" => seen(&others.argument_sightings),
            "response.sightings" => seen(&others.response.sightings),
            // A fact that this analysis does not know yet: anything may be.
            _ => Model::anything(space, fact.kind)?,
        })
    }
}

/// What is said where something is, and what is known otherwise.
fn either(
    space: &mut Space,
    said: Function,
    by_message: &[Function],
    otherwise: &[Function],
) -> Result<Vec<Function>, GaveUp> {
    let pairs = by_message.iter().zip(otherwise);
    pairs.map(|(yes, no)| Ok(space.diagram.choose(said, *yes, *no)?)).collect()
}
