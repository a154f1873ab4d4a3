//! What a strict scan can object to, and how the objection is reported.

use std::fmt;

use crate::error_code::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, error_response};
use crate::text::quote;

/// The longest pointer that is reported. A key may be as long as the message; an answer must not be.
const MAX_PATH: usize = 512;
/// The longest part of one key that is reported.
const MAX_TOKEN: usize = 64;

/// A message that must not be read, with the place that makes it so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScanError {
    pub violation: Violation,
    /// JSON pointer of the offending place, such as `/params/arguments/a`. Long keys are cut, control
    /// characters are written as escapes. Empty for the message itself.
    pub path: String,
    /// Byte at which the scan stopped.
    pub offset: usize,
    pub(crate) id: Option<Box<str>>,
}

/// What is wrong with the message. The numbers are the rows of the strict-scan table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// 1: the bytes are not UTF-8.
    NotUtf8,
    /// 1: the message opens with U+FEFF.
    ByteOrderMark,
    /// 1: the bytes are not JSON.
    Syntax(&'static str),
    /// 1: something follows the value.
    TrailingBytes,
    /// 2: more bytes than allowed.
    TooLarge { limit: usize, size: usize },
    /// 2: more nested arrays and objects than allowed.
    TooDeep { limit: usize },
    /// 2: more values than allowed.
    TooManyValues { limit: usize },
    /// 3: two keys of one object are the same once unescaped.
    DuplicateKey,
    /// 3: a key that our own reader would replace by something else.
    ReservedKey,
    /// 4: half of a surrogate pair, which is no character.
    LoneSurrogate,
    /// 5: a key that a lenient reader would take for another one.
    KeyCase { expected: &'static str },
    /// 6: an array of messages.
    Batch,
    /// 7: not a JSON-RPC message.
    NotAnEnvelope(&'static str),
    /// 7: `params`, or its `arguments` or `_meta`, is something else than an object.
    ParamsNotObject,
    /// 10: a name or a method contains a control character.
    ControlInName,
}

// === impl ScanError ===

impl ScanError {
    pub(crate) fn new(violation: Violation, path: String, offset: usize) -> Self {
        Self { violation, path, offset, id: None }
    }

    /// The JSON-RPC error code that answers this violation.
    pub fn code(&self) -> i64 {
        match self.violation {
            Violation::NotUtf8
            | Violation::ByteOrderMark
            | Violation::Syntax(_)
            | Violation::TrailingBytes => PARSE_ERROR,
            Violation::TooLarge { .. }
            | Violation::TooDeep { .. }
            | Violation::TooManyValues { .. }
            | Violation::DuplicateKey
            | Violation::ReservedKey
            | Violation::LoneSurrogate
            | Violation::KeyCase { .. }
            | Violation::Batch
            | Violation::NotAnEnvelope(_) => INVALID_REQUEST,
            Violation::ParamsNotObject | Violation::ControlInName => INVALID_PARAMS,
        }
    }

    /// The JSON text of the request's id, if the scan had read a valid one before it stopped and the
    /// message did not look like an answer. Without it a refusal carries `null`.
    pub fn recovered_id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The error response that refuses the message, with the place in `data.path`.
    pub fn response(&self) -> Vec<u8> {
        let data = format!(r#"{{"path":{}}}"#, quote(&self.path));
        error_response(self.recovered_id(), self.code(), &self.to_string(), Some(&data))
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the top of the message" } else { self.path.as_str() };
        match &self.violation {
            Violation::NotUtf8 => write!(f, "not valid UTF-8 at byte {}", self.offset),
            Violation::ByteOrderMark => f.write_str("the message opens with a byte-order mark"),
            Violation::Syntax(what) => write!(f, "not valid JSON: {what} at byte {} ({place})", self.offset),
            Violation::TrailingBytes => {
                write!(f, "bytes after the end of the message at byte {}", self.offset)
            }
            Violation::TooLarge { limit, size } => {
                write!(f, "the message has {size} bytes, {limit} are allowed")
            }
            Violation::TooDeep { limit } => write!(f, "nested deeper than {limit} levels at {place}"),
            Violation::TooManyValues { limit } => write!(f, "more than {limit} values at {place}"),
            Violation::DuplicateKey => {
                let (object, key) = self.path.rsplit_once('/').unwrap_or(("", self.path.as_str()));
                let object = if object.is_empty() { "the top of the message" } else { object };
                write!(f, "duplicate key `{key}` at {object}")
            }
            Violation::ReservedKey => write!(f, "reserved key at {place}"),
            Violation::LoneSurrogate => write!(f, "half of a surrogate pair at {place}"),
            Violation::KeyCase { expected } => write!(f, "the key at {place} must be spelled `{expected}`"),
            Violation::Batch => f.write_str("batches are not accepted, send one message at a time"),
            Violation::NotAnEnvelope(what) => write!(f, "not a JSON-RPC 2.0 message: {what}"),
            Violation::ParamsNotObject => write!(f, "{place} must be an object"),
            Violation::ControlInName => write!(f, "control character at {place}"),
        }
    }
}

/// Appends one step to a JSON pointer, escaped, shortened, and readable in a log line.
pub(crate) fn push_step(path: &mut String, step: &str) {
    if path.len() >= MAX_PATH {
        return;
    }
    path.push('/');
    for (count, c) in step.chars().enumerate() {
        if count == MAX_TOKEN {
            path.push('…');
            break;
        }
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            c if c.is_control() => path.extend(c.escape_unicode()),
            c => path.push(c),
        }
    }
}
