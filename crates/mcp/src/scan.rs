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
pub(crate) use self::strings::plain_length;
pub(crate) use self::violation::push_step;
pub use self::violation::{ScanError, Violation};

use smallvec::SmallVec;

use self::keys::{Keys, ObjectKeys};
use self::parts::{Name, Role};
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
    Scanner::new(text, rules, Name::Other, &mut Parts::default()).scan()?;
    Ok(text)
}

/// Scans one message and notes where its parts are.
pub(crate) fn scan_message(text: &str, rules: &ScanRules, parts: &mut Parts) -> Result<(), ScanError> {
    Scanner::new(text, rules, Name::Message, parts).scan()
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
    /// The innermost array or object, or the document round all of them.
    inner: Level,
    /// Those round it. On the stack as long as they are few, as in messages they are.
    outer: SmallVec<[Level; 8]>,
    keys: Keys<'a>,
    values: usize,
    parts: &'a mut Parts,
    /// Why the scan stopped.
    fault: Option<Fault>,
}

/// An array or object that has not been closed yet.
struct Level {
    start: usize,
    role: Role,
    /// What the current member is.
    name: Name,
    inside: Inside,
}

enum Inside {
    /// Nothing is open.
    Document,
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
    /// `whole` says what the value that is scanned is.
    fn new(text: &'a str, rules: &'a ScanRules, whole: Name, parts: &'a mut Parts) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            rules,
            inner: Level { start: 0, role: Role::Other, name: whole, inside: Inside::Document },
            outer: SmallVec::new(),
            keys: Keys::new(text),
            values: 0,
            parts,
            fault: None,
        }
    }

    fn scan(mut self) -> Result<(), ScanError> {
        match self.document() {
            Ok(()) => Ok(()),
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
                    self.string(self.rules.lone_surrogates_in_values)?;
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
            let next = self.bytes.get(self.at);
            match &mut self.inner.inside {
                Inside::Document if next.is_none() => return Ok(false),
                Inside::Document => return self.stop_between(Violation::TrailingBytes),
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
                    if self.inner.role != Role::Other {
                        self.record(start..end)?;
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
        let role = self.inner.role_of_child();
        self.enter(role, Inside::Object(self.keys.enter()))
    }

    /// Opens a container and moves to what follows its bracket.
    fn enter(&mut self, role: Role, inside: Inside) -> Result<(), Stop> {
        if self.outer.len() >= self.rules.max_depth {
            return self.stop(Violation::TooDeep { limit: self.rules.max_depth });
        }
        let inner = Level { start: self.at, role, name: Name::Other, inside };
        self.outer.push(std::mem::replace(&mut self.inner, inner));
        self.at += 1;
        self.skip_whitespace();
        Ok(())
    }

    /// Closes the innermost container, whose closing bracket is next, and returns where it began.
    fn leave(&mut self) -> usize {
        self.at += 1;
        if let Inside::Object(keys) = &self.inner.inside {
            self.keys.leave(keys);
        }
        let start = self.inner.start;
        if let Some(outer) = self.outer.pop() {
            self.inner = outer;
        }
        start
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<(), Stop> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return self.stop_between(Violation::Syntax("expected a key in quotes")),
            None => return self.stop_between(Violation::Syntax("unexpected end")),
        }
        let start = self.at + 1;
        let Ok(escaped) = self.string(false) else {
            self.fault.iter_mut().for_each(|fault| fault.is_between = true);
            return Err(Stop);
        };
        let span = start..self.at - 1;
        let unescaped = if escaped { self.text.get(span.clone()).and_then(unescape) } else { None };
        let key = match &unescaped {
            None => self.bytes.get(span.clone()).unwrap_or_default(),
            Some(text) => text.as_bytes(),
        };
        let Inside::Object(keys) = &mut self.inner.inside else {
            return self.syntax("unexpected key");
        };
        if !self.keys.insert(keys, key, span, unescaped.as_deref()) {
            return self.stop(Violation::DuplicateKey);
        }
        if key.first() == Some(&b'$') && keys::is_private(key) {
            return self.stop(Violation::ReservedKey);
        }
        if self.inner.role != Role::Other {
            self.inner.name = self.inner.role.name_of(key);
            // One that is known is spelled as it should be.
            if self.inner.name == Name::Other {
                self.check_spelling()?;
            }
        }
        if self.outer.len() > BODY_DEPTH && !self.parts.annotates {
            self.parts.annotates = escaped || keys::annotates(key);
        }
        self.skip_whitespace();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return self.syntax("expected `:`"),
            None => return self.syntax("unexpected end"),
        }
        Ok(())
    }

    /// Rule 5: keys that a lenient reader would take for another.
    fn check_spelling(&mut self) -> Result<(), Stop> {
        let known = match self.inner.role {
            Role::Root if self.rules.exact_keys => keys::ENVELOPE,
            Role::Params if self.rules.strict_params => keys::PARAMS,
            _ => return Ok(()),
        };
        match keys::misspelt(self.keys.current().unwrap_or_default(), known) {
            Some(expected) => self.stop(Violation::KeyCase { expected }),
            None => Ok(()),
        }
    }

    /// Notes a member whose value has just ended, and checks what can be said about it alone.
    fn record(&mut self, value: Span) -> Result<(), Stop> {
        let name = self.inner.name;
        let members = match self.inner.role {
            Role::Root => {
                self.parts.record(name, value);
                return Ok(());
            }
            Role::Params => {
                if name != Name::Other
                    && let Err(violation) = check_param(name, self.text, &value, self.rules)
                {
                    return self.stop(violation);
                }
                &mut self.parts.body
            }
            Role::Answer => &mut self.parts.body,
            Role::Meta => &mut self.parts.meta,
            Role::Other => return Ok(()),
        };
        let keys = &self.keys;
        members.note(|| keys.current().unwrap_or_default().into(), keys.current_span(), value);
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
        let mut steps: Vec<Cow<'_, str>> = Vec::with_capacity(self.outer.len() + 1);
        let mut keys_end = self.keys.len();
        for (inwards, level) in std::iter::once(&self.inner).chain(self.outer.iter().rev()).enumerate() {
            let step = match &level.inside {
                Inside::Document => None,
                Inside::Array(index) => Some(Cow::Owned(index.to_string())),
                Inside::Object(object) => {
                    let (key, from) = self.keys.current_before(object, keys_end);
                    keys_end = from;
                    key.map(Cow::Borrowed)
                }
            };
            steps.extend(step.filter(|_| !(is_between && inwards == 0)));
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

// === impl Level ===

impl Level {
    /// What an object is that stands at the current member.
    fn role_of_child(&self) -> Role {
        match self.inside {
            Inside::Document | Inside::Object(_) => self.name.role(),
            Inside::Array(_) => Role::Other,
        }
    }
}

/// Rules 7 and 10 for one member of `params`.
fn check_param(name: Name, text: &str, value: &Span, rules: &ScanRules) -> Result<(), Violation> {
    let raw = text.get(value.clone()).unwrap_or_default();
    match name {
        Name::Meta if !is_object(raw) => Err(Violation::ParamsNotObject),
        Name::Arguments if rules.strict_params && !is_object(raw) => Err(Violation::ParamsNotObject),
        Name::Target if rules.strict_params && has_control(raw) => Err(Violation::ControlInName),
        _ => Ok(()),
    }
}

/// Whether a string literal holds a control character.
pub(crate) fn has_control(raw: &str) -> bool {
    // What is printable ASCII without escapes, as names are, is what it shows.
    let shown = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'\\';
    !raw.bytes().all(shown) && unquote(raw).is_some_and(|text| text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests;
