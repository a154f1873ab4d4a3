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
    /// What an object is that stands at `key` of this one.
    pub(super) fn of_member(self, key: &str) -> Self {
        match (self, key) {
            (Self::Root, "params") => Self::Params,
            (Self::Root, "result" | "error") => Self::Answer,
            (Self::Params | Self::Answer, "_meta") => Self::Meta,
            _ => Self::Other,
        }
    }
}

// === impl Parts ===

impl Parts {
    /// Notes a member. `key_span` is where its key is, if it is spelled plainly.
    pub(super) fn record(&mut self, role: Role, key: &str, key_span: Option<Span>, value: Span) {
        match role {
            Role::Root => {
                let part = match key {
                    "jsonrpc" => &mut self.jsonrpc,
                    "id" => &mut self.id,
                    "method" => &mut self.method,
                    "params" => &mut self.params,
                    "result" => &mut self.result,
                    "error" => &mut self.error,
                    _ => return,
                };
                *part = Some(value);
            }
            Role::Params | Role::Answer => self.body.note(key, key_span, value),
            Role::Meta => self.meta.note(key, key_span, value),
            Role::Other => {}
        }
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
    is_string(raw) || (is_number(raw) && !raw.contains(['.', 'e', 'E']))
}

// === impl Members ===

impl Members {
    fn note(&mut self, key: &str, key_span: Option<Span>, value: Span) {
        if self.noted.len() == NOTED {
            self.overflowed = true;
            return;
        }
        if self.noted.is_empty() {
            self.noted.reserve(USUAL);
        }
        let key = key_span.map_or_else(|| Key::Escaped(key.into()), Key::Plain);
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
            Key::Plain(span) => text.get(span.clone()) == Some(key),
            Key::Escaped(unescaped) => **unescaped == *key,
        };
        match self.noted.iter().find(|(noted, _)| is_key(noted)) {
            Some((_, value)) => text.get(value.clone()),
            None if self.overflowed => member(object()?, key),
            None => None,
        }
    }
}

/// Where a part lies in the text it was borrowed from; nothing if it was not.
pub(crate) fn span_in(text: &str, part: &str) -> Option<Span> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= text.len()).then_some(start..end)
}
