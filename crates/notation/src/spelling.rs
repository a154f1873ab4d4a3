//! Spellings that a server may take for one name: escapes, both kinds of slash, `.`, `..`, empty steps, letter case.
//!
//! An agent chooses how it writes a path or a URI, and a server opens what it means. Whatever goes by such a text goes
//! by all of its spellings.

use std::borrow::Cow;

/// How often escapes are read. Two readers in a row are common, four are not.
pub const DECODED: usize = 3;

/// What a name starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// Somewhere that the text does not say.
    Relative,
    /// `/`
    Slash,
    /// `~` or `~name`
    Home,
    /// `c:`
    Drive,
    /// `scheme://authority`
    Scheme,
}

/// The one spelling of a path or a URI: escapes are read, at most [`DECODED`] times, `\` is `/`, empty steps and `.` are
/// dropped, `..` goes one step up and never above the root, outer blanks are trimmed. A prefix `scheme://authority` is
/// kept, and so is letter case.
pub fn canonical(text: &str) -> Cow<'_, str> {
    let mut current = Cow::Borrowed(text);
    for _ in 0..DECODED {
        let Some(next) = decoded(&current) else { break };
        current = Cow::Owned(next);
    }
    match current {
        Cow::Borrowed(text) => resolved(text),
        Cow::Owned(text) => Cow::Owned(resolved(&text).into_owned()),
    }
}

/// The same without reading escapes.
pub fn resolved(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.contains('\\') {
        let slashed = text.replace('\\', "/");
        return Cow::Owned(match resolve(&slashed) {
            Some(resolved) => resolved,
            None => slashed,
        });
    }
    resolve(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Nothing where every step stands as it should.
fn resolve(text: &str) -> Option<String> {
    let (kept, path) = split_root(text);
    let rooted = path.strip_prefix('/');
    let inside = rooted.unwrap_or(path);
    // A lone root is itself; behind a prefix it is a slash too many.
    if inside.is_empty() && (rooted.is_none() || kept.is_empty()) {
        return None;
    }
    if inside.split('/').all(|step| !matches!(step, "" | "." | "..")) {
        return None;
    }
    let steps = steps(inside.split('/'));
    let mut resolved = String::with_capacity(text.len());
    resolved.push_str(kept);
    if rooted.is_some() && (kept.is_empty() || !steps.is_empty()) {
        resolved.push('/');
    }
    resolved.push_str(&steps.join("/"));
    Some(resolved)
}

/// The steps that are left of a path once `.` and empty ones are dropped and each `..` has gone one step up.
pub fn steps<'t>(written: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut steps = Vec::new();
    for step in written {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps
}

/// The text with its escapes read once; nothing where there are none. What is no UTF-8 is replaced, not left alone:
/// one bad escape must not hide the others.
pub fn decoded(text: &str) -> Option<String> {
    decoded_unless(text, |_| false)
}

/// The same, leaving escapes of these bytes as they are.
pub fn decoded_unless(text: &str, keep: impl Fn(u8) -> bool) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    let mut found = false;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let (before, from) = rest.split_at(at);
        bytes.extend_from_slice(before);
        rest = match from {
            [b'%', high, low, after @ ..] => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) if !keep(high << 4 | low) => {
                    bytes.push(high << 4 | low);
                    found = true;
                    after
                }
                _ => from.split_first().map_or(from, |(percent, after)| {
                    bytes.push(*percent);
                    after
                }),
            },
            _ => break,
        };
    }
    if !found {
        return None;
    }
    bytes.extend_from_slice(rest);
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The text without upper case, character by character.
pub fn lower(text: &str) -> Cow<'_, str> {
    let is_lower = |c: char| if c.is_ascii() { !c.is_ascii_uppercase() } else { c.to_lowercase().eq([c]) };
    if text.chars().all(is_lower) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().flat_map(char::to_lowercase).collect())
}

/// Whether the text is certainly its own canonical form in lower case, and relative. Costs one look at each byte.
pub fn is_plain(text: &str) -> bool {
    let special = |byte: &u8| {
        !byte.is_ascii()
            || byte.is_ascii_uppercase()
            || matches!(byte, b'/' | b'\\' | b'%' | b'.' | b'~' | b':')
    };
    let blank = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_whitespace() || *byte == 0x0b);
    let bytes = text.as_bytes();
    !blank(bytes.first()) && !blank(bytes.last()) && !bytes.iter().any(special)
}

/// What a text in which `\` is `/` starts from.
pub fn root(text: &str) -> Root {
    let first = text.split('/').next().unwrap_or_default();
    match first.as_bytes() {
        [] if text.starts_with('/') => Root::Slash,
        [b'~', ..] => Root::Home,
        // In a pattern any letter may be meant.
        [letter, b':'] if letter.is_ascii_alphabetic() || *letter == b'?' => Root::Drive,
        [_, _, .., b':'] if text.get(first.len()..).is_some_and(|rest| rest.starts_with("//")) => {
            Root::Scheme
        }
        _ => Root::Relative,
    }
}

/// The prefix that no `..` leaves, and the path behind it.
fn split_root(text: &str) -> (&str, &str) {
    let first = text.find('/').unwrap_or(text.len());
    let kept = match root(text) {
        Root::Relative | Root::Slash => 0,
        Root::Home | Root::Drive => first,
        Root::Scheme => {
            let authority = first + "//".len();
            text.get(authority..).and_then(|rest| rest.find('/')).map_or(text.len(), |end| authority + end)
        }
    };
    text.split_at_checked(kept).unwrap_or(("", text))
}

/// What a canonical text says behind its root; of a URI the authority is part of it.
pub fn below_root(text: &str) -> &str {
    let after = match root(text) {
        Root::Relative => return text,
        Root::Slash => text,
        Root::Home | Root::Drive => text.find('/').and_then(|at| text.get(at..)).unwrap_or_default(),
        Root::Scheme => text.split_once("//").map_or("", |(_, rest)| rest),
    };
    after.strip_prefix('/').unwrap_or(after)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_has_one_canonical_form() {
        for (text, expected) in [
            ("private/a", "private/a"),
            ("./private/a", "private/a"),
            ("private//a", "private/a"),
            ("private/./a/", "private/a"),
            ("public/../private/a", "private/a"),
            ("../../private/a", "private/a"),
            (r"public\..\private\a", "private/a"),
            ("public/%2e%2e/private/a", "private/a"),
            ("public%2F..%2fprivate/a", "private/a"),
            ("public/%252e%252e/private/a", "private/a"),
            ("public/%25252e%25252e/private/a", "private/a"),
            (" private/a\n", "private/a"),
            ("%20private/a", "private/a"),
            ("PRIVATE/a", "PRIVATE/a"),
            ("/", "/"),
            ("//", "/"),
            ("/..", "/"),
            ("/srv/public/../private/a", "/srv/private/a"),
            ("//srv//private", "/srv/private"),
            ("~/x/../../y", "~/y"),
            ("~ada/./x", "~ada/x"),
            (r"C:\x\..\..\y", "C:/y"),
            ("C:/", "C:"),
            ("file:///srv/public/../private/a", "file:///srv/private/a"),
            ("file:///../a", "file:///a"),
            ("https://host/../../a/", "https://host/a"),
            ("https://host/", "https://host"),
            (r"https:\\host\a", "https://host/a"),
            ("https://host/a//b", "https://host/a/b"),
            ("a/https://host", "a/https:/host"),
            ("", ""),
            (".", ""),
            ("..", ""),
            ("a.b", "a.b"),
            ("...", "..."),
            ("100%", "100%"),
            ("%zz%2", "%zz%2"),
            ("%ff/%2e%2e/a", "a"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_in_canonical_form_is_not_copied() {
        for text in
            ["", "a", "private/a.txt", "/srv/a", "~/a", "C:/a", "https://host/a?b=c", "file:///a", "/"]
        {
            assert!(matches!(canonical(text), Cow::Borrowed(_)), "{text}");
            assert!(matches!(resolved(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_root_and_what_is_below_it() {
        for (text, expected, below) in [
            ("private/a", Root::Relative, "private/a"),
            ("a: b", Root::Relative, "a: b"),
            ("mailto:kim", Root::Relative, "mailto:kim"),
            ("/srv/a", Root::Slash, "srv/a"),
            ("~/a", Root::Home, "a"),
            ("~", Root::Home, ""),
            ("c:/a", Root::Drive, "a"),
            ("c:", Root::Drive, ""),
            ("https://host/a", Root::Scheme, "host/a"),
            ("file:///srv/a", Root::Scheme, "srv/a"),
        ] {
            assert_eq!((root(text), below_root(text)), (expected, below), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_its_own(text in r"[aB./\\~:% 25eF]{0,16}") {
            // What is encoded more often than escapes are read is read further each time.
            let once = (0..4).fold(text, |text, _| canonical(&text).into_owned());
            prop_assert_eq!(canonical(&once), once.as_str());
        }

        #[test]
        fn a_plain_text_is_canonical_lower_case_and_relative(text in r"[aB./\\~:% é\t-]{0,6}") {
            if is_plain(&text) {
                prop_assert_eq!(canonical(&text), text.as_str());
                prop_assert_eq!(lower(&text), text.as_str());
                prop_assert_eq!(root(&text), Root::Relative);
            }
        }

        #[test]
        fn no_canonical_form_has_a_step_up(text in r"[aB./\\%2eE]{0,20}") {
            let canonical = canonical(&text);
            prop_assert!(decoded(&canonical).is_some() || !canonical.split('/').any(|step| step == ".."));
        }
    }
}
