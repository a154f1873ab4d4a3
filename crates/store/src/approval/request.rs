//! Requests: what waits for a person, and what became of it.

use highwater_core::approval::{AuthenticatorClass, ChallengeRecord, GRANT_LIFETIME_MS, Quorum};
use highwater_core::decide::{Effect, QuestionDigest};
use highwater_core::id::{ApprovalId, Principal, SessionKey, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::{ActionHash, ToolName};

use crate::StoreError;

/// How many challenges may be issued for one request.
pub(crate) const MOST_CHALLENGES: u32 = 10;

/// One call, or one act of our own, that a person must look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// Its id.
    pub id: ApprovalId,
    /// What it takes: [`Effect::Confirm`] a button, [`Effect::Passkey`] a signature.
    pub kind: Effect,
    /// Whose answer is wanted; with a quorum, who asks.
    pub user: UserId,
    /// Whose call it is.
    pub principal: Principal,
    /// In which session.
    pub session: SessionKey,
    /// The client, as it calls itself.
    pub caller: String,
    /// The tool, as the client calls it.
    pub tool: ToolName,
    /// The server it is of.
    pub upstream: Option<UpstreamId>,
    /// The definition of the tool as it is shown.
    pub definition: Option<PinDigest>,
    /// The arguments.
    pub arguments: CanonicalArguments,
    /// The hash of the action.
    pub action: ActionHash,
    /// What the page shows, as JSON.
    pub shown: Box<str>,
    /// Which findings the person is told of, as JSON.
    pub told: Box<str>,
    /// The question that is asked.
    pub question: QuestionDigest,
    /// Whose signature is enough.
    pub need: Need,
    /// Whether its arguments are cleared from the store once nobody needs them.
    pub sensitive: bool,
    /// Whether they were: arguments and action mean nothing then.
    pub cleared: bool,
    /// Where it stands.
    pub state: RequestState,
    /// When it was made.
    pub created: Timestamp,
    /// Until when it can be answered.
    pub expires: Timestamp,
    /// When it was answered, or ended.
    pub decided: Option<Timestamp>,
    /// Who answered.
    pub decided_by: Option<String>,
}

/// Whose signature is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Which credentials the tool accepts.
    pub class: AuthenticatorClass,
    /// How many of whom; `None` means the one whose answer is wanted.
    pub quorum: Option<Quorum>,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestState {
    /// It waits.
    Pending,
    /// Somebody said yes: it is a grant, for one call.
    Approved,
    /// A call rests on it.
    Consumed,
    /// Somebody said no.
    Declined,
    /// Its time ran out, before an answer or before a call.
    Expired,
}

/// How much one principal may ask (limits against training a person to say yes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskLimits {
    /// How many requests may wait at once.
    pub pending: u32,
    /// How long a no stands for the same action, in milliseconds.
    pub decline_memory_ms: u64,
    /// After how many noes in a row a tool is paused.
    pub pause_after: u32,
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A new request waits.
    New(ApprovalRequest),
    /// The same action waits already; this is its request.
    Joined(ApprovalRequest),
    /// Somebody said yes to the same action, and no call rests on it yet.
    Granted(ApprovalRequest),
    /// Somebody said no to the same action.
    Declined {
        /// Until when it is not asked again.
        until: Timestamp,
    },
    /// Too many wait.
    TooMany,
    /// The tool is paused for this principal until a person resumes it.
    Paused,
    /// All passkeys of the person are being reset.
    Resetting,
}

/// What came of storing a challenge.
#[derive(Clone, Debug)]
pub enum Put {
    /// It is there, with the times of the store's clock.
    Done(Box<ChallengeRecord>),
    /// Its request has had too many, or waits no more.
    TooMany,
    /// All passkeys of the person are being reset, and they sign nothing but that it is stopped.
    Resetting,
}

/// Which requests to list. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct RequestFilter {
    /// Of this person.
    pub user: Option<UserId>,
    /// Of this principal.
    pub principal: Option<Principal>,
    /// In this state.
    pub state: Option<RequestState>,
}

/// A tool that was declined too often in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedTool {
    /// For whom.
    pub principal: Principal,
    /// Which.
    pub tool: ToolName,
    /// How often.
    pub declines: u32,
    /// When last.
    pub since: Timestamp,
}

// === impl ApprovalRequest ===

impl ApprovalRequest {
    /// Where it stands at this time, whether or not somebody has written it down.
    pub(crate) fn state_at(state: RequestState, expires: i64, decided: i64, now: i64) -> RequestState {
        let over = match state {
            RequestState::Pending => expires <= now,
            RequestState::Approved => decided <= granted_since(now),
            RequestState::Consumed | RequestState::Declined | RequestState::Expired => false,
        };
        if over { RequestState::Expired } else { state }
    }

    /// The quorum it takes; without one of its own, the person whose answer is wanted.
    pub(crate) fn quorum(user: &UserId, need: &Need) -> Quorum {
        need.quorum.clone().unwrap_or_else(|| Quorum {
            n: 1,
            approvers: [user.clone()].into(),
            requester_counts: true,
        })
    }
}

/// What was granted at this time or before is over.
pub(crate) fn granted_since(now: i64) -> i64 {
    now.saturating_sub(i64::try_from(GRANT_LIFETIME_MS).unwrap_or(i64::MAX))
}

// === impl RequestState ===

impl RequestState {
    const ALL: [Self; 5] = [Self::Pending, Self::Approved, Self::Consumed, Self::Declined, Self::Expired];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Consumed => "consumed",
            Self::Declined => "declined",
            Self::Expired => "expired",
        }
    }

    pub(crate) fn from_word(word: &str) -> Result<Self, StoreError> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or(StoreError::Foreign { what: "a request in an unknown state" })
    }
}

// === impl AskLimits ===

impl Default for AskLimits {
    fn default() -> Self {
        Self { pending: 5, decline_memory_ms: 600_000, pause_after: 3 }
    }
}
