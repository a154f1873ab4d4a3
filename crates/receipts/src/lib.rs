//! Receipts: what a person signed, in a form that can be checked without this gateway, its store or a network.
//!
//! A [`Receipt`] is what is to be recorded, a [`SignedReceipt`] is the gateway's word for it and a link of its chain.
//! [`check`] says part by part what holds. A receipt carries the key it is checked with, so a signature that holds
//! says nothing of who signed: only an enrollment or the gateway's own signature does. What is sensitive is sealed for
//! an auditor, and then nothing of it is checked without their key.

mod body;
mod chain;
mod check;
mod delegated;
mod seal;
mod sensitive;
mod signature;

pub use body::{ChainLink, Circumstances, Guarded, Opened, Receipt, Signed, UseOf};
pub use chain::{ChainFault, check_chain};
pub use check::{Enrolled, Expected, Outcome, Part, Report, check};
pub use delegated::check_use;
pub use seal::{AuditorKey, AuditorSecret};
pub use sensitive::may_be_sensitive;
pub use signature::{SignedReceipt, key_id};
