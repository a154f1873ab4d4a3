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

use smallvec::SmallVec;

use self::keys::{Keys, ObjectKeys};
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

/// How many containers are open between the members of a body: the message and the body.
const BODY_DEPTH: usize = 2;

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    rules: &'a ScanRules,
    /// On the stack as long as it is shallow, as messages are.
    open: SmallVec<[Level; 8]>,
    keys: Keys<'a>,
    values: usize,
    parts: Parts,
    /// What the outermost object is.
    top: Role,
    /// Why the scan stopped.
    fault: Option<Fault>,
}

/// An array or object that has not been closed yet.
struct Level {
    start: usize,
    role: Role,
    inside: Inside,
}

enum Inside {
    /// Position of the current element.
    Array(usize),
    Object(ObjectKeys),
}

/// A violation, and whether it lies in the current member or element or between two of them.
struct Fault {
    violation: Violation,
    is_between: bool,
}

/// The scan has stopped at a fault. The fault stays in the scanner: carrying it would cost every return.
struct Stop;

impl<'a> Scanner<'a> {
    fn new(text: &'a str, rules: &'a ScanRules, top: Role) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            rules,
            open: SmallVec::new(),
            keys: Keys::new(text),
            values: 0,
            parts: Parts::default(),
            top,
            fault: None,
        }
    }

    fn scan(mut self) -> Result<Parts, ScanError> {
        match self.document() {
            Ok(()) => Ok(self.parts),
            Err(Stop) => Err(self.report()),
        }
    }

    fn document(&mut self) -> Result<(), Stop> {
        loop {
            self.skip_whitespace();
            let start = self.at;
            self.values += 1;
            if self.values > self.rules.max_values {
                return self.stop(Violation::TooManyValues { limit: self.rules.max_values });
            }
            match self.peek() {
                Some(b'"') => {
                    if let Err(violation) = self.string(self.rules.lone_surrogates_in_values) {
                        return self.stop(violation);
                    }
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
                Some(b'-' | b'0'..=b'9') => {
                    if !self.number() {
                        return self.syntax("bad number");
                    }
                }
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                Some(_) => return self.syntax("expected a value"),
                None => return self.syntax("unexpected end"),
            }
            if !self.finish_value(start)? {
                return Ok(());
            }
        }
    }

    /// After a value that began at `start`: closes what ends here and moves to where the next value is
    /// expected. False at the end of the message.
    fn finish_value(&mut self, mut start: usize) -> Result<bool, Stop> {
        loop {
            let end = self.at;
            self.skip_whitespace();
            let Some(level) = self.open.last_mut() else {
                if self.at == self.bytes.len() {
                    return Ok(false);
                }
                return self.stop_between(Violation::TrailingBytes);
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
                    Some(_) => return self.syntax("expected `,` or `]`"),
                    None => return self.syntax("unexpected end"),
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
                        Some(_) => return self.syntax("expected `,` or `}`"),
                        None => return self.syntax("unexpected end"),
                    }
                }
            }
        }
    }

    fn enter_object(&mut self) -> Result<(), Stop> {
        let role = match self.open.last() {
            None => self.top,
            Some(Level { role: Role::Other, .. }) => Role::Other,
            Some(parent) => self.keys.current().map_or(Role::Other, |key| parent.role.of_member(key)),
        };
        self.enter(role, Inside::Object(self.keys.enter()))
    }

    /// Opens a container and moves to what follows its bracket.
    fn enter(&mut self, role: Role, inside: Inside) -> Result<(), Stop> {
        if self.open.len() >= self.rules.max_depth {
            return self.stop(Violation::TooDeep { limit: self.rules.max_depth });
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
            self.keys.leave(keys);
        }
        level.start
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<(), Stop> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return self.stop_between(Violation::Syntax("expected a key in quotes")),
            None => return self.stop_between(Violation::Syntax("unexpected end")),
        }
        let start = self.at + 1;
        let escaped = match self.string(false) {
            Ok(escaped) => escaped,
            Err(violation) => return self.stop_between(violation),
        };
        let span = start..self.at - 1;
        let unescaped = if escaped { self.text.get(span.clone()).and_then(unescape) } else { None };
        let Some(Level { role, inside: Inside::Object(keys), .. }) = self.open.last_mut() else {
            return self.syntax("unexpected key");
        };
        let role = *role;
        let first = if escaped { b'$' } else { self.bytes.get(start).copied().unwrap_or_default() };
        if !self.keys.insert(keys, span, unescaped) {
            return self.stop(Violation::DuplicateKey);
        }
        if role != Role::Other || first == b'$' {
            self.check_key(role)?;
        }
        if self.open.len() > BODY_DEPTH && !self.parts.annotates {
            self.parts.annotates = escaped || self.keys.current().is_some_and(keys::annotates);
        }
        self.skip_whitespace();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return self.syntax("expected `:`"),
            None => return self.syntax("unexpected end"),
        }
        Ok(())
    }

    /// Rule 5, and keys that our own reader would misread.
    fn check_key(&mut self, role: Role) -> Result<(), Stop> {
        let key = self.keys.current().unwrap_or_default();
        if keys::is_private(key) {
            return self.stop(Violation::ReservedKey);
        }
        let known = match role {
            Role::Root if self.rules.exact_keys => keys::ENVELOPE,
            Role::Params if self.rules.strict_params => keys::PARAMS,
            _ => return Ok(()),
        };
        match keys::misspelt(key, known) {
            Some(expected) => self.stop(Violation::KeyCase { expected }),
            None => Ok(()),
        }
    }

    /// Notes a member whose value has just ended, and checks what can be said about it alone.
    fn record(&mut self, role: Role, value: Span) -> Result<(), Stop> {
        let Some(key) = self.keys.current() else { return Ok(()) };
        if role == Role::Params {
            let raw = self.text.get(value.clone()).unwrap_or_default();
            if let Err(violation) = check_param(key, raw, self.rules) {
                return self.stop(violation);
            }
        }
        self.parts.record(role, key, self.keys.current_span(), value);
        Ok(())
    }

    fn literal(&mut self, literal: &'static [u8]) -> Result<(), Stop> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(literal)) {
            return self.syntax("expected a value");
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

    #[cold]
    fn syntax<T>(&mut self, what: &'static str) -> Result<T, Stop> {
        self.stop(Violation::Syntax(what))
    }

    #[cold]
    fn stop<T>(&mut self, violation: Violation) -> Result<T, Stop> {
        self.fault = Some(Fault { violation, is_between: false });
        Err(Stop)
    }

    #[cold]
    fn stop_between<T>(&mut self, violation: Violation) -> Result<T, Stop> {
        self.fault = Some(Fault { violation, is_between: true });
        Err(Stop)
    }

    fn report(self) -> ScanError {
        let fault = self.fault.as_ref();
        let is_between = fault.is_some_and(|fault| fault.is_between);
        let violation = fault.map_or(Violation::Syntax("unexpected end"), |fault| fault.violation.clone());
        // From the innermost outwards: the last key of an object is the one before its child's first.
        let mut steps: Vec<Cow<'_, str>> = Vec::with_capacity(self.open.len());
        let mut keys_end = self.keys.len();
        for (depth, level) in self.open.iter().enumerate().rev() {
            let step = match &level.inside {
                Inside::Array(index) => Some(Cow::Owned(index.to_string())),
                Inside::Object(object) => {
                    let (key, from) = self.keys.current_before(object, keys_end);
                    keys_end = from;
                    key.map(Cow::Borrowed)
                }
            };
            let is_innermost = depth + 1 == self.open.len();
            steps.extend(step.filter(|_| !(is_between && is_innermost)));
        }
        let mut path = String::new();
        for step in steps.iter().rev() {
            push_step(&mut path, step);
        }
        let mut error = ScanError::new(violation, path, self.at);
        // Inside `id` the message contradicts itself; inside an answer the id is not ours to answer.
        if !matches!(steps.last().map(AsRef::as_ref), Some("id" | "result" | "error")) {
            error.id = self.parts.request_id(self.text).map(Box::from);
        }
        error
    }
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
