//! The first line each side writes on the socket: what the visitor wants, and whether it gets it.
//!
//! ```text
//! > {"highwater":1,"virtual_server":"coding"}       join as a client; then MCP, one message a line
//! > {"highwater":1,"ask":"servers"}                 ask something and leave
//! > {"highwater":1,"ask":{"session":{"key":"…"}}}   the same with something to say
//! > {"highwater":1,"hook":{…,"bytes":812}}          tell an event of a host, which follows in so many bytes
//! < {"highwater":1}                                 welcome
//! < {"highwater":1,"answer":[…]}                    the answer
//! < {"highwater":1,"refused":"…"}                   no, and why
//! ```
//!
//! A line that ends before it is answered means that the gateway was about to stop: nothing was lost, ask again.

use highwater_core::id::{Principal, SessionKey, UpstreamId};
use highwater_core::pin::PinDigest;
use highwater_core::profile::Profile;
use highwater_gateway::MarkChoice;
use highwater_pins::PinKey;
use highwater_store::TokenTerms;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of these lines.
pub(crate) const VERSION: u32 = 1;

/// Longer first lines come from something else than us.
pub(crate) const LONGEST_HELLO: usize = 64 * 1024;

/// What the visitor writes first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The version of these lines; see [`VERSION`].
    pub(crate) highwater: u32,
    /// The virtual server to join; the default one if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) virtual_server: Option<String>,
    /// The secret of the token to join with; everything is granted if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// What to answer in place of joining.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask: Option<Ask>,
    /// What a host tells in place of joining.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hook: Option<HookHello>,
}

/// An event of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HookHello {
    /// The host by its name on our command line.
    pub(crate) host: String,
    /// The event for which the hook was installed.
    pub(crate) event: String,
    /// The name under which the host knows us as an MCP server.
    pub(crate) server: String,
    /// How many bytes of the host's own JSON follow.
    pub(crate) bytes: usize,
}

/// What a hook is to answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "verdict", content = "reason")]
pub(crate) enum HookReply {
    /// Nothing.
    Pass,
    /// The user need not be asked.
    Allow,
    /// The user decides.
    Ask(String),
    /// It is not run.
    Refuse(String),
}

/// What can be asked.
///
/// Whoever opens the socket is the user who owns the data directory, as is whoever can read the operator's token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// How the servers are.
    Servers,
    /// How the gateway is as a whole.
    Overview,
    /// Which hosts have told of themselves through hooks.
    Hooks,
    /// Which events of a made-up conversation came.
    MadeUpHooks {
        /// Of which.
        conversation: String,
    },
    /// Which agent sessions there are.
    Sessions {
        /// Only those of this agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        principal: Option<Principal>,
    },
    /// How one session is, with its history.
    Session {
        /// Which.
        key: SessionKey,
    },
    /// Take a session's label down.
    Reset {
        /// Which.
        key: SessionKey,
        /// The epoch that the person looked at.
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
        /// Who.
        person: String,
        /// Why.
        reason: String,
    },
    /// Which marks there are on what agents wrote.
    Marks {
        /// Which of them.
        choice: MarkChoice,
    },
    /// Take marks off.
    ClearMarks {
        /// Which.
        choice: MarkChoice,
        /// Who.
        person: String,
        /// Why.
        reason: String,
    },
    /// Which tokens there are.
    Tokens,
    /// Make a token.
    CreateToken {
        /// Its name.
        name: String,
        /// What it grants; nothing if the configuration says it.
        #[serde(skip_serializing_if = "Option::is_none")]
        terms: Option<Box<TokenTerms>>,
        /// Who makes it.
        person: String,
    },
    /// Give a token another secret.
    RotateToken {
        /// Which.
        name: String,
        /// Who.
        person: String,
    },
    /// End a token.
    RevokeToken {
        /// Which.
        name: String,
        /// Who.
        person: String,
    },
    /// What a server says of itself, beside what was approved.
    Review {
        /// Which.
        server: UpstreamId,
    },
    /// Approve or refuse what a server says of itself.
    Decide(Decide),
    /// Keep what a server is, or take it back.
    Describe {
        /// Which.
        server: UpstreamId,
        /// What it is; nothing takes back what was said.
        profile: Option<Profile>,
        /// Who.
        person: String,
        /// Why.
        reason: String,
    },
    /// What a server lists, for whoever signs it.
    Offer {
        /// Which.
        server: UpstreamId,
    },
    /// Something about approvals.
    Approvals(ApprovalQuery),
    /// Make a context.
    NewContext {
        /// Who.
        person: String,
        /// What for.
        note: String,
        /// What it holds from the beginning, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        label: Vec<String>,
    },
    /// Say that a conversation of a host is one's own.
    OwnConversation {
        /// Which.
        key: SessionKey,
        /// Who says so.
        person: String,
        /// Why.
        note: String,
    },
    /// Begin a new conversation of an agent.
    NewConversation {
        /// Whose.
        principal: Principal,
        /// Who says so.
        person: String,
        /// Why.
        note: String,
        /// What it holds from the beginning, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        label: Vec<String>,
    },
}

/// What can be asked about approvals. Nothing of it approves anything.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ApprovalQuery {
    /// Which calls wait for a person.
    Requests {
        /// Also those that do not wait any more.
        all: bool,
    },
    /// One of them.
    Request {
        /// Which.
        id: String,
    },
    /// Say no.
    Deny {
        /// To which.
        id: String,
        /// Who.
        person: String,
    },
    /// Open an enrollment.
    Enroll {
        /// For whom.
        user: String,
        /// Who.
        person: String,
    },
    /// Which passkeys there are.
    Credentials,
    /// Take a passkey back.
    RevokeCredential {
        /// Which.
        id: String,
        /// Who.
        person: String,
        /// Why.
        reason: String,
    },
    /// Name a passkey.
    RenameCredential {
        /// Which.
        id: String,
        /// What it is to be called.
        name: String,
        /// Who.
        person: String,
    },
    /// The address of a page for a browser that this program opens, which is signed in there.
    SignedIn {
        /// The address.
        url: String,
    },
    /// Which mandates there are.
    Mandates,
    /// End a mandate.
    RevokeMandate {
        /// Which.
        id: String,
        /// Who.
        person: String,
    },
    /// Begin to start over.
    BeginReset {
        /// For whom.
        user: String,
        /// Who.
        person: String,
    },
    /// Finish starting over.
    CompleteReset {
        /// For whom.
        user: String,
        /// Who.
        person: String,
    },
    /// Where the page is, and the key that receipts are signed with.
    Page,
    /// Receipts, from a place of the chain on.
    Receipts {
        /// The first place.
        from: u64,
        /// How many.
        most: u32,
    },
    /// One receipt.
    Receipt {
        /// Which.
        id: String,
    },
    /// What was enrolled, for whoever checks receipts.
    Enrollments,
}

/// What a person decides about a server's definitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Decide {
    /// Which server.
    pub(crate) server: UpstreamId,
    /// Whether it may be used.
    pub(crate) approve: bool,
    /// Of an approval: whether what is claimed is believed.
    #[serde(default)]
    pub(crate) believe: bool,
    /// The whole server, as the person saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<PinDigest>,
    /// Or some of it, each as the person saw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<(PinKey, PinDigest)>,
    /// Who.
    pub(crate) person: String,
    /// Why.
    pub(crate) reason: String,
}

/// What the gateway writes first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Welcome {
    /// The version of these lines; see [`VERSION`].
    pub(crate) highwater: u32,
    /// Why the visitor does not get what it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// The answer to what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Box<RawValue>>,
}

// === impl Hello ===

impl Hello {
    pub(crate) fn join(virtual_server: Option<String>, token: Option<String>) -> Self {
        Self { highwater: VERSION, virtual_server, token, ..Self::default() }
    }

    pub(crate) fn hook(hook: HookHello) -> Self {
        Self { highwater: VERSION, hook: Some(hook), ..Self::default() }
    }

    pub(crate) fn ask(ask: Ask) -> Self {
        Self { highwater: VERSION, ask: Some(ask), ..Self::default() }
    }
}

// === impl Welcome ===

impl Welcome {
    pub(crate) fn in_peace() -> Self {
        Self { highwater: VERSION, ..Self::default() }
    }

    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self { highwater: VERSION, refused: Some(why.into()), answer: None }
    }

    pub(crate) fn answer(answer: &impl Serialize) -> serde_json::Result<Self> {
        let answer = serde_json::value::to_raw_value(answer)?;
        Ok(Self { highwater: VERSION, refused: None, answer: Some(answer) })
    }
}

/// A first line, with its end.
pub(crate) fn line(first: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(first)?;
    line.push(b'\n');
    Ok(line)
}
