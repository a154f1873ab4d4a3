//! A JSON text with the places of its parts, so that it can be changed without touching anything else.
//!
//! Comments and a comma before a closing bracket are taken as they are: some hosts allow them, and what is
//! not changed need not be judged. A name that stands twice in one object is refused, since readers differ in
//! which one counts.

use std::ops::Range;

use serde_json::{Map, Value};

/// Deeper texts are refused.
const MAX_DEPTH: usize = 128;

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) problem: String,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Part>),
    Scalar(Value),
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where the name begins.
    pub(super) start: usize,
    pub(super) part: Part,
}

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Result<Part, SyntaxError> {
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.skip_trivia()?;
    let part = reader.value(0)?;
    reader.skip_trivia()?;
    if reader.at < text.len() {
        return Err(reader.error("nothing more is expected here"));
    }
    Ok(part)
}

/// The line and column of a place, both from 1.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

// === impl Part ===

impl Part {
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let members = members.iter().map(|member| (member.name.clone(), member.part.value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
            Kind::Array(items) => Value::Array(items.iter().map(Self::value).collect()),
            Kind::Scalar(value) => value.clone(),
        }
    }

    pub(super) fn member(&self, name: &str) -> Option<&Part> {
        let Kind::Object(members) = &self.kind else { return None };
        members.iter().find(|member| member.name == name).map(|member| &member.part)
    }
}

/// Where the blanks, comments and an optional comma behind a place end: the comma's end, if there is one.
pub(super) fn comma_after(text: &str, at: usize) -> Option<usize> {
    let mut reader = Reader { text, at };
    reader.skip_trivia().ok()?;
    reader.take(',').then_some(reader.at)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, problem: &str) -> SyntaxError {
        let problem = if self.rest().is_empty() { "the file ends too early" } else { problem };
        SyntaxError { at: self.at, problem: problem.to_owned() }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn skip_trivia(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            let blank = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            self.at += rest.len() - blank.len();
            if blank.starts_with("//") {
                self.at += blank.find('\n').unwrap_or(blank.len());
            } else if let Some(comment) = blank.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.error("this comment is not closed"))?;
                self.at += end + "/**/".len();
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Part, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(self.error("values are nested too deeply"));
        }
        let start = self.at;
        let kind = if self.take('{') {
            Kind::Object(self.members(depth)?)
        } else if self.take('[') {
            Kind::Array(self.items(depth)?)
        } else {
            Kind::Scalar(self.scalar()?)
        };
        Ok(Part { span: start..self.at, kind })
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, SyntaxError> {
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.skip_trivia()?;
            if self.take('}') {
                return Ok(members);
            }
            let start = self.at;
            let Value::String(name) = self.scalar()? else {
                self.at = start;
                return Err(self.error("a name in quotes is expected here"));
            };
            if members.iter().any(|member| member.name == name) {
                self.at = start;
                return Err(self.error(&format!("`{name}` stands twice in one object")));
            }
            self.skip_trivia()?;
            if !self.take(':') {
                return Err(self.error("a colon is expected here"));
            }
            self.skip_trivia()?;
            let part = self.value(depth + 1)?;
            members.push(Member { name, start, part });
            self.skip_trivia()?;
            if !self.take(',') && !self.rest().starts_with('}') {
                return Err(self.error("a comma or a closing brace is expected here"));
            }
        }
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Part>, SyntaxError> {
        let mut items = Vec::new();
        loop {
            self.skip_trivia()?;
            if self.take(']') {
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
            self.skip_trivia()?;
            if !self.take(',') && !self.rest().starts_with(']') {
                return Err(self.error("a comma or a closing bracket is expected here"));
            }
        }
    }

    /// A string, a number or a word; what it is worth is left to the JSON library.
    fn scalar(&mut self) -> Result<Value, SyntaxError> {
        let rest = self.rest();
        let length = if rest.starts_with('"') {
            string_length(rest)
        } else {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            rest.bytes().take_while(|byte| is_part(*byte)).count()
        };
        let text = rest.get(..length).unwrap_or_default();
        match serde_json::from_str(text) {
            Ok(value) => {
                self.at += length;
                Ok(value)
            }
            Err(_) if rest.starts_with('"') => Err(self.error("this text in quotes is broken")),
            Err(_) => Err(self.error("a value is expected here")),
        }
    }
}

/// The length of a string in quotes, or of everything where it is not closed.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_and_their_places_are_read() {
        let text = "\u{feff}// top\n{ \"a\" : [1, /* x */ -2.5e3,], \"b\":{\"c\\u0041\":null,}, }\n";
        let part = parse(text).unwrap();
        assert_eq!(part.value(), json!({ "a": [1, -2500.0], "b": { "cA": null } }));
        assert_eq!(text.get(part.member("a").unwrap().span.clone()), Some("[1, /* x */ -2.5e3,]"));
    }

    #[test]
    fn broken_texts_are_refused_at_their_place() {
        for (text, at, problem) in [
            ("", 0, "the file ends too early"),
            ("{\"a\": 1 \"b\": 2}", 8, "a comma or a closing brace is expected here"),
            ("{a: 1}", 1, "a value is expected here"),
            ("{1: 1}", 1, "a name in quotes is expected here"),
            ("{\"a\" 1}", 5, "a colon is expected here"),
            ("[1 2]", 3, "a comma or a closing bracket is expected here"),
            ("{} x", 3, "nothing more is expected here"),
            ("{\"a\":1,\"a\":2}", 7, "`a` stands twice in one object"),
            ("{\"a\":\"x}", 5, "this text in quotes is broken"),
            ("[/* x]", 1, "this comment is not closed"),
            ("[01]", 1, "a value is expected here"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
        }
        let deep = "[".repeat(500);
        assert_eq!(parse(&deep).unwrap_err().problem, "values are nested too deeply");
    }

    #[test]
    fn places_are_counted_for_people() {
        assert_eq!(line_and_column("a\r\nbä c", 6), (2, 3));
        assert_eq!(line_and_column("", 0), (1, 1));
    }
}
