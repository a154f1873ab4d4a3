//! The text that a person is shown of what they sign: made of the tool and the canonical arguments and of nothing else,
//! so that it can be made again from a receipt (G11). What people would not see is made visible, what they would misread
//! is marked, and no two texts are shown alike.

mod characters;
mod joiners;
mod scripts;
mod sentence;

pub use sentence::{BadSentence, Said, Sentence, glance};
#[cfg(test)]
mod tests;

use std::fmt::Write;

use highwater_notation::CanonicalArguments;
use highwater_passkey::ToolName;
use serde_json::Value;

use self::characters::{Shown, is_sign, shown};

/// Which rendering this is. Whoever changes a single character of what [`render`] makes raises it.
pub const RENDERER_VERSION: u32 = 2;

/// What stands before every line of a text that has several. No other line of ours begins with it.
const MARGIN: char = '\u{2502}';

/// A text, and how much of it would not have been seen or would have been misread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// How many characters were made visible.
    pub hidden: usize,
    /// How many words are written in letters of several scripts that look alike.
    pub mixed: usize,
}

/// Where a piece of text ends, which decides what of its end can be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// At a quotation mark of ours.
    Quote,
    /// At a line break that is part of the text.
    Break,
    /// At the end of the text.
    Nothing,
}

/// What will be done, with every argument in full, one per line.
pub fn render(tool: &ToolName, upstream: Option<&str>, arguments: &CanonicalArguments) -> Rendered {
    let mut rendered = Rendered::default();
    rendered.ours("Call ");
    rendered.theirs(tool.as_str(), End::Nothing);
    if let Some(upstream) = upstream {
        rendered.ours(" on ");
        rendered.theirs(upstream, End::Nothing);
    }
    match arguments.value() {
        Value::Object(members) if !members.is_empty() => {
            rendered.ours(" with");
            rendered.members(1, members);
        }
        _ => rendered.ours(" without arguments"),
    }
    rendered
}

/// A text on one line, with everything that people do not see made visible, as [`render`] does.
pub fn plain(text: &str) -> Rendered {
    let mut rendered = Rendered::default();
    rendered.theirs(text, End::Nothing);
    rendered
}

/// The same for a text whose line breaks stay line breaks.
pub fn lines(text: &str) -> Rendered {
    let mut rendered = Rendered::default();
    for (line, end) in split(text) {
        rendered.theirs(line, end);
        if end == End::Break {
            rendered.text.push('\n');
        }
    }
    rendered
}

// === impl Rendered ===

impl Rendered {
    fn ours(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Text from outside. A sign that stands for something else has a `\` before it where it is part of the text, and so
    /// has each `\` in front of a sign: what is shown can be read back in one way alone.
    fn theirs(&mut self, text: &str, end: End) {
        let letters: Vec<char> = text.chars().collect();
        let mut notes = scripts::mixed_words(&letters).into_iter().peekable();
        let mut backslashes = 0;
        for (index, &letter) in letters.iter().enumerate() {
            let shown = shown(&letters, index, end);
            let is_special = match shown {
                Shown::Itself => is_sign(letter) || (letter == '"' && end == End::Quote),
                Shown::Sign(_) | Shown::Hidden => true,
            };
            if is_special {
                self.backslashes(backslashes);
            }
            backslashes = if letter == '\\' { backslashes + 1 } else { 0 };
            match shown {
                Shown::Itself => {
                    if is_special {
                        self.text.push('\\');
                    }
                    self.text.push(letter);
                }
                Shown::Sign(sign) => self.text.push(sign),
                Shown::Hidden => {
                    self.hidden += 1;
                    // A string takes whatever is written to it.
                    write!(self.text, "\u{27e6}U+{:04X}\u{27e7}", u32::from(letter)).unwrap_or_default();
                }
            }
            if let Some(note) = notes.next_if(|note| note.last == index) {
                self.mixed += 1;
                write!(self.text, "\u{27e6}{}: {}\u{27e7}", note.script, note.letters).unwrap_or_default();
            }
        }
        if end == End::Quote {
            self.backslashes(backslashes);
        }
    }

    fn backslashes(&mut self, count: usize) {
        self.text.push_str(&"\\".repeat(count));
    }

    fn line(&mut self, depth: usize) {
        self.text.push('\n');
        self.text.push_str(&"  ".repeat(depth));
    }

    fn members(&mut self, depth: usize, members: serde_json::Map<String, Value>) {
        let mut sorted: Vec<(String, Value)> = members.into_iter().collect();
        sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
        for (key, member) in sorted {
            self.line(depth);
            self.quoted(&key);
            self.ours(":");
            self.value(depth, member);
        }
    }

    /// In quotes, so that no text can pass for a line of its own or for another value.
    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        self.theirs(text, End::Quote);
        self.text.push('"');
    }

    /// A text of several lines: its line breaks are line breaks, and each line has a mark in the margin.
    fn block(&mut self, depth: usize, text: &str) {
        for (line, end) in split(text) {
            self.line(depth);
            self.text.push(MARGIN);
            if !line.is_empty() {
                self.text.push(' ');
            }
            self.theirs(line, end);
        }
    }

    /// Behind a blank where it stands on the same line, below where it has parts.
    fn value(&mut self, depth: usize, value: Value) {
        match value {
            Value::String(text) if text.contains('\n') => self.block(depth + 1, &text),
            Value::String(text) => {
                self.ours(" ");
                self.quoted(&text);
            }
            Value::Array(items) if items.is_empty() => self.ours(" []"),
            Value::Object(members) if members.is_empty() => self.ours(" {}"),
            Value::Array(items) => {
                for item in items {
                    self.line(depth + 1);
                    self.ours("-");
                    self.value(depth + 1, item);
                }
            }
            Value::Object(members) => self.members(depth + 1, members),
            scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => {
                self.ours(" ");
                self.ours(&highwater_notation::Json::from(scalar).to_string());
            }
        }
    }
}

/// The lines of a text, each with what ends it.
fn split(text: &str) -> impl Iterator<Item = (&str, End)> {
    let last = text.matches('\n').count();
    let end = move |index| if index == last { End::Nothing } else { End::Break };
    text.split('\n').enumerate().map(move |(index, line)| (line, end(index)))
}
