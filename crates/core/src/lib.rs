//! The judgement: what an action is, whether it may happen, and the proofs that it was allowed.
//!
//! If you audit one crate, audit this one. It has no I/O, clock, randomness, async or logging; time and
//! identifiers enter as values. Read `action` first; `label` and `annotation` for what a context has taken in
//! and what is known of a tool; then `policy` for what is known when a decision is made, and `decide` for the
//! decision itself and the proofs it hands out.

pub mod action;
pub mod annotation;
pub mod approval;
pub mod decide;
pub mod grant;
pub mod id;
pub mod label;
pub mod pin;
pub mod policy;
pub mod profile;
pub mod provenance;
pub mod seal;
pub mod session;
pub mod trust;
