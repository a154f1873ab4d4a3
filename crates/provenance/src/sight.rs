//! Where a value was first read, for an explanation: it never counts as evidence.

use highwater_core::id::DecisionId;

/// The first reply in which a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The decision that let the call through whose reply it is.
    pub decision: DecisionId,
    /// The server.
    pub server: String,
    /// The tool, as its server names it.
    pub tool: String,
    /// The place in the reply, as a JSON pointer; empty for plain text.
    pub pointer: String,
}
