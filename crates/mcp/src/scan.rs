//! The strict scan: one pass over a message, before anything reads it.
//!
//! Raw bytes are forwarded while decisions are taken on a view of them. That is safe only if every reader
//! sees the same thing, so whatever two readers could take differently is refused here. The same pass
//! notes where the parts of the envelope are; see [`Frame`](crate::frame::Frame).

mod keys;
mod parts;
mod strings;
mod violation;

use std::borrow::Cow;

pub(crate) use self::parts::{Members, Parts, Span, is_id, span_in};
pub(crate) use self::violation::push_step;
pub use self::violation::{ScanError, Violation};

use self::keys::ObjectKeys;
use self::parts::Role;
use crate::text::{is_object, unescape, unquote};

/// How strictly a message is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanRules {
    pub max_bytes: usize,
    /// How many arrays and objects may be open at once.
    pub max_depth: usize,
    /// How many values a message may hold, scalars and containers alike.
    pub max_values: usize,
    /// Whether half a surrogate pair may stand in a string value. In a key it never may.
    pub lone_surrogates_in_values: bool,
    /// Whether envelope keys must be spelled exactly.
    pub exact_keys: bool,
    /// Whether the known members of `params` are checked: exact keys, `arguments` an object, no control
    /// characters in names.
    pub strict_params: bool,
    /// Whether an error may answer nothing in particular, as servers do when they could not read an id.
    pub errors_without_id: bool,
}

impl ScanRules {
    /// What a client may send.
    pub const FROM_CLIENT: ScanRules = ScanRules {
        max_bytes: 4 << 20,
        max_depth: 64,
        max_values: 1_000_000,
        lone_surrogates_in_values: false,
        exact_keys: true,
        strict_params: true,
        errors_without_id: false,
    };

    /// What a server may send. Servers cut text in the middle of a character, and nothing about the
    /// structure is ambiguous when they do.
    pub const FROM_SERVER: ScanRules = ScanRules {
        max_bytes: 64 << 20,
        // The deepest that serde_json reads.
        max_depth: 127,
        max_values: 1_000_000,
        lone_surrogates_in_values: true,
        exact_keys: true,
        strict_params: false,
        errors_without_id: true,
    };
}

/// Scans one JSON value that is no message, such as a tool definition, and returns its text.
pub fn scan_value<'a>(bytes: &'a [u8], rules: &ScanRules) -> Result<&'a str, ScanError> {
    check_size(bytes, rules)?;
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(&error))?;
    Scanner::new(text, rules, Role::Other).scan()?;
    Ok(text)
}

/// Scans one message and notes where its parts are.
pub(crate) fn scan_message(text: &str, rules: &ScanRules) -> Result<Parts, ScanError> {
    Scanner::new(text, rules, Role::Root).scan()
}

/// What can be refused before a byte is read.
pub(crate) fn check_size(bytes: &[u8], rules: &ScanRules) -> Result<(), ScanError> {
    if bytes.len() > rules.max_bytes {
        let violation = Violation::TooLarge { limit: rules.max_bytes, size: bytes.len() };
        return Err(ScanError::new(violation, String::new(), rules.max_bytes));
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(ScanError::new(Violation::ByteOrderMark, String::new(), 0));
    }
    Ok(())
}

pub(crate) fn not_utf8(error: &std::str::Utf8Error) -> ScanError {
    ScanError::new(Violation::NotUtf8, String::new(), error.valid_up_to())
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    rules: &'a ScanRules,
    open: Vec<Level<'a>>,
    /// Keys of the open objects; each level knows where its own begin.
    keys: Vec<Cow<'a, str>>,
    values: usize,
    parts: Parts,
    /// What the outermost object is.
    top: Role,
}

/// An array or object that has not been closed yet.
struct Level<'a> {
    start: usize,
    role: Role,
    inside: Inside<'a>,
}

enum Inside<'a> {
    /// Position of the current element.
    Array(usize),
    Object(ObjectKeys<'a>),
}

/// A violation, and whether it lies in the current member or element, or between two of them.
enum Fault {
    Inside(Violation),
    Between(Violation),
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, rules: &'a ScanRules, top: Role) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            rules,
            open: Vec::with_capacity(8),
            keys: Vec::with_capacity(16),
            values: 0,
            parts: Parts::default(),
            top,
        }
    }

    fn scan(mut self) -> Result<Parts, ScanError> {
        match self.document() {
            Ok(()) => Ok(self.parts),
            Err(fault) => Err(self.report(fault)),
        }
    }

    fn document(&mut self) -> Result<(), Fault> {
        loop {
            self.skip_whitespace();
            let start = self.at;
            self.values += 1;
            if self.values > self.rules.max_values {
                return Err(Fault::Inside(Violation::TooManyValues { limit: self.rules.max_values }));
            }
            match self.peek() {
                Some(b'"') => {
                    self.string(self.rules.lone_surrogates_in_values).map_err(Fault::Inside)?;
                }
                Some(b'{') => {
                    self.enter_object()?;
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        continue;
                    }
                    self.leave();
                }
                Some(b'[') => {
                    self.enter(Role::Other, Inside::Array(0))?;
                    if self.peek() != Some(b']') {
                        continue;
                    }
                    self.leave();
                }
                Some(b'-' | b'0'..=b'9') => self.number().map_err(Fault::Inside)?,
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                Some(_) => return syntax("expected a value"),
                None => return syntax("unexpected end"),
            }
            if !self.finish_value(start)? {
                return Ok(());
            }
        }
    }

    /// After a value that began at `start`: closes what ends here and moves to where the next value is
    /// expected. False at the end of the message.
    fn finish_value(&mut self, mut start: usize) -> Result<bool, Fault> {
        loop {
            let end = self.at;
            self.skip_whitespace();
            let Some(level) = self.open.last_mut() else {
                if self.at == self.bytes.len() {
                    return Ok(false);
                }
                return Err(Fault::Between(Violation::TrailingBytes));
            };
            let next = self.bytes.get(self.at);
            match &mut level.inside {
                Inside::Array(index) => match next {
                    Some(b',') => {
                        *index += 1;
                        self.at += 1;
                        return Ok(true);
                    }
                    Some(b']') => start = self.leave(),
                    Some(_) => return syntax("expected `,` or `]`"),
                    None => return syntax("unexpected end"),
                },
                Inside::Object(_) => {
                    let role = level.role;
                    if role != Role::Other {
                        self.record(role, start..end)?;
                    }
                    match next {
                        Some(b',') => {
                            self.at += 1;
                            self.skip_whitespace();
                            self.key()?;
                            return Ok(true);
                        }
                        Some(b'}') => start = self.leave(),
                        Some(_) => return syntax("expected `,` or `}`"),
                        None => return syntax("unexpected end"),
                    }
                }
            }
        }
    }

    fn enter_object(&mut self) -> Result<(), Fault> {
        let role = match (self.open.last(), self.keys.last()) {
            (None, _) => self.top,
            (Some(Level { role: Role::Other, .. }) | Some(Level { inside: Inside::Array(_), .. }), _)
            | (Some(_), None) => Role::Other,
            (Some(parent), Some(key)) => parent.role.of_member(key),
        };
        let keys = ObjectKeys::starting_at(self.keys.len());
        self.enter(role, Inside::Object(keys))
    }

    /// Opens a container and moves to what follows its bracket.
    fn enter(&mut self, role: Role, inside: Inside<'a>) -> Result<(), Fault> {
        if self.open.len() >= self.rules.max_depth {
            return Err(Fault::Inside(Violation::TooDeep { limit: self.rules.max_depth }));
        }
        self.open.push(Level { start: self.at, role, inside });
        self.at += 1;
        self.skip_whitespace();
        Ok(())
    }

    /// Closes the innermost container, whose closing bracket is next, and returns where it began.
    fn leave(&mut self) -> usize {
        self.at += 1;
        let Some(level) = self.open.pop() else { return 0 };
        if let Inside::Object(keys) = level.inside {
            self.keys.truncate(keys.from);
        }
        level.start
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err(Fault::Between(Violation::Syntax("expected a key in quotes"))),
            None => return Err(Fault::Between(Violation::Syntax("unexpected end"))),
        }
        let start = self.at + 1;
        let escaped = self.string(false).map_err(Fault::Between)?;
        let inner = self.text.get(start..self.at - 1).unwrap_or_default();
        let key = if escaped { unescape(inner).unwrap_or_default() } else { Cow::Borrowed(inner) };
        let Some(Level { role, inside: Inside::Object(keys), .. }) = self.open.last_mut() else {
            return syntax("unexpected key");
        };
        let known = match role {
            Role::Root if self.rules.exact_keys => keys::ENVELOPE,
            Role::Params if self.rules.strict_params => keys::PARAMS,
            _ => &[],
        };
        let misspelt = keys::misspelt(&key, known);
        if !keys.insert(&mut self.keys, key) {
            return Err(Fault::Inside(Violation::DuplicateKey));
        }
        if let Some(expected) = misspelt {
            return Err(Fault::Inside(Violation::KeyCase { expected }));
        }
        self.skip_whitespace();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return syntax("expected `:`"),
            None => return syntax("unexpected end"),
        }
        Ok(())
    }

    /// Notes a member whose value has just ended, and checks what can be said about it alone.
    fn record(&mut self, role: Role, value: Span) -> Result<(), Fault> {
        let Some(key) = self.keys.last() else { return Ok(()) };
        if role == Role::Params {
            let raw = self.text.get(value.clone()).unwrap_or_default();
            check_param(key, raw, self.rules).map_err(Fault::Inside)?;
        }
        self.parts.record(role, key, self.text, value);
        Ok(())
    }

    fn literal(&mut self, literal: &'static [u8]) -> Result<(), Fault> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(literal)) {
            return syntax("expected a value");
        }
        self.at += literal.len();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn report(&self, fault: Fault) -> ScanError {
        let (violation, inside) = match fault {
            Fault::Inside(violation) => (violation, true),
            Fault::Between(violation) => (violation, false),
        };
        let mut steps: Vec<Cow<'_, str>> = Vec::with_capacity(self.open.len());
        // From the innermost outwards: the last key of an object is the one before its child's first.
        let mut keys_end = self.keys.len();
        for (depth, level) in self.open.iter().enumerate().rev() {
            let innermost = depth + 1 == self.open.len();
            match &level.inside {
                Inside::Array(index) if inside || !innermost => steps.push(Cow::Owned(index.to_string())),
                Inside::Array(_) => {}
                Inside::Object(keys) => {
                    let current = self.keys.get(keys.from..keys_end).and_then(<[_]>::last);
                    keys_end = keys.from;
                    if let Some(key) = current.filter(|_| inside || !innermost) {
                        steps.push(Cow::Borrowed(key));
                    }
                }
            }
        }
        let mut path = String::new();
        for step in steps.iter().rev() {
            push_step(&mut path, step);
        }
        let mut error = ScanError::new(violation, path, self.at);
        // Inside `id` the message contradicts itself; inside an answer the id is not ours to answer.
        let first = steps.last().map(AsRef::as_ref);
        if !matches!(first, Some("id" | "result" | "error")) {
            error.id = self.parts.request_id(self.text).map(Box::from);
        }
        error
    }
}

fn syntax<T>(what: &'static str) -> Result<T, Fault> {
    Err(Fault::Inside(Violation::Syntax(what)))
}

/// Rules 7 and 10 for one member of `params`.
fn check_param(key: &str, raw: &str, rules: &ScanRules) -> Result<(), Violation> {
    match key {
        "_meta" if !is_object(raw) => Err(Violation::ParamsNotObject),
        "arguments" if rules.strict_params && !is_object(raw) => Err(Violation::ParamsNotObject),
        "name" | "uri" if rules.strict_params && has_control(raw) => Err(Violation::ControlInName),
        _ => Ok(()),
    }
}

/// Whether a string literal holds a control character.
pub(crate) fn has_control(raw: &str) -> bool {
    unquote(raw).is_some_and(|text| text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests;
