//! Canonical JSON of ours and of a JavaScript implementation, on many random documents.

use highwater_notation::CanonicalArguments;
use serde_json::{Value, json};

use crate::judge::Judge;

/// How many documents are compared.
const DOCUMENTS: usize = 12_000;

/// A small generator, so that a run depends on its seed alone.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn pick(&mut self, words: &[&str]) -> String {
        words[usize::try_from(self.roll(words.len() as u64)).unwrap()].to_owned()
    }

    fn character(&mut self) -> char {
        let range = match self.roll(8) {
            0 => 0..0x20,
            1 => 0x80..0x100,
            2 => 0x300..0x370,
            3 => 0x2000..0x2070,
            4 => 0xe000..0x1_0000,
            5 => 0x1_f600..0x1_f650,
            _ => 0x20..0x7f,
        };
        let number = range.start + u32::try_from(self.roll(u64::from(range.end - range.start))).unwrap();
        char::from_u32(number).unwrap_or('x')
    }

    fn text(&mut self) -> String {
        (0..self.roll(9)).map(|_| self.character()).collect()
    }

    /// A text as somebody might spell it: with escapes that are not needed.
    fn spelled(&mut self, text: &str) -> String {
        let mut spelled = String::from('"');
        for letter in text.chars() {
            if self.roll(4) == 0 || letter < ' ' || matches!(letter, '"' | '\\') {
                let mut units = [0; 2];
                letter
                    .encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| spelled.push_str(&format!("\\u{unit:04X}")));
            } else {
                spelled.push(letter);
            }
        }
        spelled.push('"');
        spelled
    }

    fn number(&mut self) -> String {
        match self.roll(6) {
            0 => format!("{}", i64::try_from(self.roll(1 << 53)).unwrap()),
            1 => format!("-{}.{}", self.roll(1000), self.roll(1_000_000)),
            2 => format!("{}e-{}", self.roll(1_000_000), self.roll(330)),
            3 => self.pick(&["-0", "-0.0", "1.0", "1E3", "5e-324", "0.000001", "1e-7", "9007199254740991"]),
            // Any double below the bound, as it happens to be.
            _ => loop {
                let double = f64::from_bits(self.roll(u64::MAX));
                if double.is_finite() && double.abs() <= 9_007_199_254_740_991.0 {
                    break format!("{double:e}");
                }
            },
        }
    }

    fn value(&mut self, depth: u64) -> String {
        match self.roll(if depth == 0 { 4 } else { 7 }) {
            0 => self.pick(&["null", "true", "false"]),
            1 | 2 => self.number(),
            3 => {
                let text = self.text();
                self.spelled(&text)
            }
            4 => {
                let items: Vec<String> = (0..self.roll(5)).map(|_| self.value(depth - 1)).collect();
                format!("[ {} ]", items.join(" ,"))
            }
            _ => self.object(depth),
        }
    }

    fn object(&mut self, depth: u64) -> String {
        let mut names: Vec<String> = Vec::new();
        for _ in 0..self.roll(6) {
            let name = self.text();
            // Names that differ in case alone are refused, and a name twice is, too.
            if !names.iter().any(|known| known.to_lowercase() == name.to_lowercase()) {
                names.push(name);
            }
        }
        let members: Vec<String> = names
            .iter()
            .map(|name| format!("{} :{}", self.spelled(name), self.value(depth.saturating_sub(1))))
            .collect();
        format!("{{{}}}", members.join(",\n"))
    }
}

#[test]
fn s24_g01_our_canonical_form_is_that_of_javascript() {
    let (mut judge, mut dice) = (Judge::new(), Dice(8785));
    let mut compared = 0;
    let mut longest = 0;
    for _ in 0..DOCUMENTS * 2 {
        let document = dice.object(4);
        // What folds together beyond lower case is refused by ours; such a document says nothing here.
        let Ok(ours) = CanonicalArguments::read(Some(&document)) else { continue };
        let theirs = judge.ask(&json!({ "kind": "canonical", "document": document })).unwrap();
        assert_eq!(theirs, Value::from(ours.as_str()), "{document}");
        longest = longest.max(ours.as_str().len());
        compared += 1;
        if compared == DOCUMENTS {
            break;
        }
    }
    assert_eq!(compared, DOCUMENTS, "too many documents were refused");
    assert!(longest > 500, "the documents are too small to say much: {longest}");
}
