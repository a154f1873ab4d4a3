//! Finding tools by words: an inverted index with BM25 over name, title, server, description and argument names, in which
//! the caller's filters and what the caller may see are tested before anything is scored. Pure and deterministic.
//!
//! What a caller may not see does not merely stay out of the hits: nothing about the answer depends on it, neither scores
//! nor counts. Asking the whole index through a [`Sight`] answers exactly what an index of the seen tools would.

mod index;
mod prospect;
mod query;
mod traits;
mod words;

pub use index::{Index, Sight, ToolText};
pub use prospect::Prospect;
pub use query::{Found, Hit, MOST_WORDS, Omission, Omitted, Query};
pub use traits::{Filter, Filters, Traits};

#[cfg(test)]
mod relevance;
#[cfg(test)]
mod tests;
