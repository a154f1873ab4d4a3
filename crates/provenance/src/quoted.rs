//! Phrases in quotes: what a request calls by its name, and what it gives a name to.

use crate::language::{Language, Spoken, WordsOf};
use crate::normal::{lower, normal, tokens};
use crate::text::without_ending;

/// Quotes that open and close; many people close with the one that opens.
pub(crate) const QUOTES: &[char] =
    &['\'', '"', '`', '‘', '“', '”', '«', '»', '„', '‚', '「', '」', '『', '』', '《', '》'];

/// The longest phrase, in bytes.
const LONGEST: usize = 160;

/// How many words before a phrase may hold the noun that it is called by, and how many after it.
const WORDS_BEFORE: usize = 4;
const WORDS_AFTER: usize = 2;

/// What ends a clause.
const BORDERS: &[char] = &['.', '?', '!', ',', '\n'];

/// A phrase in quotes.
#[derive(Clone, Debug)]
pub(crate) struct Quoted {
    /// In its normal form, without the ending of a file.
    name: String,
    /// The words around it.
    around: Vec<String>,
    /// Whether it is the name or the text of something that does not exist yet.
    is_new: bool,
}

// === impl Quoted ===

impl Quoted {
    /// Every phrase in quotes of a composed text.
    pub(crate) fn all(plain: &str, spoken: &Spoken) -> Vec<Self> {
        let mut found = Vec::new();
        let mut done = 0;
        while let Some((start, end)) = next_phrase(plain, done) {
            let before = plain.get(done..start).unwrap_or_default().trim_end_matches(QUOTES);
            let before = before.rsplit(['.', '?', '!', '\n']).next().unwrap_or(before);
            let after = plain.get(end..).unwrap_or_default().trim_start_matches(QUOTES);
            let near_before = words(before.rsplit(',').next().unwrap_or(before));
            let near_after = words(after.split(BORDERS).next().unwrap_or(after));
            let around = near_before
                .into_iter()
                .rev()
                .take(WORDS_BEFORE)
                .chain(near_after.into_iter().take(WORDS_AFTER))
                .collect();
            let before = words(before);
            let phrase =
                normal(plain.get(start..end).unwrap_or_default().trim_end_matches(['.', ',', '!', '?']));
            let lists = spoken.languages().filter_map(Language::words);
            let is_new = lists.into_iter().any(|words| is_making(words, &before));
            found.push(Self { name: without_ending(&phrase).to_owned(), around, is_new });
            done = end;
        }
        found
    }

    /// Whether it is this name, in its normal form.
    fn is(&self, normal: &str) -> bool {
        self.name == without_ending(normal)
    }

    /// Whether it gives this name to something new.
    pub(crate) fn gives_name(&self, normal: &str) -> bool {
        self.is_new && self.is(normal)
    }

    /// Whether it calls something that exists by this name and one of these nouns: "the file 'plan.txt'".
    pub(crate) fn calls(&self, normal: &str, nouns: &[String]) -> bool {
        let is_noun = |word: &String| {
            nouns.iter().any(|noun| noun == word || word.strip_suffix('s') == Some(noun.as_str()))
        };
        !self.is_new && self.is(normal) && self.around.iter().any(is_noun)
    }
}

fn words(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(|(_, word)| lower(word)).collect()
}

/// Whether the words before a phrase make something new of it: one of them does, or the last ones do, "should be".
fn is_making(words: &WordsOf, before: &[String]) -> bool {
    words.makes.split_ascii_whitespace().any(|wanted| {
        match (wanted.split_once('_'), wanted.strip_suffix('.')) {
            (Some((first, second)), _) => matches!(before, [.., one, two] if one == first && two == second),
            (None, Some(whole)) => before.iter().any(|word| word == whole),
            (None, None) => before.iter().any(|word| word.starts_with(wanted)),
        }
    })
}

/// Where the next phrase in quotes begins and ends, without them. An apostrophe inside of a word opens and closes nothing.
fn next_phrase(plain: &str, from: usize) -> Option<(usize, usize)> {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let mut open: Option<usize> = None;
    let mut before: Option<char> = plain.get(..from)?.chars().next_back();
    let mut letters = plain.get(from..)?.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        if QUOTES.contains(&letter) {
            match open {
                Some(start) if !is_letter(next) && from + at > start => return Some((start, from + at)),
                _ if !is_letter(before) && next.is_some_and(|next| !next.is_whitespace()) => {
                    open = Some(from + at + letter.len_utf8());
                }
                _ => {}
            }
        } else if letter == '\n' || open.is_some_and(|start| from + at > start + LONGEST) {
            open = None;
        }
        before = Some(letter);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Quoted> {
        Quoted::all(text, &Spoken::of(text))
    }

    #[test]
    fn a_phrase_is_called_by_the_noun_beside_it() {
        let text = "Don't open Bob's \"draft\". Send the file 'Client Plan.docx' to all of the 'Weekly sync' event, in the format 'YYYY'.";
        let found = all(text);
        let names: Vec<&str> = found.iter().map(|quoted| quoted.name.as_str()).collect();
        assert_eq!(names, ["draft", "client plan", "weekly sync", "yyyy"]);
        let calls =
            |name: &str, noun: &str| found.iter().any(|quoted| quoted.calls(name, &[noun.to_owned()]));
        assert!(calls("client plan.docx", "file") && calls("weekly sync", "event"));
        assert!(!calls("yyyy", "event") && !calls("yyyy", "file"));
    }

    #[test]
    fn the_name_of_something_new_calls_nothing() {
        let text = "Create a new event 'Lunch' with the people of the event 'Kick-off'. The subject should be 'Hello'.";
        let found = all(text);
        let is_new: Vec<bool> = found.iter().map(|quoted| quoted.is_new).collect();
        assert_eq!(is_new, [true, false, true]);
        assert!(found[0].gives_name("lunch") && !found[0].calls("lunch", &["event".to_owned()]));
    }
}
