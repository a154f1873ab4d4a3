//! Which words of a name or a text mean something.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::language::Language;
use crate::normal::{is_unspaced, words};

/// Words that mean nothing in some language.
static EMPTY: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    Language::all()
        .filter_map(Language::words)
        .flat_map(|words| words.empty.split_ascii_whitespace())
        .collect()
});

/// Whether a word, in lower case, means something by itself. Numbers do not: they are everywhere.
pub(crate) fn is_significant(word: &str) -> bool {
    let is_long = word.chars().nth(2).is_some() || word.chars().all(is_unspaced);
    is_long && !EMPTY.contains(word) && !word.contains(|letter: char| letter.is_numeric())
}

/// How many words of a spaced text do.
pub(crate) fn significant_count(spaced: &str) -> usize {
    words(spaced).filter(|word| is_significant(word)).count()
}
