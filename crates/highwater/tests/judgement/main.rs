//! The judgement on the road: labels rise before what raised them is released, people are asked about exactly one call,
//! and what a session has read follows it wherever it goes. Through the shipped program, with a real server behind it.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod answers;
mod confirm;
mod context;
mod harmless;
mod labels;
mod lists;
mod objects;
mod resolve;
mod search;
mod sessions;
mod stage;
