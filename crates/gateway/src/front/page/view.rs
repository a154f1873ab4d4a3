//! What the page shows of a request, of the inbox and of passkeys: values without behaviour, filled by the desk.

use serde::{Deserialize, Serialize};

/// What a request asks a person for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A button.
    Confirm,
    /// A passkey's signature.
    Passkey,
}

/// Where a request is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Pending,
    /// A person said yes, and the call has not been made yet.
    Approved,
    /// The call was let through.
    Consumed,
    Declined,
    Expired,
}

/// For how long a yes to a question counts, beyond the one call. Never for what needs a passkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RememberScope {
    Session,
    ToolWithTargets,
    UntilDefinitionChanges,
}

/// One request, in full.
#[derive(Clone, Debug)]
pub struct RequestView {
    pub id: String,
    pub kind: Kind,
    pub state: State,
    /// Who is asked.
    pub user: String,
    /// Who else may look at it and sign it.
    pub approvers: Vec<String>,
    /// The tool as the client calls it, with hidden characters made visible.
    pub tool: String,
    pub server: Option<ServerView>,
    /// Made by the renderer of the core; shown to the letter.
    pub display_text: String,
    /// How many characters of it would not have been seen.
    pub hidden: usize,
    pub absent: Vec<AbsentField>,
    pub reasons: Vec<ReasonView>,
    pub labels: Vec<LabelView>,
    pub destination: Option<String>,
    pub caller: String,
    /// The name of the token that the caller shows.
    pub token: String,
    /// What the server says of the tool: what it is, and its words.
    pub server_words: Vec<(String, String)>,
    /// Milliseconds since 1970, as all times here.
    pub created: u64,
    pub expires: u64,
    pub quorum: Option<QuorumView>,
    /// What may be offered to be remembered; nothing where a passkey is needed.
    pub remember: Vec<RememberScope>,
    /// Who decided it, and when.
    pub decided: Option<(String, u64)>,
}

/// The server that the call goes to.
#[derive(Clone, Debug)]
pub struct ServerView {
    pub name: String,
    /// How far it is trusted, in words.
    pub trust: String,
    /// Whether somebody stands for what it declares.
    pub verified: bool,
    /// The command or the address it is reached by.
    pub place: String,
}

/// An optional argument that the call does not have.
#[derive(Clone, Debug)]
pub struct AbsentField {
    pub name: String,
    /// The default that the server declares, as JSON.
    pub default: Option<String>,
}

/// Why a person is asked.
#[derive(Clone, Debug)]
pub struct ReasonView {
    pub rule: String,
    pub words: String,
    /// Whether it stands out, and is therefore said first.
    pub unusual: bool,
}

/// One label of the context, and where it came from.
#[derive(Clone, Debug)]
pub struct LabelView {
    pub label: String,
    pub origins: Vec<String>,
    pub unusual: bool,
}

/// Who has signed where several must.
#[derive(Clone, Debug)]
pub struct QuorumView {
    pub needed: usize,
    pub signed: Vec<(String, u64)>,
    pub waiting: Vec<String>,
}

/// What waits for a person, and what was decided lately.
#[derive(Clone, Debug, Default)]
pub struct InboxView {
    pub pending: Vec<InboxEntry>,
    pub recent: Vec<InboxEntry>,
    pub notices: Vec<Notice>,
}

/// One line of the inbox.
#[derive(Clone, Debug)]
pub struct InboxEntry {
    pub id: String,
    pub tool: String,
    pub server: Option<String>,
    pub caller: String,
    pub kind: Kind,
    pub state: State,
    pub created: u64,
    pub expires: u64,
    pub decided: Option<(String, u64)>,
}

/// Something a person should know, and what they can do about it.
#[derive(Clone, Debug)]
pub struct Notice {
    pub at: u64,
    pub words: String,
    pub act: Option<NoticeAct>,
}

/// What a person can do from the inbox. Each makes things stricter, or undoes a pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum NoticeAct {
    ResumeTool { principal: String, tool: String },
    CancelReset { user: String },
    RevokeMandate { id: String },
    Forget { id: String },
}

/// A passkey.
#[derive(Clone, Debug)]
pub struct CredentialView {
    pub id: String,
    pub user: String,
    pub transports: Vec<String>,
    /// The model of the authenticator, as it says.
    pub aaguid: String,
    pub created: u64,
    pub enrolled_by: String,
    pub standing: Standing,
}

/// Whether a passkey counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It waits for a person to confirm it.
    Dormant,
    Active,
    Revoked,
}

// === impl RequestView ===

impl RequestView {
    /// Whether a person may look at it and sign it.
    pub fn concerns(&self, user: &str) -> bool {
        self.user == user || self.approvers.iter().any(|approver| approver == user)
    }
}

// === impl State ===

impl State {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Consumed => "consumed",
            Self::Declined => "declined",
            Self::Expired => "expired",
        }
    }
}

// === impl RememberScope ===

impl RememberScope {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::ToolWithTargets => "tool-with-targets",
            Self::UntilDefinitionChanges => "until-definition-changes",
        }
    }
}
