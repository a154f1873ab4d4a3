//! Tells whose a message is that cannot be read: broken, or too long to be kept. Only its ends are looked at,
//! and only to fail the right call; nothing of it is passed on.

use highwater_mcp::text::{is_object, members};

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageOwner {
    /// It answers the request of this number.
    Answer(u64),
    /// It is a request or notification, or no message at all.
    NoAnswer,
    /// It may answer any request.
    Unknown,
}

/// Looks at the first and the last bytes of a message. Most servers write the id first, some last.
pub(super) fn whose(head: &[u8], tail: &[u8]) -> MessageOwner {
    let start = text_at_start(head).trim_start();
    if !is_object(start) {
        return MessageOwner::NoAnswer;
    }
    let mut number = None;
    for (key, value) in members(start) {
        match &*key {
            "method" => return MessageOwner::NoAnswer,
            "id" => number = value.parse().ok(),
            _ => {}
        }
    }
    match number.or_else(|| id_at_end(tail)) {
        Some(number) => MessageOwner::Answer(number),
        None => MessageOwner::Unknown,
    }
}

/// The number in `…,"id":7}`. The brace closes the message itself, so the member is one of the envelope.
fn id_at_end(tail: &[u8]) -> Option<u64> {
    let rest = tail.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let start = rest.iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
    let number = std::str::from_utf8(rest.get(start..)?).ok()?.parse().ok()?;
    let before = rest.get(..start)?.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    before.strip_suffix(br#""id""#).map(|_| number)
}

/// As much of the start as is text; a cut character at its end does not matter.
fn text_at_start(head: &[u8]) -> &str {
    match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => head
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_at_either_end() {
        let table: &[(&[u8], &[u8], MessageOwner)] = &[
            (br#"{"jsonrpc":"2.0","id":7,"result":{"a":"xx"#, b"xx\"}}", MessageOwner::Answer(7)),
            (br#"{"result":{"a":"xx"#, br#"xx"},"jsonrpc":"2.0","id":12}"#, MessageOwner::Answer(12)),
            (br#"{"result":{"a":"xx"#, b"xx\"} , \"id\" : 12 } ", MessageOwner::Answer(12)),
            (br#"{"result":{"a":"xx"#, br#"xx","id":12}}"#, MessageOwner::Unknown),
            (br#"{"result":{"a":"xx"#, br#"xx"},"jsonrpc":"2.0","id":"12"}"#, MessageOwner::Unknown),
            (
                br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"#,
                b"}}",
                MessageOwner::NoAnswer,
            ),
            (b"Listening on stdio", b"Listening on stdio", MessageOwner::NoAnswer),
            (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\xff", b"\xff\"}", MessageOwner::Answer(3)),
        ];
        for (head, tail, expected) in table {
            assert_eq!(whose(head, tail), *expected, "{}", String::from_utf8_lossy(head));
        }
    }
}
