//! Which keys the open objects already have, and which keys a lenient reader would confuse.

use std::borrow::Cow;
use std::collections::HashSet;

use smallvec::SmallVec;

use super::Span;

/// Up to so many keys are compared one by one; more go into a hash set, so that no object costs more than
/// its length.
const COMPARED: usize = 16;

/// serde_json gives keys of this kind a meaning of its own, and would read another document than the one
/// that is forwarded.
const PRIVATE: &str = "$serde_json::private::";

pub(super) const ENVELOPE: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];

/// Members of `params` that some method gives a meaning to.
pub(super) const PARAMS: &[&str] = &[
    "_meta",
    "name",
    "arguments",
    "uri",
    "cursor",
    "ref",
    "argument",
    "context",
    "task",
    "taskId",
    "inputResponses",
    "requestState",
    "requestId",
    "reason",
    "progressToken",
    "progress",
    "total",
    "message",
    "level",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "notifications",
    "toolName",
];

/// Length of the longest known key.
const LONGEST: usize = {
    let mut longest = 0;
    let mut at = 0;
    while at < PARAMS.len() {
        #[expect(clippy::indexing_slicing, reason = "checked by the loop, and at compile time")]
        let length = PARAMS[at].len();
        longest = if length > longest { length } else { longest };
        at += 1;
    }
    longest
};

/// The keys of all open objects. Each object knows where its own begin.
pub(super) struct Keys<'a> {
    text: &'a str,
    stack: SmallVec<[Key; 16]>,
    /// Texts of the keys on the stack that are spelled with escapes.
    unescaped: String,
    /// Keys of the open objects that have many, outermost first.
    hashed: Vec<HashSet<Cow<'a, str>>>,
}

#[derive(Clone)]
struct Key {
    /// In the message, or in `unescaped`.
    span: Span,
    escaped: bool,
}

/// The keys that one open object has shown so far.
#[derive(Clone, Copy)]
pub(super) struct ObjectKeys {
    from: usize,
    unescaped_from: usize,
    /// One bit per kind of key seen; a key of a new kind needs no comparison.
    kinds: u64,
    is_hashed: bool,
}

// === impl Keys ===

impl<'a> Keys<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, stack: SmallVec::new(), unescaped: String::new(), hashed: Vec::new() }
    }

    pub(super) fn enter(&self) -> ObjectKeys {
        ObjectKeys {
            from: self.stack.len(),
            unescaped_from: self.unescaped.len(),
            kinds: 0,
            is_hashed: false,
        }
    }

    pub(super) fn leave(&mut self, object: &ObjectKeys) {
        self.stack.truncate(object.from);
        self.unescaped.truncate(object.unescaped_from);
        if object.is_hashed {
            self.hashed.pop();
        }
    }

    /// Makes a key the current one of the innermost object. `unescaped` is its text, if its span is spelled
    /// with escapes. False if the object had it already.
    pub(super) fn insert(
        &mut self,
        object: &mut ObjectKeys,
        bytes: &[u8],
        span: Span,
        unescaped: Option<&str>,
    ) -> bool {
        if object.is_hashed {
            // Only the current key stays on the stack, for the path of a violation.
            self.stack.truncate(object.from);
            self.unescaped.truncate(object.unescaped_from);
        }
        let key = match unescaped {
            None => Key { span, escaped: false },
            Some(text) => {
                let start = self.unescaped.len();
                self.unescaped.push_str(text);
                Key { span: start..self.unescaped.len(), escaped: true }
            }
        };
        let kind = kind_of(bytes);
        let mut is_new = true;
        if object.is_hashed {
            let key = self.owned(&key);
            is_new = self.hashed.last_mut().is_none_or(|hashed| hashed.insert(key));
        } else {
            let own = self.stack.get(object.from..).unwrap_or_default();
            if object.kinds & kind != 0 {
                is_new = own.iter().all(|other| self.bytes_of(other) != bytes);
            }
            if own.len() == COMPARED {
                object.is_hashed = true;
                let hashed = own.iter().chain([&key]).map(|key| self.owned(key)).collect();
                self.hashed.push(hashed);
            }
        }
        object.kinds |= kind;
        self.stack.push(key);
        is_new
    }

    /// The current key of the innermost object.
    pub(super) fn current(&self) -> Option<&str> {
        self.stack.last().map(|key| self.text_of(key))
    }

    /// Where the current key of the innermost object is in the message, if it is spelled plainly.
    pub(super) fn current_span(&self) -> Option<Span> {
        self.stack.last().filter(|key| !key.escaped).map(|key| key.span.clone())
    }

    /// The current key of an object whose inner objects begin their keys at `end`, and where its own begin.
    pub(super) fn current_before(&self, object: &ObjectKeys, end: usize) -> (Option<&str>, usize) {
        let own = self.stack.get(object.from..end).unwrap_or_default();
        (own.last().map(|key| self.text_of(key)), object.from)
    }

    pub(super) fn len(&self) -> usize {
        self.stack.len()
    }

    fn text_of(&self, key: &Key) -> &str {
        let text = if key.escaped { self.unescaped.as_str() } else { self.text };
        text.get(key.span.clone()).unwrap_or_default()
    }

    fn bytes_of(&self, key: &Key) -> &[u8] {
        let text = if key.escaped { self.unescaped.as_bytes() } else { self.text.as_bytes() };
        text.get(key.span.clone()).unwrap_or_default()
    }

    fn owned(&self, key: &Key) -> Cow<'a, str> {
        if key.escaped {
            return Cow::Owned(self.text_of(key).to_owned());
        }
        Cow::Borrowed(self.text.get(key.span.clone()).unwrap_or_default())
    }
}

/// One bit, the same for equal keys and mostly different for others.
fn kind_of(key: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (key.first(), key.last()) else { return 1 };
    1 << ((key.len() + usize::from(*first) * 5 + usize::from(*last) * 11) & 63)
}

/// Whether an object with this key may say something of itself, or name a resource.
pub(super) fn annotates(key: &[u8]) -> bool {
    matches!(key, b"_meta" | b"annotations" | b"resource" | b"uri")
}

/// Whether a key must not be read by serde_json.
pub(super) fn is_private(key: &[u8]) -> bool {
    key.starts_with(PRIVATE.as_bytes())
}

/// The known key that this one equals under simple case folding without being it.
pub(super) fn misspelt(key: &str, known: &[&'static str]) -> Option<&'static str> {
    if known.contains(&key) {
        return None;
    }
    let mut folded = [0; LONGEST];
    let folded = fold(key, &mut folded)?;
    let alike = known.iter().copied().find(|known| known.as_bytes().eq_ignore_ascii_case(folded))?;
    (alike != key).then_some(alike)
}

/// The key under simple case folding, if that is ASCII and no longer than a known key.
fn fold<'f>(key: &str, folded: &'f mut [u8; LONGEST]) -> Option<&'f [u8]> {
    let mut length = 0;
    for c in key.chars() {
        *folded.get_mut(length)? = match c {
            '\u{17F}' => b's',
            '\u{212A}' => b'k',
            c => u8::try_from(c).ok().filter(u8::is_ascii)?.to_ascii_lowercase(),
        };
        length += 1;
    }
    folded.get(..length)
}
