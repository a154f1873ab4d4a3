//! What stands longer than one request: mandates and remembered answers.

use highwater_core::approval::MandateOutcome;
use highwater_core::id::{Principal, SessionKey, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::ToolName;
use highwater_receipts::SignedReceipt;

use super::Revocation;

/// A mandate that a person signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMandate {
    /// Its id.
    pub id: String,
    /// The id of its receipt. One receipt makes one mandate.
    pub receipt: String,
    /// Who signed it.
    pub user: UserId,
    /// Who may use it.
    pub agent: Principal,
    /// What was signed.
    pub terms: CanonicalArguments,
    /// The definitions of its tools at that time, as JSON: it ends when one changes.
    pub definitions: Box<str>,
    /// How many uses are left.
    pub remaining: u64,
    /// From when on.
    pub not_before: Timestamp,
    /// Until when.
    pub expires: Timestamp,
    /// How it was taken back.
    pub revoked: Option<Revocation>,
}

/// What came of using a mandate.
#[derive(Clone, Debug)]
pub struct MandateUsed {
    /// How it went.
    pub outcome: MandateOutcome,
    /// The receipt of this use.
    pub receipt: Option<Box<SignedReceipt>>,
}

/// A yes to a question without a passkey that stands for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedAnswer {
    /// Its id.
    pub id: String,
    /// Who said it.
    pub user: UserId,
    /// For whom.
    pub principal: Principal,
    /// In which session; in all where none is named.
    pub session: Option<SessionKey>,
    /// For which tool, as the client calls it.
    pub tool: ToolName,
    /// Of which server.
    pub upstream: Option<UpstreamId>,
    /// With which definition.
    pub definition: Option<PinDigest>,
    /// With which arguments that say where and what; with any where none is named.
    pub targets: Option<String>,
    /// What the session had taken in, as JSON.
    pub label: Box<str>,
    /// What the person was told, as JSON.
    pub told: Box<str>,
    /// When it was said.
    pub created: Timestamp,
    /// Until when it stands.
    pub until: Timestamp,
}
