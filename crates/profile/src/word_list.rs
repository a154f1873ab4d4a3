//! A list of words, written as one text.

/// Words between blanks. They are few and asked for seldom, so they are looked through from the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordList(pub(super) &'static str);

// === impl WordList ===

impl WordList {
    /// Whether the word is listed, in exactly this spelling.
    pub(super) fn contains(self, word: &str) -> bool {
        self.iter().any(|listed| listed == word)
    }

    /// Every word, in the order of the list.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }
}
