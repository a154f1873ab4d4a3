//! The head of a client's request: what it asks for, and its headers where they came.

use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use highwater_mcp::http1::{Framing, Misframed, Rest, check_line_ends, split_to};
use http::{Method, StatusCode};

/// How many headers a client may send.
const MAX_HEADERS: usize = 96;
/// How many bytes a head may have.
pub(super) const MAX_HEAD: usize = 64 << 10;

/// The head of a request.
pub(super) struct Head {
    pub(super) method: Method,
    /// Who asks, as far as the connection tells.
    pub(super) from: Option<IpAddr>,
    /// The path, and the query behind it.
    target: Range<usize>,
    pub(super) headers: Headers,
    /// Where the body ends.
    pub(super) rest: Rest,
    /// Whether the client wants to send more requests after this one.
    pub(super) keep: bool,
    /// Whether the client understands what came with HTTP/1.1: chunks, and words before the answer.
    pub(super) current: bool,
    /// Whether the client waits for a word of ours before it sends the body.
    pub(super) waits: bool,
}

/// The headers of a request, in their order. There are few, so that a look at each costs less than a table of them.
pub(super) struct Headers {
    /// The whole head.
    text: Bytes,
    places: Vec<(Range<usize>, Range<usize>)>,
}

/// Why a head is refused. After it nothing on the connection can be trusted to be a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadHead {
    pub(super) status: StatusCode,
    pub(super) words: &'static str,
}

// === impl Head ===

impl Head {
    /// Takes the head at the beginning of what has come, if all of it has.
    pub(super) fn take(ahead: &mut BytesMut) -> Result<Option<Self>, BadHead> {
        let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let parsed = match request.parse_with_uninit_headers(ahead, &mut room) {
            Ok(parsed) => parsed,
            Err(error) => return Err(BadHead::from(error)),
        };
        let httparse::Status::Complete(length) = parsed else {
            return if ahead.len() > MAX_HEAD { Err(TOO_LARGE) } else { Ok(None) };
        };
        check_line_ends(ahead.get(..length).unwrap_or_default())?;
        let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
        else {
            return Err(NOT_HTTP);
        };
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| NOT_HTTP)?;
        let mut framing = Framing::default();
        let mut waits = false;
        let mut places = Vec::with_capacity(request.headers.len());
        for header in request.headers.iter() {
            framing.note(header.name, header.value)?;
            waits |= header.name.eq_ignore_ascii_case("expect")
                && header.value.eq_ignore_ascii_case(b"100-continue");
            places.push((place(ahead, header.name.as_bytes()), place(ahead, header.value)));
        }
        let current = minor > 0;
        let rest = match framing.length {
            // Two readers could see two ends: that is how one request is smuggled inside another.
            Some(_) if framing.chunked => return Err(Misframed::Length.into()),
            None if framing.chunked && !current => return Err(Misframed::Coding.into()),
            None if framing.chunked => Rest::chunked(),
            Some(length) => Rest::of_length(length),
            None => Rest::Over,
        };
        let (authority, path) = split_target(target)?;
        let (authority, target) =
            (authority.map(|it| place(ahead, it.as_bytes())), place(ahead, path.as_bytes()));
        let headers = Headers { text: split_to(ahead, length).freeze(), places };
        if let Some(authority) = authority {
            check_authority(headers.text.get(authority), &headers)?;
        }
        Ok(Some(Self {
            from: None,
            method,
            target,
            headers,
            rest,
            keep: framing.keeps(minor),
            current,
            waits: waits && current,
        }))
    }

    /// The path, and the query behind it.
    pub(super) fn path_and_query(&self) -> (&str, &str) {
        let target = self.headers.text.get(self.target.clone()).unwrap_or_default();
        let target = std::str::from_utf8(target).unwrap_or_default();
        // Behind an authority the path may be left out.
        let target = if target.is_empty() { "/" } else { target };
        target.split_once('?').unwrap_or((target, ""))
    }
}

/// A request target (RFC 9112 §3.2) as the authority it names, if it does, and the path with its query.
fn split_target(target: &str) -> Result<(Option<&str>, &str), BadHead> {
    if target.starts_with('/') { Ok((None, target)) } else { split_absolute(target) }
}

/// The absolute form, which clients use towards proxies. The other forms ask for nothing that is here.
fn split_absolute(target: &str) -> Result<(Option<&str>, &str), BadHead> {
    let (scheme, rest) = target.split_once("://").ok_or(NOT_OURS)?;
    if !["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
        return Err(NOT_OURS);
    }
    // Where the authority ends is not left to guesses: only a path may follow it.
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.split_at_checked(end) {
        Some((authority, path)) if path.is_empty() || path.starts_with('/') => Ok((Some(authority), path)),
        Some(_) | None => Err(NOT_OURS),
    }
}

/// RFC 9112 §3.2.2 lets the target win over `Host`, and `Host` is what is checked: they must agree.
fn check_authority(authority: Option<&[u8]>, headers: &Headers) -> Result<(), BadHead> {
    let (Some(authority), Some(host)) = (authority, headers.get("host")) else { return Err(NOT_OURS) };
    if host.eq_ignore_ascii_case(authority) { Ok(()) } else { Err(NOT_OURS) }
}

/// Where in `whole` a part of it stands.
fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start + part.len()
}

// === impl Headers ===

impl Headers {
    /// The value of the first header of this name.
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// The first value, if it is plain text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(plain)
    }

    /// The values of all headers of this name.
    pub(super) fn get_all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.places.iter().filter_map(move |(at, value)| {
            let same = at.len() == name.len()
                && self.text.get(at.clone()).is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()));
            if same { self.text.get(value.clone()) } else { None }
        })
    }

    /// Whether there is a header of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// A value as text, if it holds nothing but letters, signs, blanks and tabs of ASCII.
pub(super) fn plain(value: &[u8]) -> Option<&str> {
    let plain = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    std::str::from_utf8(value).ok().filter(|_| plain)
}

// === impl BadHead ===

const NOT_HTTP: BadHead = BadHead { status: StatusCode::BAD_REQUEST, words: "this is not HTTP/1.1" };
const NOT_OURS: BadHead =
    BadHead { status: StatusCode::BAD_REQUEST, words: "the target of the request is not what its Host says" };
const TOO_LARGE: BadHead = BadHead {
    status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    words: "the headers are more than this gateway takes",
};

impl From<httparse::Error> for BadHead {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::TooManyHeaders => TOO_LARGE,
            httparse::Error::Version => {
                Self { status: StatusCode::HTTP_VERSION_NOT_SUPPORTED, words: "only HTTP/1.1 is spoken here" }
            }
            _ => NOT_HTTP,
        }
    }
}

impl From<Misframed> for BadHead {
    fn from(misframed: Misframed) -> Self {
        let words = match misframed {
            Misframed::Length => "where the body ends is not clear",
            Misframed::Coding => "the only transfer coding is `chunked`",
            Misframed::Chunk => "a chunk of the body is not valid",
            Misframed::LineEnd => "every line of the head must end with CRLF",
        };
        Self { status: StatusCode::BAD_REQUEST, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(request: &str) -> Result<(String, String), BadHead> {
        let head = Head::take(&mut BytesMut::from(request.as_bytes()))?.expect("a whole head");
        let (path, query) = head.path_and_query();
        Ok((path.to_owned(), query.to_owned()))
    }

    fn target(target: &str, host: &str) -> Result<(String, String), BadHead> {
        take(&format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    }

    #[test]
    fn a_target_is_a_path_or_names_the_host_that_host_names() {
        let found = |path: &str, query: &str| Ok((path.to_owned(), query.to_owned()));
        assert_eq!(target("/mcp?a=b", "localhost"), found("/mcp", "a=b"));
        assert_eq!(target("/a://b", "localhost"), found("/a://b", ""));
        assert_eq!(target("http://localhost:1/mcp?a=b", "LOCALHOST:1"), found("/mcp", "a=b"));
        assert_eq!(target("HTTPS://localhost", "localhost"), found("/", ""));
        for other in [
            "http://evil.example/mcp",
            "http://localhost:1/mcp",
            "http://user@localhost/mcp",
            "http://localhost?/mcp",
            "http://localhost#/mcp",
            "http:///mcp",
            "http:/mcp",
            "ftp://localhost/mcp",
            "localhost:80",
            "mcp",
            "*",
        ] {
            assert_eq!(target(other, "localhost"), Err(NOT_OURS), "{other}");
        }
        assert_eq!(take("GET http://localhost/ HTTP/1.1\r\n\r\n"), Err(NOT_OURS));
    }

    #[test]
    fn a_head_with_a_bare_line_feed_is_refused() {
        let good = "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n\r\n";
        assert!(take(good).is_ok());
        for (at, _) in good.match_indices("\r\n") {
            let mut bare = good.to_owned();
            bare.remove(at);
            assert_eq!(take(&bare), Err(Misframed::LineEnd.into()), "{bare:?}");
        }
        assert_eq!(take(&good.replace("\r\n", "\n")), Err(Misframed::LineEnd.into()));
    }
}
