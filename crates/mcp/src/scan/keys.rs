//! Which keys an object already has, and which keys a lenient reader would confuse.

use std::borrow::Cow;
use std::collections::HashSet;

/// Up to so many keys are compared one by one; more go into a hash set, so that no object costs more than
/// its length.
const COMPARED: usize = 16;

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

/// The keys that one open object has shown so far.
#[derive(Default)]
pub(super) struct ObjectKeys<'a> {
    /// Where its keys begin on the stack that all open objects share.
    pub(super) from: usize,
    seen: Option<HashSet<Cow<'a, str>>>,
}

impl<'a> ObjectKeys<'a> {
    pub(super) fn starting_at(from: usize) -> Self {
        Self { from, seen: None }
    }

    /// Makes `key` the current one. False if the object had it already.
    pub(super) fn insert(&mut self, stack: &mut Vec<Cow<'a, str>>, key: Cow<'a, str>) -> bool {
        if let Some(seen) = &mut self.seen {
            // Only the current key stays on the stack, for the path of a violation.
            stack.truncate(self.from);
            stack.push(key.clone());
            return seen.insert(key);
        }
        let own = stack.get(self.from..).unwrap_or_default();
        let is_new = !own.contains(&key);
        if own.len() == COMPARED {
            self.seen = Some(own.iter().cloned().chain([key.clone()]).collect());
        }
        stack.push(key);
        is_new
    }
}

/// The known key that this one equals under simple case folding without being it.
pub(super) fn misspelt(key: &str, known: &[&'static str]) -> Option<&'static str> {
    if known.is_empty() || known.contains(&key) {
        return None;
    }
    let fold_equal = |known: &&&'static str| {
        if key.is_ascii() {
            return key.eq_ignore_ascii_case(known);
        }
        key.chars().map(fold).eq(known.chars().map(fold))
    };
    known.iter().find(fold_equal).copied()
}

/// Simple case folding, as far as it can lead to ASCII.
fn fold(c: char) -> char {
    match c {
        '\u{17F}' => 's',
        '\u{212A}' => 'k',
        c => c.to_ascii_lowercase(),
    }
}
