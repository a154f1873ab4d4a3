//! What is kept of people and their passkeys.

use highwater_core::approval::{Credential, CredentialStanding};
use highwater_core::id::UserId;
use highwater_notation::Timestamp;

/// How long an enrollment window stays open.
pub(crate) const WINDOW_MS: u64 = 600_000;

/// How many wrong codes close it.
pub(crate) const CODE_ATTEMPTS: u32 = 5;

/// A credential with everything that was kept of its enrollment.
#[derive(Clone, Debug)]
pub struct StoredCredential {
    /// What is judged by.
    pub credential: Credential,
    /// The make of the authenticator, as it says.
    pub aaguid: [u8; 16],
    /// Whether it is copied to other devices now.
    pub backed_up: bool,
    /// The format of the attestation.
    pub format: Box<str>,
    /// The attestation as received.
    pub attestation: Box<[u8]>,
    /// What the browser said at enrollment, as received.
    pub client_data: Box<[u8]>,
    /// When it was registered.
    pub created: Timestamp,
    /// Through what it was registered.
    pub enrolled_by: String,
    /// Since when it counts, and who said so.
    pub confirmed: Option<(Timestamp, String)>,
    /// Since when it does not count any more.
    pub revoked: Option<Revocation>,
    /// What its owner calls it; empty while nobody has named it.
    pub name: String,
}

/// How a credential ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// How adding a credential ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is there.
    Done,
    /// It was there before (S20).
    AlreadyEnrolled,
}

/// A time in which a person may enroll a passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrollmentWindow {
    /// For whom.
    pub user: UserId,
    /// SHA-256 of the code that the operator was shown; none where an existing passkey decides.
    pub code_hash: Option<[u8; 32]>,
    /// Who opened it.
    pub opened_by: String,
    /// When.
    pub opened: Timestamp,
    /// Until when.
    pub expires: Timestamp,
    /// How many wrong codes were typed.
    pub attempts: u32,
}

/// What came of typing a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeTried {
    /// It is the one.
    Right,
    /// It is not.
    Wrong {
        /// How many attempts are left; with none the window is closed.
        left: u32,
    },
    /// No window with a code is open.
    Closed,
}

/// Starting over after all passkeys of a person were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Whose.
    pub user: UserId,
    /// Who began it.
    pub by: String,
    /// When.
    pub begun: Timestamp,
    /// When it may be completed.
    pub due: Timestamp,
}

// === impl StoredCredential ===

impl StoredCredential {
    /// Whether it counts, from what happened to it.
    pub(crate) fn standing(confirmed: bool, revoked: bool) -> CredentialStanding {
        match (confirmed, revoked) {
            (_, true) => CredentialStanding::Revoked,
            (true, false) => CredentialStanding::Active,
            (false, false) => CredentialStanding::Dormant,
        }
    }
}
