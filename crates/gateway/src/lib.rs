//! The gateway: fronts where clients connect, the catalog of what they are shown, and the one road in `pipeline/`
//! that every action takes to an upstream.

mod access;
mod approvals;
mod asked_pages;
mod catalog;
mod changes;
mod client;
mod decision_ids;
mod describe;
mod directory_lookup;
mod dispatch;
pub mod front;
mod gateway;
mod handshake;
mod hosts;
mod listen;
mod marks;
mod overview;
mod pins;
mod pipeline;
mod policy;
mod reached;
mod registry;
mod relayed;
mod server_trouble;
mod session;
mod session_admin;
mod siblings;
mod stated_label;
mod status;
mod token_admin;
mod tokens;
mod unknown_sessions;
mod world;

pub use approvals::*;
pub use catalog::ToolContracts;
pub use describe::{Saying, WhatItIs};
pub use gateway::{Gateway, Parts, StartError};
pub use hosts::{CommandHook, HookAnswer, HookFault, HookStatus, USUAL_NAME};
pub use marks::{ClearedMarks, MarkChoice, MarkView};
pub use overview::{GatewayView, Overview, PartHealth};
pub use pins::{
    ChangeReview, ConcernReview, Decided, ItemReview, Judgement, NoticeReview, Offer, ServerReview,
    UnknownName,
};
pub use pipeline::{ReplySource, value_sentences};
pub use policy::policy;
pub use server_trouble::{ServerTrouble, TroubleCause};
pub use session::Speaker;
pub use session_admin::{Reset, SessionEntry, SessionView};
pub use stated_label::StatedLabel;
pub use status::ServerStatus;
pub use token_admin::{ShownTerms, TokenAdmin, TokenFault, TokenSource, TokenStatus, TokenView};
