//! Breaking lines at words.

/// The text in lines of at most `width` characters, further lines `indent` in. A word that is longer than a line stands
/// alone on one, whole: it may be a path or an id that somebody copies.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        wrap_line(&mut out, line, width, indent);
    }
    out
}

fn wrap_line(out: &mut String, line: &str, width: usize, indent: usize) {
    // Blanks at the beginning are layout, and stay.
    let start = line.trim_start_matches(' ');
    let lead = line.chars().count() - start.chars().count();
    out.push_str(&" ".repeat(lead));
    let (mut at, mut is_first) = (lead, true);
    for word in start.split(' ') {
        let length = word.chars().count();
        if is_first {
            at += length;
        } else if at + 1 + length > width {
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            at = indent + length;
        } else {
            out.push(' ');
            at += 1 + length;
        }
        out.push_str(word);
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_words_and_never_within_one() {
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("  in here it stays in", 12, 4), "  in here it\n    stays in");
        assert_eq!(wrap("a /path/that/is/far/too/long b", 10, 0), "a\n/path/that/is/far/too/long\nb");
        assert_eq!(wrap("short\n\nlines", 10, 2), "short\n\nlines");
        assert_eq!(wrap("äöü äöü", 7, 0), "äöü äöü");
    }
}
