//! The user's open request: this turn, and those before it back to the last one in which something was done.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::text::Text;

/// How many turns a request may stay open, this one included.
pub const OPEN_TURNS: usize = 5;

/// How much of one prompt is read. What is longer says nothing more.
pub const PROMPT_BYTES: usize = 64 * 1024;

/// The turns of the user that may still count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// The last ones, oldest first.
    last: VecDeque<UserTurn>,
    /// How many there were before them.
    gone: usize,
}

#[derive(Clone, Debug)]
struct UserTurn {
    key: Arc<str>,
    text: Arc<Text>,
    /// Whether something was done in it.
    acted: bool,
}

// === impl Turns ===

impl Turns {
    /// The words of a turn; a turn that is known is told again, and what was done in it stays done.
    pub(crate) fn tell(&mut self, key: &str, typed: &str) {
        let end = typed
            .char_indices()
            .map(|(at, letter)| at + letter.len_utf8())
            .take_while(|end| *end <= PROMPT_BYTES)
            .last();
        let text = Arc::new(Text::of_words(typed.get(..end.unwrap_or(0)).unwrap_or_default()));
        if let Some(turn) = self.last.iter_mut().find(|turn| &*turn.key == key) {
            turn.text = text;
            return;
        }
        self.last.push_back(UserTurn { key: key.into(), text, acted: false });
        if self.last.len() > OPEN_TURNS {
            self.last.pop_front();
            self.gone += 1;
        }
    }

    /// A turn of which no words are known, so far. What was said before it stays said, and no longer counts once something
    /// was done on it.
    pub(crate) fn begin(&mut self, key: &str) {
        if !self.last.iter().any(|turn| &*turn.key == key) {
            self.tell(key, "");
        }
    }

    /// Something was done in this turn: the next one begins a new request.
    pub(crate) fn act(&mut self) {
        if let Some(turn) = self.last.back_mut() {
            turn.acted = true;
        }
    }

    /// Nobody knows what was done so far.
    pub(crate) fn close(&mut self) {
        self.last.iter_mut().for_each(|turn| turn.acted = true);
    }

    /// The number of the present turn; those of one request are one after the other.
    pub(crate) fn now(&self) -> usize {
        self.gone + self.last.len()
    }

    /// The number of the first turn of the open request.
    pub(crate) fn open_from(&self) -> usize {
        self.now() + 1 - self.open().count().max(1)
    }

    /// The texts of the open request.
    pub(crate) fn texts(&self) -> Vec<&Text> {
        self.open().map(|turn| &*turn.text).collect()
    }

    fn open(&self) -> impl Iterator<Item = &UserTurn> {
        let before = self.last.iter().rev().skip(1).take_while(|turn| !turn.acted);
        self.last.back().into_iter().chain(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(turns: &Turns, word: &str) -> bool {
        turns.texts().iter().any(|text| text.has_word(word))
    }

    #[test]
    fn a_request_stays_open_until_something_was_done() {
        let mut turns = Turns::default();
        turns.tell("1", "mail Ann");
        turns.tell("2", "yes, go ahead");
        assert!(has(&turns, "ann"));
        assert_eq!((turns.open_from(), turns.now()), (1, 2));
        turns.act();
        assert!(has(&turns, "ann"), "this turn goes on");
        turns.tell("3", "and now the weather");
        assert!(!has(&turns, "ann") && !has(&turns, "yes"));
        assert_eq!((turns.open_from(), turns.now()), (3, 3));
    }

    #[test]
    fn a_turn_without_words_ends_a_request_that_was_done() {
        let mut turns = Turns::default();
        turns.tell("1", "mail Ann");
        turns.begin("1");
        assert!(has(&turns, "ann"), "it is known, and its words stay");
        turns.act();
        turns.begin("2");
        assert!(!has(&turns, "ann"));
        turns.tell("2", "mail Bob");
        assert!(has(&turns, "bob") && !has(&turns, "ann"));
    }

    #[test]
    fn words_older_than_five_turns_are_gone() {
        let mut turns = Turns::default();
        turns.tell("0", "mail Ann");
        (1..5).for_each(|turn| turns.tell(&turn.to_string(), "go on"));
        assert!(has(&turns, "ann"));
        turns.tell("5", "go on");
        assert!(!has(&turns, "ann"));
        assert_eq!((turns.open_from(), turns.now()), (2, 6));
    }

    #[test]
    fn a_turn_that_is_told_again_keeps_what_was_done_in_it() {
        let mut turns = Turns::default();
        turns.tell("1", "");
        turns.act();
        turns.tell("1", "mail Ann");
        assert!(has(&turns, "ann"));
        turns.tell("2", "thanks");
        assert!(!has(&turns, "ann"));
    }

    #[test]
    fn a_long_prompt_is_cut_between_letters() {
        let mut turns = Turns::default();
        turns.tell("1", &"é".repeat(PROMPT_BYTES));
        assert_eq!(turns.texts().len(), 1);
    }
}
