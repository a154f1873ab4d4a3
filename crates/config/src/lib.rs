//! The file an operator writes, from its text to the settings the gateway runs on.
//!
//! ```text
//! text ── yaml ──> Node ── read ──> ConfigFile ── lower ──> Settings
//!           │                │                      │
//!           └────────────────┴──────────────────────┴─────> Diagnostics
//! ```
//!
//! Everything here is a function of its arguments: reading the file and the environment is the caller's
//! work. The shapes of the file are private, so running code sees only [`Settings`], where every value has
//! been checked and every default filled in. Each key is described once, by the doc comment of its field;
//! [`schema()`] and [`reference_markdown`] are made from that.

mod check;
mod diagnose;
pub mod document;
mod expand;
mod file;
mod human;
mod load;
mod lower;
mod misplaced;
mod node;
mod read;
mod reference;
mod schema;
mod settings;
mod source;
mod yaml;

pub use check::{Change, Checked, Leak, Unanswered, Witness};
pub use diagnose::{Diagnostic, Diagnostics, Place};
pub use human::parse_period;
pub use load::{Surroundings, check, load, load_among, load_with};
pub use lower::listen::ListenError;
pub use reference::reference_markdown;
pub use schema::schema;
pub use settings::{
    AgentToken, ApprovalFlow, ApprovalSettings, AuditSettings, Auth, DirectoryEntry, Era, Expose, Exposed,
    HttpKind, LabelSettings, Labels, Limits, Listen, ManifestSettings, ManifestSource, OWNER, Partition,
    Prefix, Retry, Rules, ServerSettings, Settings, ShareContext, Start, StoreSettings, Timeouts,
    ToolApproval, Transport, VirtualServer, Webhook, Writes,
};
