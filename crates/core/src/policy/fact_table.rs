//! The fact table: every fact there is, once. It is the schema, the compiler's symbol table, the reference and
//! the list of what an evaluation can read; nothing about facts is written anywhere else.

use std::sync::LazyLock;

use highwater_notation::{Found, Pointer, Wanted, Word, Words};

use super::facts::{Facts, ManifestState, ServerTransport, SightingKind, ToolStatus};
use super::kind::{Input, Kind, Phase, Phases, Rises};
use super::value::{Because, Val};
use crate::action::ActionKind;
use crate::annotation::{
    Accepts, Axis, CallVariant, Capability, Confidentiality, DataClass, Destination, Outcome, Reach,
    Sensitivity, Source,
};
use crate::decide::{AskKind, FlowRule, FlowViolations};
use crate::grant::Permission;
use crate::label::{Label, TextSet};
use crate::provenance::Standing;
use crate::trust::TrustLevel;

/// One fact.
#[derive(Debug)]
pub struct Fact {
    /// What the program calls it.
    pub name: Option<FactName>,
    /// What rules call it.
    pub path: &'static str,
    /// What kind of value it has.
    pub kind: Kind,
    /// When it is known.
    pub phases: Phases,
    /// How it moves with the label of the session.
    pub rises: Rises,
    /// What it is made of.
    pub inputs: &'static [Input],
    /// What it says, for the reference.
    pub doc: &'static str,
    /// How it is read.
    pub(super) get: for<'a> fn(&View<'a>) -> Val<'a>,
}

/// What facts are read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) flow: FlowViolations,
}

const ALL: Phases = Phases::ALL;
const CRL: Phases = Phases::of(&[Phase::Call, Phase::Result, Phase::List]);
const CSL: Phases = Phases::of(&[Phase::Call, Phase::Resource, Phase::List]);
const CSR: Phases = Phases::of(&[Phase::Call, Phase::Resource, Phase::Result]);
const CL: Phases = Phases::of(&[Phase::Call, Phase::List]);
const SR: Phases = Phases::of(&[Phase::Resource, Phase::Result]);
const C: Phases = Phases::of(&[Phase::Call]);
const R: Phases = Phases::of(&[Phase::Result]);

const BOOL: Kind = Kind::Bool;
const STR: Kind = Kind::Str;
const TEXTS: Kind = Kind::Open { folded: false };
const SCOPES: Kind = Kind::Open { folded: true };
const TRUST: Kind = ranked(TrustLevel::NAMES);
const LEVEL: Kind = ranked(Confidentiality::NAMES);
/// The classes a tool can say it accepts. The two of our own are nobody's to accept.
const ACCEPTED: &[&str] = &["none", "user", "pii", "financial", "credentials", "regulated"];
/// `none`, then the classes in their order.
const RETURNED: &[&str] = &[
    "none",
    "user",
    "pii",
    "financial",
    "credentials",
    "regulated",
    "confidential",
    "unclassified",
    "named",
];
const ACTIONS: &[&str] = &["tool", "resource", "prompt", "completion", "ask"];
const ASKS: &[&str] = &["sampling", "elicitation_form", "elicitation_url", "roots"];

const fn ranked(words: &'static [&'static str]) -> Kind {
    Kind::Enum { words, ordered: true }
}

const fn unranked(words: &'static [&'static str]) -> Kind {
    Kind::Enum { words, ordered: false }
}

/// A row: name, path, kind, phases, movement, what it is made of, what it says, how it is read. A fact without a name is
/// one that the program knows by its row alone; to the analysis of `highwater check` it may be anything at any time.
macro_rules! facts {
    ($($($name:ident:)? $path:literal, $kind:expr, $phases:expr, $rises:ident, [$($input:ident),+], $doc:literal => $get:expr;)+) => {
        /// The facts that the program speaks of by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FactName { $($(#[doc = $doc] $name,)?)+ }

        /// Every fact but the arguments, which are named by where they stand.
        pub static FACTS: &[Fact] = &[$(Fact {
            name: [$(FactName::$name)?].first().copied(), path: $path, kind: $kind, phases: $phases, rises: Rises::$rises,
            inputs: &[$(Input::$input),+], doc: $doc, get: $get,
        }),+];
    };
}

facts! {
    ToolReadOnly: "tool.annotations.readOnlyHint", BOOL, CRL, No, [Tool], "The tool changes nothing: every outcome is benign."
        => |of| Val::flag(of.facts.contract.hints().read_only);
    ToolIrreversible: "tool.annotations.destructiveHint", BOOL, CRL, No, [Tool], "Some outcome of the tool cannot be undone."
        => |of| Val::flag(of.facts.contract.hints().destructive);
    ToolIdempotent: "tool.annotations.idempotentHint", BOOL, CRL, No, [Tool], "Calling the tool twice does no more than calling it once."
        => |of| Val::flag(of.facts.contract.hints().idempotent);
    ToolOpenWorld: "tool.annotations.openWorldHint", BOOL, CRL, No, [Tool], "The tool may send to, or read from, the open world."
        => |of| Val::flag(of.facts.contract.hints().open_world);
    ToolMalicious: "tool.annotations.maliciousActivityHint", BOOL, CRL, No, [Tool], "The tool is reported for malicious activity."
        => |of| Val::flag(of.facts.contract.malicious());
    ToolAttribution: "tool.annotations.attribution", TEXTS, CRL, No, [Tool], "What the tool says its data comes from."
        => |of| texts(of.facts.contract.attribution());
    ToolDestination: "tool.annotations.inputMetadata.destination", Kind::OneOf(Destination::NAMES), CRL, No, [Tool], "Where arguments may end up."
        => |of| possible(of, Axis::Destination, of.facts.contract.destination().members());
    ToolAccepts: "tool.annotations.inputMetadata.sensitivity", Kind::Set(ACCEPTED), CRL, No, [Tool], "The classes of data the tool is built to receive."
        => |of| accepted(of.facts.contract.accepts());
    ToolOutcomes: "tool.annotations.inputMetadata.outcomes", Kind::OneOf(Outcome::NAMES), CRL, No, [Tool], "What a call may do to the world."
        => |of| possible(of, Axis::Outcomes, of.facts.contract.outcomes().members());
    ToolAcceptedScopes: "tool.annotations.inputMetadata.regulatedScopes", SCOPES, CRL, No, [Tool], "The regulations whose data the tool is built to receive."
        => |of| match of.facts.contract.accepts() {
            Accepts::Only(sensitivity) => texts(sensitivity.scopes()),
            Accepts::Unknown | Accepts::Any => Val::Unknown(Because::Undeclared),
        };
    ToolSource: "tool.annotations.returnMetadata.source", Kind::OneOf(Source::NAMES), CRL, No, [Tool], "Where replies may come from."
        => |of| possible(of, Axis::Source, of.facts.contract.source().members());
    ToolReturns: "tool.annotations.returnMetadata.sensitivity", Kind::OneOf(RETURNED), CRL, No, [Tool], "The classes of data a reply may hold."
        => |of| declared_sensitivity(of);
    ToolReturnedScopes: "tool.annotations.returnMetadata.regulatedScopes", SCOPES, CRL, No, [Tool], "The regulations that data in a reply may be under."
        => |of| returned_scopes(of);
    "tool.annotations.returnMetadata.ownClasses", SCOPES, CRL, No, [Tool], "The classes of your own that a reply may hold."
        => |of| returned_names(of);
    ToolReadConfidentiality: "tool.readConfidentiality", LEVEL, CRL, No, [Tool], "Whether a reply may hold anything that is not public."
        => |of| Val::word(of.facts.contract.read_confidentiality().index());
    ToolWriteConfidentiality: "tool.writeConfidentiality", LEVEL, CRL, No, [Tool], "`low` where arguments may become public."
        => |of| Val::word(of.facts.contract.write_confidentiality().index());
    ToolCapabilities: "tool.capabilities", Kind::Set(Capability::NAMES), CRL, No, [Tool], "What the tool's process may touch, as far as anybody may be believed."
        => |of| Val::set(of.facts.contract.capabilities().effective().bits().into());
    "tool.annotations.read_confidentiality", Kind::OneOf(Confidentiality::NAMES), CRL, No, [Tool], "Which of SAMOS' levels a reply may have: `low` is public, `high` is anything else."
        => |of| possible(of, Axis::Returns, of.facts.contract.read_levels());
    "tool.annotations.write_confidentiality", Kind::OneOf(Confidentiality::NAMES), CRL, No, [Tool], "Which of SAMOS' levels the place may have where arguments end up."
        => |of| possible(of, Axis::Destination, of.facts.contract.write_levels());
    "tool.annotations.network", TEXTS, CRL, No, [Tool], "The hosts that the tool's process may reach."
        => |of| reach(of, Capability::Network);
    "tool.annotations.filesystem", TEXTS, CRL, No, [Tool], "The paths that the tool's process may touch."
        => |of| reach(of, Capability::Filesystem);
    "tool.annotations.environment", TEXTS, CRL, No, [Tool], "The environment variables that the tool's process may read."
        => |of| reach(of, Capability::Environment);
    "tool.annotations.execution", TEXTS, CRL, No, [Tool], "The programs that the tool's process may run."
        => |of| reach(of, Capability::Execution);
    "tool.annotations.software_libraries", TEXTS, CRL, No, [Tool], "The libraries that the tool's process may load."
        => |of| reach(of, Capability::SoftwareLibraries);
    ToolUndeclared: "tool.undeclared", Kind::Set(Axis::NAMES), CRL, No, [Tool], "The annotations that nobody made; their values are defaults."
        => |of| Val::set(of.facts.contract.undeclared().bits().into());
    ToolId: "tool.id", STR, CRL, No, [Tool, Action], "The tool as the client calls it."
        => |of| tool(of, of.facts.tool_id);
    ToolName: "tool.name", STR, CRL, No, [Tool, Action], "The tool as its server calls it."
        => |of| tool(of, of.facts.tool_name);
    ToolCallWith: "tool.callWith", ranked(CallVariant::NAMES), CRL, No, [Tool], "The class of call the tool needs."
        => |of| Val::word(of.facts.contract.variant().index());
    ToolDestroys: "tool.destructive", BOOL, CRL, No, [Tool], "A call may destroy something: it may not be undone, and nobody whose word counts says that it only adds."
        => |of| Val::flag(of.facts.contract.destroys());
    ToolStatus: "tool.status", unranked(ToolStatus::NAMES), CRL, No, [Tool], "Whether a person has seen the tool's definition."
        => |of| Val::word(of.facts.tool_status.index());
    ToolApproved: "tool.approved", BOOL, CRL, No, [Tool], "A person has approved the tool's definition as it is."
        => |of| Val::flag(of.facts.tool_status == ToolStatus::Approved);
    ToolRequiresApproval: "tool.requiresApproval", BOOL, CL, No, [Tool], "The server itself requires a verified approval of each call."
        => |of| Val::flag(of.facts.contract.requires_verified());
    ServerId: "server.id", STR, ALL, No, [Server], "The server's name in the configuration."
        => |of| Val::Text(of.facts.action.upstream().as_str());
    ServerTrust: "server.trust", TRUST, ALL, No, [Server], "How far the server is trusted; `none` unless it is verified."
        => |of| Val::word(of.facts.server.trust.effective().index());
    ServerResourceTrust: "server.resourceTrust", TRUST, ALL, No, [Server], "How far the contents of its resources are trusted; `none` unless it is verified."
        => |of| Val::word(of.facts.server.trust.resources().index());
    ServerVerified: "server.verified", BOOL, ALL, No, [Server], "The operator vouches for the server, or its manifest does."
        => |of| Val::flag(of.facts.server.trust.verified());
    ServerManifest: "server.manifest", unranked(ManifestState::NAMES), ALL, No, [Server], "What became of the server's signed manifest."
        => |of| Val::word(of.facts.server.manifest.index());
    ServerTransport: "server.transport", unranked(ServerTransport::NAMES), ALL, No, [Server], "How the server is reached."
        => |of| of.facts.server.transport.map_or(Val::Unknown(Because::Undeclared), |transport| Val::word(transport.index()));
    "server.sandboxed", BOOL, ALL, No, [Server, Confinement], "The server's process is confined."
        => |of| Val::flag(of.facts.server.sandboxed);
    AgentId: "agent.id", STR, ALL, No, [Caller], "Who asks."
        => |of| Val::Text(of.facts.principal.as_str());
    AgentVirtualServer: "agent.virtualServer", STR, ALL, No, [VirtualServer], "The virtual server the client is connected to."
        => |of| Val::Text(of.facts.virtual_server.as_str());
    AgentPermissions: "agent.permissions", Kind::Set(Permission::NAMES), ALL, No, [Caller], "What the agent's token grants."
        => |of| Val::set(of.facts.grant.permissions.bits().into());
    ActionKind: "action.kind", unranked(ACTIONS), ALL, No, [Action], "What is asked: a tool and all that belongs to a call, a resource, a prompt, a completion, an answer to a question."
        => |of| action(of.facts.action.kind());
    ActionMethod: "action.method", STR, ALL, No, [Action], "The method that is sent to the server."
        => |of| Val::Text(of.facts.action.method());
    ResourceUri: "resource.uri", STR, SR, No, [Action], "The resource that is read, subscribed to or completed."
        => |of| target(of, &[ActionKind::ReadResource, ActionKind::Subscribe], "ref/resource");
    PromptName: "prompt.name", STR, SR, No, [Action], "The prompt that is fetched or completed."
        => |of| target(of, &[ActionKind::GetPrompt], "ref/prompt");
    AskKind: "ask.kind", unranked(ASKS), R, No, [Reply], "What the server asks back."
        => |of| response(of, |response| response.ask.map_or(Val::Absent, |ask| Val::word(ask_index(ask))));
    RequestOpenWorld: "request.annotations.openWorldHint", BOOL, CSL, Up, [Request, Label], "The context holds open-world content: the client says so, or we know."
        => |of| session(of, |of, label| Val::flag(of.facts.request.open_world || label.open_world()));
    RequestAttribution: "request.annotations.attribution", TEXTS, CSL, Up, [Request, Origins], "Who contributed to the context, as the client says and as we know."
        => |of| session(of, |of, label| {
            let (said, known) = (&of.facts.request.attribution, label.origins());
            let open = (said.is_open() || known.is_open()).then_some(Because::Truncated);
            Val::Texts { members: said.members(), others: known.members(), open }
        });
    ResponseOpenWorld: "response.annotations.openWorldHint", BOOL, R, No, [Reply], "The message holds open-world content: the server says so, or we saw it."
        => |of| response(of, |response| Val::flag(response.open_world));
    ResponseMalicious: "response.annotations.maliciousActivityHint", BOOL, R, No, [Reply], "The message is malicious: the server says so, or we saw it."
        => |of| response(of, |response| Val::flag(response.malicious));
    ResponseAttribution: "response.annotations.attribution", TEXTS, R, No, [Reply], "Who contributed to the message."
        => |of| response(of, |response| texts(&response.attribution));
    ResponseSource: "response.annotations.returnMetadata.source", Kind::OneOf(Source::NAMES), R, No, [Reply, Tool], "Where the message comes from; where it may, if it does not say."
        => |of| match of.facts.response.and_then(|response| response.source) {
            Some(source) => Val::Among(source.members().bits().into()),
            None => possible(of, Axis::Source, of.facts.contract.source().members()),
        };
    ResponseSensitivity: "response.annotations.returnMetadata.sensitivity", Kind::OneOf(RETURNED), R, No, [Reply, Tool], "The classes of data in the message; those that may be, if it does not say."
        => |of| match of.facts.response.and_then(|response| response.sensitivity.as_ref()) {
            Some(sensitivity) => Val::Among(sensitivity_bits(sensitivity)),
            None => declared_sensitivity(of),
        };
    SessionUntrusted: "session.untrusted", BOOL, ALL, Up, [Label], "The session has read text that a stranger may have written."
        => |of| session(of, |_, label| Val::flag(label.untrusted()));
    SessionMalicious: "session.malicious", BOOL, ALL, Up, [Label], "The session has read something that was called malicious."
        => |of| session(of, |_, label| Val::flag(label.malicious()));
    SessionPrivate: "session.private", BOOL, ALL, Up, [Label], "The session has read data of some class."
        => |of| session(of, |_, label| Val::flag(label.private()));
    SessionConfidentiality: "session.confidentiality", LEVEL, ALL, Up, [Label], "The same in another word: `high` once anything private was read."
        => |of| session(of, |_, label| Val::word(label.confidentiality().index()));
    SessionIntegrity: "session.integrity", TRUST, ALL, Down, [Label], "The lowest trust that contributed to the session."
        => |of| session(of, |_, label| Val::word(label.integrity().index()));
    SessionSensitivity: "session.sensitivity", Kind::Set(DataClass::NAMES), ALL, Up, [Label], "The classes of data the session has read."
        => |of| session(of, |_, label| Val::set(label.classes().bits().into()));
    SessionScopes: "session.scopes", SCOPES, ALL, Up, [Label], "The regulations that data in the session is under."
        => |of| session(of, |_, label| texts(label.scopes()));
    "session.ownClasses", SCOPES, ALL, Up, [Label], "The classes of your own that are in the session, such as `com.example.project-x`."
        => |of| session(of, |_, label| texts(label.names()));
    SessionAttribution: "session.attribution", TEXTS, ALL, Up, [Origins], "Who contributed to the session."
        => |of| session(of, |_, label| texts(label.origins()));
    SessionSources: "session.sources", Kind::Set(Source::NAMES), ALL, Up, [Label], "The kinds of source the session has read."
        => |of| session(of, |_, label| Val::set(label.sources().bits().into()));
    SessionWroteExternally: "session.wroteExternally", BOOL, ALL, Up, [Label], "The session has sent something to a public destination."
        => |of| session(of, |_, label| Val::flag(label.wrote_externally()));
    SessionRisk: "session.risk", Kind::Int(0, 100), ALL, Up, [Label], "How much the session has to lose, and how likely it is lost."
        => |of| session(of, |_, label| Val::number(label.risk().into()));
    FlowViolations: "flow.violations", Kind::Set(FlowRule::NAMES), CSL, Up, [Flow, Label], "The flow rules that the action would violate."
        => |of| match of.facts.session_floor {
            None => Val::set(of.flow.bits().into()),
            Some(_) => Val::Set { has: 0, may: of.flow.bits().into() },
        };
    "call.standing", ranked(Standing::NAMES), C, No, [Provenance], "How far the arguments of the call are vouched for: the weakest counts."
        => |of| match of.facts.provenance {
            // A call without arguments leaves nothing to be chosen by somebody else.
            Some(found) => Val::word(found.standing().index()),
            None => Val::Unknown(Because::NotInspected),
        };
    "arguments.sightings", Kind::Set(SightingKind::NAMES), CSR, No, [Detectors], "What the detectors saw in the arguments."
        => |of| sightings(of.facts.argument_sightings);
    "response.sightings", Kind::Set(SightingKind::NAMES), R, No, [Reply, Detectors], "What the detectors saw in the message."
        => |of| response(of, |response| sightings(response.sightings));
}

// === impl Fact ===

impl Fact {
    /// The fact of this path.
    pub fn of(path: &str) -> Option<&'static Self> {
        FACTS.iter().find(|fact| fact.path == path)
    }

    /// Whether it is made of this.
    pub fn depends_on(&self, input: Input) -> bool {
        self.inputs.contains(&input)
    }

    /// Why it can never be known, if something that it is made of is not produced.
    pub fn missing(&self) -> Option<&'static str> {
        self.inputs.iter().find_map(|input| input.missing())
    }
}

impl PartialEq for Fact {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Fact {}

// === impl Facts ===

impl Facts<'_> {
    /// What one fact says of the action. A rule reads it so in the phases that know the fact.
    pub fn value(&self, fact: &Fact, flow: FlowViolations) -> Val<'_> {
        (fact.get)(&View { facts: self, flow })
    }
}

// === reading ===

/// A fact of the session: at its label, or between its floor and its label.
fn session<'a>(of: &View<'a>, read: for<'l> fn(&View<'l>, &'l Label) -> Val<'l>) -> Val<'a> {
    let most = read(of, of.facts.session);
    match of.facts.session_floor {
        None => most,
        Some(floor) => read(of, floor).up_to(most),
    }
}

fn texts(set: &TextSet) -> Val<'_> {
    Val::texts(set.members(), set.is_open())
}

/// An axis that nobody spoke of may have any value, whatever its worst is.
fn possible<T: Word>(of: &View<'_>, axis: Axis, members: Words<T>) -> Val<'static> {
    let declared = of.facts.contract.is_declared(axis);
    Val::Among(if declared { members } else { Words::<T>::all() }.bits().into())
}

/// What a capability reaches. Where nobody whose word may loosen says so it may reach more than is named; where it
/// reaches everything it may reach anything.
fn reach<'a>(of: &View<'a>, capability: Capability) -> Val<'a> {
    let capabilities = of.facts.contract.capabilities();
    let open = capabilities.bound(capability).is_none().then_some(Because::Undeclared);
    match capabilities.requested(capability) {
        None => Val::Unknown(Because::Undeclared),
        Some(Reach::All) => Val::Unknown(Because::SeveralPossible),
        Some(Reach::Nothing) => Val::Texts { members: &[], others: &[], open },
        Some(Reach::Only(names)) => Val::Texts { members: names, others: &[], open },
    }
}

fn declared_sensitivity(of: &View<'_>) -> Val<'static> {
    let declared = of.facts.contract.is_declared(Axis::Returns);
    Val::Among(if declared { sensitivity_bits(of.facts.contract.returns()) } else { every(RETURNED) })
}

/// `none` is the lowest bit, the classes follow. What nobody classified may be of any class.
fn sensitivity_bits(sensitivity: &Sensitivity) -> u64 {
    if sensitivity.classes().contains(DataClass::Unclassified) {
        return every(RETURNED);
    }
    u64::from(sensitivity.classes().bits()) << 1 | u64::from(sensitivity.may_be_none())
}

fn accepted(accepts: &Accepts) -> Val<'static> {
    match accepts {
        Accepts::Unknown => Val::Unknown(Because::Undeclared),
        Accepts::Only(sensitivity) => Val::set(sensitivity_bits(sensitivity) & every(ACCEPTED)),
        Accepts::Any => Val::set(every(ACCEPTED)),
    }
}

/// The scopes are known only where the reply can be nothing but regulated.
fn returned_scopes<'a>(of: &View<'a>) -> Val<'a> {
    let returns = of.facts.contract.returns();
    if !of.facts.contract.is_declared(Axis::Returns) || returns.classes().contains(DataClass::Unclassified) {
        return Val::Unknown(Because::Undeclared);
    }
    let certain = returns.classes() == Words::only(DataClass::Regulated) && !returns.may_be_none();
    if certain || !returns.classes().contains(DataClass::Regulated) {
        return texts(returns.scopes());
    }
    Val::Unknown(Because::SeveralPossible)
}

/// The same of the operator's own classes: a reply that may hold something else may hold none of them.
fn returned_names<'a>(of: &View<'a>) -> Val<'a> {
    let returns = of.facts.contract.returns();
    if !of.facts.contract.is_declared(Axis::Returns) || returns.classes().contains(DataClass::Unclassified) {
        return Val::Unknown(Because::Undeclared);
    }
    let certain = returns.classes() == Words::only(DataClass::Named) && !returns.may_be_none();
    let certain = certain && returns.names().members().len() == 1;
    if certain || !returns.classes().contains(DataClass::Named) {
        return texts(returns.names());
    }
    Val::Unknown(Because::SeveralPossible)
}

/// The name of a tool. Where the action is about none, no test on it holds; where nobody knows it, all may.
fn tool<'a>(of: &View<'a>, name: Option<&'a str>) -> Val<'a> {
    match (name, of.facts.action.kind()) {
        (Some(name), _) => Val::Text(name),
        (
            None,
            ActionKind::ReadResource | ActionKind::Subscribe | ActionKind::GetPrompt | ActionKind::Complete,
        ) => Val::Absent,
        (None, _) => Val::Unknown(Because::Undeclared),
    }
}

fn action(kind: ActionKind) -> Val<'static> {
    match kind {
        ActionKind::CallTool
        | ActionKind::ResolveTool
        | ActionKind::CreateChallenge
        | ActionKind::TaskStep => Val::word(0),
        ActionKind::ReadResource | ActionKind::Subscribe => Val::word(1),
        ActionKind::GetPrompt => Val::word(2),
        ActionKind::Complete => Val::word(3),
        ActionKind::Answer => Val::word(4),
        // Nothing is known of it.
        ActionKind::ExtraMethod => Val::Among(every(ACTIONS)),
    }
}

/// What the action names, if it is of these kinds or a completion of this reference.
fn target<'a>(of: &View<'a>, kinds: &[ActionKind], reference: &str) -> Val<'a> {
    let action = of.facts.action;
    if kinds.contains(&action.kind()) {
        return Val::Text(action.target());
    }
    if action.kind() != ActionKind::Complete {
        return Val::Absent;
    }
    static TYPE: LazyLock<Wanted> =
        LazyLock::new(|| Wanted::of(Pointer::parse("ref/type").as_ref().map(Some)));
    match TYPE.find(action.params()).as_deref() {
        Some([Found::Text(kind)]) if *kind == reference => Val::Text(action.target()),
        Some([Found::Text(_)]) => Val::Absent,
        _ => Val::Unknown(Because::Undeclared),
    }
}

fn response<'a>(of: &View<'a>, read: fn(&'a super::ResponseFacts) -> Val<'a>) -> Val<'a> {
    of.facts.response.map_or(Val::Unknown(Because::OtherPhase), read)
}

fn ask_index(ask: AskKind) -> u32 {
    match ask {
        AskKind::Sample => 0,
        AskKind::ElicitForm => 1,
        AskKind::ElicitUrl => 2,
        AskKind::Roots => 3,
    }
}

fn sightings(seen: Option<Words<SightingKind>>) -> Val<'static> {
    seen.map_or(Val::Unknown(Because::NotInspected), |seen| Val::set(seen.bits().into()))
}

fn every(words: &[&str]) -> u64 {
    u64::MAX >> (64_usize.saturating_sub(words.len()))
}
