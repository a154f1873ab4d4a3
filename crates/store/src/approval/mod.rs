//! Approvals as they are kept: who may sign, what waits for a person, what was signed, and what rests on it.
//!
//! Nothing here judges a signature. What must happen at most once, happens in one transaction: consuming a challenge
//! (T1, T2), using up a grant (T3), using a mandate once (T4).

mod credential;
mod installation;
mod methods;
mod receipt;
mod request;
mod standing;

pub use credential::{Added, CodeTried, EnrollmentWindow, Recovery, Revocation, StoredCredential};
pub use installation::Installation;
pub use receipt::{ChallengeUsed, ReceiptDraft, ReceiptKey, StoredReceipt};
pub use request::{ApprovalRequest, AskLimits, Asked, Need, PausedTool, Put, RequestFilter, RequestState};
pub use standing::{MandateUsed, RememberedAnswer, StoredMandate};

pub(crate) use credential::{CODE_ATTEMPTS, WINDOW_MS};
pub(crate) use receipt::Filed;
pub(crate) use request::{MOST_CHALLENGES, granted_since};

/// How many changed requests may wait to be looked at; whoever is slower looks at all of them.
pub(crate) const CHANGES: usize = 256;
