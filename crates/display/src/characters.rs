//! How each character is shown: as itself, by a sign that can be seen, or by its number. The tables are fixed: a rendering
//! must be the same whatever a later Unicode assigns.

use super::End;
use super::joiners::is_joining;

/// Stands around the number of a character that is hidden.
const OPEN: char = '\u{27e6}';

/// Stands for a tab.
const TAB: char = '\u{2192}';

/// Stands for the blank at which no line is broken, as French sets it.
const NO_BREAK: char = '\u{2423}';

/// Stands for the narrow blank at which no line is broken.
const NARROW_NO_BREAK: char = '\u{237d}';

/// Stands for the wide blank of Chinese and Japanese.
const WIDE: char = '\u{25a1}';

/// Stands for a blank at the end of a line, where it could not be seen.
const AT_END: char = '\u{2420}';

/// Stands for a carriage return before a line break.
const RETURN: char = '\u{240d}';

/// How many marks may stand on one letter before they hide what is around them.
const MAX_MARKS: usize = 4;

/// How a character is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Itself,
    /// An ordinary character that has no shape of its own.
    Sign(char),
    /// By its number.
    Hidden,
}

/// Whether a character may stand for another one.
pub(super) const fn is_sign(letter: char) -> bool {
    matches!(letter, OPEN | TAB | NO_BREAK | NARROW_NO_BREAK | WIDE | AT_END | RETURN)
}

/// How the character at this place of a text is shown. The text has no line break in it that is meant as one.
pub(super) fn shown(letters: &[char], index: usize, end: End) -> Shown {
    let Some(&letter) = letters.get(index) else { return Shown::Hidden };
    let is_last = index + 1 == letters.len();
    match letter {
        '\t' => Shown::Sign(TAB),
        '\u{a0}' => Shown::Sign(NO_BREAK),
        '\u{202f}' => Shown::Sign(NARROW_NO_BREAK),
        '\u{3000}' => Shown::Sign(WIDE),
        '\r' if end == End::Break && is_last => Shown::Sign(RETURN),
        // Before a quotation mark it can be seen.
        ' ' if end != End::Quote && is_blank_to_the_end(letters, index) => Shown::Sign(AT_END),
        _ if is_hidden(letter) && !is_joining(letters, index) => Shown::Hidden,
        _ if is_mark(letter) && !sits_on_a_letter(letters, index) => Shown::Hidden,
        _ => Shown::Itself,
    }
}

/// A line that ends in `\r\n` ends before the `\r`.
fn is_blank_to_the_end(letters: &[char], index: usize) -> bool {
    let rest = letters.get(index..).unwrap_or_default();
    let rest = rest.strip_suffix(&['\r']).unwrap_or(rest);
    rest.iter().all(|letter| *letter == ' ')
}

/// A mark at the beginning would stand on a character of ours, and one of many reaches into other lines.
fn sits_on_a_letter(letters: &[char], index: usize) -> bool {
    let before = letters.get(..index).unwrap_or_default();
    let marks = before.iter().rev().take_while(|letter| is_mark(**letter)).count();
    marks < MAX_MARKS && before.len() > marks
}

/// Marks that stand on any letter before them.
fn is_mark(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0x300..=0x36f | 0x483..=0x489 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe20..=0xfe2f
    )
}

/// What people do not see, or see in another order than it is written.
pub(super) fn is_hidden(letter: char) -> bool {
    let code = u32::from(letter);
    // The last two of every plane are no characters.
    code & 0xfffe == 0xfffe
        || matches!(
            code,
            0x00..=0x1f
                | 0x7f..=0x9f
                | 0xad
                | 0x34f
                | 0x61c
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180b..=0x180f
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x2800
                | 0x3164
                | 0xe000..=0xf8ff
                | 0xfdd0..=0xfdef
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffb
                | 0x1_3430..=0x1_345f
                | 0x1_6fe4
                | 0x1_bca0..=0x1_bca3
                | 0x1_d159
                | 0x1_d173..=0x1_d17a
                // Planes that nobody has assigned, tags and variation selectors, private use.
                | 0x4_0000..
        )
        // Blanks that look like the blank and are not it.
        || matches!(code, 0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000)
}
