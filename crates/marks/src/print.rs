//! Fingerprints of what was written, by which it is known again when it is read: whole, cut, or dressed otherwise.
//!
//! A fingerprint is a keyed hash of eight words in a row, and of each four in a row the least is kept, so that two texts
//! that share a stretch share fingerprints. A text bears a mark if it holds three tenths of the mark's fingerprints, or
//! three tenths of its own are the mark's: one alone is as often the wording that everybody uses.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::words::each_word;

/// How many words a fingerprint covers.
const SPAN: usize = 8;

/// Of how many in a row one is kept.
const WINDOW: usize = 4;

/// How many fingerprints stand together. A longer text is several, each of which is known by itself.
const MOST_TOGETHER: usize = 2048;

/// How much of a text is looked at. What is sent and received has bounds of its own, which lie below.
const MOST_WORDS: usize = 4 << 20;

/// The shortest content that is worth a mark, where it is below eight words: letters in all.
const SHORTEST: usize = 8;

/// The key of an installation. Who has it can tell whether a text he guesses was written.
#[derive(Clone, Copy)]
pub struct PrintKey {
    words: (u64, u64),
    mixer: u64,
}

/// The fingerprints of what one call wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prints {
    /// Each in order and without repetition.
    parts: Vec<Box<[u64]>>,
    /// Of contents below eight words: of all of it.
    whole: Box<[u64]>,
}

/// The fingerprints of a text that came back.
#[derive(Debug, Default)]
pub struct ReadPrints {
    spans: PrintSet,
    whole: PrintSet,
}

/// The fingerprints of a text that came back, but for those that say nothing.
#[derive(Clone, Copy)]
pub struct Telling<'a> {
    read: &'a ReadPrints,
    known: &'a PrintSet,
    /// How many of eight words there are.
    spans: usize,
}

/// Fingerprints are random already.
pub type PrintSet = HashSet<u64, BuildHasherDefault<AsItIs>>;

/// Takes a number for its own hash.
#[derive(Debug, Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

// === impl PrintKey ===

impl std::fmt::Debug for PrintKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrintKey")
    }
}

impl PrintKey {
    /// From random bytes.
    pub fn new(bytes: &[u8; 24]) -> Self {
        let number = |from: usize| {
            let bytes = bytes.get(from..from + 8).unwrap_or_default();
            bytes.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte))
        };
        Self { words: (number(0), number(8)), mixer: number(16) | 1 }
    }

    fn word(&self, word: &[u8]) -> u64 {
        sip(self.words, word)
    }
}

// === impl Prints ===

impl Prints {
    /// Of the texts that a call writes.
    pub fn of_written<'t>(key: &PrintKey, texts: impl IntoIterator<Item = &'t str> + Clone) -> Self {
        let spans = spans(key, texts.clone());
        if spans.is_empty() {
            let mut whole: Vec<u64> = texts.into_iter().filter_map(|text| whole(key, text)).collect();
            whole.sort_unstable();
            whole.dedup();
            return Self { parts: Vec::new(), whole: whole.into() };
        }
        let parts = spans.chunks(MOST_TOGETHER).map(|part| sorted(part.to_vec())).collect();
        Self { parts, whole: Box::default() }
    }

    /// Whether there is nothing by which it could be known again.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.whole.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.whole.len() + self.parts.iter().map(|part| part.len()).sum::<usize>()
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.parts.iter().flatten().chain(&self.whole).copied()
    }

    /// Takes in those of another writing of the same thing.
    pub fn add(&mut self, other: &Self) {
        for part in &other.parts {
            if !self.parts.contains(part) {
                self.parts.push(part.clone());
            }
        }
        let mut whole = self.whole.to_vec();
        whole.extend(&other.whole);
        self.whole = sorted(whole);
    }

    /// Whether all of the other are among these.
    pub fn cover(&self, other: &Self) -> bool {
        other.parts.iter().all(|part| self.parts.contains(part))
            && other.whole.iter().all(|print| self.whole.binary_search(print).is_ok())
    }

    /// Whether a text that came back bears them.
    pub fn are_in(&self, read: &Telling<'_>) -> bool {
        let Telling { read, known, spans } = *read;
        let counts = |print: &&u64| !known.contains(*print);
        if self.whole.iter().filter(counts).any(|print| read.whole.contains(print)) {
            return true;
        }
        let shares = |part: &[u64]| {
            let (mut all, mut common) = (0, 0);
            for print in part.iter().filter(counts) {
                all += 1;
                common += usize::from(read.spans.contains(print));
            }
            common > 0 && (is_much(common, all) || is_much(common, spans))
        };
        self.parts.iter().any(|part| shares(part))
    }

    /// As it is stored.
    pub fn to_text(&self) -> String {
        let part = |part: &[u64]| {
            let bytes: Vec<u8> = part.iter().flat_map(|print| print.to_be_bytes()).collect();
            URL_SAFE_NO_PAD.encode(bytes)
        };
        let mut text = part(&self.whole);
        for each in &self.parts {
            text.push('.');
            text.push_str(&part(each));
        }
        text
    }

    /// What was stored; `None` where that cannot be read.
    pub fn from_text(text: &str) -> Option<Self> {
        let part = |text: &str| -> Option<Box<[u64]>> {
            let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
            let prints = bytes.chunks(8).map(|chunk| Some(u64::from_be_bytes(chunk.try_into().ok()?)));
            prints.collect()
        };
        let mut parts = text.split('.');
        let whole = part(parts.next()?)?;
        Some(Self { whole, parts: parts.map(part).collect::<Option<_>>()? })
    }
}

// === impl ReadPrints ===

impl ReadPrints {
    /// Of the texts of a reply.
    pub fn of<'t>(key: &PrintKey, texts: impl IntoIterator<Item = &'t str> + Clone) -> Self {
        let spans = spans(key, texts.clone()).into_iter().collect();
        let mut all = PrintSet::default();
        for text in texts {
            all.extend(whole(key, text));
            // A value may stand in a line of its own, or in quotes.
            for piece in text.split(['\n', '"']).filter(|piece| piece.len() < text.len()) {
                all.extend(whole(key, piece));
            }
        }
        Self { spans, whole: all }
    }

    /// Without those that are known to say nothing of who wrote the text.
    pub fn without<'a>(&'a self, known: &'a PrintSet) -> Telling<'a> {
        let spans = self.spans.iter().filter(|print| !known.contains(*print)).count();
        Telling { read: self, known, spans }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.whole.is_empty()
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.spans.iter().chain(&self.whole).copied()
    }
}

/// Three tenths or more.
fn is_much(common: usize, all: usize) -> bool {
    common * 10 >= all * 3
}

fn sorted(mut prints: Vec<u64>) -> Box<[u64]> {
    prints.sort_unstable();
    prints.dedup();
    prints.into()
}

/// The fingerprints of a text in their order; none below eight words.
fn spans<'t>(key: &PrintKey, texts: impl IntoIterator<Item = &'t str>) -> Vec<u64> {
    let mut kept = Vec::new();
    // The last eight words, and the last four fingerprints.
    let (mut words, mut prints) = ([0_u64; SPAN], [u64::MAX; WINDOW]);
    let (mut rolled, mut count) = (0_u64, 0_usize);
    let leaving = (0..SPAN).fold(1_u64, |power, _| power.wrapping_mul(ROLL));
    let mut take = |word: &[u8]| {
        if count >= MOST_WORDS {
            return ControlFlow::Break(());
        }
        let hash = key.word(word);
        if let Some(oldest) = words.get_mut(count % SPAN) {
            rolled = rolled.wrapping_mul(ROLL).wrapping_add(hash).wrapping_sub(oldest.wrapping_mul(leaving));
            *oldest = hash;
        }
        count += 1;
        let Some(at) = count.checked_sub(SPAN) else { return ControlFlow::Continue(()) };
        if let Some(print) = prints.get_mut(at % WINDOW) {
            *print = mixed(rolled, key.mixer);
        }
        if at + 1 >= WINDOW {
            let least = prints.iter().copied().min().unwrap_or_default();
            if kept.last() != Some(&least) {
                kept.push(least);
            }
        }
        ControlFlow::Continue(())
    };
    for text in texts {
        each_word(text, &mut take);
    }
    // Between eight and eleven words there are fewer than four to choose from.
    if kept.is_empty() && count >= SPAN {
        kept.extend(prints.iter().copied().min());
    }
    kept
}

/// The fingerprint of all of a text below eight words, if it is worth one.
fn whole(key: &PrintKey, text: &str) -> Option<u64> {
    // Eight words and more are longer than that.
    if text.len() > 4096 {
        return None;
    }
    let (mut rolled, mut count, mut letters) = (0_u64, 0_usize, 0_usize);
    each_word(text, &mut |word| {
        count += 1;
        if count >= SPAN {
            return ControlFlow::Break(());
        }
        rolled = rolled.wrapping_mul(ROLL).wrapping_add(key.word(word));
        // Of UTF-8, every byte that begins a letter.
        letters += word.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        ControlFlow::Continue(())
    });
    let is_worth = (1..SPAN).contains(&count) && letters >= SHORTEST;
    is_worth.then(|| mixed(rolled ^ count as u64, key.mixer.rotate_left(32) | 1))
}

/// What hashes of words are rolled by: an odd number without a pattern.
const ROLL: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads what was rolled over all bits.
fn mixed(rolled: u64, mixer: u64) -> u64 {
    let mut mixed = (rolled ^ rolled >> 32).wrapping_mul(mixer);
    mixed = (mixed ^ mixed >> 29).wrapping_mul(ROLL);
    mixed ^ mixed >> 32
}

/// SipHash-2-4.
fn sip((k0, k1): (u64, u64), bytes: &[u8]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        let word = u64::from_le_bytes(*chunk);
        v[3] ^= word;
        round(&mut v);
        round(&mut v);
        v[0] ^= word;
    }
    let tail = rest.iter().rev().fold(0_u64, |tail, byte| tail << 8 | u64::from(*byte));
    let last = (bytes.len() as u64) << 56 | tail;
    v[3] ^= last;
    round(&mut v);
    round(&mut v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_siphash() {
        // The first two vectors of its authors: key 00..0f, messages of nothing and of 00.
        let key = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        assert_eq!(sip(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(sip(key, &[0]), 0x74f8_39c5_93dc_67fd);
        assert_eq!(sip(key, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let key = PrintKey::new(&[7; 24]);
        let long: String = (0..9000).map(|number| format!("w{number} ")).collect();
        for text in ["", "a few words only", "one two three four five six seven eight nine", long.as_str()] {
            let prints = Prints::of_written(&key, [text]);
            assert_eq!(Prints::from_text(&prints.to_text()).as_ref(), Some(&prints), "{text:.20}");
            assert_eq!(prints.is_empty(), text.is_empty());
        }
        assert_eq!(Prints::from_text("!"), None);
    }
}
