//! What a server whose connection all clients share is told that they can do: everything that any of them can. It is told
//! once, when it is met; clients that can do more make it due to be met anew, which happens while nobody uses it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use highwater_mcp::text::{is_object, member, members, quote};

use crate::client_session::ClientSession;

/// How many different capabilities of clients of the modern era are remembered.
const MAX_REQUESTS: usize = 16;
/// How many different capabilities are known to be covered at once.
const MAX_COVERED: usize = 64;
/// The longest text that a server is told.
const MAX_LENGTH: usize = 64 << 10;
/// How deep capabilities are joined; what is deeper is taken from whoever came first.
const MAX_DEPTH: usize = 6;

/// What is announced to one server.
#[derive(Default)]
pub(super) struct Announced {
    inner: Mutex<Inner>,
    due: AtomicBool,
}

#[derive(Default)]
struct Inner {
    /// Legacy clients that are connected.
    sessions: Vec<Weak<ClientSession>>,
    /// What clients of the modern era said on their requests, the last one at the end.
    requests: Vec<Box<str>>,
    /// What the server was told when it was met; nothing while it is not there, or where nothing is told.
    told: Option<Arc<str>>,
    /// What is known to be in what it was told.
    covered: HashSet<Box<str>>,
}

// === impl Announced ===

impl Announced {
    /// A legacy client is connected. Whether it can do more than the server was told.
    pub(super) fn meet(&self, session: &Arc<ClientSession>) -> bool {
        let mut inner = self.inner();
        inner.sessions.retain(|known| known.strong_count() > 0);
        if !inner.sessions.iter().any(|known| Weak::as_ptr(known) == Arc::as_ptr(session)) {
            inner.sessions.push(Arc::downgrade(session));
        }
        self.compare(&mut inner, session.capabilities())
    }

    /// Every legacy client that another was made known to.
    pub(super) fn meet_all(&self, other: &Self) {
        let known = other.inner().sessions.clone();
        self.inner().sessions.extend(known);
    }

    /// Whether it is known that the server was told of clients that can do this.
    pub(super) fn covers(&self, capabilities: &str) -> bool {
        self.inner().covered.contains(capabilities)
    }

    /// A client of the modern era sent a request. Whether it can do more than the server was told.
    pub(super) fn hear(&self, capabilities: &str) -> bool {
        let mut inner = self.inner();
        if inner.covered.contains(capabilities) {
            return false;
        }
        if !inner.requests.iter().any(|known| **known == *capabilities) {
            if inner.requests.len() == MAX_REQUESTS {
                inner.requests.remove(0);
            }
            inner.requests.push(capabilities.into());
        }
        self.compare(&mut inner, capabilities)
    }

    /// Whether any legacy client is connected that the server was made known to.
    pub(super) fn has_sessions(&self) -> bool {
        self.inner().sessions.iter().any(|known| known.strong_count() > 0)
    }

    /// What a server that is met now is told.
    pub(super) fn union(&self) -> Arc<str> {
        let inner = self.inner();
        let sessions: Vec<_> = inner.sessions.iter().filter_map(Weak::upgrade).collect();
        let said = sessions.iter().map(|session| session.capabilities());
        let said = said.chain(inner.requests.iter().map(|request| &**request));
        said.fold("{}".to_owned(), |all, one| joined(&all, one)).into()
    }

    /// The server was met and told this; nothing where it is told with each request.
    pub(super) fn told(&self, capabilities: Option<Arc<str>>) {
        let mut inner = self.inner();
        inner.told = capabilities;
        inner.covered.clear();
        self.due.store(false, Ordering::Release);
    }

    /// Whether this is true of what the server was told.
    pub(super) fn says(&self, is_true: impl FnOnce(&str) -> bool) -> bool {
        let told = self.inner().told.clone();
        told.is_some_and(|told| is_true(&told))
    }

    /// Whether the server is to be met anew.
    pub(super) fn is_due(&self) -> bool {
        self.due.load(Ordering::Acquire)
    }

    fn compare(&self, inner: &mut Inner, capabilities: &str) -> bool {
        if inner.covered.contains(capabilities) {
            return false;
        }
        if let Some(told) = &inner.told
            && joined(told, capabilities) != **told
        {
            self.due.store(true, Ordering::Release);
            return true;
        }
        if inner.covered.len() >= MAX_COVERED {
            inner.covered.clear();
        }
        inner.covered.insert(capabilities.into());
        false
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The capabilities of both, as JSON text: of what only one has all of it, of what both have the members of both. It is
/// `all` itself where `more` adds nothing.
fn joined(all: &str, more: &str) -> String {
    let both = join(all, more, 0);
    if both.len() > MAX_LENGTH { all.to_owned() } else { both }
}

fn join(all: &str, more: &str, depth: usize) -> String {
    if depth > MAX_DEPTH || !is_object(all) || !is_object(more) {
        return all.to_owned();
    }
    // An empty `elicitation` means forms, which has to be said once pages are there, too.
    let mut kept: Vec<(String, String)> = members(all)
        .map(|(key, value)| {
            let value = match member(more, &key) {
                Some(other) if depth == 0 && key == "elicitation" => {
                    join(&with_forms(value, other), &with_forms(other, value), depth + 1)
                }
                Some(other) => join(value, other, depth + 1),
                None => value.to_owned(),
            };
            (key.into_owned(), value)
        })
        .collect();
    for (key, value) in members(more) {
        if member(all, &key).is_none() {
            kept.push((key.into_owned(), value.to_owned()));
        }
    }
    let kept: Vec<String> = kept.iter().map(|(key, value)| format!("{}:{value}", quote(key))).collect();
    let both = format!("{{{}}}", kept.join(","));
    // Written as it came where nothing is added, so that the two can be compared.
    if is_same(all, &both, depth) { all.to_owned() } else { both }
}

/// The way to be asked `one` stands for, where an empty object and one with modes meet.
fn with_forms(one: &str, other: &str) -> String {
    let is_empty = members(one).next().is_none();
    if is_empty && member(other, "url").is_some() { r#"{"form":{}}"#.to_owned() } else { one.to_owned() }
}

/// Whether two texts have the same members, apart from spaces.
fn is_same(one: &str, other: &str, depth: usize) -> bool {
    if depth > MAX_DEPTH || !is_object(one) || !is_object(other) {
        return one == other;
    }
    let alike = |(key, value): (std::borrow::Cow<'_, str>, &str)| {
        member(other, &key).is_some_and(|twin| is_same(value, twin, depth + 1))
    };
    members(one).count() == members(other).count() && members(one).all(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_has_what_any_of_them_has() {
        assert_eq!(joined("{}", r#"{"roots":{}}"#), r#"{"roots":{}}"#);
        assert_eq!(
            joined(r#"{"roots":{}}"#, r#"{"roots":{"listChanged":true},"sampling":{"tools":{}}}"#),
            r#"{"roots":{"listChanged":true},"sampling":{"tools":{}}}"#
        );
        assert_eq!(
            joined(r#"{"experimental":{"a/b":{"x":1}}}"#, r#"{"experimental":{"a/b":{"x":2},"c/d":{}}}"#),
            r#"{"experimental":{"a/b":{"x":1},"c/d":{}}}"#
        );
        // Empty means forms, also when somebody else brings pages.
        assert_eq!(
            joined(r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}}}"#),
            r#"{"elicitation":{"form":{},"url":{}}}"#
        );
    }

    #[test]
    fn what_adds_nothing_leaves_the_text_as_it_is() {
        let all = r#"{ "roots" : {"listChanged": true}, "elicitation":{"form":{}} }"#;
        for less in ["{}", r#"{"roots":{}}"#, r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#] {
            assert_eq!(joined(all, less), all, "{less}");
        }
    }

    #[test]
    fn only_who_can_do_more_makes_it_due() {
        let announced = Announced::default();
        let first = ClientSession::new(r#"{"roots":{}}"#);
        assert!(!announced.meet(&first), "nobody was told anything yet");
        announced.told(Some(announced.union()));
        assert!(!announced.meet(&first));
        assert!(!announced.hear("{}"));
        let second = ClientSession::new(r#"{"sampling":{}}"#);
        assert!(announced.meet(&second));
        assert!(announced.is_due());
        assert_eq!(&*announced.union(), r#"{"roots":{},"sampling":{}}"#);
        drop(first);
        assert_eq!(&*announced.union(), r#"{"sampling":{}}"#, "who has left does not count");
        announced.told(None);
        assert!(!announced.is_due());
        assert!(!announced.hear(r#"{"elicitation":{}}"#), "a modern server is told with each request");
    }
}
