//! Memory that survives: the data directory with its lock and secrets, the audit log, what we learned about
//! servers, and the labels of agent sessions and objects. Nothing here decides anything.

mod admin;
mod approval;
mod audit_log;
mod backend;
mod cache;
mod clock;
mod data_dir;
mod definitions_view;
mod ended_sessions;
mod entry;
mod error;
mod gate;
mod gateways;
mod handle;
mod health;
mod joined;
mod key;
mod marking;
mod marks;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod operation;
mod pins;
mod place;
mod postgres;
mod postponed;
mod random;
mod remembered;
mod sql;
mod sqlite;
mod store;
#[cfg(any(test, feature = "testing"))]
mod testing;
mod token;
mod way;

pub use admin::{
    Context, Declassification, DeclassificationOutcome, Declassified, KeptTransport, Notice, SessionHistory,
    SessionRecord, WayRecord,
};
pub use approval::{
    Added, ApprovalRequest, AskLimits, Asked, ChallengeUsed, CodeTried, EnrollmentWindow, Installation,
    MandateUsed, Need, PausedTool, Put, ReceiptDraft, ReceiptKey, Recovery, RememberedAnswer, RequestFilter,
    RequestState, Revocation, StoredCredential, StoredMandate, StoredReceipt,
};
pub use audit_log::{
    Appended, Appending, AuditError, AuditLog, AuditReader, AuditRetention, BlockPlace, Key as AuditKey,
    RecordPlace,
};
pub use data_dir::{DataDir, DataDirError, DataDirLock, Secret};
pub use entry::{Pending, SessionState};
pub use error::StoreError;
pub use gateways::{ANNOUNCED, GatewayTokens};
pub use handle::SessionHandle;
pub use joined::Joined;
pub use key::{SessionKind, SessionOwner};
pub use marking::{BeforeOwn, Cleared, MOST_MARKS, Marked};
pub use marks::{MarkQuery, MetMarks};
#[cfg(any(test, feature = "testing"))]
pub use memory::{Fault, Link, Memory, Passage};
pub use pins::{
    Described, Description, Observation, PinDecision, PinEvent, PinScope, PinVerdict, PinsDecided,
    StoredApproval, StoredPin, StoredText,
};
pub use place::{StoreOptions, StorePlace};
pub use remembered::{RememberedOffer, RememberedServers};
pub use sql::layout;
pub use store::{GRACE, Store};
#[cfg(any(test, feature = "testing"))]
pub use testing::PostgresServer;
pub use token::{
    ChangedToken, CreatedToken, MOST_TOKENS, TokenBasis, TokenDigest, TokenRecord, TokenSecret, TokenTerms,
};
