//! The heads of requests: a client's as it is read, and ours to a server, of which what is the same each time is written
//! once.

use std::mem::MaybeUninit;
use std::ops::Range;

use bytes::BytesMut;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use thiserror::Error;

use crate::body::{BodyDecoder, split_to};
use crate::framing::{Framing, FramingError, check_line_ends};
use crate::headers::{Headers, place, push_header};
use crate::outgoing::TOGETHER;
use crate::{MAX_HEAD, MAX_HEADERS};

/// Room for the headers that a request has of its own.
const MORE: usize = 128;
/// The most that the length of a body takes in a head, with the head's end.
const LENGTH_LINE: usize = 40;

/// The head of a client's request.
pub struct RequestHead {
    /// What is asked.
    pub method: Method,
    /// The path, and the query behind it.
    target: Range<usize>,
    /// The headers.
    pub headers: Headers,
    /// Where the body ends.
    pub body: BodyDecoder,
    /// Whether the client wants to send more requests after this one.
    pub keep_alive: bool,
    /// Whether the client understands what came with HTTP/1.1: chunks, and interim responses.
    pub is_http_11: bool,
    /// Whether the client waits for our `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// Why a request's head is refused. After it nothing on the connection can be trusted to be a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestHeadError {
    /// What came is no head.
    #[error("this is not HTTP/1.1")]
    NotHttp,
    /// It is one of another version.
    #[error("only HTTP/1.1 is spoken here")]
    Version,
    /// The target is of another form, or of another host.
    #[error("the target of the request is not what its Host says")]
    Target,
    /// It has too many headers, or they are too long.
    #[error("the headers are more than this gateway takes")]
    TooLarge,
    /// Where the message ends is not clear.
    #[error("{}", ambiguity(*.0))]
    Framing(#[from] FramingError),
}

/// The head of our requests without the length of the body. It holds credentials, so nothing can print it.
#[derive(Clone)]
pub struct RequestTemplate(Vec<u8>);

/// A header that cannot be sent.
#[derive(Debug)]
pub struct InvalidHeader;

// === impl RequestHead ===

impl RequestHead {
    /// Takes the head at the beginning of `buffered`, if all of it has come.
    pub fn take(buffered: &mut BytesMut) -> Result<Option<Self>, RequestHeadError> {
        let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let httparse::Status::Complete(length) = request.parse_with_uninit_headers(buffered, &mut room)?
        else {
            return if buffered.len() > MAX_HEAD { Err(RequestHeadError::TooLarge) } else { Ok(None) };
        };
        // One that came at once is as bounded as one that came in pieces.
        if length > MAX_HEAD {
            return Err(RequestHeadError::TooLarge);
        }
        check_line_ends(buffered.get(..length).unwrap_or_default())?;
        let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
        else {
            return Err(RequestHeadError::NotHttp);
        };
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| RequestHeadError::NotHttp)?;
        let mut framing = Framing::default();
        let mut expects_continue = false;
        let mut places = Vec::with_capacity(request.headers.len());
        for header in request.headers.iter() {
            framing.note(header.name, header.value)?;
            expects_continue |= header.name.eq_ignore_ascii_case("expect")
                && header.value.eq_ignore_ascii_case(b"100-continue");
            places.push((place(buffered, header.name.as_bytes()), place(buffered, header.value)));
        }
        let is_http_11 = minor > 0;
        let body = match framing.length {
            // Two readers could see two ends: that is how one request is smuggled inside another.
            Some(_) if framing.chunked => return Err(FramingError::Length.into()),
            None if framing.chunked && !is_http_11 => return Err(FramingError::Coding.into()),
            None if framing.chunked => BodyDecoder::chunked(),
            Some(length) => BodyDecoder::of_length(length),
            None => BodyDecoder::Done,
        };
        let (authority, path) = split_target(target)?;
        let authority = authority.map(|authority| place(buffered, authority.as_bytes()));
        let target = place(buffered, path.as_bytes());
        let headers = Headers { text: split_to(buffered, length).freeze(), places };
        if let Some(authority) = authority {
            check_authority(headers.text.get(authority), &headers)?;
        }
        let keep_alive = framing.keeps_alive(minor);
        let expects_continue = expects_continue && is_http_11;
        Ok(Some(Self { method, target, headers, body, keep_alive, is_http_11, expects_continue }))
    }

    /// The same in the types that HTTP libraries share. Nothing if they have no room for it.
    pub fn to_parts(&self) -> Option<Parts> {
        let target = self.headers.text.get(self.target.clone())?;
        let target = if target.is_empty() { b"/" } else { target };
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::from(PathAndQuery::try_from(target).ok()?);
        *request.headers_mut() = self.headers.to_map()?;
        Some(request.into_parts().0)
    }

    /// The path, and the query behind it.
    pub fn path_and_query(&self) -> (&str, &str) {
        let target = self.headers.text.get(self.target.clone()).unwrap_or_default();
        let target = std::str::from_utf8(target).unwrap_or_default();
        // Behind an authority the path may be left out.
        let target = if target.is_empty() { "/" } else { target };
        target.split_once('?').unwrap_or((target, ""))
    }
}

/// A request target (RFC 9112 §3.2) as the authority it names, if it does, and the path with its query.
fn split_target(target: &str) -> Result<(Option<&str>, &str), RequestHeadError> {
    // Such as no URL holds unescaped; what is behind a `#` is not sent, and some readers cut it off.
    if target.contains(['#', '"', '<', '>', '`']) {
        return Err(RequestHeadError::Target);
    }
    if target.starts_with('/') { Ok((None, target)) } else { split_absolute(target) }
}

/// The absolute form, which clients use towards proxies. The other forms ask for nothing that is here.
fn split_absolute(target: &str) -> Result<(Option<&str>, &str), RequestHeadError> {
    let (scheme, rest) = target.split_once("://").ok_or(RequestHeadError::Target)?;
    if !["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
        return Err(RequestHeadError::Target);
    }
    target.parse::<Uri>().map_err(|_| RequestHeadError::Target)?;
    // Where the authority ends is not left to guesses: only a path may follow it.
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.split_at_checked(end) {
        Some((authority, path)) if path.is_empty() || path.starts_with('/') => Ok((Some(authority), path)),
        Some(_) | None => Err(RequestHeadError::Target),
    }
}

/// RFC 9112 §3.2.2 lets the target win over `Host`, and `Host` is what is checked: they must agree.
fn check_authority(authority: Option<&[u8]>, headers: &Headers) -> Result<(), RequestHeadError> {
    let (Some(authority), Some(host)) = (authority, headers.get("host")) else {
        return Err(RequestHeadError::Target);
    };
    if host.eq_ignore_ascii_case(authority) { Ok(()) } else { Err(RequestHeadError::Target) }
}

// === impl RequestHeadError ===

impl RequestHeadError {
    /// The status of the response to such a request.
    pub fn status(self) -> StatusCode {
        match self {
            Self::NotHttp | Self::Target | Self::Framing(_) => StatusCode::BAD_REQUEST,
            Self::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }
}

/// What is not clear of a request's end, in words for its client.
fn ambiguity(error: FramingError) -> &'static str {
    match error {
        FramingError::Length => "where the body ends is not clear",
        FramingError::Coding => "the only transfer coding is `chunked`",
        FramingError::Chunk => "a chunk of the body is not valid",
        FramingError::LineEnd => "every line of the head must end with CRLF",
    }
}

impl From<httparse::Error> for RequestHeadError {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::TooManyHeaders => Self::TooLarge,
            httparse::Error::Version => Self::Version,
            _ => Self::NotHttp,
        }
    }
}

// === impl RequestTemplate ===

impl RequestTemplate {
    /// The head of every request with these headers, of whose URI only the path is sent.
    pub fn new(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut text = Vec::with_capacity(512);
        for part in [method.as_str(), " ", path, " HTTP/1.1\r\n"] {
            text.extend_from_slice(part.as_bytes());
        }
        for (name, value) in headers {
            push_header(&mut text, name.as_str(), value.as_bytes());
        }
        Self(text)
    }

    /// A copy to which some more headers can be added.
    pub fn with_room(&self) -> Self {
        let mut text = Vec::with_capacity(self.0.len() + MORE);
        text.extend_from_slice(&self.0);
        Self(text)
    }

    /// Adds a header.
    pub fn push(&mut self, name: &str, value: &str) -> Result<(), InvalidHeader> {
        if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return Err(InvalidHeader);
        }
        push_header(&mut self.0, name, value.as_bytes());
        Ok(())
    }

    /// The whole head of a request without a body.
    pub(crate) fn without_body(&self) -> Vec<u8> {
        let mut whole = self.0.clone();
        whole.extend_from_slice(b"\r\n");
        whole
    }

    /// The whole head for a body of `length` bytes, with room for a short one behind it.
    pub(crate) fn with_body(&self, length: usize) -> Vec<u8> {
        let room = if length <= TOGETHER { length } else { 0 };
        let mut whole = Vec::with_capacity(self.0.len() + LENGTH_LINE + room);
        whole.extend_from_slice(&self.0);
        push_header(&mut whole, "content-length", length.to_string().as_bytes());
        whole.extend_from_slice(b"\r\n");
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(request: &str) -> Result<(String, String), RequestHeadError> {
        let head = RequestHead::take(&mut BytesMut::from(request.as_bytes()))?.expect("a whole head");
        let (path, query) = head.path_and_query();
        Ok((path.to_owned(), query.to_owned()))
    }

    fn target(target: &str, host: &str) -> Result<(String, String), RequestHeadError> {
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
            "/mcp#a",
            "/mcp?a#b",
            "/<mcp>",
            "/`mcp`",
            "/mcp?a=\"b\"",
        ] {
            assert_eq!(target(other, "localhost"), Err(RequestHeadError::Target), "{other}");
        }
        assert_eq!(take("GET http://localhost/ HTTP/1.1\r\n\r\n"), Err(RequestHeadError::Target));
    }

    #[test]
    fn a_target_whose_authority_is_none_is_refused_though_host_says_the_same() {
        assert!(target("http://[::1]/mcp", "[::1]").is_ok());
        assert_eq!(target("http://[::1/mcp", "[::1"), Err(RequestHeadError::Target));
    }

    #[test]
    fn a_head_that_comes_at_once_is_as_bounded_as_one_in_pieces() {
        let head = |long: usize| format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(long));
        let around = head(0).len();
        assert!(take(&head(MAX_HEAD - around)).is_ok());
        assert_eq!(take(&head(MAX_HEAD - around + 1)), Err(RequestHeadError::TooLarge));
    }

    #[test]
    fn a_head_is_the_same_in_the_types_of_libraries() {
        for (target, uri) in [("/a?b=c", "/a?b=c"), ("http://h/a", "/a"), ("http://h", "/")] {
            let text = format!("POST {target} HTTP/1.1\r\nHost: h\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n");
            let head = RequestHead::take(&mut BytesMut::from(text.as_bytes())).unwrap().unwrap();
            let parts = head.to_parts().unwrap();
            assert_eq!((parts.method, parts.uri.to_string().as_str()), (Method::POST, uri));
            let cookies: Vec<_> = parts.headers.get_all("cookie").iter().collect();
            assert_eq!(cookies, ["a=1", "b=2"]);
            assert_eq!(parts.headers["host"], "h");
        }
    }

    #[test]
    fn a_head_with_a_bare_line_feed_is_refused() {
        let good = "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n\r\n";
        assert!(take(good).is_ok());
        for (at, _) in good.match_indices("\r\n") {
            let mut bare = good.to_owned();
            bare.remove(at);
            assert_eq!(take(&bare), Err(FramingError::LineEnd.into()), "{bare:?}");
        }
        assert_eq!(take(&good.replace("\r\n", "\n")), Err(FramingError::LineEnd.into()));
    }
}
