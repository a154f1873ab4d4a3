//! What is on record, judged once more: under the configuration as it is, and as it would be with some lines pasted into
//! it. Every remedy that people are shown has been tried here first: it loads, and it changes the effect.
//!
//! The record does not hold the arguments of a call, but what they come to: what they name, and whether SQL only reads. Nor
//! does it hold the definition of its tool. Definitions are those that the store saw last, and a decision counts as
//! understood only if judging it again under the configuration of today finds what was found then. Nothing is proposed
//! about a decision that is not.

mod configuration;
mod decision;
mod proposal;
mod session_labels;

#[cfg(test)]
pub(crate) use configuration::BaseConfiguration;
pub(crate) use configuration::{LoadedConfiguration, Trials};
pub(crate) use decision::{Rejudged, balanced_effect};
pub(crate) use proposal::{
    Proposal, clearance, labels, listed_method, listed_tool, profiles, tool_labels, virtual_server, waiver,
    words_with_labels,
};
pub(crate) use session_labels::{Reply, SessionLabels};
