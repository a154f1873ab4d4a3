//! The heads of responses: a server's as it is read, and ours to a client.

use std::mem::MaybeUninit;
use std::time::{Duration, SystemTime};

use bytes::{Buf as _, BytesMut};
use http::{HeaderMap, StatusCode};
use thiserror::Error;

use crate::body::{BodyDecoder, split_to};
use crate::framing::{Framing, FramingError, check_line_ends};
use crate::headers::{Headers, place, push_header};
use crate::{MAX_HEAD, MAX_HEADERS};

/// The head of a server's response.
pub struct ResponseHead {
    /// How it went.
    pub status: StatusCode,
    /// The headers.
    pub headers: Headers,
    /// How the end of the body will be known.
    pub body: BodyDecoder,
    /// Whether the connection can be used again.
    pub keep_alive: bool,
}

/// What is wrong with a response as HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ResponseHeadError {
    /// What came is no head.
    #[error("what came is not HTTP/1.1")]
    NotHttp,
    /// The head does not end.
    #[error("the head of the answer is too long")]
    TooLarge,
    /// The server speaks another protocol from now on.
    #[error("the connection was switched to another protocol")]
    Switched,
    /// Where the message ends is not clear.
    #[error("of the answer: {0}")]
    Framing(#[from] FramingError),
}

/// How a client knows the end of our body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// By its length.
    Length(usize),
    /// By its last chunk.
    Chunked,
    /// There is no body, or it ends with the connection.
    Unsaid,
}

/// What our response says of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// It is closed behind this.
    Close,
    /// It stays open.
    KeepAlive,
    /// Nothing.
    Unsaid,
}

/// The date as responses say it, written out once a second.
#[derive(Default)]
pub struct DateCache {
    second: u64,
    text: String,
}

// === impl ResponseHead ===

impl ResponseHead {
    /// Takes the head at the beginning of `buffered`, if all of it has come; interim responses are passed over.
    pub fn take(buffered: &mut BytesMut) -> Result<Option<Self>, ResponseHeadError> {
        while !buffered.is_empty() {
            let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
            let mut response = httparse::Response::new(&mut []);
            let parsed = httparse::ParserConfig::default()
                .parse_response_with_uninit_headers(&mut response, buffered, &mut room)
                .map_err(|_| ResponseHeadError::NotHttp)?;
            let httparse::Status::Complete(length) = parsed else {
                return if buffered.len() > MAX_HEAD { Err(ResponseHeadError::TooLarge) } else { Ok(None) };
            };
            // One that came at once is as bounded as one that came in pieces.
            if length > MAX_HEAD {
                return Err(ResponseHeadError::TooLarge);
            }
            check_line_ends(buffered.get(..length).unwrap_or_default())?;
            let (Some(code), Some(minor)) = (response.code, response.version) else {
                return Err(ResponseHeadError::NotHttp);
            };
            let status = StatusCode::from_u16(code).map_err(|_| ResponseHeadError::NotHttp)?;
            if status == StatusCode::SWITCHING_PROTOCOLS {
                return Err(ResponseHeadError::Switched);
            }
            if status.is_informational() {
                buffered.advance(length);
                continue;
            }
            let mut framing = Framing::default();
            let mut places = Vec::with_capacity(response.headers.len());
            for header in response.headers.iter() {
                framing.note(header.name, header.value)?;
                places.push((place(buffered, header.name.as_bytes()), place(buffered, header.value)));
            }
            let (body, keep_alive) = body_of(status, framing, minor)?;
            let headers = Headers { text: split_to(buffered, length).freeze(), places };
            return Ok(Some(Self { status, headers, body, keep_alive }));
        }
        Ok(None)
    }
}

/// Where the body of a response ends, and whether another response may follow.
fn body_of(
    status: StatusCode,
    framing: Framing,
    minor: u8,
) -> Result<(BodyDecoder, bool), ResponseHeadError> {
    if framing.chunked && minor == 0 {
        return Err(FramingError::Coding.into());
    }
    let body = match (status, framing.length) {
        (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED, _) => BodyDecoder::Done,
        // RFC 9112 §6.3: the chunks count.
        (_, _) if framing.chunked => BodyDecoder::chunked(),
        (_, Some(length)) => BodyDecoder::of_length(length),
        (_, None) => BodyDecoder::UntilClose,
    };
    // A server that says both, chunks and a length, is not asked twice over one connection.
    let ambiguous = framing.chunked && framing.length.is_some();
    let keep_alive = framing.keeps_alive(minor) && !ambiguous && body != BodyDecoder::UntilClose;
    Ok((body, keep_alive))
}

// === impl DateCache ===

impl DateCache {
    /// The date of this second.
    pub fn now(&mut self) -> &str {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        if now != self.second || self.text.is_empty() {
            self.second = now;
            self.text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(now));
        }
        &self.text
    }
}

/// Writes the head of a response.
pub fn write(
    status: StatusCode,
    headers: &HeaderMap,
    content_type: Option<&str>,
    (end, connection): (BodyEnd, Connection),
    date: &str,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 << 10);
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    if let Some(content_type) = content_type {
        push_header(&mut out, "content-type", content_type.as_bytes());
    }
    for (name, value) in headers {
        push_header(&mut out, name.as_str(), value.as_bytes());
    }
    match end {
        BodyEnd::Length(length) => push_header(&mut out, "content-length", length.to_string().as_bytes()),
        BodyEnd::Chunked => push_header(&mut out, "transfer-encoding", b"chunked"),
        BodyEnd::Unsaid => {}
    }
    match connection {
        Connection::Close => push_header(&mut out, "connection", b"close"),
        Connection::KeepAlive => push_header(&mut out, "connection", b"keep-alive"),
        Connection::Unsaid => {}
    }
    push_header(&mut out, "date", date.as_bytes());
    out.extend_from_slice(b"\r\n");
    out
}
