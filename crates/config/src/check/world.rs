//! Everything that can be the case in one phase: the facts as functions of shared variables.
//!
//! Facts that are made of the same things share their variables, so that no example contradicts itself: what the
//! session has read, what is known of the tool, who the server is.

use std::collections::BTreeMap;
use std::rc::Rc;

use highwater_core::annotation::{Axis, DataClass, Destination, Outcome, Source};
use highwater_core::decide::FlowPolicy;
use highwater_core::policy::{Condition, FACTS, Fact, FactName, Phase, Slot, Subject, Test};

use super::argument::{Arguments, Asked};
use super::condition;
use super::contract::{ClassVariables, ContractModel};
use super::diagram::{Function, NEVER};
use super::flow::{FlowModel, FlowParts, modelled};
use super::label::LabelModel;
use super::model::{Model, UNKNOWN, patterns};
use super::scopes::ScopeList;
use super::server_and_agent::Others;
use super::space::{GaveUp, Rails, Space};
use super::spelling;
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
    flows: Vec<(FlowPolicy, Rc<FlowModel>)>,
    models: BTreeMap<&'static str, Model>,
}

/// What all conditions together ask.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    arguments: BTreeMap<String, Asked>,
    texts: Vec<(&'static Fact, Pattern)>,
}

// === impl Questions ===

impl Questions {
    /// Takes note of what a condition asks.
    pub(crate) fn note<'s>(&mut self, condition: &Condition, subject: impl Fn(Slot) -> Option<&'s Subject>) {
        for test in condition.tests() {
            match subject(test.slot()) {
                Some(Subject::Argument(pointer)) => {
                    self.arguments.entry(pointer.as_str().to_owned()).or_default().note(test);
                }
                Some(Subject::Fact(fact)) => {
                    let asked = match test.spellings() {
                        Some(spellings) => spelling::compared(test.check(), spellings),
                        None => patterns(test.check()).unwrap_or_default(),
                    };
                    self.texts.extend(asked.into_iter().map(|pattern| (*fact, pattern)));
                }
                None => {}
            }
        }
    }

    /// What some facts are compared with.
    pub(crate) fn of(&self, names: &[FactName]) -> Vec<Pattern> {
        let asked = self.texts.iter().filter(|(fact, _)| fact.name.is_some_and(|name| names.contains(&name)));
        asked.map(|(_, pattern)| pattern.clone()).collect()
    }

    /// What one fact is compared with.
    fn of_fact(&self, fact: &Fact) -> Vec<Pattern> {
        let asked = self.texts.iter().filter(|(other, _)| *other == fact);
        asked.map(|(_, pattern)| pattern.clone()).collect()
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
        let others = Others::new(&mut space, phase, virtual_servers, &questions)?;
        let classes = ClassVariables::new(&mut space)?;
        let scopes = ScopeList::new(questions.of(&[
            FactName::SessionScopes,
            FactName::ToolAcceptedScopes,
            FactName::ToolReturnedScopes,
        ]));
        let scopes_open = space.switch()?;
        let session_scopes = scopes.set(&mut space, scopes_open)?;
        let origins = questions.of(&[FactName::SessionAttribution, FactName::RequestAttribution]);
        let label = LabelModel::new(&mut space, classes.held.clone(), session_scopes, origins)?;
        let attribution = questions.of(&[FactName::ToolAttribution]);
        let contract = ContractModel::new(&mut space, &classes, &scopes, attribution)?;
        if phase == Phase::Resource {
            // Asking for data changes nothing; the protocol says so.
            let benign = contract.benign(&mut space)?;
            space.require(benign)?;
        }
        let granted = others.granted(&mut space, &contract.variant)?;
        space.require(granted)?;
        let arguments = Arguments::new(&mut space, std::mem::take(&mut questions.arguments))?;
        others.kind.declare(&mut space, &arguments)?;
        let (flows, models) = (Vec::new(), BTreeMap::new());
        let mut world = Self { space, phase, label, contract, arguments, others, flows, models };
        for fact in FACTS.iter().filter(|fact| fact.phases.has(phase) && fact.missing().is_none()) {
            let model = match fact.name {
                Some(name) => world.model(name)?,
                None => Model::anything(&mut world.space, fact.kind, questions.of_fact(fact))?,
            };
            world.models.insert(fact.path, model);
        }
        Ok(world)
    }

    /// The flow gates under one policy. A gate that is not modelled says the same each time that it is asked.
    pub(crate) fn flow(&mut self, policy: &FlowPolicy) -> Result<Rc<FlowModel>, GaveUp> {
        if let Some((_, known)) = self.flows.iter().find(|(of, _)| of == policy) {
            return Ok(Rc::clone(known));
        }
        let Self { space, label: session, contract, others, .. } = self;
        let parts = FlowParts { space, policy, session, contract, doubted: others.doubted };
        let model = Rc::new(FlowModel::new(parts, modelled)?);
        self.flows.push((policy.clone(), Rc::clone(&model)));
        Ok(model)
    }

    /// When a condition may hold, and when it certainly does. `flow` is what the flow gates find.
    pub(crate) fn rails<'s>(
        &mut self,
        flow: &FlowModel,
        condition: &Condition,
        subject: impl Fn(Slot) -> Option<&'s Subject>,
    ) -> Result<Rails, GaveUp> {
        let Self { space, models, arguments, phase, label, .. } = self;
        condition::rails(space, condition, &mut |space, test: &Test| match subject(test.slot()) {
            Some(Subject::Fact(fact)) => match models.get(fact.path) {
                Some(model) => {
                    let rails = model.rails(space, label, flow, test.check(), test.spellings())?;
                    condition::turned(space, test, rails)
                }
                // Not known in this phase.
                None => Ok(UNKNOWN),
            },
            // Nobody has chosen arguments while tools are listed.
            Some(Subject::Argument(_)) if *phase == Phase::List => Ok(UNKNOWN),
            Some(Subject::Argument(pointer)) => {
                let rails = arguments.rails(space, pointer.as_str(), test)?;
                let Rails { may, must } = condition::turned(space, test, rails)?;
                // What does not concern the tool does not hold, turned round or not.
                let concern = arguments.concern(space, pointer.as_str())?;
                Ok(Rails { may: space.diagram.and(may, concern)?, must: space.diagram.and(must, concern)? })
            }
            None => Ok(UNKNOWN),
        })
    }

    /// The functions of a fact.
    fn model(&mut self, name: FactName) -> Result<Model, GaveUp> {
        let Self { space, label, contract, others, .. } = self;
        let flag = |is: Function, space: &mut Space| -> Result<Model, GaveUp> {
            Ok(Model::Possible(vec![space.diagram.not(is)?, is]))
        };
        let known = |has: &[Function]| Model::Members { has: has.to_vec(), unknown: NEVER };
        Ok(match name {
            FactName::ToolReadOnly => flag(contract.benign(space)?, space)?,
            FactName::ToolIrreversible => flag(contract.outcome(Outcome::Irreversible), space)?,
            FactName::ToolIdempotent => flag(contract.idempotent, space)?,
            FactName::ToolOpenWorld => {
                let (to, from) =
                    (contract.destination(Destination::Public), contract.source(Source::UntrustedPublic));
                flag(space.diagram.or(to, from)?, space)?
            }
            FactName::ToolMalicious => flag(contract.malicious, space)?,
            FactName::ToolAttribution => {
                Model::Texts { ids: vec![contract.attribution], open: contract.attribution_open }
            }
            FactName::ToolDestination => Model::Possible(contract.destination.clone()),
            FactName::ToolAccepts => {
                Model::Members { has: contract.accepts.members(space)?, unknown: contract.accepts.unknown }
            }
            FactName::ToolOutcomes => Model::Possible(contract.outcomes.clone()),
            FactName::ToolAcceptedScopes => Model::Scopes {
                set: contract.accepts.scopes.clone(),
                unknown: space.diagram.or(contract.accepts.unknown, contract.accepts.any)?,
            },
            FactName::ToolSource => Model::Possible(contract.source.clone()),
            FactName::ToolReturns => Model::Possible(contract.returns.possible(space)?),
            FactName::ToolReturnedScopes => Model::Scopes {
                set: contract.returns.scopes.clone(),
                unknown: contract.returns.scopes_unknown(space)?,
            },
            FactName::ToolReadConfidentiality => flag(contract.returns_private(space)?, space)?,
            FactName::ToolWriteConfidentiality => {
                let low = contract.destination(Destination::Public);
                Model::Possible(vec![low, space.diagram.not(low)?])
            }
            FactName::ToolCapabilities => known(&contract.capabilities),
            FactName::ToolUndeclared => {
                let mut has = Vec::new();
                for axis in Axis::ALL {
                    let said = contract.said(space, *axis)?;
                    has.push(space.diagram.not(said)?);
                }
                known(&has)
            }
            FactName::ToolId | FactName::ToolName => Model::Text {
                id: others.text(name),
                absent: others.kind.is_reading(space)?,
                unknown: others.kind.is_of_unknown_tool(space)?,
            },
            FactName::ToolCallWith => Model::Possible(contract.variant.clone()),
            FactName::ToolDestroys => flag(contract.outcome(Outcome::Irreversible), space)?,
            FactName::ToolStatus => Model::Possible(others.status.clone()),
            FactName::ToolApproved => flag(others.status.first().copied().unwrap_or(NEVER), space)?,
            FactName::ToolRequiresApproval => flag(contract.requires_verified, space)?,
            FactName::ServerId
            | FactName::AgentId
            | FactName::AgentVirtualServer
            | FactName::ActionMethod => Model::Text { id: others.text(name), absent: NEVER, unknown: NEVER },
            FactName::ServerTrust => Model::Possible(others.server.trust.clone()),
            FactName::ServerResourceTrust => Model::Possible(others.server.resource_trust.clone()),
            FactName::ServerVerified => flag(others.server.verified, space)?,
            FactName::ServerManifest => Model::Possible(others.server.manifest.clone()),
            FactName::ServerTransport => Model::Possible(others.server.transport.clone()),
            FactName::AgentPermissions => known(&others.permissions),
            FactName::ActionKind => Model::Possible(others.kind.possible(space)?),
            FactName::ResourceUri => Model::Text {
                id: others.text(name),
                absent: others.kind.names_no_resource(space)?,
                unknown: NEVER,
            },
            FactName::PromptName => Model::Text {
                id: others.text(name),
                absent: others.kind.names_no_prompt(space)?,
                unknown: NEVER,
            },
            FactName::AskKind => {
                // A message that asks nothing is of none of these kinds.
                Model::Members { has: others.response.ask.clone(), unknown: NEVER }
            }
            FactName::RequestOpenWorld => {
                flag(space.diagram.or(others.request_open_world, label.open_world)?, space)?
            }
            FactName::RequestAttribution => Model::Texts {
                ids: vec![others.request_attribution, label.origins],
                open: label.origins_open,
            },
            FactName::ResponseOpenWorld => flag(others.response.open_world, space)?,
            FactName::ResponseMalicious => flag(others.response.malicious, space)?,
            FactName::ResponseAttribution => {
                Model::Texts { ids: vec![others.response.attribution], open: NEVER }
            }
            FactName::ResponseSource => {
                let response = &others.response;
                Model::Possible(either(space, response.source_said, &response.source, &contract.source)?)
            }
            FactName::ResponseSensitivity => {
                let response = &others.response;
                let declared = contract.returns.possible(space)?;
                // In the order of the words: `none`, then the classes.
                let place = DataClass::ALL.iter().position(|class| *class == DataClass::Unclassified);
                let unclassified = place.and_then(|place| response.sensitivity.get(place + 1));
                let unclassified = unclassified.copied().unwrap_or(NEVER);
                let mut said = Vec::new();
                for word in &response.sensitivity {
                    said.push(space.diagram.or(*word, unclassified)?);
                }
                Model::Possible(either(space, response.sensitivity_said, &said, &declared)?)
            }
            FactName::SessionUntrusted => flag(label.untrusted(), space)?,
            FactName::SessionMalicious => flag(label.malicious, space)?,
            FactName::SessionPrivate | FactName::SessionConfidentiality => {
                flag(label.private(space)?, space)?
            }
            FactName::SessionIntegrity => Model::Possible(label.integrity.clone()),
            FactName::SessionSensitivity => known(&label.classes),
            FactName::SessionScopes => Model::Scopes { set: label.scopes.clone(), unknown: NEVER },
            FactName::SessionAttribution => {
                Model::Texts { ids: vec![label.origins], open: label.origins_open }
            }
            FactName::SessionSources => known(&label.sources),
            FactName::SessionWroteExternally => flag(label.wrote_externally, space)?,
            FactName::SessionRisk => Model::Risk,
            FactName::FlowViolations => Model::Flow,
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
