//! What was done to a text, so that it can be undone.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One piece of text in the place of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextEdit {
    pub at: usize,
    pub removed: String,
    pub inserted: String,
}

/// What `connect` did to one file. It is kept in the data directory, which is private: it holds what was
/// written, the token included, and values that were replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// Whether there was no such file.
    pub(super) created: bool,
    /// A digest of the file as it was left. While it is that, the edits are taken back one by one.
    digest: u64,
    pub(super) steps: Vec<Step>,
}

/// One thing that was put into a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) edit: TextEdit,
    pub(super) purpose: Purpose,
}

/// What an edit is for, so that it can be undone in a file that has changed since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    /// An object was put where there was nothing to put members into.
    Frame,
    /// The member at this path has this value now. `before` is what it had; `made` is how many of the objects
    /// around it were not there.
    Member { path: Vec<String>, value: Value, before: Option<Value>, made: usize },
    /// The list at this path has this item now; `made` counts the list, too.
    Item { path: Vec<String>, value: Value, made: usize },
    /// A hook of ours was taken out that a connection without a record had left.
    StaleHook,
    /// An earlier definition of our section was taken out.
    SectionRemoved,
    /// Our section was added, or put in the place of an earlier value.
    Section { name: String },
}

// === impl TextEdit ===

impl TextEdit {
    pub(super) fn inserting(at: usize, inserted: String) -> Self {
        Self { at, removed: String::new(), inserted }
    }

    pub(super) fn replacing(text: &str, range: Range<usize>, inserted: String) -> Self {
        let removed = text.get(range.clone()).unwrap_or_default().to_owned();
        Self { at: range.start, removed, inserted }
    }

    /// The text after the edit. Nothing if the text is not the one that the edit was made for.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        let (before, rest) = text.split_at_checked(self.at)?;
        let after = rest.strip_prefix(self.removed.as_str())?;
        Some(format!("{before}{}{after}", self.inserted))
    }

    fn inverse(&self) -> Self {
        Self { at: self.at, removed: self.inserted.clone(), inserted: self.removed.clone() }
    }

    /// The text without the edit, if what it inserted stands there exactly once, wherever that is.
    pub(super) fn take_back_anywhere(&self, text: &str) -> Option<String> {
        let mut found = text.match_indices(self.inserted.as_str());
        let (at, _) = found.next().filter(|_| !self.inserted.is_empty())?;
        match found.next() {
            Some(_) => None,
            None => Self { at, ..self.inverse() }.apply(text),
        }
    }
}

// === impl Undo ===

impl Undo {
    pub(super) fn new(created: bool, after: &str, steps: Vec<Step>) -> Self {
        Self { created, digest: digest(after), steps }
    }

    /// Whether anything was changed.
    pub fn is_empty(&self) -> bool {
        !self.created && self.steps.is_empty()
    }

    /// The text before, if nobody has touched the file since.
    pub(super) fn exactly(&self, text: &str) -> Option<String> {
        if digest(text) != self.digest {
            return None;
        }
        self.steps.iter().rev().try_fold(text.to_owned(), |text, step| step.edit.inverse().apply(&text))
    }
}

/// FNV-1a, which is the same in every build: it is kept on disk. It tells whether a text is the same, and
/// nobody gains by finding another one with the same digest.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
