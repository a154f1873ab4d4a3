//! Makes streams of messages: well formed, unusual, mutated and cut.

use bytes::Bytes;

use crate::dice::Dice;
use crate::script::Piece;

/// Bytes at which readers part ways.
const ODD: &[u8] = b"\r\n\r\n\0\t :;,/0159afAFx-+\"\x0b\x0c\x7f\x80\xff";

const METHODS: &[&str] =
    &["GET", "GET", "POST", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "M-SEARCH", "get"];
const TARGETS: &[&str] = &[
    "/",
    "/mcp",
    "/mcp?a=b",
    "/a//b",
    "/%00%zz",
    "/a#b",
    "/?",
    "/<a>",
    "/a\"b{c}|d\\e^f`g~",
    "/\u{e9}",
    "*",
    "mcp",
    "http://h/x",
    "http://h",
    "HTTP://h/?a",
    "http://H:80/x",
    "http://u@h/x",
    "http://[::1]/x",
    "http://[::1/x",
    "h:443",
];
const HOSTS: &[&str] = &["h", "h", "h:80", "u@h", "[::1]", "[::1", ""];
const VERSIONS: &[&str] = &["HTTP/1.1"; 12];
const ODD_VERSIONS: &[&str] =
    &["HTTP/1.0", "HTTP/1.0", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 "];
const STATUSES: &[&str] =
    &["200 OK", "200 OK", "200", "200 ", "202 Accepted", "404 Not \u{e9}", "500 x\ty", "301 -"];
const ODD_STATUSES: &[&str] =
    &["204 No Content", "304 Not Modified", "101 Switching", "099 x", "999 x", "1000 x", "20 OK", "199 x"];
const INTERIM: &[&str] = &["100 Continue", "103 Early Hints", "199 x", "100"];
const ODD_LENGTHS: &[&str] = &[
    "+5",
    "-1",
    "5, 5",
    "5,6",
    "",
    " 5",
    "0x5",
    "5 5",
    "05",
    "18446744073709551615",
    "9223372036854775808",
    "99999999999999999999",
    "\u{0665}",
    "5;",
];
const ODD_CODINGS: &[&str] = &[
    "Chunked",
    "chunked ",
    "gzip, chunked",
    "chunked, gzip",
    "chunked, chunked",
    "identity",
    "",
    "xchunked",
    "chunked;a=b",
    ",chunked",
    "chunked,",
    "\tchunked",
];
const CONNECTIONS: &[&str] = &[
    "close",
    "keep-alive",
    "Close",
    "Keep-Alive",
    "keep-alive, close",
    "close, x",
    "upgrade",
    "x\u{e9}, keep-alive",
    "x\u{e9}, close",
    "clo se",
    "\"close\"",
];
const HEADERS: &[&str] = &[
    "Accept: */*",
    "X-A:",
    "X-A:b",
    "x-a:  b \t",
    "X-A: \u{e9}",
    "!#$%&'*+-.^_`|~: x",
    "X-\u{e9}: b",
    "X-A : b",
    "X A: b",
    ": b",
    "no colon",
    " folded: b",
    "X-A: b\r\n c",
    "X-A: a\rb",
    "X-A: a\0b",
    "X-A: a\x7fb",
    "X-A: \"a: b\"",
    "Expect: 100-continue",
    "Upgrade: websocket",
    "TE: trailers",
    "Trailer: x",
    "Content-Type: application/json",
];
const SIZES_BEHIND: &[&str] =
    &[" ", "\t", ";a", ";a=b", " ; a=\"b\"", ";a\rb", ";\u{e9}", "\r", "\u{b}", ";;", ";a\nb", "x"];
const TRAILERS: &[&str] = &[
    "a: b",
    "A:",
    "a:b",
    "x: \u{e9}",
    "bad trailer",
    ": x",
    " a: b",
    "a : b",
    "a: b\rc",
    "a: \0",
    "Content-Length: 5",
];

/// The requests of one connection and how many; they come without being waited for.
pub(crate) fn requests(dice: &mut Dice) -> (Vec<Piece>, usize) {
    let count = 1 + dice.below(4);
    let mut stream = Vec::new();
    for _ in 0..count {
        if dice.once_in(20) {
            stream.extend_from_slice(dice.pick(&["\r\n", "\n", "\r\n\r\n", "\r", " "]).as_bytes());
        }
        request(dice, &mut stream);
    }
    if dice.once_in(3) {
        mutate(dice, &mut stream);
    }
    (cut(dice, &stream, 0), count)
}

/// The responses of one connection and how many; each waits for its request.
pub(crate) fn responses(dice: &mut Dice) -> (Vec<Piece>, usize) {
    let count = 1 + dice.below(4);
    let mut pieces = Vec::new();
    for number in 1..=count {
        let mut message = Vec::new();
        response(dice, &mut message);
        if dice.once_in(6) {
            mutate(dice, &mut message);
        }
        if dice.once_in(30) {
            response(dice, &mut message);
        }
        pieces.extend(cut(dice, &message, number));
    }
    (pieces, count)
}

fn request(dice: &mut Dice, out: &mut Vec<u8>) {
    let target = if dice.once_in(6) { dice.pick(TARGETS) } else { "/mcp" };
    line(out, &[dice.pick(METHODS), " ", target, " ", version(dice)]);
    let host = if target.contains("//") && !dice.once_in(4) {
        target.split('/').nth(2).unwrap_or_default()
    } else {
        dice.pick(HOSTS)
    };
    line(out, &["Host: ", host]);
    message(dice, out, false);
}

fn response(dice: &mut Dice, out: &mut Vec<u8>) {
    if dice.once_in(8) {
        line(out, &[version(dice), " ", dice.pick(INTERIM)]);
        if dice.once_in(2) {
            header(dice, out);
        }
        out.extend_from_slice(b"\r\n");
    }
    let status = if dice.once_in(8) { dice.pick(ODD_STATUSES) } else { dice.pick(STATUSES) };
    line(out, &[version(dice), " ", status]);
    message(dice, out, true);
}

fn version(dice: &mut Dice) -> &'static str {
    if dice.once_in(25) { dice.pick(ODD_VERSIONS) } else { dice.pick(VERSIONS) }
}

/// Headers and body.
fn message(dice: &mut Dice, out: &mut Vec<u8>, ends_with_connection: bool) {
    let many = if dice.once_in(3000) { 90 + dice.below(20) } else { dice.below(3) };
    for _ in 0..many {
        header(dice, out);
    }
    if dice.once_in(6) {
        line(out, &["Connection: ", dice.pick(CONNECTIONS)]);
    }
    let mut body = Vec::new();
    match dice.below(8) {
        0 => {
            if ends_with_connection {
                text(dice, &mut body);
            }
        }
        1..=3 => chunked(dice, out, &mut body),
        _ => sized(dice, out, &mut body),
    }
    if dice.once_in(3) {
        header(dice, out);
    }
    if dice.once_in(12) {
        line(out, &["Connection: ", dice.pick(CONNECTIONS)]);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&body);
}

fn header(dice: &mut Dice, out: &mut Vec<u8>) {
    let usual = &HEADERS[..6];
    if dice.once_in(2000) {
        line(out, &["X-Long: ", &"x".repeat(60_000 + dice.below(8_000))]);
    } else {
        line(out, &[if dice.once_in(15) { dice.pick(HEADERS) } else { dice.pick(usual) }]);
    }
}

/// A body of a length that is said.
fn sized(dice: &mut Dice, out: &mut Vec<u8>, body: &mut Vec<u8>) {
    text(dice, body);
    let length = body.len().to_string();
    let name = dice.pick(&["Content-Length", "content-length", "CONTENT-LENGTH"]);
    line(out, &[name, ": ", if dice.once_in(25) { dice.pick(ODD_LENGTHS) } else { &length }]);
    if dice.once_in(20) {
        line(out, &[name, ": ", if dice.once_in(2) { dice.pick(ODD_LENGTHS) } else { &length }]);
    }
    if dice.once_in(25) {
        line(out, &["Transfer-Encoding: ", dice.pick(ODD_CODINGS)]);
    }
}

/// A body in chunks.
fn chunked(dice: &mut Dice, out: &mut Vec<u8>, body: &mut Vec<u8>) {
    let name = dice.pick(&["Transfer-Encoding", "transfer-encoding"]);
    line(out, &[name, ": ", if dice.once_in(25) { dice.pick(ODD_CODINGS) } else { "chunked" }]);
    if dice.once_in(20) {
        line(out, &["Transfer-Encoding: ", dice.pick(ODD_CODINGS)]);
    }
    if dice.once_in(20) {
        line(out, &["Content-Length: ", dice.pick(&["5", "0", "100"])]);
    }
    let many = if dice.once_in(1000) { 2500 } else { dice.below(4) };
    let behind = if many > 4 && dice.once_in(2) { dice.pick(&[";abcdefgh", ";abcd", ";abc"]) } else { "" };
    for _ in 0..many {
        let mut data = Vec::new();
        text(dice, &mut data);
        data.push(b'.');
        let size = match dice.below(12) {
            0 => format!("{:X}", data.len()),
            1 => format!("00{:x}", data.len()),
            2 if dice.once_in(3) => format!("{:x}", data.len() + 1),
            3 if dice.once_in(6) => dice
                .pick(&["ffffffffffffffff", "10000000000000000", "", "-1", "0x5", " 5", "fffffffffffffffe"])
                .to_owned(),
            _ => format!("{:x}", data.len()),
        };
        body.extend_from_slice(size.as_bytes());
        body.extend_from_slice(behind.as_bytes());
        if dice.once_in(20) {
            body.extend_from_slice(dice.pick(SIZES_BEHIND).as_bytes());
        }
        body.extend_from_slice(line_end(dice));
        body.extend_from_slice(&data);
        body.extend_from_slice(line_end(dice));
    }
    body.extend_from_slice(dice.pick(&["0", "0", "0", "0", "0", "0", "0", "00", "0;a", "0 "]).as_bytes());
    body.extend_from_slice(line_end(dice));
    let trailers = if dice.once_in(800) { 90 + dice.below(20) } else { usize::from(dice.once_in(5)) };
    for _ in 0..trailers {
        let trailer = if dice.once_in(trailers.saturating_mul(2)) { dice.pick(TRAILERS) } else { "a: b" };
        body.extend_from_slice(trailer.as_bytes());
        body.extend_from_slice(line_end(dice));
    }
    body.extend_from_slice(line_end(dice));
}

/// Mostly CRLF.
fn line_end(dice: &mut Dice) -> &'static [u8] {
    if dice.once_in(150) {
        dice.pick(&[&b"\n"[..], b"\r", b"\r\r\n", b"", b"\n\r", b" \r\n"])
    } else {
        b"\r\n"
    }
}

/// A body, with what could be taken for another message.
fn text(dice: &mut Dice, body: &mut Vec<u8>) {
    if dice.once_in(6) {
        let inner: &str = dice.pick(&[
            "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n",
            "0\r\n\r\n",
            "\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        ]);
        body.extend_from_slice(inner.as_bytes());
    }
    for _ in 0..dice.below(24) {
        body.push(b'a' + u8::try_from(dice.below(26)).unwrap_or_default());
    }
}

/// Changes it at one to three places.
fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>) {
    for _ in 0..=dice.below(3) {
        let odd = if dice.once_in(4) { dice.byte() } else { ODD[dice.below(ODD.len())] };
        let at = dice.below(bytes.len() + 1);
        match dice.below(6) {
            0 | 1 => bytes.insert(at, odd),
            2 if at < bytes.len() => bytes[at] = odd,
            3 if at < bytes.len() => {
                bytes.remove(at);
            }
            4 => {
                let to = (at + dice.below(40)).min(bytes.len());
                let piece = bytes[at..to].to_vec();
                let there = dice.below(bytes.len() + 1);
                bytes.splice(there..there, piece);
            }
            _ if dice.once_in(3) => bytes.truncate(at),
            _ => {}
        }
    }
}

/// The pieces in which it comes.
fn cut(dice: &mut Dice, bytes: &[u8], after: usize) -> Vec<Piece> {
    let mut cuts = vec![0, bytes.len()];
    if dice.once_in(2) {
        cuts.extend((0..dice.below(6)).map(|_| dice.below(bytes.len() + 1)));
    }
    cuts.sort_unstable();
    cuts.dedup();
    let pieces = cuts.windows(2).map(|cut| Bytes::copy_from_slice(&bytes[cut[0]..cut[1]]));
    pieces.map(|bytes| Piece { after, bytes }).collect()
}

fn line(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}
