//! The words of a text, however it is dressed: without tags, escapes, punctuation, hidden characters and letter case.

use std::ops::ControlFlow;

/// How long a tag may be. What opens one and does not end is text.
const LONGEST_TAG: usize = 4096;

/// Calls `each` with every word of a text, in order, until it has heard enough.
pub(super) fn each_word(text: &str, each: &mut impl FnMut(&[u8]) -> ControlFlow<()>) {
    let mut word = Vec::with_capacity(32);
    let mut rest = text;
    while let Some(first) = rest.as_bytes().first().copied() {
        // By far the most of it is plain letters and what parts them.
        let (letter, after) = match first {
            b'<' | b'&' | b'\\' | 0x80.. => letter(rest),
            plain => {
                let plain = char::from(plain);
                (plain, rest.get(1..).unwrap_or_default())
            }
        };
        rest = after;
        if letter.is_ascii() {
            if letter.is_ascii_alphanumeric() {
                word.push(letter.to_ascii_lowercase() as u8);
                continue;
            }
        } else if is_hidden(letter) {
            continue;
        } else if letter.is_alphanumeric() {
            if stands_alone(letter) && !end(&mut word, each) {
                return;
            }
            for lower in letter.to_lowercase() {
                word.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
            }
            if !stands_alone(letter) {
                continue;
            }
        }
        if !end(&mut word, each) {
            return;
        }
    }
    end(&mut word, each);
}

/// Ends a word, and says whether more are wanted.
fn end(word: &mut Vec<u8>, each: &mut impl FnMut(&[u8]) -> ControlFlow<()>) -> bool {
    if word.is_empty() {
        return true;
    }
    let heard = each(word);
    word.clear();
    heard.is_continue()
}

/// The first letter of a text that is not plain, and what follows it. What stands for no letter parts words.
fn letter(text: &str) -> (char, &str) {
    let mut rest = text.chars();
    let Some(first) = rest.next() else { return (' ', "") };
    let rest = rest.as_str();
    match first {
        '<' => (' ', after_tag(rest).unwrap_or(rest)),
        '&' => entity(rest).unwrap_or((' ', rest)),
        '\\' => escape(rest).unwrap_or((' ', rest)),
        letter => (letter, rest),
    }
}

/// What follows a tag of which this is the text behind `<`.
fn after_tag(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    if !first.is_ascii_alphabetic() && !matches!(first, '/' | '!' | '?') {
        return None;
    }
    let end = text.bytes().take(LONGEST_TAG).position(|byte| matches!(byte, b'<' | b'>'))?;
    text.get(end..)?.strip_prefix('>')
}

/// What an entity stands for, of which this is the text behind `&`. What is no letter only parts words.
fn entity(text: &str) -> Option<(char, &str)> {
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let (name, after) = (text.get(..end)?, text.get(end + 1..)?);
    let meant = match name.strip_prefix('#') {
        Some(number) => {
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)?
        }
        None if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) => ' ',
        None => return None,
    };
    Some((meant, after))
}

/// What an escape stands for, of which this is the text behind `\`.
fn escape(text: &str) -> Option<(char, &str)> {
    let mut rest = text.chars();
    match rest.next()? {
        'n' | 'r' | 't' | 'b' | 'f' => Some((' ', rest.as_str())),
        'u' => {
            let digits = text.get(1..5)?;
            let number = u32::from_str_radix(digits, 16).ok()?;
            // Half of a pair is no letter: it parts words, as the other half does.
            Some((char::from_u32(number).unwrap_or(' '), text.get(5..)?))
        }
        _ => None,
    }
}

/// Whether nobody sees the character: it parts no words.
fn is_hidden(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xe0000..=0xe0fff
    )
}

/// Whether the script has no spaces between words: then each character is one.
fn stands_alone(letter: char) -> bool {
    letter.is_alphanumeric()
        && matches!(
            u32::from(letter),
            0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x2e80..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, &mut |word| {
            words.push(String::from_utf8(word.to_vec()).unwrap());
            ControlFlow::Continue(())
        });
        words
    }

    #[test]
    fn the_words_are_the_same_however_they_are_dressed() {
        let plain = words("Ada said: meet me at six, bring the café list");
        for dressed in [
            "<p>Ada said: <b>meet me</b> at six,</p><p>bring the caf&#233; list</p>",
            r"Ada said: meet me at six,\nbring the caf\u00e9 list",
            "ADA **said**: _meet_ me &amp; at six &mdash; bring\u{200b} the caf\u{ad}\u{e9} list",
            "Ada said:\r\n\tmeet me at \"six\", bring the café list",
        ] {
            assert_eq!(words(dressed), plain, "{dressed}");
        }
    }

    #[test]
    fn what_only_looks_like_a_tag_or_an_escape_is_text() {
        assert_eq!(words("a < b > c"), ["a", "b", "c"]);
        assert_eq!(words("1 <2 and x<y"), ["1", "2", "and", "x", "y"]);
        assert_eq!(words("fish & chips; AT&T"), ["fish", "chips", "at", "t"]);
        assert_eq!(words(r"C:\data"), ["c", "data"]);
        assert_eq!(words("<never closed"), ["never", "closed"]);
    }

    #[test]
    fn scripts_without_spaces_have_a_word_for_each_character() {
        assert_eq!(words("日本語 ok"), ["日", "本", "語", "ok"]);
    }
}
