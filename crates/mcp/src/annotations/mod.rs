//! Annotations on the wire: every published shape, read wherever it may stand, and what we write of our own.
//!
//! What is read becomes claims; what they are worth is the core's to weigh. Nothing is ever fetched because of
//! an annotation.

mod action_metadata;
mod approval;
mod core_hints;
mod data_class;
mod declarations;
mod dependencies;
pub mod emit;
mod flow;
mod graded_risk;
mod heard;
mod hints;
mod ifc;
pub mod ours;
pub mod pinned;
mod reply;
mod request;
mod resolution;
mod samos;
mod sep_1913;
mod shape;
mod table;
mod tool;
mod trust_annotations;

pub use approval::{APPROVAL_EXTENSIONS, VERIFIED_APPROVAL, asks_approval, declares_approval};
pub use flow::{FLOW_ORIGIN, contributors, without_violation, write_contributors};
pub use heard::{Evidence, Reading};
pub use reply::{ReplySays, reply_says, result_says};
pub use request::{RequestSays, request_says};
pub use resolution::{
    ResolveForm, ServerSays, TOOL_RESOLUTION, Unresolved, resolvable, resolved_claims, server_says,
};
pub use table::known_keys;
pub use tool::tool_claims;
