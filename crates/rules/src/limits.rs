//! How large rules may be, so that a decision is bounded whatever is written.

/// Rules in all files together.
pub const RULES: usize = 10_000;
/// Waivers in all files together.
pub const WAIVERS: usize = 1_000;
/// Nodes of one condition: each test, `and`, `or` and `not`.
pub const NODES: usize = 256;
/// How deep a condition nests.
pub const DEPTH: usize = 16;
/// Values in the list of one `in`.
pub const VALUES: usize = 1_000;
/// Characters of a rule's name.
pub const NAME: usize = 128;
