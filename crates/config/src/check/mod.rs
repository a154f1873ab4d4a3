//! What can be said of a configuration without running it: rules that never fire or never matter, calls that can
//! be allowed, and what a change changes.
//!
//! Every condition is a Boolean function of what is the case, so a decision diagram answers every question about a
//! set of them; see [`diagram`].

pub(crate) mod analyse;
pub(crate) mod argument;
mod automaton;
pub(crate) mod cases;
mod checked;
pub(crate) mod condition;
mod contract;
pub(crate) mod diagram;
mod difference;
mod flow;
mod label;
mod leak;
mod model;
mod policy;
mod risk;
mod scopes;
mod server_and_agent;
mod situation;
pub(crate) mod space;
pub(crate) mod spelling;
pub(crate) mod texts;
mod witness;
mod world;

pub use checked::{Change, Checked, Leak, Unanswered};
pub use witness::Witness;

#[cfg(test)]
mod tests;
