//! What the name of a tool says: that it reads, sends or runs.

use super::split::{uncut_words, words};
use super::verbs::{
    Act, Force, act, composes, is_conjunction, is_into, is_known_verb, is_shown, reading_word, reads,
};

/// The name of a tool, as words.
pub(super) struct ToolName {
    words: Vec<String>,
    /// Whether it reads.
    reads: bool,
}

/// Names with more words than this say nothing.
const MOST_WORDS: usize = 24;

// === impl ToolName ===

impl ToolName {
    pub(super) fn new(name: &str) -> Self {
        let words = words(name);
        // Letters that only look like those we know could spell a verb that we do not see.
        let plain = name.is_ascii() && words.len() <= MOST_WORDS;
        let hidden = uncut_words(name).iter().any(|word| matches!(act(word), Some((_, Force::Always))));
        let reads =
            plain && !hidden && reading_word(&words).is_some_and(|at| nothing_acts_beside(&words, at));
        Self { words, reads }
    }

    /// Whether the name is one that only reads.
    pub(super) fn reads(&self) -> bool {
        self.reads
    }

    /// The word by which it sends, if it does.
    pub(super) fn sends(&self) -> Option<&str> {
        self.word_that(|before, word, act| {
            // What asks for a review of a change publishes the change.
            let publishes = matches!(before, "pull" | "merge") && word == "request";
            act == Some(Act::Sends) || publishes || composes(before, word)
        })
    }

    /// The word by which it runs something, if it does.
    pub(super) fn runs(&self) -> Option<&str> {
        self.word_that(|_, _, act| act == Some(Act::Runs))
    }

    /// Whether every word satisfies this.
    pub(super) fn consists_of(&self, holds: impl Fn(&str) -> bool) -> bool {
        !self.words.is_empty() && self.words.iter().all(|word| holds(word))
    }

    /// Whether some word satisfies this.
    pub(super) fn has_word(&self, holds: impl Fn(&str) -> bool) -> bool {
        self.words.iter().any(|word| holds(word))
    }

    /// The first word of a name that does not read for which this holds, given the word before it and what it does
    /// there.
    fn word_that(&self, holds: impl Fn(&str, &str, Option<Act>) -> bool) -> Option<&str> {
        if self.reads {
            return None;
        }
        let mut before = "";
        for (at, word) in self.words.iter().enumerate() {
            let here = act(word).filter(|(_, force)| match force {
                Force::Always | Force::UnlessRead => true,
                Force::AsVerb => is_where_a_verb_stands(&self.words, at),
            });
            if holds(before, word, here.map(|(act, _)| act)) {
                return Some(word);
            }
            before = word;
        }
        None
    }
}

/// Whether nothing but the reading word does anything.
fn nothing_acts_beside(words: &[String], reading: usize) -> bool {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let before = |at: usize| at.checked_sub(1).map_or("", word);
    let others = || (0..words.len()).filter(|at| *at != reading);
    let acts = |at: usize| match act(word(at)) {
        None => false,
        Some((_, Force::Always)) => true,
        // What is read stands before or behind the word that reads it. Behind a plural it is a verb again.
        Some((_, Force::UnlessRead | Force::AsVerb)) => {
            is_conjunction(before(at)) || at > reading && is_plural(before(at))
        }
    };
    // Behind a verb and a conjunction stands a verb, and it may be one that we do not know: `get_and_zorch`.
    let joins_unknown = |at: usize| {
        let joins_verbs = reads(before(at), &[]) || act(before(at)).is_some();
        is_conjunction(word(at)) && joins_verbs && !reads(word(at + 1), &[])
    };
    let shows_only = word(reading) == "show" && others().any(|at| is_shown(word(at)));
    let runs_query = word(reading) == "query" && others().any(|at| word(at) == "run");
    let fetches_commits = word(reading) == "fetch" && words.iter().any(|word| word == "git");
    let acts = others().any(|at| acts(at) || joins_unknown(at) || is_into(word(at)));
    !(shows_only || runs_query || fetches_commits || acts)
}

/// Whether the word at this place is a verb: the first one, the second after a thing, or one behind a conjunction.
fn is_where_a_verb_stands(words: &[String], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| words.get(before)) else { return true };
    is_conjunction(before) || at == 1 && !is_known_verb(before)
}

fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us")
}
