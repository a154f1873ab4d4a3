//! What a reader made of a stream, and whether one reader was laxer than another.

use http::Method;

/// What was read, in order, and why no more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) messages: Vec<Message>,
    pub(crate) end: End,
}

/// A message whose head was accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// A request's method and target, or a response's status.
    pub(crate) head: String,
    pub(crate) body: Body,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Whole(Vec<u8>),
    /// It is no body.
    Refused,
    /// More has to come, and does not.
    Cut,
}

/// Why no other message was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The last message, or the reader, ended the connection.
    Closed,
    /// What followed is no message.
    Refused,
    /// Nothing followed, or only a part of a message.
    NoMore,
}

/// How our reading compares with the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    /// We refused more.
    Stricter,
    /// We accepted more, or saw other messages.
    Laxer(&'static str),
}

pub(crate) fn compare(ours: &Reading, other: &Reading) -> Verdict {
    for (at, message) in ours.messages.iter().enumerate() {
        let Some(theirs) = other.messages.get(at) else {
            return Verdict::Laxer("a head that the other reader did not accept");
        };
        if message.head != theirs.head {
            return Verdict::Laxer("another message");
        }
        match (&message.body, &theirs.body) {
            (Body::Whole(body), Body::Whole(same)) if body == same => {}
            (Body::Whole(_), _) => return Verdict::Laxer("a body that the other reader did not see"),
            (Body::Cut, Body::Whole(_)) => return Verdict::Laxer("a body that is longer than the other's"),
            (Body::Refused, Body::Whole(_)) => return Verdict::Stricter,
            (Body::Refused | Body::Cut, Body::Refused | Body::Cut) => return Verdict::Same,
        }
    }
    match (other.messages.len() > ours.messages.len(), ours.end) {
        (false, _) => Verdict::Same,
        (true, End::Closed | End::Refused) => Verdict::Stricter,
        (true, End::NoMore) => Verdict::Laxer("a message that was passed over"),
    }
}

/// What a request is called here. An empty query is none.
pub(crate) fn request_name(method: &Method, path: &str, query: &str) -> String {
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{method} {path}{mark}{query}")
}
