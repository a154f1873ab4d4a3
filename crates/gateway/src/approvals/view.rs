//! What people are shown: requests, the inbox, passkeys, mandates. Everything in it is made of our own state; what a
//! server wrote stands apart and says so.

use highwater_core::approval::AuthenticatorClass;
use highwater_core::id::{ApprovalId, UserId};
use highwater_notation::Timestamp;
use serde::{Deserialize, Serialize};

/// What a request asks of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// A button.
    Confirm,
    /// A passkey's signature.
    Passkey,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// Somebody must look at it.
    Pending,
    /// Somebody agreed; the call has not been made.
    Approved,
    /// The call was made.
    Consumed,
    /// Somebody said no.
    Declined,
    /// Its time is over.
    Expired,
}

/// A request with everything that the page shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestView {
    /// Its id.
    pub id: ApprovalId,
    /// What it asks for.
    pub kind: RequestKind,
    /// Where it stands.
    pub state: ApprovalState,
    /// Where it is answered.
    pub url: String,
    /// Who is asked.
    pub user: UserId,
    /// The agent that wants it, by the name of its token.
    pub principal: String,
    /// The client as it calls itself.
    pub caller: String,
    /// The tool as the client calls it, or an action of our own.
    pub tool: String,
    /// The server it goes to.
    pub server: Option<String>,
    /// What will be done, to be shown verbatim as text; depends on nothing but tool and canonical arguments.
    pub display_text: String,
    /// How many characters in it were made visible.
    pub hidden: usize,
    /// How many words in it are written in letters of several scripts that look alike.
    #[serde(default)]
    pub mixed: usize,
    /// The canonical arguments; an empty text where they were sensitive and are not kept.
    pub arguments: String,
    /// When it was asked.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// When somebody answered.
    pub decided: Option<Timestamp>,
    /// Who answered.
    pub decided_by: Option<String>,
    /// Whose answers are needed.
    pub need: NeedView,
    /// For how long an answer may be remembered; nothing for a passkey.
    pub remember: Vec<RememberScope>,
    /// Everything else that is known.
    #[serde(flatten)]
    pub context: ContextView,
}

/// What the gateway knows around a call. It is kept with the request as it was when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextView {
    /// What the operator says that the call does: a sentence with the names of arguments in braces.
    pub display: Option<String>,
    /// The arguments that the tool declares, in its order.
    pub fields: Vec<FieldView>,
    /// Whether what is signed is a wrapping, and the tool's own arguments are its member `arguments`.
    pub wrapped: bool,
    /// Whether what it does can be undone.
    pub undo: Undo,
    /// Which values of the call are not in the user's request, and where they come from.
    pub values: Vec<String>,
    /// What the server listed under the ids that the call names. To be shown as the server's words.
    pub listed: Vec<ListedView>,
    /// Which rules ask, and why; what is unusual first.
    pub asks: Vec<AskView>,
    /// What the session has taken in, in words.
    pub labels: Vec<String>,
    /// Where that comes from.
    pub origins: Vec<OriginView>,
    /// Where the call sends what it is given, in a sentence.
    pub destination: Option<String>,
    /// How far the server is trusted.
    pub trust: Option<String>,
    /// Optional arguments that are absent, with the defaults that the tool's schema declares for them.
    pub absent: Vec<AbsentView>,
    /// Text of the server. To be shown under a heading that says so.
    pub server_says: Option<ServerSays>,
    /// The decision that led here, for `highwater explain`.
    pub decision: Option<String>,
    /// The agent session.
    pub session: Option<String>,
    /// What must be the same for the answer to be remembered; nothing where it may not be.
    pub rememberable: Option<super::scope::Rememberable>,
    /// The conversation that the session stands for.
    pub conversation: Option<ConversationView>,
}

/// An argument that a tool declares. The words are its server's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FieldView {
    /// Its name.
    pub name: String,
    /// What the server calls it.
    pub title: Option<String>,
    /// What the server says of it.
    pub description: Option<String>,
}

/// Something that a call names by its id, as its server listed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListedView {
    /// The argument that names it.
    pub argument: String,
    /// What the server calls it.
    pub name: String,
    /// The tool in whose reply it was listed, as the client calls it.
    pub tool: Option<String>,
}

/// Whether what a call does can be undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// Nobody says that it cannot.
    #[default]
    Unsaid,
    /// It may be that it cannot.
    Doubtful,
    /// It cannot.
    Impossible,
}

/// The conversation that a call belongs to, and whether a person may say that it is a new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView {
    /// What its key rests on, in words.
    pub rests_on: String,
    /// The session, as people name it.
    pub key: String,
    /// The epoch in which it was asked.
    pub epoch: u64,
    /// By which way the request came, if the conversation is presumed: then a person may say that it is new.
    pub way: Option<String>,
    /// Where a host opened it, while nobody has said that it is theirs: then a person may say so.
    #[serde(default)]
    pub opened: Option<OpenedView>,
    /// What was read before a silence, while nobody has said whether this is still that conversation.
    pub earlier: Option<EarlierView>,
    /// How much that matters to the call.
    pub matters: EarlierMatters,
}

/// Where and when a host opened a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedView {
    /// The host, as people know it.
    pub host: String,
    /// The folder in which it works.
    pub folder: Option<String>,
    /// When it was opened.
    pub at: Timestamp,
}

/// What was read before a silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlierView {
    /// In words.
    pub labels: Vec<String>,
    /// Where it came from.
    pub origins: Vec<String>,
    /// When that began.
    pub since: Timestamp,
    /// When the last of it was used.
    pub until: Timestamp,
}

/// How much what was read before a silence matters to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EarlierMatters {
    /// Nothing was, or the question would be the same without it.
    No,
    /// It is why a person is asked, or is asked more.
    Asks,
    /// With it the call is refused, so a person is asked about the conversation alone.
    Blocks,
}

/// One reason to ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskView {
    /// The name of the rule or gate.
    pub rule: String,
    /// A sentence.
    pub says: String,
}

/// Where something in the session comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OriginView {
    /// The origin.
    pub origin: String,
    /// Whether a server that the operator verified says so.
    pub vouched: bool,
}

/// An argument that could be there and is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbsentView {
    /// Its name.
    pub name: String,
    /// What the schema says it then is, as JSON text.
    pub default: Option<String>,
}

/// What a server wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerSays {
    /// The title of the tool.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// What a server that asks for approval itself says of the call.
    pub display_text: Option<String>,
}

/// Whose answers a request needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NeedView {
    /// Which passkeys count.
    pub class: AuthenticatorClass,
    /// How many people.
    pub n: usize,
    /// Whose signatures count; empty where it is the asked person's alone.
    pub approvers: Vec<UserId>,
    /// Who has signed.
    pub signed: Vec<UserId>,
}

/// For how long an answer counts. `once` is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RememberScope {
    /// For pages of this host without a query, until the conversation ends.
    Host,
    /// For this tool with files below this folder, until the conversation ends.
    Folder,
    /// For this tool with each of the things that its server listed, until the user says something new.
    Listed,
    /// For this tool with these target arguments, until the conversation ends.
    Session,
    /// For this tool with these target arguments, for a month.
    ToolWithTargets,
    /// For this tool with these target arguments, until its definition changes.
    UntilDefinitionChanges,
}

// === impl RememberScope ===

impl RememberScope {
    /// As it is written on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Folder => "folder",
            Self::Listed => "listed",
            Self::Session => "session",
            Self::ToolWithTargets => "tool-with-targets",
            Self::UntilDefinitionChanges => "until-definition-changes",
        }
    }

    /// Whether it ends with the conversation at the latest.
    pub const fn ends_with_conversation(self) -> bool {
        match self {
            Self::Host | Self::Folder | Self::Listed | Self::Session => true,
            Self::ToolWithTargets | Self::UntilDefinitionChanges => false,
        }
    }
}

/// Everything that people should hear of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxView {
    /// What waits for an answer, newest last.
    pub pending: Vec<RequestView>,
    /// What was answered or ended lately, newest first.
    pub recent: Vec<RequestView>,
    /// Every passkey.
    pub credentials: Vec<CredentialView>,
    /// Open enrollments.
    pub windows: Vec<WindowView>,
    /// Mandates that count.
    pub mandates: Vec<MandateView>,
    /// Answers that are remembered.
    pub remembered: Vec<RememberedView>,
    /// Tools that are paused after several declines.
    pub paused: Vec<PausedView>,
    /// Resets under way.
    pub resets: Vec<ResetView>,
}

/// A passkey as people see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialView {
    /// Its id, base64url.
    pub id: String,
    /// What its owner calls it, or else what it is and the day on which it was made.
    #[serde(default)]
    pub name: String,
    /// Whose it is.
    pub user: UserId,
    /// `dormant`, `active` or `revoked`.
    pub standing: String,
    /// How it can be reached, as the client said.
    pub transports: Vec<String>,
    /// The make of the authenticator, as it says.
    pub aaguid: String,
    /// Who vouches for the authenticator, where somebody who is listed does.
    #[serde(default)]
    pub attested_by: Option<String>,
    /// The algorithm.
    pub algorithm: String,
    /// Whether it may be copied to other devices.
    pub backup_eligible: bool,
    /// When it was registered.
    pub created: Timestamp,
    /// Who registered it.
    pub enrolled_by: String,
    /// When a person confirmed it.
    pub confirmed: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// An open enrollment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowView {
    /// For whom.
    pub user: UserId,
    /// Who opened it.
    pub opened_by: String,
    /// Until when.
    pub expires: Timestamp,
    /// Whether the first passkey is confirmed by a code; else by an existing passkey.
    pub by_code: bool,
}

/// What opening an enrollment gives to whoever opened it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowOpened {
    /// For whom.
    pub user: UserId,
    /// The one-time code; none where an existing passkey confirms.
    pub code: Option<String>,
    /// The page to open.
    pub url: String,
    /// The same for a browser that the program opens itself, where the page types the code; said on the local socket alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<String>,
    /// Until when.
    pub expires: Timestamp,
    /// How many passkeys of this person count already.
    #[serde(default)]
    pub passkeys: usize,
}

// === impl CredentialView ===

impl CredentialView {
    /// Whether it approves anything.
    pub fn counts(&self) -> bool {
        self.standing == "active"
    }
}

/// A mandate as people see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MandateView {
    /// Its id.
    pub id: String,
    /// Who signed it.
    pub user: UserId,
    /// What was signed, as JSON text.
    pub terms: String,
    /// How many calls are left.
    pub remaining: u64,
    /// Until when.
    pub expires: Timestamp,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// A remembered answer as people see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RememberedView {
    /// Its id.
    pub id: String,
    /// Whose answer.
    pub user: UserId,
    /// For which agent.
    pub principal: String,
    /// For which tool.
    pub tool: String,
    /// Until when.
    pub until: Timestamp,
}

/// A tool that nobody is asked about any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PausedView {
    /// For which agent.
    pub principal: String,
    /// Which tool.
    pub tool: String,
}

/// A reset under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResetView {
    /// Whose passkeys.
    pub user: UserId,
    /// Who asked for it.
    pub begun_by: String,
    /// When it takes effect.
    pub due: Timestamp,
}
