//! What one gate or rule found: its name, what follows, why, and what it saw. For people and the audit log; the model
//! is told none of it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use highwater_notation::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::flow::{FlowMode, FlowRule};
use crate::policy::{Effect, Seen, SeenValue, Truth};
use crate::provenance::Lack;

/// The stable dotted name of a gate or rule, as it appears in the audit log and in scenarios.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingId {
    /// `structural.grant`: the virtual server does not hold this upstream.
    Grant,
    /// `structural.token`: the caller's token does not grant this.
    Token,
    /// `structural.intent`: the tool was called through a variant below its class.
    Intent,
    /// `structural.allow-list`: the tool is not on the server's allow-list.
    AllowList,
    /// `structural.quarantine`: nobody has approved the definition, or it is not the one that was approved.
    Quarantine,
    /// `structural.method`: the method is outside MCP and not listed for the server.
    Method,
    /// `structural.approval`: the tool's contract wants a person to look at every call.
    Approval,
    /// `structural.cap`: a number is above what the operator lets pass unseen.
    Cap,
    /// `structural.flow-policy`: the upstream takes no data from some who contributed (SEP-3193).
    FlowPolicy,
    /// `structural.own-files`: the call would change Highwater's own files, or what makes a host ask it.
    OwnFiles,
    /// `structural.conversation`: what was read before a silence would stop it, and nobody has said whether this is a new
    /// conversation.
    Conversation,
    /// `structural.unapproved`: a person was to be asked, and there is no yes.
    Unapproved,
    /// `structural.ask`: the upstream asked something it may not ask.
    Ask,
    /// `structural.reply`: the reply is of a form nobody defined.
    Reply,
    /// `flow.` and the word of a flow gate.
    Flow(FlowRule),
    /// `rule.` and the name of one of the operator's rules.
    Rule(Arc<str>),
}

/// Why a gate spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The virtual server does not hold the upstream, or does not exist.
    UpstreamNotHeld,
    /// Nobody configured the upstream.
    UpstreamUnknown,
    /// The token is over.
    TokenExpired,
    /// The token does not open the virtual server.
    VirtualServerNotGranted,
    /// The token does not reach the server.
    ServerNotGranted,
    /// The token does not reach the tool.
    ToolNotGranted,
    /// The token does not hold the permission that the call needs.
    PermissionNotGranted,
    /// The variant that was used is below the tool's class.
    VariantBelowClass,
    /// The operator's allow-list leaves the tool out.
    ToolNotAllowed,
    /// The operator did not list the method.
    MethodNotListed,
    /// What was approved could not be read.
    PinsUnreadable,
    /// Nobody has approved the server.
    ServerNew,
    /// The server is not the one that was approved.
    ServerChanged,
    /// A person refused the server.
    ServerRejected,
    /// The server's manifest does not count.
    ManifestInvalid,
    /// The definition is not the one that the manifest signs.
    ManifestMismatch,
    /// Nobody has approved the definition.
    DefinitionNew,
    /// The definition is not the one that was approved.
    DefinitionChanged,
    /// A person refused the definition.
    DefinitionRejected,
    /// The contract asks for a person.
    PersonWanted,
    /// The contract asks for a passkey.
    PasskeyWanted,
    /// The upstream itself requires a verified approval.
    VerifiedApprovalRequired,
    /// The upstream itself requires a verified approval, and evidence goes to it that it will verify.
    VerifiedApprovalRelayed,
    /// Somebody contributed to the session from whom the upstream takes no data.
    ContributorNotAccepted,
    /// The client did not declare that it can be asked this.
    NotDeclared,
    /// The question asks for a page that nobody may be sent to.
    PageRefused,
    /// No call is in flight that the question could belong to.
    NoCallInFlight,
    /// The `resultType` is none that this protocol has.
    UnknownResultType,
    /// The session holds data that may not go to this destination.
    NotCleared,
    /// The session holds data that the tool is not built to receive.
    NotAccepted,
    /// The session has read text that a stranger may have written, and the call would act on it.
    UntrustedActs,
    /// The user did not ask for the act, for what destroys, for how far it goes, or for how much.
    ActNotAskedFor,
    /// The user did not ask for somebody or something that the call names.
    ValueNotAskedFor,
    /// The content names addresses, hosts or accounts that the user did not ask for.
    ContentNotAskedFor,
    /// A number is above what the operator lets pass unseen.
    AboveCap,
    /// The call runs or hands on files that were written after strangers' text had been read, and nobody has looked at them.
    DoubtedFiles,
    /// The session has read text that a stranger may have written, and would now get private data.
    UntrustedReads,
    /// The condition of the rule holds.
    Fired,
    /// The condition of the rule may hold; what is unknown counts against the action.
    MayFire,
    /// The person said no.
    Declined,
    /// There is no way to ask a person through this client.
    NobodyToAsk,
    /// The call would change what guards the agent.
    GuardsTheAgent,
    /// What was read before a silence would stop the call.
    ReadBeforeSilence,
}

/// A waiver that lowered a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waived {
    /// What the finding would have done.
    pub instead_of: Effect,
    /// Why somebody thought this right.
    pub reason: Arc<str>,
    /// From when on the waiver is inert.
    pub until: Timestamp,
}

/// What each enforcing mode would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerMode {
    /// In `balanced`.
    pub balanced: Effect,
    /// In `strict`.
    pub strict: Effect,
    /// In `samos`.
    pub samos: Effect,
}

/// What one gate or rule found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which gate or rule.
    pub id: FindingId,
    /// What follows; `allow` for what is only recorded.
    pub effect: Effect,
    /// Why.
    pub reasons: Vec<Reason>,
    /// What it saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saw: Vec<Seen>,
    /// The doubts that it is about, each by its mark and the call that left it: a yes to these is none to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<Arc<str>>,
    /// What the user did not ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Lack>,
    /// What the author of a rule wants people to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// The waiver that lowered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived: Option<Waived>,
    /// In `observe`: what would have followed elsewhere. Of a dry run: what would have followed from the rule itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would: Option<PerMode>,
    /// The rule is a dry run: it is recorded in every mode and enforced in none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

// === impl Finding ===

impl Finding {
    /// A finding with one reason, that nothing else was seen of.
    #[cold]
    pub fn new(id: FindingId, effect: Effect, reason: Reason) -> Self {
        Self {
            id,
            effect,
            reasons: vec![reason],
            saw: Vec::new(),
            about: Vec::new(),
            lacks: Vec::new(),
            message: None,
            waived: None,
            would: None,
            dry_run: false,
        }
    }

    /// A finding that stops the action.
    #[cold]
    pub(super) fn block(id: FindingId, reason: Reason) -> Self {
        Self::new(id, Effect::Block, reason)
    }

    /// The arguments that the user did not ask for, as JSON pointers. Where there are none and something is lacking, it is
    /// the call itself.
    pub fn unasked_arguments(&self) -> impl Iterator<Item = &str> {
        self.lacks.iter().filter_map(|lack| lack.pointer.as_deref())
    }

    /// With a fact that the gate looked at.
    #[cold]
    pub(super) fn saw(mut self, fact: &'static str, value: SeenValue) -> Self {
        let fact = Cow::Borrowed(fact);
        self.saw.push(Seen { fact, test: String::new(), value, truth: Truth::True, because: None });
        self
    }
}

// === impl PerMode ===

impl PerMode {
    /// The same in all of them.
    pub const fn all(effect: Effect) -> Self {
        Self { balanced: effect, strict: effect, samos: effect }
    }

    /// What this mode does; `observe` does nothing.
    pub fn get(self, mode: FlowMode) -> Effect {
        match mode {
            FlowMode::Observe => Effect::Allow,
            FlowMode::Balanced => self.balanced,
            FlowMode::Strict => self.strict,
            FlowMode::Samos => self.samos,
        }
    }

    pub(super) fn set(&mut self, mode: FlowMode, effect: Effect) {
        match mode {
            FlowMode::Observe => {}
            FlowMode::Balanced => self.balanced = effect,
            FlowMode::Strict => self.strict = effect,
            FlowMode::Samos => self.samos = effect,
        }
    }

    /// The stricter of both, in each mode.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            balanced: self.balanced.max(other.balanced),
            strict: self.strict.max(other.strict),
            samos: self.samos.max(other.samos),
        }
    }
}

// === impl FindingId ===

/// The gates of layer L0; those of layer L1 are named in their rows.
const STRUCTURAL: [(&str, FindingId); 14] = [
    ("structural.grant", FindingId::Grant),
    ("structural.token", FindingId::Token),
    ("structural.intent", FindingId::Intent),
    ("structural.allow-list", FindingId::AllowList),
    ("structural.quarantine", FindingId::Quarantine),
    ("structural.method", FindingId::Method),
    ("structural.approval", FindingId::Approval),
    ("structural.cap", FindingId::Cap),
    ("structural.flow-policy", FindingId::FlowPolicy),
    ("structural.own-files", FindingId::OwnFiles),
    ("structural.conversation", FindingId::Conversation),
    ("structural.unapproved", FindingId::Unapproved),
    ("structural.ask", FindingId::Ask),
    ("structural.reply", FindingId::Reply),
];

impl FindingId {
    /// The dotted names of every gate. Rules have names of their own.
    pub fn gates() -> impl Iterator<Item = &'static str> {
        let flow = FlowRule::ALL.iter().map(|rule| rule.finding());
        STRUCTURAL.iter().map(|(name, _)| *name).chain(flow)
    }

    /// The finding of that dotted name.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(rule) = name.strip_prefix("rule.") {
            return Some(Self::Rule(rule.into()));
        }
        let flow = FlowRule::ALL.iter().find(|rule| rule.finding() == name).map(|rule| Self::Flow(*rule));
        let structural = || STRUCTURAL.iter().find(|(known, _)| *known == name).map(|(_, id)| id.clone());
        flow.or_else(structural)
    }

    /// The gate of layer L1, if it is one.
    pub fn flow(&self) -> Option<FlowRule> {
        if let Self::Flow(rule) = self { Some(*rule) } else { None }
    }

    /// Whether this is a gate of layer L0, which nothing waives.
    pub fn is_structural(&self) -> bool {
        !matches!(self, Self::Flow(_) | Self::Rule(_))
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(name) => write!(f, "rule.{name}"),
            Self::Flow(rule) => f.write_str(rule.finding()),
            gate => {
                let name = STRUCTURAL.iter().find(|(_, id)| id == gate).map_or("", |(name, _)| *name);
                f.write_str(name)
            }
        }
    }
}

impl Serialize for FindingId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FindingId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(from)?;
        Self::parse(&name)
            .ok_or_else(|| serde::de::Error::custom(format_args!("no finding is called `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_named_by_its_dotted_name_and_read_back() {
        for name in FindingId::gates().chain(["rule.finance-stays-inside", "rule.a.b"]) {
            let id = FindingId::parse(name).unwrap();
            assert_eq!(id.to_string(), name);
            let json = serde_json::to_string(&id).unwrap();
            assert_eq!(json, format!("{name:?}"));
            assert_eq!(serde_json::from_str::<FindingId>(&json).unwrap(), id);
        }
        assert_eq!(FindingId::parse("structural.nothing"), None);
    }

    #[test]
    fn only_gates_of_layer_l0_are_structural() {
        for name in FindingId::gates() {
            let id = FindingId::parse(name).unwrap();
            assert_eq!(id.is_structural(), name.starts_with("structural."), "{name}");
        }
    }
}
