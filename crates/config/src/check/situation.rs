//! An example made concrete: an action with everything that is known of it, as the gateway would judge it.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Contract, DataClass, Possible, Sensitivity, Source};
use highwater_core::decide::{AskKind, FlowPolicy, Judgement, judge};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::{Label, TextSet};
use highwater_core::policy::{
    Admission, Effect, FactName, Facts, ManifestState, Phase, Policy, RequestFacts, ResponseFacts, RuleSet,
    ServerFacts, ServerTransport, ToolStatus,
};
use highwater_core::session::Doubt;
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::{Arguments, Parameters, Timestamp, Words};
use serde_json::{Value, json};

use super::diagram::Function;
use super::label::chosen;
use super::space::Values;
use super::world::World;

/// Everything that is the case.
#[derive(Debug)]
pub(crate) struct Situation {
    pub(crate) phase: Phase,
    decision: DecisionId,
    principal: Principal,
    grant: Grant,
    virtual_server: VirtualServerId,
    action: Action,
    tool_id: Option<String>,
    tool_name: Option<String>,
    tool_status: ToolStatus,
    pub(crate) contract: Contract,
    pub(crate) server: ServerFacts,
    pub(crate) session: Label,
    request: RequestFacts,
    doubts: Vec<Doubt>,
    pub(crate) arguments: Value,
    arguments_text: String,
    parameters: Parameters,
    response: ResponseFacts,
    now: Timestamp,
}

// === impl Situation ===

impl Situation {
    /// The situation that these values describe.
    pub(crate) fn new(world: &World, values: &Values, now: Timestamp) -> Self {
        let World { space, others, .. } = world;
        let has = |function: Function| space.value(function, values);
        let text = |name: FactName| {
            let id = others.text(name);
            id.and_then(|id| space.spelled(id, values)).unwrap_or_default()
        };
        let server = server(world, values);
        let kind = &others.kind;
        let (action_kind, target) = if has(kind.resource) {
            (ActionKind::ReadResource, text(FactName::ResourceUri))
        } else if has(kind.prompt) {
            (ActionKind::GetPrompt, text(FactName::PromptName))
        } else if has(kind.completion) {
            let of = if has(kind.of_resource) { FactName::ResourceUri } else { FactName::PromptName };
            (ActionKind::Complete, text(of))
        } else if has(kind.ask) {
            (ActionKind::Answer, "question".to_owned())
        } else if has(kind.extra) {
            (ActionKind::ExtraMethod, String::new())
        } else {
            (ActionKind::CallTool, text(FactName::ToolName))
        };
        let arguments = world.arguments.spelled(space, values);
        let params = match action_kind {
            ActionKind::Complete if has(kind.of_resource) => {
                json!({ "ref": { "type": "ref/resource", "uri": target } })
            }
            ActionKind::Complete => json!({ "ref": { "type": "ref/prompt", "name": target } }),
            _ => json!({ "arguments": arguments }),
        };
        let is_call = action_kind == ActionKind::CallTool;
        Self {
            phase: world.phase,
            decision: DecisionId::new("hwd_example"),
            principal: Principal::new(text(FactName::AgentId)),
            grant: Grant { permissions: chosen(&others.permissions, has), ..Grant::everything().clone() },
            virtual_server: VirtualServerId::new(text(FactName::AgentVirtualServer)),
            action: Action::new(
                action_kind,
                UpstreamId::new(text(FactName::ServerId)),
                text(FactName::ActionMethod),
                target,
                params.to_string(),
            ),
            tool_id: is_call.then(|| text(FactName::ToolId)),
            tool_name: is_call.then(|| text(FactName::ToolName)),
            tool_status: chosen(&others.status, has).iter().next().unwrap_or(ToolStatus::Pending),
            contract: world.contract.spelled(space, values, &server.trust),
            server,
            session: world.label.spelled(space, values),
            request: RequestFacts {
                open_world: has(others.request_open_world),
                attribution: TextSet::of(space.members(others.request_attribution, values)),
                ..RequestFacts::default()
            },
            doubts: has(others.doubted).then(Doubt::unread).into_iter().collect(),
            parameters: world.arguments.parameters(space, values),
            arguments_text: arguments.to_string(),
            arguments,
            response: response(world, values),
            now,
        }
    }

    /// As the gates see it.
    pub(crate) fn facts(&self) -> Facts<'_> {
        let base = Facts::of(&self.decision, &self.principal, &self.virtual_server, &self.action);
        Facts {
            grant: &self.grant,
            tool_id: self.tool_id.as_deref(),
            tool_name: self.tool_name.as_deref(),
            tool_status: self.tool_status,
            contract: &self.contract,
            server: &self.server,
            session: &self.session,
            request: &self.request,
            doubts: &self.doubts,
            arguments: match self.phase {
                Phase::List => Arguments::Unknown,
                Phase::Call | Phase::Resource | Phase::Result => Arguments::Known(&self.arguments_text),
            },
            parameters: match self.action.kind() {
                ActionKind::CallTool | ActionKind::GetPrompt => Some(&self.parameters),
                _ => base.parameters,
            },
            response: (self.phase == Phase::Result).then_some(&self.response),
            now: self.now,
            ..base
        }
    }

    /// What the gates say of it, if its server is held and admits everything.
    pub(crate) fn judged(&self, flow: &FlowPolicy, rules: &RuleSet) -> Effect {
        self.judgement(flow, rules).effect()
    }

    pub(crate) fn judgement(&self, flow: &FlowPolicy, rules: &RuleSet) -> Judgement {
        let upstream = self.action.upstream().clone();
        let admission = Admission {
            allowed_tools: None,
            extra_methods: BTreeSet::from([self.action.method().to_string()]),
        };
        let held = BTreeSet::from([upstream.clone()]);
        let policy = Policy::new(
            BTreeMap::from([(upstream, admission)]),
            BTreeMap::from([(self.virtual_server.clone(), held)]),
        )
        .with_flows(BTreeMap::from([(self.virtual_server.clone(), flow.clone())]))
        .with_rules(rules.clone());
        judge(&policy, &self.facts())
    }

    /// What is done.
    pub(crate) fn action(&self) -> &Action {
        &self.action
    }

    /// Through which virtual server.
    pub(crate) fn virtual_server(&self) -> &VirtualServerId {
        &self.virtual_server
    }
}

fn server(world: &World, values: &Values) -> ServerFacts {
    let model = &world.others.server;
    let has = |function: Function| world.space.value(function, values);
    let level = |levels: &[Function]| chosen(levels, has).iter().next().unwrap_or(TrustLevel::None);
    let (server, resource) = (level(&model.trust), level(&model.resource_trust));
    // Not verified, and worth something: somebody who approved it believes it.
    let believed = server.max(resource) > TrustLevel::None;
    let verified = has(model.verified).then_some(true);
    ServerFacts {
        trust: ServerTrust::new(Some(server), resource, verified).believed_if(believed),
        transport: chosen::<ServerTransport>(&model.transport, has).iter().next(),
        manifest: chosen(&model.manifest, has).iter().next().unwrap_or(ManifestState::Absent),
        ..ServerFacts::default()
    }
}

fn response(world: &World, values: &Values) -> ResponseFacts {
    let model = &world.others.response;
    let has = |function: Function| world.space.value(function, values);
    let asks = [AskKind::Sample, AskKind::ElicitForm, AskKind::ElicitUrl, AskKind::Roots];
    let source = Possible::of(chosen::<Source>(&model.source, has));
    ResponseFacts {
        open_world: has(model.open_world),
        malicious: has(model.malicious),
        attribution: TextSet::of(world.space.members(model.attribution, values)),
        source: source.filter(|_| has(model.source_said)),
        sensitivity: has(model.sensitivity_said).then(|| sensitivity(&model.sensitivity, has)),
        ask: asks.into_iter().zip(&model.ask).find(|(_, is)| has(**is)).map(|(ask, _)| ask),
        ..ResponseFacts::default()
    }
}

/// `none`, then the classes.
fn sensitivity(words: &[Function], has: impl Fn(Function) -> bool + Copy) -> Sensitivity {
    let [none, classes @ ..] = words else { return Sensitivity::none() };
    let classes: Words<DataClass> = chosen(classes, has);
    let some = Sensitivity::of(classes.iter());
    match (has(*none), classes.is_empty()) {
        (_, true) => Sensitivity::none(),
        (true, false) => Sensitivity::none().or(&some),
        (false, false) => some,
    }
}
