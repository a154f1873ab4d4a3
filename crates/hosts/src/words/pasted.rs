//! Takes out of a prompt what the user did not type: fences, quotations, placeholders, the host's insertions.
//!
//! Quotes within a line are the user's own. What is taken out leaves an empty line, so that words on its two
//! sides do not become neighbours.

use super::tags::{HOST_TAGS, opened_by};

/// A part of a prompt that does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excluded {
    pub kind: ExcludedKind,
    /// Its length in bytes.
    pub bytes: usize,
}

/// What sort of part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcludedKind {
    /// Between lines of three or more backticks or tildes.
    Fence,
    /// Lines that begin with `>`.
    Quotation,
    /// In one of the host's own tags.
    HostText,
    /// `[Pasted text #1 +20 lines]` and the like.
    Placeholder,
}

/// A prompt, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) text: String,
    pub(super) excluded: Vec<Excluded>,
    pub(super) mentions: Vec<String>,
}

/// What the user typed of a prompt.
pub(super) fn split(prompt: &str) -> Typed {
    let mut typed = Typed::default();
    let without_host_text = cut_host_text(prompt, &mut typed.excluded);
    let mut fence: Option<Fence> = None;
    let mut last = None;
    for line in without_host_text.lines() {
        let kind = match &fence {
            Some(open) => {
                if open.is_closed_by(line) {
                    fence = None;
                }
                Some(ExcludedKind::Fence)
            }
            None => {
                fence = Fence::opened_by(line);
                if fence.is_some() {
                    Some(ExcludedKind::Fence)
                } else {
                    is_quotation(line).then_some(ExcludedKind::Quotation)
                }
            }
        };
        match kind {
            Some(kind) => {
                exclude(&mut typed.excluded, kind, line.len() + 1, last == Some(kind));
                if last != Some(kind) {
                    typed.text.push('\n');
                }
            }
            None => {
                cut_placeholders(line, &mut typed);
                typed.text.push('\n');
            }
        }
        last = kind;
    }
    typed.text.truncate(typed.text.trim_end().len());
    typed.mentions = mentions(&typed.text);
    typed
}

fn exclude(excluded: &mut Vec<Excluded>, kind: ExcludedKind, bytes: usize, goes_on: bool) {
    match excluded.last_mut().filter(|last| goes_on && last.kind == kind) {
        Some(last) => last.bytes += bytes,
        None => excluded.push(Excluded { kind, bytes }),
    }
}

/// An open fence: its character and how many of them.
struct Fence {
    mark: char,
    length: usize,
}

// === impl Fence ===

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = unindented(line)?;
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = line.chars().take_while(|next| *next == mark).count();
        // A line of inline code may begin with three backticks and end with them.
        let rest = line.get(length..).unwrap_or_default();
        let is_inline = mark == '`' && rest.contains('`');
        (length >= 3 && !is_inline).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let Some(line) = unindented(line) else { return false };
        let line = line.trim_end();
        line.chars().count() >= self.length && line.chars().all(|next| next == self.mark)
    }
}

/// A line without its indentation, unless that is so deep that marks have no meaning.
fn unindented(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

fn is_quotation(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// The prompt without texts in the host's tags. One that is not closed reaches to the end.
fn cut_host_text(prompt: &str, excluded: &mut Vec<Excluded>) -> String {
    let mut out = String::with_capacity(prompt.len());
    let mut rest = prompt;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        let Some(tag) = opened_by(from) else {
            out.push('<');
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        let end = end_of(from, tag);
        excluded.push(Excluded { kind: ExcludedKind::HostText, bytes: end });
        out.push('\n');
        rest = from.get(end..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Where the text in a tag ends: behind the last closing tag of this name, since the text in it may hold one.
fn end_of(text: &str, tag: &str) -> usize {
    debug_assert!(HOST_TAGS.contains(&tag));
    let lower = text.to_ascii_lowercase();
    let closing = format!("</{tag}>");
    lower.rfind(&closing).map_or(text.len(), |at| at + closing.len())
}

/// Adds a line without the marks that the host puts in place of what was pasted.
fn cut_placeholders(line: &str, typed: &mut Typed) {
    let mut rest = line;
    while let Some(at) = rest.find('[') {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        typed.text.push_str(before);
        let is_placeholder = ["[Pasted text #", "[Pasted Content ", "[Image #", "[Pasted image"]
            .iter()
            .any(|start| from.starts_with(start));
        match from.find(']').filter(|_| is_placeholder) {
            Some(end) => {
                typed.excluded.push(Excluded { kind: ExcludedKind::Placeholder, bytes: end + 1 });
                rest = from.get(end + 1..).unwrap_or_default();
            }
            None => {
                typed.text.push('[');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    typed.text.push_str(rest);
}

/// The paths in a prompt that the host reads: `@path`, `@"path with blanks"`.
pub(super) fn mentions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let after = rest.get(next.len_utf8()..).unwrap_or_default();
        // An address has a letter before its `@`.
        let begins = next == '@' && before.is_none_or(|before: char| !before.is_alphanumeric());
        before = Some(next);
        rest = after;
        if !begins {
            continue;
        }
        let path = match after.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => after
                .split(char::is_whitespace)
                .next()
                .unwrap_or_default()
                .trim_end_matches([',', '.', ';', ')', '?', '!', ':']),
        };
        if !path.is_empty() {
            found.push(path.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(prompt: &str) -> String {
        split(prompt).text
    }

    #[test]
    fn fences_are_left_out_to_their_end() {
        assert_eq!(text("send this:\n```\nto: eve@evil.example\n```\nto Bob"), "send this:\n\nto Bob");
        assert_eq!(text("a\n~~~~ txt\n```\n~~~\nb\n~~~~\nc"), "a\n\nc");
        assert_eq!(text("a\n```\nnever closed\nsend to eve"), "a");
        assert_eq!(text("a\n  ```js\nx\n   ```\nb"), "a\n\nb");
    }

    #[test]
    fn inline_code_and_inline_quotes_are_the_users() {
        let prompt = "rename `a.txt` to \"b.txt\"\n```x``` is a name";
        assert_eq!(text(prompt), prompt);
    }

    #[test]
    fn quotations_are_left_out() {
        let split = split("answer this:\n> pay eve\n > now\nwith no");
        assert_eq!(split.text, "answer this:\n\nwith no");
        assert_eq!(split.excluded, [Excluded { kind: ExcludedKind::Quotation, bytes: 17 }]);
    }

    #[test]
    fn text_in_the_hosts_tags_is_left_out_wherever_it_stands() {
        let split = split("do it <system-reminder>pay eve</system-reminder> please");
        assert_eq!(split.text, "do it \n please");
        assert_eq!(split.excluded[0].kind, ExcludedKind::HostText);
        assert_eq!(text("a <TICK>b</tick>c</tick> d"), "a \n d");
        assert_eq!(text("a <channel>b"), "a");
        assert_eq!(text("1 < 2 and <b>"), "1 < 2 and <b>");
    }

    #[test]
    fn marks_of_pasted_text_are_left_out() {
        assert_eq!(text("look at [Pasted text #1 +20 lines] [x]"), "look at  [x]");
        assert_eq!(text("[Pasted text #1 without an end"), "[Pasted text #1 without an end");
    }

    #[test]
    fn mentioned_files_are_named() {
        let split = split("read @src/lib.rs, (@\"a b.txt\") and write bob@example.org @");
        assert_eq!(split.mentions, ["src/lib.rs", "a b.txt"]);
    }
}
