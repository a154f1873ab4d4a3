//! A reply, as it is handed over.

use std::sync::Arc;

use highwater_core::annotation::ClassSet;
use highwater_core::id::DecisionId;
use highwater_core::provenance::RecordShape;

use crate::Call;

/// What a call brought back.
#[derive(Clone)]
pub struct Reply<'a> {
    /// The decision that let the call through.
    pub decision: DecisionId,
    /// The call it answers.
    pub call: &'a Call<'a>,
    /// Whether no stranger could write it: its own integrity is `tool` or better.
    pub trusted: bool,
    /// Whether the server says that it failed.
    pub failed: bool,
    /// The classes it holds; what it lists keeps them.
    pub classes: ClassSet,
    /// How its records are read, if somebody says.
    pub records: Option<Arc<RecordShape>>,
    /// What was delivered.
    pub body: Body,
}

/// What was delivered, as it came.
#[derive(Clone, Debug)]
pub enum Body {
    /// A result of the protocol, as JSON: text blocks and structured content are found in it.
    Result(Arc<str>),
    /// Plain text: what a host's own tool printed, or a file.
    Text(Arc<str>),
}

// === impl Body ===

impl Body {
    /// As it came.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Result(text) | Self::Text(text) => text,
        }
    }
}
