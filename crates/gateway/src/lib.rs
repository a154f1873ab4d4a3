//! The gateway: fronts where clients connect, the catalog of what they are shown, and the one road in `pipeline/`
//! that every action takes to an upstream.

mod approvals;
mod catalog;
mod changes;
mod client;
mod decision_ids;
mod describe;
mod directory_lookup;
mod dispatch;
pub mod front;
mod gateway;
mod greet;
mod hosts;
mod in_place;
mod listen;
mod marks;
mod people;
mod pins;
mod pipeline;
mod policy;
mod reached;
mod registry;
mod relayed;
mod session;
mod stated_label;
mod status;
mod token_desk;
mod tokens;
mod world;

pub use approvals::*;
pub use catalog::ToolContracts;
pub use describe::{Saying, WhatItIs};
pub use gateway::{Gateway, Parts, StartError};
pub use hosts::{CommandHook, HookAnswer, HookFault, HookStatus, USUAL_NAME};
pub use marks::{ClearedMarks, MarkChoice, MarkView};
pub use people::{Reset, SessionEntry, SessionView};
pub use pins::{
    ChangeReview, ConcernReview, Decided, ItemReview, Judgement, NoticeReview, Offer, ServerReview,
    UnknownName,
};
pub use pipeline::{ReplySource, value_sentences};
pub use policy::policy;
pub use session::Speaker;
pub use stated_label::StatedLabel;
pub use status::ServerStatus;
pub use token_desk::{ShownTerms, TokenDesk, TokenFault, TokenSource, TokenStatus, TokenView};
