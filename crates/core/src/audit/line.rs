//! A JSON object written by hand, member by member, into one buffer.

use serde::Serialize;

/// One line in the making.
pub(super) struct Line<'b> {
    out: &'b mut Vec<u8>,
}

const HEX: &[u8; 16] = b"0123456789abcdef";

// === impl Line ===

impl<'b> Line<'b> {
    pub(super) fn new(out: &'b mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Text of our own that is JSON already.
    pub(super) fn raw(&mut self, text: &'static str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// A member that is a text. `before` is everything up to the opening quote.
    pub(super) fn text(&mut self, before: &'static str, value: &str) {
        self.raw(before);
        self.quoted(value);
    }

    /// A text in quotes.
    pub(super) fn quoted(&mut self, value: &str) {
        // Looking at all bytes at once is faster than stopping at the first.
        let plain =
            value.bytes().fold(true, |plain, byte| plain & (byte >= 0x20) & (byte != b'"') & (byte != b'\\'));
        if plain {
            self.word(value);
        } else {
            self.json(&value);
        }
    }

    /// A text in quotes that needs no escaping.
    pub(super) fn word(&mut self, word: &str) {
        self.out.push(b'"');
        self.out.extend_from_slice(word.as_bytes());
        self.out.push(b'"');
    }

    /// A list of words that need no escaping.
    pub(super) fn words(&mut self, before: &'static str, words: impl Iterator<Item = &'static str>) {
        self.raw(before);
        self.out.push(b'[');
        let start = self.out.len();
        for word in words {
            if self.out.len() > start {
                self.out.push(b',');
            }
            self.word(word);
        }
        self.out.push(b']');
    }

    /// A member that is a number.
    pub(super) fn number(&mut self, before: &'static str, value: u64) {
        self.raw(before);
        let mut digits = [0; 20];
        let mut rest = value;
        let mut length = 0;
        for place in digits.iter_mut().rev() {
            *place = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
            length += 1;
            if rest == 0 {
                break;
            }
        }
        self.out.extend_from_slice(digits.get(digits.len() - length..).unwrap_or_default());
    }

    /// A member that is 32 bytes in hexadecimal.
    pub(super) fn hex(&mut self, before: &'static str, bytes: &[u8; 32]) {
        self.raw(before);
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
            for (digit, nibble) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
            }
        }
        self.out.push(b'"');
        self.out.extend_from_slice(&text);
        self.out.push(b'"');
    }

    /// A member of any shape. For what is rare.
    pub(super) fn member(&mut self, before: &'static str, value: &impl Serialize) {
        self.raw(before);
        self.json(value);
    }

    fn json(&mut self, value: &impl Serialize) {
        let start = self.out.len();
        // Writing into memory cannot fail, and none of our types refuses; a line must be whole all the same.
        if serde_json::to_writer(&mut *self.out, value).is_err() {
            self.out.truncate(start);
            self.out.extend_from_slice(b"null");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Line<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Line::new(&mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_have_all_their_digits_and_no_more() {
        for number in [0, 7, 10, 99, 1_763_207_113_456, u64::MAX] {
            assert_eq!(written(|line| line.number("", number)), number.to_string());
        }
    }

    #[test]
    fn text_is_escaped_as_json_wants_it() {
        for text in ["plain", "", "say \"no\"", "back\\slash", "line\nbreak", "\u{7f}", "größe", "\u{0}"] {
            assert_eq!(written(|line| line.quoted(text)), serde_json::to_string(text).unwrap());
        }
    }

    #[test]
    fn words_are_a_list() {
        assert_eq!(written(|line| line.words("", [].into_iter())), "[]");
        assert_eq!(written(|line| line.words("", ["a", "b"].into_iter())), r#"["a","b"]"#);
    }
}
