//! Everything a gate or a rule can see of one action.

use std::sync::LazyLock;

use highwater_notation::{Arguments, Parameters, Timestamp, Words, vocabulary};

use super::kind::Phase;
use crate::action::{Action, ActionKind};
use crate::annotation::{CallVariant, Caps, Contract, Possible, Sensitivity, Source};
use crate::approval::RelayedApproval;
use crate::decide::AskKind;
use crate::grant::{Grant, Permission, required};
use crate::id::{DecisionId, Principal, VirtualServerId};
use crate::label::{Label, TextSet};
use crate::pin::Hold;
use crate::profile::{LocalAct, Named};
use crate::provenance::CallProvenance;
use crate::session::Contributors;
use crate::session::Doubt;
use crate::trust::ServerTrust;

/// What is known of one action when it is judged. Made with [`Facts::of`], which knows the worst of everything
/// that is not said.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The name this decision will have everywhere.
    pub decision: &'a DecisionId,
    /// Who asks.
    pub principal: &'a Principal,
    /// What the token of whoever asks grants.
    pub grant: &'a Grant,
    /// The variant through which a tool is called; `None` where it is called by its own name, or is no tool.
    pub variant: Option<CallVariant>,
    /// Of a step or an answer, the class of the call it belongs to; otherwise the contract says.
    pub class: Option<CallVariant>,
    /// Through which virtual server.
    pub virtual_server: &'a VirtualServerId,
    /// What is asked.
    pub action: &'a Action,
    /// The tool as the client calls it; `None` where there is none or nobody knows it.
    pub tool_id: Option<&'a str>,
    /// The tool as its server calls it, likewise.
    pub tool_name: Option<&'a str>,
    /// Whether a person has seen the tool's definition.
    pub tool_status: ToolStatus,
    /// Why what is asked for may not be used until a person has looked at it; `None` if it may.
    pub hold: Option<Hold>,
    /// All that is known of the tool, resource or prompt.
    pub contract: &'a Contract,
    /// What is known of the server.
    pub server: &'a ServerFacts,
    /// What the session has taken in, or the most it may have.
    pub session: &'a Label,
    /// Where `session` is the most that it may have taken in: what it certainly has.
    pub session_floor: Option<&'a Label>,
    /// Whether what was read before a silence would stop it, and nobody has said whether this is a new conversation.
    pub unsettled: bool,
    /// What the client itself says of its context.
    pub request: &'a RequestFacts,
    /// The arguments.
    pub arguments: Arguments<'a>,
    /// Whether what it changes stays on this machine and can be undone.
    pub local_act: LocalAct,
    /// What it names, as far as that decides the former.
    pub named: Named,
    /// Whether it runs an SQL text that certainly only reads.
    pub reads_by_sql: bool,
    /// The doubts about files that it runs or hands on.
    pub doubts: &'a [Doubt],
    /// Where its arguments come from; `None` where nobody found it out, and then the label alone is judged.
    pub provenance: Option<&'a CallProvenance>,
    /// The numbers above which the operator wants a person to look.
    pub caps: &'a Caps,
    /// Which arguments the tool or prompt declares; `None` where nobody knows, and then it may take any.
    pub parameters: Option<&'a Parameters>,
    /// Evidence that is passed on to the server, which demands a verified approval and verifies it itself.
    pub relayed: Option<&'a RelayedApproval>,
    /// What detectors saw in the arguments; `None` where nobody looked.
    pub argument_sightings: Option<Words<SightingKind>>,
    /// What is known of the upstream's message, once there is one.
    pub response: Option<&'a ResponseFacts>,
    /// The time.
    pub now: Timestamp,
}

/// What is known of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// What the operator says of it.
    pub trust: ServerTrust,
    /// How we talk to it; `None` where that is not known.
    pub transport: Option<ServerTransport>,
    /// Whether its process is confined by us.
    pub sandboxed: bool,
    /// What became of its manifest.
    pub manifest: ManifestState,
}

/// What the client says of its own context. It can only add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// The context holds open-world content.
    pub open_world: bool,
    /// Who contributed to it.
    pub attribution: TextSet,
    /// Who contributed to it, in the words of SEP-3193.
    pub contributors: Option<Contributors>,
}

/// What is known of an upstream's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseFacts {
    /// The server says, or we saw, that it holds open-world content.
    pub open_world: bool,
    /// The server says, or we saw, that it is malicious.
    pub malicious: bool,
    /// Who contributed.
    pub attribution: TextSet,
    /// Where it comes from, if it says so.
    pub source: Option<Possible<Source>>,
    /// What it holds, if it says so.
    pub sensitivity: Option<Sensitivity>,
    /// What detectors saw in it; `None` where nobody looked.
    pub sightings: Option<Words<SightingKind>>,
    /// What is asked, if the message is a question.
    pub ask: Option<AskKind>,
}

vocabulary! {
    /// Whether a person has seen a tool's definition.
    ToolStatus {
        /// Seen and approved.
        Approved = "approved",
        /// Not seen yet.
        Pending = "pending",
        /// Changed since it was approved.
        Changed = "changed",
        /// Refused.
        Blocked = "blocked",
    }
}

vocabulary! {
    /// How we talk to a server.
    ServerTransport {
        /// A child process.
        Stdio = "stdio",
        /// Streamable HTTP.
        Http = "http",
        /// HTTP with a separate event stream, as servers of 2024 do.
        Sse = "sse",
    }
}

vocabulary! {
    /// What became of a server's manifest.
    ManifestState {
        /// Signed by whom it should be, and kept to.
        Verified = "verified",
        /// Signed, but the server does something else.
        Mismatch = "mismatch",
        /// Not signed as it should be.
        Invalid = "invalid",
        /// There is one and nobody checked it.
        Unchecked = "unchecked",
        /// There is none.
        Absent = "absent",
    }
}

vocabulary! {
    /// What a detector saw in a text.
    SightingKind {
        /// Text that gives the model instructions.
        Injection = "injection",
        /// Text that people do not see.
        HiddenText = "hidden_text",
        /// A secret.
        Secret = "secret",
        /// Personal data.
        Pii = "pii",
        /// A URL made to carry data out.
        ExfilUrl = "exfil_url",
    }
}

/// The method by which a client asks which resources there are.
const LIST_OF_RESOURCES: &str = "resources/list";

static WORST_CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::unknown);
static NO_CAPS: Caps = Caps::NONE;
static TOP: Label = Label::top();
static NO_PARAMETERS: LazyLock<Parameters> = LazyLock::new(Parameters::default);
static SAYS_NOTHING: RequestFacts =
    RequestFacts { open_world: false, attribution: TextSet::EMPTY, contributors: None };
static UNKNOWN_SERVER: LazyLock<ServerFacts> = LazyLock::new(|| ServerFacts {
    trust: ServerTrust::default(),
    transport: None,
    sandboxed: false,
    manifest: ManifestState::Absent,
});

// === impl Facts ===

impl<'a> Facts<'a> {
    /// The action alone, and the worst of everything else.
    pub fn of(
        decision: &'a DecisionId,
        principal: &'a Principal,
        virtual_server: &'a VirtualServerId,
        action: &'a Action,
    ) -> Self {
        let has_arguments = !matches!(action.kind(), ActionKind::ReadResource | ActionKind::Subscribe);
        let names_tool = matches!(
            action.kind(),
            ActionKind::CallTool | ActionKind::ResolveTool | ActionKind::CreateChallenge
        );
        Self {
            decision,
            principal,
            grant: Grant::nothing(),
            variant: None,
            class: None,
            virtual_server,
            action,
            tool_id: None,
            tool_name: names_tool.then(|| &**action.target()),
            tool_status: ToolStatus::Pending,
            hold: None,
            contract: &WORST_CONTRACT,
            server: &UNKNOWN_SERVER,
            session: &TOP,
            session_floor: None,
            unsettled: false,
            request: &SAYS_NOTHING,
            arguments: Arguments::Unknown,
            local_act: LocalAct::No,
            named: Named::Nothing,
            reads_by_sql: false,
            doubts: &[],
            provenance: None,
            caps: &NO_CAPS,
            parameters: if has_arguments { None } else { Some(&*NO_PARAMETERS) },
            relayed: None,
            argument_sightings: None,
            response: None,
            now: Timestamp(0),
        }
    }

    /// The same action under another label.
    #[must_use]
    pub fn under(self, session: &'a Label) -> Self {
        Self { session, session_floor: None, ..self }
    }

    /// The same action, if the session had taken in anything at all besides: the second of the two judgements
    /// that spare most calls a read of the store.
    #[must_use]
    pub fn at_worst(self) -> Self {
        Self { session: &TOP, session_floor: Some(self.session_floor.unwrap_or(self.session)), ..self }
    }

    /// Where its arguments come from, in a conversation that tells the user's words. In any other nothing vouches for
    /// anything, and what was found out does not count.
    pub fn by_words(&self) -> Option<&'a CallProvenance> {
        self.provenance.filter(|provenance| provenance.has_words)
    }

    /// The class of the call that this is or belongs to.
    pub fn class(&self) -> CallVariant {
        self.class.unwrap_or_else(|| self.contract.variant())
    }

    /// The permission that the action needs.
    pub fn required(&self) -> Permission {
        required(self.action.kind(), self.variant, self.class())
    }

    /// The permission that the action needs and its caller was not granted.
    pub fn missing(&self) -> Option<Permission> {
        let required = self.required();
        (!self.grant.permits(required)).then_some(required)
    }

    /// Which rules are asked before the action is forwarded.
    pub fn phase(&self) -> Phase {
        match self.action.kind() {
            // A list is judged as a read of what it names, and is none: who asks about reads does not ask about lists.
            ActionKind::ReadResource if &**self.action.method() == LIST_OF_RESOURCES => Phase::List,
            ActionKind::ReadResource
            | ActionKind::Subscribe
            | ActionKind::GetPrompt
            | ActionKind::Complete => Phase::Resource,
            ActionKind::CallTool
            | ActionKind::ResolveTool
            | ActionKind::CreateChallenge
            | ActionKind::TaskStep
            | ActionKind::Answer
            | ActionKind::ExtraMethod => Phase::Call,
        }
    }
}

// === impl ServerFacts ===

impl Default for ServerFacts {
    fn default() -> Self {
        *UNKNOWN_SERVER
    }
}
