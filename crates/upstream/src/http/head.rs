//! The heads of HTTP/1.1 messages: of ours, what is the same each time is written once; of a server's, only what we need
//! is read.

use std::mem::MaybeUninit;

use ::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use highwater_mcp::headers::SESSION_ID;
use highwater_mcp::http1::{Framing, Misframed, Rest, check_line_ends, push_header};
use thiserror::Error;

use crate::error::Cause;

/// Room for the headers that a request of the modern era has of its own.
const MORE: usize = 128;

/// How many headers a server may send.
const MAX_HEADERS: usize = 96;
/// How many bytes the head of an answer may have.
pub(super) const MAX_HEAD: usize = 64 << 10;
/// The most that the length of a body takes in a head, with the head's end.
const LENGTH_LINE: usize = 40;

/// A request's head without the length of its body. It holds credentials, so nothing can print it.
#[derive(Clone)]
pub(super) struct Head(Vec<u8>);

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerHead {
    pub(super) status: StatusCode,
    pub(super) content: Content,
    /// The session that the server names.
    pub(super) session: Option<HeaderValue>,
    /// The server names the OAuth metadata of what it protects (RFC 9728 §5.1).
    pub(super) names_oauth: bool,
    /// How the end of the body will be known.
    pub(super) rest: Rest,
    /// Whether the connection can be used again.
    pub(super) keep: bool,
}

/// What an answer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Events,
    Html,
    Other,
}

/// What has been read of an answer's head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// There is more to come.
    Partial,
    /// The head of an interim answer of so many bytes; the answer follows.
    Interim(usize),
    /// The head, and how many bytes it took.
    Whole(AnswerHead, usize),
}

/// What is wrong with an answer as HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum NotHttp {
    #[error("what came is not HTTP/1.1")]
    Syntax,
    #[error("the head of the answer is too long")]
    TooLong,
    #[error("the connection was switched to another protocol")]
    Switched,
    #[error("of the answer: {0}")]
    Misframed(#[from] Misframed),
}

/// A header that cannot be sent.
#[derive(Debug)]
pub(super) struct Unfit;

// === impl Head ===

impl Head {
    pub(super) fn new(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
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

    /// A copy that some headers more can be added to.
    pub(super) fn with_room(&self) -> Self {
        let mut text = Vec::with_capacity(self.0.len() + MORE);
        text.extend_from_slice(&self.0);
        Self(text)
    }

    /// Adds a header.
    pub(super) fn push(&mut self, name: &str, value: &str) -> Result<(), Unfit> {
        if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return Err(Unfit);
        }
        push_header(&mut self.0, name, value.as_bytes());
        Ok(())
    }

    /// The whole head of a request without a body.
    pub(super) fn bare(&self) -> Vec<u8> {
        let mut whole = self.0.clone();
        whole.extend_from_slice(b"\r\n");
        whole
    }

    /// The whole head for a body of `length` bytes, with `room` for more behind it.
    pub(super) fn with_body(&self, length: usize, room: usize) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.0.len() + LENGTH_LINE + room);
        whole.extend_from_slice(&self.0);
        push_header(&mut whole, "content-length", length.to_string().as_bytes());
        whole.extend_from_slice(b"\r\n");
        whole
    }
}

// === impl Content ===

impl Content {
    fn of(value: &[u8]) -> Self {
        let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
        let essence = value.get(..end).unwrap_or_default().trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::Events
        } else if essence.eq_ignore_ascii_case(b"text/html") {
            Self::Html
        } else {
            Self::Other
        }
    }
}

/// Whether a challenge says where the OAuth metadata of a resource is.
fn names_oauth(challenge: &[u8]) -> bool {
    const PARAMETER: &[u8] = b"resource_metadata";
    challenge.windows(PARAMETER.len()).any(|part| part.eq_ignore_ascii_case(PARAMETER))
}

// === impl AnswerHead ===

impl AnswerHead {
    /// What a status means that is no answer.
    pub(super) fn no_answer(&self) -> Cause {
        match self.status {
            StatusCode::UNAUTHORIZED if self.names_oauth => Cause::WantsOauth,
            status => Cause::Status(status.as_u16()),
        }
    }

    /// Reads the head at the beginning of `bytes`.
    pub(super) fn read(bytes: &[u8]) -> Result<Reading, NotHttp> {
        let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut answer = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default()
            .parse_response_with_uninit_headers(&mut answer, bytes, &mut room)
            .map_err(|_| NotHttp::Syntax)?;
        let httparse::Status::Complete(length) = parsed else { return Ok(Reading::Partial) };
        check_line_ends(bytes.get(..length).unwrap_or_default())?;
        let (Some(code), Some(version)) = (answer.code, answer.version) else { return Err(NotHttp::Syntax) };
        let status = StatusCode::from_u16(code).map_err(|_| NotHttp::Syntax)?;
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(NotHttp::Switched);
        }
        if status.is_informational() {
            return Ok(Reading::Interim(length));
        }
        let mut framing = Framing::default();
        let (mut content, mut session, mut oauth) = (None, None, false);
        for header in answer.headers.iter() {
            framing.note(header.name, header.value)?;
            // Of those that stand twice the first one counts.
            if content.is_none() && header.name.eq_ignore_ascii_case("content-type") {
                content = Some(Content::of(header.value));
            } else if session.is_none() && header.name.eq_ignore_ascii_case(SESSION_ID) {
                session = Some(HeaderValue::from_bytes(header.value).map_err(|_| NotHttp::Syntax)?);
            } else if status == StatusCode::UNAUTHORIZED
                && header.name.eq_ignore_ascii_case("www-authenticate")
            {
                oauth |= names_oauth(header.value);
            }
        }
        if framing.chunked && version == 0 {
            return Err(Misframed::Coding.into());
        }
        let rest = match (status, framing.length) {
            (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED, _) => Rest::Over,
            // §6.3: the chunks count.
            (_, _) if framing.chunked => Rest::chunked(),
            (_, Some(length)) => Rest::of_length(length),
            (_, None) => Rest::UntilClose,
        };
        // Who says both, chunks and a length, is not asked twice over one connection.
        let ambiguous = framing.chunked && framing.length.is_some();
        let keep = framing.keeps(version) && !ambiguous && rest != Rest::UntilClose;
        let content = content.unwrap_or(Content::Other);
        let head = Self { status, content, session, names_oauth: oauth, rest, keep };
        Ok(Reading::Whole(head, length))
    }
}
