//! What `sse` promises, case by case.

use super::{Decoder, Event, SseError, encode, encode_comment, encode_event, encode_retry};

fn event(data: &str) -> Event {
    Event { data: data.to_owned().into(), ..Event::default() }
}

/// Decodes the stream cut into chunks of every size, which must not matter.
fn decode(stream: &[u8]) -> Vec<Event> {
    let mut expected = Vec::new();
    Decoder::new(1 << 20).feed(stream, &mut expected).unwrap();
    for size in 1..stream.len().max(2) {
        let mut events = Vec::new();
        let mut decoder = Decoder::new(1 << 20);
        for chunk in stream.chunks(size) {
            decoder.feed(chunk, &mut events).unwrap();
        }
        assert_eq!(events, expected, "chunks of {size}");
    }
    expected
}

#[test]
fn line_ends_of_every_kind_mean_the_same() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["data: a", "data: b", "", ":comment", "", "id: 1", "data: c", "", ""].join(end);
        let expected = [event("a\nb"), Event { id: Some("1".to_owned()), ..event("c") }];
        assert_eq!(decode(stream.as_bytes()), expected, "{end:?}");
    }
    assert_eq!(decode(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n"), [event("a"), event("b"), event("c")]);
}

#[test]
fn fields_are_read_as_the_standard_says() {
    assert_eq!(decode(b"data:a\n\n"), [event("a")]);
    assert_eq!(decode(b"data:  a: b \n\n"), [event(" a: b ")]);
    assert_eq!(decode(b"data\ndata\n\n"), [event("\n")]);
    assert_eq!(decode(b"data:\n\n"), [event("")]);
    assert_eq!(decode(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"), [event("a")]);
    assert_eq!(decode(b"Data: a\nwhatever: b\nfoo\n\n"), []);
    assert_eq!(decode(b"event: ping\n\n\n\n"), []);
    assert_eq!(decode(b"data: unfinished\n"), []);
    let named = Event { event: Some("endpoint".to_owned()), ..event("/m?s=1") };
    assert_eq!(decode(b"event: endpoint\ndata: /m?s=1\n\n"), [named]);
    let retry = Event { retry: Some(500), ..event("") };
    assert_eq!(decode(b"retry: 500\n\nretry: 5x\n\nretry:\n\n"), [retry]);
}

#[test]
fn a_priming_event_is_delivered() {
    let priming = Event { id: Some("7".to_owned()), ..event("") };
    assert_eq!(decode(b"id: 7\ndata:\n\nid: 7\n\nid: a\0b\n\n"), [priming.clone(), priming]);
}

#[test]
fn an_event_is_bounded_whatever_it_is_made_of() {
    let too_long = Err(SseError::EventTooLong { limit: 100 });
    let endless: [&[u8]; 4] = [b"data: aaaaaaaaaaaaaaaaaaaa\n", b"x", b"ignored: aaaaaaaaaaaaa\n", b"data\n"];
    for piece in endless {
        let mut decoder = Decoder::new(100);
        let mut out = Vec::new();
        let fed = (0..1000).map(|_| decoder.feed(piece, &mut out)).find(Result::is_err);
        assert_eq!(fed, Some(too_long.clone()), "{piece:?}");
        assert!(out.is_empty());
    }
    // Comments are no part of an event, and one event does not use up the next one's room.
    let mut decoder = Decoder::new(100);
    let mut out = Vec::new();
    for _ in 0..1000 {
        decoder.feed(b": keep-alive keep-alive\ndata: aaaaaaaaaaaaaaaaaaaa\n\n", &mut out).unwrap();
    }
    assert_eq!(out.len(), 1000);
}

#[test]
fn what_is_encoded_decodes_to_itself() {
    let mut out = Vec::new();
    encode(&mut out, Some("s-1"), b"{\"a\":1}");
    encode_retry(&mut out, 1500);
    encode_comment(&mut out, "still here");
    encode(&mut out, None, b"{\n  \"a\": 1\r\n}\r");
    encode(&mut out, None, b"");
    encode_event(&mut out, Some("endpoint"), None, b"/messages");
    let expected = [
        Event { id: Some("s-1".to_owned()), ..event("{\"a\":1}") },
        Event { retry: Some(1500), ..event("") },
        event("{\n  \"a\": 1\n}\n"),
        event(""),
        Event { event: Some("endpoint".to_owned()), ..event("/messages") },
    ];
    assert_eq!(decode(&out), expected);
}

#[test]
fn an_id_cannot_break_out_of_its_line() {
    let mut out = Vec::new();
    encode(&mut out, Some("1\ndata: forged\r\n\n\0"), b"x");
    assert_eq!(out, b"id: 1data: forged\ndata: x\n\n");
}
