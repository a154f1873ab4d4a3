//! Which agent session a request belongs to. Taint belongs to what one context window has read, and no transport says
//! what that is. Where nobody says so either, it is presumed: everything that one principal does is one conversation.

use std::borrow::Cow;

use highwater_config::Partition;
use highwater_store::SessionKind;

/// The longest id that a client may choose.
const MAX_CLIENT_ID: usize = 128;

/// What a front can tell of where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// A transport session that we minted.
    Transport(&'a str),
    /// A connection over standard input and output.
    Connection(&'a str),
    /// Nothing but who asks.
    Anywhere,
}

/// The session that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice<'a> {
    pub(crate) kind: SessionKind,
    /// Which of its kind; nothing for the principal's own.
    pub(crate) id: Cow<'a, str>,
    /// Nobody said that it is a conversation: it is only a way into the one that is presumed.
    pub(crate) presumed: bool,
}

/// Chooses the session. All of them are scoped under the principal.
///
/// A context in the address wins over transport session and connection. An id that the client chose can only split
/// further what these give, and counts only where the operator says that this client may split.
pub(crate) fn choose<'a>(
    partition: Partition,
    context: Option<&'a str>,
    place: Place<'a>,
    client_id: Option<&str>,
) -> Choice<'a> {
    let base = base(partition, context, place);
    let part = || match base.kind {
        // What it was called before there were presumed conversations, so that no label is left behind.
        SessionKind::Stateless => format!("{}/", SessionKind::Principal.word()),
        kind => format!("{}/{}", kind.word(), base.id),
    };
    let client_id = client_id.filter(|_| partition == Partition::Client);
    client_id.and_then(|client_id| split(&part(), client_id)).unwrap_or(base)
}

/// The part of a session that a client calls by this id, if that is an id.
pub(crate) fn split(session: &str, client_id: &str) -> Option<Choice<'static>> {
    let id = is_id(client_id).then(|| format!("{session}/{client_id}"))?;
    Some(Choice { kind: SessionKind::Client, id: Cow::Owned(id), presumed: false })
}

fn base<'a>(partition: Partition, context: Option<&'a str>, place: Place<'a>) -> Choice<'a> {
    // What the operator says a host keeps; a request that comes without any session has none to keep.
    let presumed = partition == Partition::Auto;
    match (context, partition, place) {
        (Some(context), _, _) => Choice { kind: SessionKind::Context, id: context.into(), presumed: false },
        (None, Partition::Principal, _) => {
            Choice { kind: SessionKind::Principal, id: "".into(), presumed: false }
        }
        (None, _, Place::Transport(id)) => Choice { kind: SessionKind::Transport, id: id.into(), presumed },
        (None, _, Place::Connection(id)) => Choice { kind: SessionKind::Connection, id: id.into(), presumed },
        (None, _, Place::Anywhere) => Choice { kind: SessionKind::Stateless, id: "".into(), presumed: true },
    }
}

/// An id that cannot be mistaken for a part of another key.
fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    !id.is_empty() && id.len() <= MAX_CLIENT_ID && id.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: [Partition; 4] =
        [Partition::Auto, Partition::Session, Partition::Client, Partition::Principal];

    fn key(partition: Partition, context: Option<&str>, place: Place<'_>, client: Option<&str>) -> String {
        let choice = choose(partition, context, place, client);
        format!("{}:{}{}", choice.kind.word(), choice.id, if choice.presumed { "?" } else { "" })
    }

    #[test]
    fn a_context_in_the_address_wins() {
        for partition in EVERY {
            for place in [Place::Transport("t"), Place::Connection("c"), Place::Anywhere] {
                assert_eq!(key(partition, Some("x"), place, None), "context:x");
            }
        }
    }

    #[test]
    fn sessions_split_only_as_the_operator_says() {
        let transport = Place::Transport("t");
        assert_eq!(key(Partition::Auto, None, transport, None), "transport:t?");
        assert_eq!(key(Partition::Session, None, transport, None), "transport:t");
        assert_eq!(key(Partition::Client, None, transport, None), "transport:t");
        assert_eq!(key(Partition::Principal, None, transport, None), "principal:");
        assert_eq!(key(Partition::Auto, None, Place::Connection("c"), None), "connection:c?");
        assert_eq!(key(Partition::Auto, None, Place::Anywhere, None), "stateless:?");
        assert_eq!(key(Partition::Session, None, Place::Anywhere, None), "stateless:?");
        assert_eq!(key(Partition::Principal, None, Place::Anywhere, None), "principal:");
    }

    #[test]
    fn an_id_the_client_chose_counts_only_where_it_may() {
        let id = Some("conversation-1");
        for partition in [Partition::Auto, Partition::Session, Partition::Principal] {
            assert_eq!(
                key(partition, None, Place::Anywhere, id),
                key(partition, None, Place::Anywhere, None),
                "{partition:?}"
            );
        }
        assert_eq!(
            key(Partition::Client, None, Place::Transport("t"), id),
            "client:transport/t/conversation-1"
        );
        assert_eq!(key(Partition::Client, None, Place::Anywhere, id), "client:principal//conversation-1");
        assert_eq!(key(Partition::Client, Some("x"), Place::Anywhere, id), "client:context/x/conversation-1");
    }

    #[test]
    fn an_id_that_could_be_read_in_two_ways_splits_nothing() {
        for id in ["", "a/b", "a b", "é", &"a".repeat(200)] {
            assert_eq!(key(Partition::Client, None, Place::Anywhere, Some(id)), "stateless:?", "{id}");
        }
    }
}
