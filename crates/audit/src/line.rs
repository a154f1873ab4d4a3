//! A JSON object written by hand, piece by piece, into one buffer.

use highwater_notation::{Word, Words};
use serde::Serialize;

/// One line in the making. A text is written without its quotes: they are part of the pieces round it.
pub(super) struct Line<'b> {
    out: &'b mut Vec<u8>,
}

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

// === impl Line ===

impl<'b> Line<'b> {
    pub(super) fn new(out: &'b mut Vec<u8>) -> Self {
        Self { out }
    }

    /// How much is written.
    pub(super) fn length(&self) -> usize {
        self.out.len()
    }

    /// Takes back what was written after that.
    pub(super) fn take_back(&mut self, length: usize) {
        self.out.truncate(length);
    }

    /// A piece of our own. Its length is known when it is compiled, so that copying it is a few moves.
    #[inline]
    pub(super) fn raw<const LENGTH: usize>(&mut self, piece: &[u8; LENGTH]) -> &mut Self {
        self.out.extend_from_slice(piece);
        self
    }

    /// A word of our own, which needs no escaping.
    #[inline]
    pub(super) fn word(&mut self, word: &str) -> &mut Self {
        self.out.extend_from_slice(word.as_bytes());
        self
    }

    /// Somebody's text, escaped where it must be.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        if is_plain(text.as_bytes()) {
            return self.word(text);
        }
        self.escaped(text)
    }

    #[cold]
    fn escaped(&mut self, text: &str) -> &mut Self {
        let start = self.out.len();
        self.json(&text);
        // Without the quotes.
        self.out.pop();
        self.out.drain(start..=start);
        self
    }

    /// A list of words, with its brackets.
    pub(super) fn words(&mut self, words: impl Iterator<Item = &'static str>) -> &mut Self {
        let mut none = true;
        for word in words {
            if none {
                self.raw(b"[\"");
            } else {
                self.raw(b"\",\"");
            }
            self.word(word);
            none = false;
        }
        if none { self.raw(b"[]") } else { self.raw(b"\"]") }
    }

    /// A set of words, with its brackets.
    pub(super) fn set<T: Word>(&mut self, set: Words<T>) -> &mut Self {
        let mut bits = set.bits();
        self.words(std::iter::from_fn(|| {
            let word = T::ALL.get(bits.trailing_zeros() as usize)?;
            bits &= bits.wrapping_sub(1);
            Some(word.as_str())
        }))
    }

    /// A number.
    pub(super) fn number(&mut self, value: u64) -> &mut Self {
        if let Ok(digit @ 0..10) = u8::try_from(value) {
            self.out.push(b'0' + digit);
            return self;
        }
        let mut digits = [b'0'; 20];
        let mut used = 0;
        let mut rest = value;
        for place in digits.rchunks_exact_mut(2) {
            let pair = (rest % 100) as usize * 2;
            if let Some(pair) = PAIRS.get(pair..pair + 2) {
                place.copy_from_slice(pair);
            }
            rest /= 100;
            used += 2;
            if rest == 0 {
                break;
            }
        }
        let shown = digits.get(digits.len() - used..).unwrap_or_default();
        let shown = match shown {
            [b'0', rest @ ..] if !rest.is_empty() => rest,
            shown => shown,
        };
        self.out.extend_from_slice(shown);
        self
    }

    /// 32 bytes in hexadecimal.
    pub(super) fn hex(&mut self, bytes: &[u8; 32]) -> &mut Self {
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
            if let [high, low] = pair {
                (*high, *low) = (digit(byte >> 4), digit(byte & 15));
            }
        }
        self.out.extend_from_slice(&text);
        self
    }

    /// A value of any shape. For what is rare.
    #[cold]
    pub(super) fn json(&mut self, value: &impl Serialize) -> &mut Self {
        let start = self.out.len();
        // Writing into memory cannot fail, and none of our types refuses; a line must be whole all the same.
        if serde_json::to_writer(&mut *self.out, value).is_err() {
            self.out.truncate(start);
            self.out.extend_from_slice(b"null");
        }
        self
    }
}

fn digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble }
}

/// Whether a text needs no escaping: eight bytes at a time, because every call asks this of its names.
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    fn special(bytes: u64) -> u64 {
        // The high bit of a byte is set where the byte is below 0x20, is a quote or a backslash.
        let below = bytes.wrapping_sub(ONES * 0x20) & !bytes;
        let zero_at = |byte: u64| {
            let differs = bytes ^ (ONES * byte);
            differs.wrapping_sub(ONES) & !differs
        };
        (below | zero_at(b'"'.into()) | zero_at(b'\\'.into())) & HIGH
    }
    // The last eight may have been looked at in part before, which does no harm.
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\');
    };
    let (chunks, _) = text.as_chunks::<8>();
    let found = chunks.iter().fold(0, |found, chunk| found | special(u64::from_le_bytes(*chunk)));
    found | special(u64::from_le_bytes(*last)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::annotation::Destination;

    fn written(write: impl FnOnce(&mut Line<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Line::new(&mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_have_all_their_digits_and_no_more() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        for number in powers.clone().chain(powers.map(|power| power - 1)).chain([1_763_207_113_456, u64::MAX])
        {
            assert_eq!(written(|line| _ = line.number(number)), number.to_string());
        }
    }

    #[test]
    fn text_is_escaped_as_json_wants_it() {
        let texts = ["", "plain", "say \"no\"", "back\\slash", "line\nbreak", "\u{7f}", "größe", "\u{0}"];
        for text in texts {
            assert_eq!(
                written(|line| _ = line.raw(b"\"").text(text).raw(b"\"")),
                serde_json::to_string(text).unwrap()
            );
        }
    }

    #[test]
    fn a_special_character_is_found_wherever_it_stands() {
        for length in 0..20 {
            assert!(is_plain(&vec![b'a'; length]) && is_plain(&vec![0xff; length]));
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    for round in [b'a', b'!', 0xff, b' '] {
                        let mut text = vec![round; length];
                        text[place] = byte;
                        let expected = byte >= 0x20 && byte != b'"' && byte != b'\\';
                        assert_eq!(is_plain(&text), expected, "{byte} at {place} of {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn hexadecimal_is_what_the_digest_shows() {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip([0, 9, 10, 16, 127, 128, 255]).for_each(|(place, byte)| *place = byte);
        assert_eq!(written(|line| _ = line.hex(&bytes)), highwater_notation::to_hex(&bytes));
    }

    #[test]
    fn words_are_a_list() {
        assert_eq!(written(|line| _ = line.words([].into_iter())), "[]");
        assert_eq!(written(|line| _ = line.words(["a", "b"].into_iter())), r#"["a","b"]"#);
        assert_eq!(written(|line| _ = line.set(Words::<Destination>::EMPTY)), "[]");
        let all = serde_json::to_string(&Words::<Destination>::all()).unwrap();
        assert_eq!(written(|line| _ = line.set(Words::<Destination>::all())), all);
    }
}
