//! What a path means as text: `~` expanded, relative ones joined to their base, `.` and `..` taken out.
//!
//! What comes out is what every program would make of the text. Where programs differ, there is no answer: some strip
//! quotes and blanks around a path, some expand variables and braces, some decode, some read file URLs.

/// The absolute path that is meant, without `.`, `..`, doubled slashes and a slash at the end; `None` if it cannot be
/// told. Links are not followed: the caller does that with the result.
pub fn lexical(path: &str, base: Option<&str>, home: Option<&str>) -> Option<String> {
    if !is_read_alike_everywhere(path) {
        return None;
    }
    let joined = match path.strip_prefix('~') {
        Some("") => home?.to_owned(),
        // `~kim` is the home of somebody else.
        Some(rest) => format!("{}{}", home?, rest.starts_with('/').then_some(rest)?),
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{}/{path}", base?),
    };
    let resolved = resolve(&joined)?;
    // A base or home has to be as plain, and what was in the middle may now be at the end.
    is_read_alike_everywhere(&resolved).then_some(resolved)
}

/// Takes `.`, `..` and empty names out. The root has no parent but itself.
fn resolve(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.strip_prefix('/')?.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    Some(format!("/{}", names.join("/")))
}

/// Whether no program makes anything but a path of this text.
fn is_read_alike_everywhere(path: &str) -> bool {
    let trimmed = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '<' | '>');
    let special = |letter: char| letter.is_control() || matches!(letter, '\\' | '$' | '{' | '}' | '`');
    !path.is_empty()
        && !path.starts_with(trimmed)
        && !path.ends_with(trimmed)
        && !path.contains(special)
        && !has_scheme(path)
        && !has_encoded(path)
}

/// Whether it begins like a URL or with the letter of a drive.
fn has_scheme(path: &str) -> bool {
    let Some((scheme, rest)) = path.split_once(':') else { return false };
    let is_word =
        scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_word && (scheme.len() < 2 || rest.starts_with('/') || scheme.eq_ignore_ascii_case("file"))
}

/// Whether there is something in it that a decoder of URLs, or Windows with its variables, would replace.
fn has_encoded(path: &str) -> bool {
    let mut after = path.split('%').skip(1);
    after.any(|rest| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
        || path.matches('%').count() > 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(path: &str) -> Option<String> {
        lexical(path, Some("/home/kim/src"), Some("/home/kim"))
    }

    #[test]
    fn a_path_is_joined_and_made_plain() {
        for (path, expected) in [
            ("/etc/hosts", "/etc/hosts"),
            ("/", "/"),
            ("//a///b/./c/", "/a/b/c"),
            ("a.txt", "/home/kim/src/a.txt"),
            (".", "/home/kim/src"),
            ("../../lee/x", "/home/lee/x"),
            ("../../../../../etc", "/etc"),
            ("~", "/home/kim"),
            ("~/x/../y", "/home/kim/y"),
            ("~/../lee", "/home/lee"),
            ("a/~/b", "/home/kim/src/a/~/b"),
            ("notes: May.txt", "/home/kim/src/notes: May.txt"),
            ("100%.txt", "/home/kim/src/100%.txt"),
            ("app/[id]/page.tsx", "/home/kim/src/app/[id]/page.tsx"),
            ("größe/数.md", "/home/kim/src/größe/数.md"),
            ("...", "/home/kim/src/..."),
        ] {
            assert_eq!(of(path).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_not_guessed() {
        for path in [
            "",
            "~lee/x",
            "~+",
            "a\0b",
            "a\nb",
            "$HOME/x",
            "a/${X}",
            "`pwd`",
            "%APPDATA%/x",
            "..%2f..%2fetc",
            "%2e%2e/x",
            r"..\..\x",
            r"C:\x",
            "C:/x",
            "c:x",
            "file:///etc/passwd",
            "FILE:x",
            "https://a.example/x",
            "{src,/etc}/x",
            " /etc/passwd",
            "/etc/passwd ",
            "/src/x /",
            "\"/etc/passwd\"",
            "'/etc/passwd'",
            "x'/.",
            "\u{a0}/etc",
        ] {
            assert_eq!(of(path), None, "{path:?}");
        }
    }

    #[test]
    fn a_relative_path_needs_a_base_and_a_tilde_a_home() {
        assert_eq!(lexical("x", None, Some("/home/kim")), None);
        assert_eq!(lexical("~/x", Some("/src"), None), None);
        assert_eq!(lexical("x", Some("src"), None), None);
        assert_eq!(lexical("x", Some("~/src"), Some("/home/kim")), None);
        assert_eq!(lexical("~/x", None, Some("kim")), None);
        assert_eq!(lexical("x", Some("/a\\b"), None), None);
        assert_eq!(lexical("/x", None, None).as_deref(), Some("/x"));
    }

    proptest! {
        #[test]
        fn a_plain_path_stays_as_it_is(path in "[a./~ :%'{$é-]{0,12}", base in "(/[ab.]{0,3}){0,3}") {
            if let Some(plain) = lexical(&path, Some(&base), Some("/home/kim")) {
                prop_assert_eq!(lexical(&plain, None, None), Some(plain.clone()));
                prop_assert!(crate::never_free::is_inside(&plain, &["/".to_owned()]));
            }
        }

        #[test]
        fn text_never_panics(path in any::<String>()) {
            let _ = lexical(&path, Some("/a"), Some("/b"));
        }
    }
}
