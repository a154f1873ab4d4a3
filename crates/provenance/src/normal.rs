//! The form in which texts are compared, however somebody wrote them.

use unicode_normalization::UnicodeNormalization;

/// The text in compatible composition (NFKC), with ideographic stops as stops and without characters that are not
/// seen. Case is kept.
pub(crate) fn composed(text: &str) -> String {
    let mut composed = String::with_capacity(text.len());
    let plain = |letter: char| match letter {
        '。' | '．' | '｡' => Some('.'),
        '’' | 'ʼ' => Some('\''),
        '\t' | '\u{a0}' => Some(' '),
        letter if is_unseen(letter) => None,
        letter => Some(letter),
    };
    if text.is_ascii() {
        composed.extend(text.chars().filter_map(plain));
    } else {
        composed.extend(text.nfkc().filter_map(plain));
    }
    composed
}

/// The same in lower case and without blanks around it: the form in which single values are compared.
pub(crate) fn normal(text: &str) -> String {
    let mut lower = lower(&composed(text));
    let trimmed = lower.trim_end().len();
    lower.truncate(trimmed);
    let leading = lower.len() - lower.trim_start().len();
    lower.drain(..leading);
    lower
}

/// Lower case, for texts of any length.
pub(crate) fn lower(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase() }
}

/// Whether it takes no room on a screen: joiners, marks of direction, soft hyphens, variation selectors.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether words of this script are written without blanks between them, so that each letter is a word here.
pub(crate) fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e00}'..='\u{eff}' | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text with the places where they stand, in bytes.
pub(crate) fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices() {
        let single = is_unspaced(letter);
        if single || !letter.is_alphanumeric() {
            push(&mut found, text, start.take(), at);
            if single {
                push(&mut found, text, Some(at), at + letter.len_utf8());
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    push(&mut found, text, start, text.len());
    found
}

fn push<'a>(found: &mut Vec<(usize, &'a str)>, text: &'a str, start: Option<usize>, end: usize) {
    if let Some(start) = start
        && let Some(word) = text.get(start..end)
    {
        found.push((start, word));
    }
}

/// The words of a text in lower case, each between blanks: ` like this `. One sequence of words stands in another where
/// the one text stands in the other. Empty where there is no word.
pub(crate) fn spaced(text: &str) -> String {
    spaced_lower(&lower(&composed(text)))
}

/// The same of a text that is in its normal form.
pub(crate) fn spaced_lower(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + 2);
    for (_, word) in tokens(text) {
        spaced.push(' ');
        spaced.push_str(word);
    }
    if !spaced.is_empty() {
        spaced.push(' ');
    }
    spaced
}

/// The words of a text that [`spaced`] made.
pub(crate) fn words(spaced: &str) -> impl Iterator<Item = &str> {
    spaced.split_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_is_the_same() {
        assert_eq!(normal(" Ｍａｒｋ@evil。ｅｘａｍｐｌｅ "), "mark@evil.example");
        assert_eq!(normal("ma\u{200b}rk\u{ad}@e.example"), "mark@e.example");
        assert_eq!(normal("Ünïcode"), normal("U\u{308}nïcode"));
    }

    #[test]
    fn words_end_at_everything_that_is_no_letter_and_each_ideogram_is_one() {
        assert_eq!(spaced("Alice's bill-december_2023.txt"), " alice s bill december 2023 txt ");
        assert_eq!(spaced("发给张伟 now"), " 发 给 张 伟 now ");
        assert_eq!(spaced("..."), "");
        assert_eq!(tokens("a b"), [(0, "a"), (2, "b")]);
    }
}
