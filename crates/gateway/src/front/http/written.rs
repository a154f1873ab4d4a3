//! Answers as they stand on the wire.

use std::time::{Duration, SystemTime};

use highwater_mcp::http1::push_header;
use http::response::Parts;

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Bytes(usize),
    Chunks,
    /// There is no body, or it ends with the connection.
    None,
}

/// What an answer says of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Close,
    KeepAlive,
    Unsaid,
}

/// The date as answers say it, written out once a second.
#[derive(Default)]
pub(super) struct Clock {
    second: u64,
    text: String,
}

// === impl Clock ===

impl Clock {
    pub(super) fn now(&mut self) -> &str {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        if now != self.second || self.text.is_empty() {
            self.second = now;
            self.text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(now));
        }
        &self.text
    }
}

/// The head of an answer.
pub(super) fn head(
    parts: &Parts,
    content_type: Option<&str>,
    length: Length,
    hold: Hold,
    date: &str,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 << 10);
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(parts.status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(parts.status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    if let Some(kind) = content_type {
        push_header(&mut out, "content-type", kind.as_bytes());
    }
    for (name, value) in &parts.headers {
        push_header(&mut out, name.as_str(), value.as_bytes());
    }
    match length {
        Length::Bytes(length) => push_header(&mut out, "content-length", length.to_string().as_bytes()),
        Length::Chunks => push_header(&mut out, "transfer-encoding", b"chunked"),
        Length::None => {}
    }
    match hold {
        Hold::Close => push_header(&mut out, "connection", b"close"),
        Hold::KeepAlive => push_header(&mut out, "connection", b"keep-alive"),
        Hold::Unsaid => {}
    }
    push_header(&mut out, "date", date.as_bytes());
    out.extend_from_slice(b"\r\n");
    out
}

/// A piece of a body in chunks; the empty one is its end.
pub(super) fn chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}
