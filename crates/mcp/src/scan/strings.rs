//! Strings and numbers, the scan's inner loops.

use super::{Scanner, Stop, Violation};

/// The bytes a string body stops at: its end, an escape, or a control character, which JSON forbids.
const fn stops(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

impl Scanner<'_> {
    /// Reads the string that opens here. True if it contains escapes.
    pub(super) fn string(&mut self, lone_surrogates: bool) -> Result<bool, Stop> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain_length(self.bytes.get(self.at..).unwrap_or_default());
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    if let Err(violation) = self.escape(lone_surrogates) {
                        return self.stop(violation);
                    }
                }
                Some(_) => return self.syntax("control character in a string"),
                None => return self.syntax("unexpected end in a string"),
            }
        }
    }

    fn escape(&mut self, lone_surrogates: bool) -> Result<(), Violation> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => {
                let unit = self.unit(self.at).ok_or(Violation::Syntax("bad escape in a string"))?;
                let is_pair = (0xD800..0xDC00).contains(&unit)
                    && self.unit(self.at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low));
                if (0xD800..0xE000).contains(&unit) && !is_pair && !lone_surrogates {
                    return Err(Violation::LoneSurrogate);
                }
                self.at += if is_pair { 12 } else { 6 };
                Ok(())
            }
            Some(_) => Err(Violation::Syntax("bad escape in a string")),
            None => Err(Violation::Syntax("unexpected end in a string")),
        }
    }

    /// The UTF-16 unit of the `\uXXXX` at a position.
    fn unit(&self, at: usize) -> Option<u32> {
        let [b'\\', b'u', digits @ ..] = self.bytes.get(at..at + 6)? else { return None };
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }

    /// Reads the number that starts here. False if it is none.
    pub(super) fn number(&mut self) -> bool {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        let leading_zero = self.bytes.get(self.at) == Some(&b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return false;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return false;
            }
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            return self.digits() > 0;
        }
        true
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.at - start
    }
}

/// How many bytes come before the first one that a string body stops at. Most strings are short, and a long text has an
/// escape at the end of each line: as much as a line is looked at in place, before anything is made ready for more.
#[inline]
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut passed = 0;
    while passed < LINE {
        let Some((word, tail)) = rest.split_first_chunk::<8>() else { break };
        let hits = stops_in_word(u64::from_le_bytes(*word));
        if hits != 0 {
            return passed + (hits.trailing_zeros() / 8) as usize;
        }
        passed += 8;
        rest = tail;
    }
    passed + rest_of_plain_length(rest)
}

/// The same for what is long: first where the string ends or escapes, then whether a control character stands before that.
fn rest_of_plain_length(rest: &[u8]) -> usize {
    let end = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    let body = rest.get(..end).unwrap_or(rest);
    let (blocks, _) = body.as_chunks::<64>();
    let passed = 64 * blocks.iter().take_while(|block| !has_control(block)).count();
    let (words, _) = body.get(passed..).unwrap_or_default().as_chunks::<8>();
    let passed = passed + 8 * words.iter().take_while(|word| below_space_in(word) & HIGH == 0).count();
    let last = body.get(passed..).unwrap_or_default();
    passed + last.iter().position(|byte| stops(*byte)).unwrap_or(last.len())
}

/// Whether a control character may stand in a block. Written out word by word: the release build, which is laid out for size,
/// makes a loop of anything else, and takes four times as long.
fn has_control(block: &[u8; 64]) -> bool {
    let ([a, b, c, d, e, f, g, h], _) = block.as_chunks::<8>() else { return true };
    let first = below_space_in(a) | below_space_in(b) | below_space_in(c) | below_space_in(d);
    let second = below_space_in(e) | below_space_in(f) | below_space_in(g) | below_space_in(h);
    (first | second) & HIGH != 0
}

const fn below_space_in(word: &[u8; 8]) -> u64 {
    below_space(u64::from_le_bytes(*word))
}

/// How much is looked at word by word.
const LINE: usize = 96;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// The high bit of a byte below a space, and perhaps of bytes above it.
const fn below_space(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word
}

/// Marks the bytes of a word that [`stops`] names. A borrow can mark bytes above a true hit, never below
/// the first, and only the first is looked at.
const fn stops_in_word(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    (below_space(word) | is_quote | is_backslash) & HIGH
}
