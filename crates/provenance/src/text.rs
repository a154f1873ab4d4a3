//! A text that may vouch for values: a turn of the user, or a reply that no stranger could write.

use std::collections::BTreeSet;

use crate::carrier::{Carrier, carriers, host_of};
use crate::language::{Language, Spoken, is_empty_word};
use crate::negation::affirmed;
use crate::normal::{composed, is_unspaced, lower, spaced_lower, tokens};
use crate::quoted::{QUOTES, Quoted};

/// A number below this many digits is found everywhere; it counts only where it is called by its noun.
pub(crate) const LONG_NUMBER: usize = 6;

/// How many letters before a value are looked at for its noun.
const LOOK_BACK: usize = 120;

/// A text, made ready to be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    /// Composed, without what it denies, case kept.
    plain: String,
    /// The same in lower case.
    lower: String,
    /// Its words, as [`crate::normal::spaced`] writes them.
    spaced: String,
    carriers: Vec<Carrier>,
    hosts: BTreeSet<String>,
    numbers: Vec<f64>,
    sums: Vec<f64>,
    exact_sums: Vec<f64>,
    paths: Vec<String>,
    capitals: BTreeSet<String>,
    inner_capitals: BTreeSet<String>,
    quoted: Vec<Quoted>,
    spoken: Spoken,
}

// === impl Text ===

impl Text {
    /// What a user typed.
    pub(crate) fn of_words(typed: &str) -> Self {
        let text = composed(typed);
        let spoken = Spoken::of(&text);
        let plain = affirmed(&text, &spoken);
        let quoted = Quoted::all(&plain, &spoken);
        Self::read(plain, spoken, quoted)
    }

    /// What a reply says.
    pub(crate) fn of_reply(text: &str) -> Self {
        let plain = composed(text);
        Self::read(plain, Spoken::default(), Vec::new())
    }

    fn read(plain: String, spoken: Spoken, quoted: Vec<Quoted>) -> Self {
        let lower = lower(&plain);
        // The words of a mail address are a person's name at best, and no words of the text.
        let is_mail = |word: &&str| word.contains('@');
        let wordy: String = lower
            .split_inclusive(char::is_whitespace)
            .map(|word| if is_mail(&word) { "\n" } else { word })
            .collect();
        let pieces = pieces(&wordy).into_iter().map(spaced_lower);
        let spaced = pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n");
        let carriers = carriers(&plain);
        let hosts = carriers.iter().filter_map(host_of).map(str::to_owned).collect();
        let (numbers, sums, exact_sums) = crate::number::numbers(&lower);
        let (capitals, inner_capitals) = capitals(&plain);
        let paths = paths(&plain);
        Self {
            plain,
            lower,
            spaced,
            carriers,
            hosts,
            numbers,
            sums,
            exact_sums,
            paths,
            capitals,
            inner_capitals,
            quoted,
            spoken,
        }
    }

    /// The memory it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.plain.len() + self.lower.len() + self.spaced.len()
    }

    pub(crate) fn spoken(&self) -> &Spoken {
        &self.spoken
    }

    /// Whether these words stand in it one after the other.
    pub(crate) fn has_words(&self, spaced: &str) -> bool {
        !spaced.is_empty() && self.spaced.contains(spaced)
    }

    /// Whether this one word stands in it.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.spaced.contains(&format!(" {word} "))
    }

    /// Every word, in order.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.spaced.split_ascii_whitespace()
    }

    /// Whether a text in lower case stands in it, for scripts without blanks.
    pub(crate) fn has_letters(&self, lower: &str) -> bool {
        self.lower.contains(lower)
    }

    pub(crate) fn carries(&self, carrier: &Carrier) -> bool {
        match carrier {
            Carrier::Page { host, rest } if rest.is_empty() => self.hosts.contains(host),
            carrier => self.carriers.binary_search(carrier).is_ok(),
        }
    }

    pub(crate) fn names_host(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }

    pub(crate) fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Sums of money: with decimals, or beside a currency.
    pub(crate) fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Numbers with two decimals.
    pub(crate) fn exact_sums(&self) -> &[f64] {
        &self.exact_sums
    }

    /// Paths, without a slash at the end.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Whether a word, in lower case, stands in it with a capital; in a language that has none, at all.
    pub(crate) fn has_capital(&self, word: &str) -> bool {
        self.capitals.contains(word) || word.chars().all(is_unspaced) && self.has_letters(word)
    }

    /// Whether a word, in lower case, stands in it with a capital that no sentence begins with.
    pub(crate) fn has_inner_capital(&self, word: &str) -> bool {
        self.spoken.capitals_are_names() && self.inner_capitals.contains(word)
    }

    /// Whether a value, in its normal form, stands in it between quotes, whatever the ending of a file name.
    pub(crate) fn quotes(&self, normal: &str) -> bool {
        let name = without_ending(normal);
        !name.is_empty()
            && occurrences(&self.lower, name).any(|(before, after)| {
                let after =
                    ending(after).map_or(after, |ending| after.get(ending.len()..).unwrap_or_default());
                let after = after.strip_prefix(['.', ',', '!', '?']).unwrap_or(after);
                before.ends_with(QUOTES) && after.starts_with(QUOTES)
            })
    }

    /// Whether it gives this name, in its normal form, to something new.
    pub(crate) fn gives_name(&self, normal: &str) -> bool {
        self.quoted.iter().any(|quoted| quoted.gives_name(normal))
    }

    /// Whether it calls something by this name, in quotes, and by one of these nouns.
    pub(crate) fn quotes_thing(&self, normal: &str, nouns: &[String]) -> bool {
        self.quoted.iter().any(|quoted| quoted.calls(normal, nouns))
    }

    /// Whether a name stands beside one of these nouns, before or after it.
    pub(crate) fn names_beside(&self, word: &str, nouns: &[String]) -> bool {
        let is_noun = |next: &str| {
            nouns.iter().any(|noun| noun == next || next.strip_suffix('s') == Some(noun.as_str()))
        };
        let words: Vec<&str> = self.words().collect();
        self.calls(word, nouns)
            || words.windows(2).any(|pair| matches!(pair, [name, next] if *name == word && is_noun(next)))
    }

    /// Whether a secret is quoted, is all of the text, or stands right after one of these nouns. Letter by letter.
    pub(crate) fn gives(&self, secret: &str, nouns: &[String]) -> bool {
        const LINKS: usize = 3;
        // "Change my password now": a plain word is no password unless something leads to it.
        let least = usize::from(secret.chars().all(char::is_alphabetic));
        if self.is_small_word(&lower(secret)) {
            return false;
        }
        let whole = self.plain.trim().trim_matches(QUOTES).trim_end_matches(['.', '!']);
        whole == secret
            || occurrences(&self.plain, secret).any(|(before, after)| {
                let is_whole = !after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
                let is_quoted = before.ends_with(QUOTES) && after.starts_with(QUOTES);
                is_whole && (is_quoted || self.after_noun(before, nouns, least..=LINKS))
            })
    }

    /// Whether a value stands beside one of these nouns, with at most two small words between, or behind `#`.
    pub(crate) fn calls(&self, normal: &str, nouns: &[String]) -> bool {
        const LINKS: usize = 2;
        occurrences(&self.lower, normal).any(|(before, after)| {
            is_whole_word(before, after)
                && (before.ends_with('#') || self.after_noun(before, nouns, 0..=LINKS))
        })
    }

    /// Whether a text ends in one of these nouns, with so many small words after it. A colon is one.
    fn after_noun(&self, before: &str, nouns: &[String], links: std::ops::RangeInclusive<usize>) -> bool {
        const GAP: usize = 4;
        let start = before.char_indices().rev().take(LOOK_BACK).last().map_or(before.len(), |(at, _)| at);
        let lower = lower(before.get(start..).unwrap_or_default());
        let mut end = lower.len();
        for (skipped, (start, word)) in tokens(&lower).into_iter().rev().enumerate() {
            let gap = lower.get(start + word.len()..end).unwrap_or_default();
            let is_joined = gap.is_empty() && !word.chars().all(is_unspaced);
            if is_joined || gap.len() > GAP || gap.contains(['\n', ',', ';']) || gap.contains(". ") {
                return false;
            }
            let singular = word.strip_suffix('s').unwrap_or(word);
            if nouns.iter().any(|noun| noun == word || noun == singular) {
                return skipped + usize::from(gap.contains([':', '='])) >= *links.start();
            }
            if skipped == *links.end() || !self.is_link(word) {
                return false;
            }
            end = start;
        }
        false
    }

    fn is_link(&self, word: &str) -> bool {
        let lists = self.spoken.languages().filter_map(Language::words);
        lists.into_iter().any(|words| words.links.split_ascii_whitespace().any(|link| link == word))
    }

    /// Whether a word means nothing by itself.
    pub(crate) fn is_small_word(&self, word: &str) -> bool {
        self.is_link(word) || is_empty_word(word, &self.spoken)
    }
}

/// Whether what stands between these is no part of a longer word: `24` is none of `24-05`.
fn is_whole_word(before: &str, after: &str) -> bool {
    let goes_on = |rest: &mut dyn Iterator<Item = char>| match rest.next() {
        Some('-' | '_' | '.' | '/') => rest.next().is_some_and(char::is_alphanumeric),
        next => next.is_some_and(char::is_alphanumeric),
    };
    !goes_on(&mut after.chars()) && !goes_on(&mut before.chars().rev())
}

/// The pieces of a text in each of which words stand one after the other: lines, and what is in quotes by itself.
fn pieces(lower: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    let mut letters = lower.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map_or(' ', |(_, next)| *next);
        let is_quote = QUOTES.contains(&letter) && !(before.is_alphanumeric() && next.is_alphanumeric());
        if letter == '\n' || is_quote {
            found.extend(lower.get(start..at));
            start = at;
        }
        before = letter;
    }
    found.extend(lower.get(start..));
    found
}

/// A name without the ending of a file, such as `.txt`.
pub(crate) fn without_ending(normal: &str) -> &str {
    match normal.rsplit_once('.') {
        Some((name, last))
            if !name.is_empty()
                && ending(&format!(".{last}")).is_some_and(|ending| ending.len() == last.len() + 1) =>
        {
            name
        }
        _ => normal,
    }
}

/// The ending of a file with which a text begins.
fn ending(text: &str) -> Option<&str> {
    let letters = text.strip_prefix('.')?;
    let length = letters.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(letters.len());
    let has_letter = letters.get(..length)?.contains(|letter: char| letter.is_ascii_alphabetic());
    ((2..=4).contains(&length) && has_letter).then(|| text.get(..=length)).flatten()
}

/// What stands before and after each occurrence of a text.
fn occurrences<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let wanted = if wanted.is_empty() { "\0" } else { wanted };
    text.match_indices(wanted)
        .filter_map(|(at, found)| Some((text.get(..at)?, text.get(at + found.len()..)?)))
}

/// Words with a capital, in lower case: all of them, and those that no sentence begins with.
fn capitals(plain: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut all = BTreeSet::new();
    let mut inner = BTreeSet::new();
    for (at, word) in tokens(plain) {
        if !word.starts_with(char::is_uppercase) || word.chars().count() < 2 {
            continue;
        }
        let before = plain.get(..at).unwrap_or_default();
        let goes_on = before
            .strip_suffix(' ')
            .is_some_and(|before| before.ends_with(|letter: char| letter.is_alphanumeric() || letter == ','));
        let word = lower(word);
        if goes_on {
            inner.insert(word.clone());
        }
        all.insert(word);
    }
    (all, inner)
}

/// Paths in a text: two names at least, or one below a root. No addresses of pages.
fn paths(plain: &str) -> Vec<String> {
    let is_border = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';')
    };
    let chunks = plain.split(is_border).map(|chunk| chunk.trim_end_matches(['.', ':', '!', '?']));
    chunks
        .filter(|chunk| !chunk.contains("://") && crate::carrier::page(chunk).is_none())
        .filter_map(path)
        .collect()
}

/// A path in the form in which it is compared; nothing where it leads upwards, or is no more than a root.
pub(crate) fn path(text: &str) -> Option<String> {
    let text = text.trim();
    let unified = if text.contains('/') { text.to_owned() } else { text.replace('\\', "/") };
    let is_path = unified.contains('/') && !unified.contains("//");
    let trimmed = unified.strip_prefix("./").unwrap_or(&unified).trim_end_matches('/');
    let goes_up = trimmed.split('/').any(|part| part == ".." || part == ".");
    let is_root = matches!(trimmed, "" | "~" | ".") || trimmed.len() == 2 && trimmed.ends_with(':');
    (is_path && !goes_up && !is_root && !trimmed.contains('\n')).then(|| trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_number_counts_only_beside_its_noun() {
        let text = Text::of_words(
            "Delete event 24, file #7 and the mail with id 31; I have 5 minutes. The number is '99'",
        );
        let nouns = |noun: &str| [noun.to_owned(), "id".to_owned(), "number".to_owned()];
        assert!(text.calls("24", &nouns("event")));
        assert!(text.calls("7", &nouns("x")));
        assert!(text.calls("31", &nouns("x")));
        assert!(!text.calls("5", &nouns("event")));
        assert!(!text.calls("2", &nouns("event")), "not a part of a number");
        assert!(text.quotes("99"));
    }

    #[test]
    fn a_secret_is_given_in_quotes_after_its_noun_or_alone() {
        let nouns = ["password".to_owned()];
        assert!(Text::of_words("set the password to be Hunter2!").gives("Hunter2!", &nouns));
        assert!(!Text::of_words("set the password to be hunter2!").gives("Hunter2!", &nouns));
        assert!(Text::of_words("Hunter2.").gives("Hunter2", &nouns));
        assert!(Text::of_words("use “Hunter2” there").gives("Hunter2", &nouns));
        assert!(!Text::of_words("change my password please").gives("please", &nouns));
        assert!(
            !Text::of_words("the password of my account is old").gives("old", &nouns),
            "too far from its noun"
        );
    }

    #[test]
    fn a_name_is_quoted_whatever_its_ending() {
        let text = Text::of_words("Open 'Quarterly Report.' and \"notes\"");
        assert!(text.quotes("quarterly report"));
        assert!(text.quotes("notes.txt"));
        assert!(!text.quotes("report"));
    }

    #[test]
    fn a_capital_inside_of_a_sentence_begins_a_name() {
        let text = Text::of_words("Delete the Budget file. Send the rest to Ann");
        assert!(text.has_inner_capital("budget") && text.has_inner_capital("ann"));
        assert!(!text.has_inner_capital("delete") && !text.has_inner_capital("send"));
        assert!(!Text::of_words("Bitte lösche die Datei mit dem Budget").has_inner_capital("budget"));
    }

    #[test]
    fn a_path_never_leads_upwards() {
        assert_eq!(path("/home/me/notes/").as_deref(), Some("/home/me/notes"));
        assert_eq!(path("./src/main.rs").as_deref(), Some("src/main.rs"));
        assert_eq!(path("/home/me/../you"), None);
        assert_eq!(path("/"), None);
        assert_eq!(path("notes.txt"), None);
        assert_eq!(Text::of_words("Clean /var/tmp, not /etc or https://a.example/b/c").paths(), ["/var/tmp"]);
    }
}
