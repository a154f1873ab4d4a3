//! Where the parts of a message are, as the scan met them.

use std::ops::Range;

use crate::text::{is_number, is_string, member};

pub(crate) type Span = Range<usize>;

/// Members noted per object. A well-formed message has far fewer; one that has more is searched again when
/// it is read, and costs no memory of ours.
const NOTED: usize = 32;

/// Room for as many members as a message mostly has.
const USUAL: usize = 4;

/// What an object is to the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Params,
    /// `result` or `error`.
    Answer,
    /// The `_meta` of either.
    Meta,
    Other,
}

/// What a member is to the envelope, told once by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// No member: the message itself.
    Message,
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    /// The `_meta` of a body.
    Meta,
    /// The `arguments` of `params`.
    Arguments,
    /// The `name` or `uri` of `params`.
    Target,
    /// Any other.
    Other,
}

/// The spans of a message's parts. The body is `params`, `result` or `error`, whichever there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) jsonrpc: Option<Span>,
    pub(crate) id: Option<Span>,
    pub(crate) method: Option<Span>,
    pub(crate) params: Option<Span>,
    pub(crate) result: Option<Span>,
    pub(crate) error: Option<Span>,
    pub(crate) body: Members,
    pub(crate) meta: Members,
    /// Something within a member of the body may be annotated or name a resource.
    pub(crate) annotates: bool,
}

/// Where the members of one object are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    noted: Vec<(Key, Span)>,
    /// Whether there were more than are noted.
    overflowed: bool,
}

#[derive(Clone, Debug)]
enum Key {
    Plain(Span),
    /// Its text, where the message spells it with escapes.
    Escaped(Box<str>),
}

// === impl Role ===

impl Role {
    /// What a member of this object is.
    pub(super) fn name_of(self, key: &[u8]) -> Name {
        match (self, key) {
            (Self::Root, b"jsonrpc") => Name::Jsonrpc,
            (Self::Root, b"id") => Name::Id,
            (Self::Root, b"method") => Name::Method,
            (Self::Root, b"params") => Name::Params,
            (Self::Root, b"result") => Name::Result,
            (Self::Root, b"error") => Name::Error,
            (Self::Params | Self::Answer, b"_meta") => Name::Meta,
            (Self::Params, b"arguments") => Name::Arguments,
            (Self::Params, b"name" | b"uri") => Name::Target,
            _ => Name::Other,
        }
    }
}

// === impl Name ===

impl Name {
    /// What an object is that stands there.
    pub(super) fn role(self) -> Role {
        match self {
            Self::Message => Role::Root,
            Self::Params => Role::Params,
            Self::Result | Self::Error => Role::Answer,
            Self::Meta => Role::Meta,
            Self::Jsonrpc | Self::Id | Self::Method | Self::Arguments | Self::Target | Self::Other => {
                Role::Other
            }
        }
    }
}

// === impl Parts ===

impl Parts {
    /// Notes a member of the message itself.
    pub(super) fn record(&mut self, name: Name, value: Span) {
        let part = match name {
            Name::Jsonrpc => &mut self.jsonrpc,
            Name::Id => &mut self.id,
            Name::Method => &mut self.method,
            Name::Params => &mut self.params,
            Name::Result => &mut self.result,
            Name::Error => &mut self.error,
            Name::Message | Name::Meta | Name::Arguments | Name::Target | Name::Other => return,
        };
        *part = Some(value);
    }

    /// The id, unless it is invalid or the message is an answer.
    pub(crate) fn request_id<'a>(&self, text: &'a str) -> Option<&'a str> {
        if self.result.is_some() || self.error.is_some() {
            return None;
        }
        text.get(self.id.clone()?).filter(|id| is_id(id))
    }
}

/// Whether a raw value can be an id: a string, or a number without fraction and exponent.
pub(crate) fn is_id(raw: &str) -> bool {
    let fractional = |byte: &u8| matches!(byte, b'.' | b'e' | b'E');
    is_string(raw) || (is_number(raw) && !raw.as_bytes().iter().any(fractional))
}

// === impl Members ===

impl Members {
    /// Notes a member. `key_span` is where its key is, if it is spelled plainly.
    pub(super) fn note(&mut self, key: impl FnOnce() -> Box<str>, key_span: Option<Span>, value: Span) {
        if self.noted.len() == NOTED {
            self.overflowed = true;
            return;
        }
        if self.noted.is_empty() {
            self.noted.reserve(USUAL);
        }
        let key = key_span.map_or_else(|| Key::Escaped(key()), Key::Plain);
        self.noted.push((key, value));
    }

    /// The raw value of a member; `object` gives the text of the object these are the members of.
    pub(crate) fn get<'a>(
        &self,
        text: &'a str,
        object: impl FnOnce() -> Option<&'a str>,
        key: &str,
    ) -> Option<&'a str> {
        let is_key = |noted: &Key| match noted {
            // Most keys are told apart by their length.
            Key::Plain(span) => span.len() == key.len() && text.get(span.clone()) == Some(key),
            Key::Escaped(unescaped) => **unescaped == *key,
        };
        match self.noted.iter().find(|(noted, _)| is_key(noted)) {
            Some((_, value)) => text.get(value.clone()),
            None if self.overflowed => member(object()?, key),
            None => None,
        }
    }

    /// Whether every member has one of these keys, spelled plainly.
    pub(crate) fn are_among(&self, text: &str, keys: &[&str]) -> bool {
        let is_one = |noted: &Key| match noted {
            Key::Plain(span) => text.get(span.clone()).is_some_and(|key| keys.contains(&key)),
            Key::Escaped(_) => false,
        };
        !self.overflowed && self.noted.iter().all(|(noted, _)| is_one(noted))
    }
}

impl Members {
    /// Whether a key begins like this, or may.
    pub(crate) fn may_begin(&self, text: &str, start: &str) -> bool {
        let begins = |noted: &Key| match noted {
            Key::Plain(span) => text.get(span.clone()).is_none_or(|key| key.starts_with(start)),
            Key::Escaped(_) => true,
        };
        self.overflowed || self.noted.iter().any(|(noted, _)| begins(noted))
    }

    /// What has to go for a member to go: the member and one comma, the one before it or, for the first, the one after.
    pub(crate) fn removal(&self, text: &str, key: &str) -> Option<Span> {
        let quote = |noted: &Key| match noted {
            Key::Plain(span) => Some(span.start.saturating_sub(1)),
            Key::Escaped(_) => None,
        };
        let plainly = |noted: &Key| matches!(noted, Key::Plain(span) if text.get(span.clone()) == Some(key));
        let at = self.noted.iter().position(|(noted, _)| plainly(noted))?;
        let (own, value) = self.noted.get(at)?;
        let start = match at.checked_sub(1) {
            Some(before) => return Some(self.noted.get(before)?.1.end..value.end),
            None => quote(own)?,
        };
        match self.noted.get(1) {
            Some((next, _)) => Some(start..quote(next)?),
            None => Some(start..value.end),
        }
    }
}

/// Where a part lies in the text it was borrowed from; nothing if it was not.
pub(crate) fn span_in(text: &str, part: &str) -> Option<Span> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= text.len()).then_some(start..end)
}
