//! Holding servers to what was approved: what each says of itself is looked at when it lists its tools, compared with the
//! pins, and held where it differs. A call finds the answer ready.
//!
//! `kept` is what is offered of a server that has not started yet, `seen` makes definitions of what a server lists, `enforcer`
//! compares and writes down, `observed` is what the catalog asks, `people` is what persons see and decide, `masked` how a
//! server is reached without its secrets, `tool_names` finds the names that name nothing.

mod admin;
mod enforcer;
mod manifest;
mod masked;
mod observed;
mod offered_before_start;
mod seen;
mod tool_names;

pub(crate) use admin::state;
pub use admin::{
    ChangeReview, ConcernReview, Decided, ItemReview, Judgement, NoticeReview, Offer, ServerReview,
};
pub(crate) use enforcer::PinEnforcer;
pub(crate) use observed::{Item, Observed, Wanted};
pub(crate) use offered_before_start::Memory;
pub use tool_names::UnknownName;
pub(crate) use tool_names::{ToolNames, WrittenPattern, WrittenPatterns};
