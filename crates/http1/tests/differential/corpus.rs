//! Streams that readers read differently, or once did.

use bytes::Bytes;

use crate::run::Direction::{self, Requests, Responses};
use crate::script::Piece;

/// In the streams of a server `\u{1}` stands where it waits for the next request.
pub(crate) const STREAMS: &[(Direction, &str)] = &[
    (
        Requests,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /next HTTP/1.1\r\nHost: h\r\n\r\n",
    ),
    (Requests, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\r\nhello\r\n0\r\n\r\n"),
    (Requests, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a\rb\r\nhello\r\n0\r\n\r\n"),
    (Requests, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nbad trailer\r\n\r\n"),
    (
        Requests,
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ),
    (Requests, "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    (Requests, "POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc"),
    (Requests, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (Requests, "GET / HTTP/1.1\nHost: h\n\nGET / HTTP/1.1\n\n"),
    (Requests, "GET / HTTP/1.1\r\nHost : h\r\n\r\n"),
    (Requests, "GET / HTTP/1.1\r\nA: b\r\n Content-Length: 5\r\n\r\nhello"),
    (Requests, "GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n"),
    (Requests, "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"),
    (Requests, "GET /<a> HTTP/1.1\r\nHost: h\r\n\r\n"),
    (Requests, "GET http://[::1/x HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    (Requests, "POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nabc"),
    (
        Requests,
        "GET / HTTP/1.0\r\nConnection: \u{e9}, keep-alive\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    ),
    (
        Responses,
        "\u{1}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok\u{1}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    ),
    (
        Responses,
        "\u{1}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno",
    ),
    (
        Responses,
        "\u{1}HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (Responses, "\u{1}HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello"),
    (Responses, "\u{1}HTTP/1.1 200 OK\r\n\r\nuntil the end"),
    (Responses, "\u{1}HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nabc"),
    (
        Responses,
        "\u{1}HTTP/1.0 200 OK\r\nConnection: \u{e9}, keep-alive\r\ncontent-length: 0\r\n\r\n\u{1}HTTP/1.0 200 OK\r\n\r\n",
    ),
    (Responses, "\u{1}HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nuntil the end"),
    (
        Responses,
        "\u{1}HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\u{1}HTTP/1.1 200 OK\r\n\r\n",
    ),
    (
        Responses,
        "\u{1}HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok\u{1}HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    ),
];

/// A stream at once and byte by byte.
pub(crate) fn cuts(direction: Direction, stream: &str) -> [Vec<Piece>; 2] {
    let parts: Vec<(usize, &str)> = match direction {
        Requests => vec![(0, stream)],
        Responses => stream.split('\u{1}').enumerate().collect(),
    };
    let piece = |after, bytes: &[u8]| Piece { after, bytes: Bytes::copy_from_slice(bytes) };
    let parts = || parts.iter().filter(|(_, part)| !part.is_empty());
    [
        parts().map(|(after, part)| piece(*after, part.as_bytes())).collect(),
        parts().flat_map(|(after, part)| part.as_bytes().chunks(1).map(|byte| piece(*after, byte))).collect(),
    ]
}
