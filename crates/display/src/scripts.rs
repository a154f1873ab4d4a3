//! Words in which letters of several scripts stand that look alike: `p` of Latin beside `р` of Cyrillic (UTS #39, mixed
//! scripts). Latin beside scripts that nobody takes for it, as in Japanese prose, is ordinary.

use std::fmt;

/// A script whose letters are taken for those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    Coptic,
}

/// What is said of a word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// Where its last character stands.
    pub(super) last: usize,
    /// The script that a reader would not expect in it.
    pub(super) script: Script,
    /// Those letters, each once.
    pub(super) letters: String,
}

const SCRIPTS: [Script; 6] =
    [Script::Latin, Script::Greek, Script::Cyrillic, Script::Armenian, Script::Cherokee, Script::Coptic];

/// Letters of Greek that are read as Latin. The others, as in `Δx` or `kΩ`, mislead nobody.
const GREEK_LIKE_LATIN: &str = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿαγεηικνορτυχωϲϳ";

/// Letters of Cyrillic that are read as Latin.
const CYRILLIC_LIKE_LATIN: &str = "АВЕЅЗІЈКМНОРСТУХҮԚԜаеѕіјкорсухһԁԛԝӏ";

/// Every word that could be misread.
pub(super) fn mixed_words(letters: &[char]) -> Vec<Note> {
    // Nearly everything is ASCII.
    if letters.iter().all(char::is_ascii) {
        return Vec::new();
    }
    let mut notes = Vec::new();
    for address in runs(0, letters, |letter| is_word(letter) || matches!(letter, '.' | '@' | '-' | '_')) {
        let whole = part(letters, &address);
        // Between a full stop or an `@` and letters of Latin a word is read as Latin, too.
        let is_address = whole.iter().any(|letter| matches!(letter, '.' | '@'));
        let words = runs(address.start, whole, is_word);
        let beside_latin =
            is_address && words.iter().any(|word| is_all_of(part(letters, word), Script::Latin));
        for word in words {
            let all = part(letters, &word);
            if is_mixed(all) || (beside_latin && is_read_as_latin(all)) {
                notes.extend(Note::of(all, word.end.saturating_sub(1)));
            }
        }
    }
    notes
}

// === impl Note ===

impl Note {
    fn of(word: &[char], last: usize) -> Option<Self> {
        let count = |script: Script| word.iter().filter(|letter| script_of(**letter) == Some(script)).count();
        let there = SCRIPTS.into_iter().filter(|script| count(*script) > 0);
        // A word that reads as Latin names what is not; of others the script with fewer letters is the odd one.
        let foreign = word.iter().filter(|letter| script_of(**letter).is_some_and(|it| it != Script::Latin));
        let script = if foreign.clone().all(|letter| is_like_latin(*letter)) {
            there.filter(|script| *script != Script::Latin).max_by_key(|script| count(*script))?
        } else {
            there.min_by_key(|script| (count(*script), *script == Script::Latin))?
        };
        let mut letters: Vec<String> = Vec::new();
        for letter in word.iter().filter(|letter| script_of(**letter) == Some(script)) {
            let letter = letter.to_string();
            if !letters.contains(&letter) {
                letters.push(letter);
            }
        }
        Some(Self { last, script, letters: letters.join(" ") })
    }
}

fn part<'a>(letters: &'a [char], range: &std::ops::Range<usize>) -> &'a [char] {
    letters.get(range.clone()).unwrap_or_default()
}

/// The longest runs of characters that fit, counted from `offset`.
fn runs(offset: usize, letters: &[char], fits: impl Fn(char) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut runs = Vec::new();
    let mut begun = None;
    for (index, letter) in letters.iter().enumerate() {
        match (begun, fits(*letter)) {
            (None, true) => begun = Some(index),
            (Some(start), false) => {
                runs.push(offset + start..offset + index);
                begun = None;
            }
            _ => {}
        }
    }
    runs.extend(begun.map(|start| offset + start..offset + letters.len()));
    runs
}

/// What a word is made of, as far as it can be misread. Other letters end it.
fn is_word(letter: char) -> bool {
    script_of(letter).is_some()
        || letter.is_ascii_digit()
        || matches!(u32::from(letter), 0x300..=0x36f | 0x483..=0x489 | 0x200b..=0x200f | 0x2060 | 0xad)
}

/// Latin beside Greek counts only where the Greek is read as Latin.
fn is_mixed(word: &[char]) -> bool {
    let has = |script: Script| word.iter().any(|letter| script_of(*letter) == Some(script));
    let others = SCRIPTS.into_iter().filter(|script| *script != Script::Latin && has(*script));
    let others: Vec<Script> = others.collect();
    match others.as_slice() {
        [] => false,
        [Script::Greek] => has(Script::Latin) && word.iter().any(|letter| GREEK_LIKE_LATIN.contains(*letter)),
        [_] => has(Script::Latin),
        _ => true,
    }
}

fn is_all_of(word: &[char], script: Script) -> bool {
    let mut known = word.iter().filter_map(|letter| script_of(*letter)).peekable();
    known.peek().is_some() && known.all(|known| known == script)
}

fn is_read_as_latin(word: &[char]) -> bool {
    let mut known = word.iter().filter(|letter| script_of(**letter).is_some()).peekable();
    known.peek().is_some() && known.all(|letter| is_like_latin(*letter))
}

fn is_like_latin(letter: char) -> bool {
    GREEK_LIKE_LATIN.contains(letter) || CYRILLIC_LIKE_LATIN.contains(letter)
}

/// By ranges of code points that will not change.
pub(super) fn script_of(letter: char) -> Option<Script> {
    Some(match u32::from(letter) {
        0x41..=0x5a | 0x61..=0x7a | 0xaa | 0xba | 0xc0..=0xd6 | 0xd8..=0xf6 | 0xf8..=0x2b8 => Script::Latin,
        0x1d00..=0x1d25 | 0x1d2c..=0x1d5c | 0x1d62..=0x1d65 | 0x1d6b..=0x1d77 => Script::Latin,
        0x1d79..=0x1dbe | 0x1e00..=0x1eff | 0x2071 | 0x207f | 0x2090..=0x209c => Script::Latin,
        0x212a..=0x212b | 0x2c60..=0x2c7f | 0xa722..=0xa787 | 0xa78b..=0xa7ff => Script::Latin,
        0xab30..=0xab64 | 0xfb00..=0xfb06 | 0xff21..=0xff3a | 0xff41..=0xff5a => Script::Latin,
        0x370..=0x373 | 0x376..=0x377 | 0x37b..=0x37d | 0x37f | 0x386 | 0x388..=0x3e1 => Script::Greek,
        0x3f0..=0x3ff | 0x1d26..=0x1d2a | 0x1f00..=0x1fff | 0x2126 => Script::Greek,
        0x400..=0x482 | 0x48a..=0x52f | 0x1c80..=0x1c8f | 0x1d2b | 0x1d78 | 0xa640..=0xa69f => {
            Script::Cyrillic
        }
        0x531..=0x588 | 0xfb13..=0xfb17 => Script::Armenian,
        0x13a0..=0x13fd | 0xab70..=0xabbf => Script::Cherokee,
        0x3e2..=0x3ef | 0x2c80..=0x2cff => Script::Coptic,
        _ => return None,
    })
}

// === impl Script ===

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latin => "Latin",
            Self::Greek => "Greek",
            Self::Cyrillic => "Cyrillic",
            Self::Armenian => "Armenian",
            Self::Cherokee => "Cherokee",
            Self::Coptic => "Coptic",
        })
    }
}
