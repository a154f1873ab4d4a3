//! The texts that one configuration is read from, laid end to end so that one number says both file and place.

use crate::node::Span;

/// The texts in the order they were read.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    text: String,
    /// Where each file starts, and its name.
    files: Vec<(usize, String)>,
}

// === impl Sources ===

impl Sources {
    /// One file.
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { text: text.to_owned(), files: vec![(0, name.to_owned())] }
    }

    /// Lays another file behind the others and says where it starts.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> usize {
        let start = self.text.len();
        self.files.push((start, name.to_owned()));
        self.text.push_str(text);
        start
    }

    /// All texts, end to end.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The name of the file that holds this place, and where that file starts and ends.
    pub(crate) fn file_at(&self, place: usize) -> (&str, Span) {
        let after = self.files.iter().position(|(start, _)| *start > place).unwrap_or(self.files.len());
        let end = self.files.get(after).map_or(self.text.len(), |(start, _)| *start);
        match after.checked_sub(1).and_then(|index| self.files.get(index)) {
            Some((start, name)) => (name, Span { start: *start, end }),
            None => ("", Span { start: 0, end }),
        }
    }
}
