//! A place in the text that rules were read from, so that no reader of files is needed to point at it.

/// A place in the text the rules were read from, in bytes; `end` is behind the last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One behind the last byte.
    pub end: usize,
}

// === impl Span ===

impl Span {
    /// From the first byte to one behind the last.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}
