//! A label that a person states: what a conversation holds from its beginning, because they say so.

use highwater_core::annotation::{DataClass, class_name};
use highwater_core::label::{Label, TextSet};
use highwater_core::trust::TrustLevel;

/// What SAMOS calls a session that may hold anything private.
const HIGH: &str = "high";
/// And one that holds nothing.
const LOW: &str = "low";
/// Text that strangers may have written.
const UNTRUSTED: &str = "untrusted";

/// A stated label, with the words that state it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedLabel {
    words: Vec<String>,
    label: Label,
}

// === impl StatedLabel ===

impl StatedLabel {
    /// Reads the words of a person: `high`, `low`, `untrusted`, classes of data, classes of their own.
    ///
    /// # Errors
    ///
    /// A word that means nothing, in words for the person.
    pub fn read(words: &[String]) -> Result<Self, String> {
        let mut stated = Self::default();
        for word in words {
            let known = stated_class(word);
            stated.label = match (word.as_str(), known, class_name(word)) {
                (LOW, ..) => stated.label,
                (HIGH, ..) => stated.label.with_class(DataClass::Confidential),
                (UNTRUSTED, ..) => stated.label.with_integrity(TrustLevel::None).with_open_world(),
                (_, Some(class), _) => stated.label.with_class(class),
                (_, None, Some(name)) => stated.label.with_names(&TextSet::of([name])),
                (_, None, None) => return Err(format!("`{word}` is no label; write {}", known_words())),
            };
            stated.words.push(word.clone());
        }
        Ok(stated)
    }

    /// The same from its stored form. Words that an older or newer build wrote and nobody knows here mean everything.
    pub(crate) fn of_text(text: &str) -> Label {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Self::read(&words).map_or_else(|_| Label::top(), |stated| stated.label)
    }

    /// As it is stored.
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The label.
    pub fn label(&self) -> &Label {
        &self.label
    }
}

/// A class that can be stated without more words.
fn stated_class(word: &str) -> Option<DataClass> {
    DataClass::ALL
        .iter()
        .copied()
        .filter(|class| !matches!(class, DataClass::Named | DataClass::Regulated))
        .find(|class| class.as_str() == word)
}

fn known_words() -> String {
    let classes =
        DataClass::ALL.iter().map(|class| class.as_str()).filter(|word| stated_class(word).is_some());
    let words: Vec<String> =
        [HIGH, LOW, UNTRUSTED].into_iter().chain(classes).map(|word| format!("`{word}`")).collect();
    format!("{}, or a class of your own such as `com.example.project-x`", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(words: &[&str]) -> Result<Label, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        StatedLabel::read(&words).map(|stated| stated.label)
    }

    #[test]
    fn a_person_states_a_label_in_words() {
        assert_eq!(stated(&[]).unwrap(), Label::bottom());
        assert_eq!(stated(&["low"]).unwrap(), Label::bottom());
        assert_eq!(stated(&["high"]).unwrap(), Label::bottom().with_class(DataClass::Confidential));
        let both = stated(&["pii", "untrusted"]).unwrap();
        assert!(both.private() && both.untrusted());
        assert!(stated(&["com.example.project-x"]).unwrap().private());
    }

    #[test]
    fn a_word_that_means_nothing_is_refused_and_one_that_is_stored_means_everything() {
        assert!(stated(&["hihg"]).unwrap_err().contains("`high`"));
        assert!(stated(&["regulated"]).is_err(), "which regulation is not said");
        assert_eq!(StatedLabel::of_text("from-a-newer-build"), Label::top());
        assert_eq!(StatedLabel::of_text(""), Label::bottom());
    }
}
