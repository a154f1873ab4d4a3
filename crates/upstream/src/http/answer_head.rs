//! What the head of a server's response says to us, beyond HTTP.

use ::http::{HeaderValue, StatusCode};
use highwater_http1::headers::Headers;
use highwater_http1::response_head::ResponseHead;
use highwater_mcp::headers::SESSION_ID;

use crate::error::Cause;

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerHead {
    pub(super) status: StatusCode,
    pub(super) content: Content,
    /// The session that the server names.
    pub(super) session: Option<HeaderValue>,
    /// The server names the OAuth metadata of what it protects (RFC 9728 §5.1).
    names_oauth: bool,
}

/// What an answer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Events,
    Html,
    Other,
}

// === impl AnswerHead ===

impl AnswerHead {
    /// Of headers that stand twice the first one counts.
    pub(super) fn of(head: &ResponseHead) -> Self {
        let ResponseHead { status, headers, .. } = head;
        Self {
            status: *status,
            content: headers.get("content-type").map_or(Content::Other, Content::of),
            // The parser takes no byte that a value cannot hold.
            session: headers.get(SESSION_ID).and_then(|id| HeaderValue::from_bytes(id).ok()),
            names_oauth: *status == StatusCode::UNAUTHORIZED && names_oauth(headers),
        }
    }

    /// What a status means that is no answer.
    pub(super) fn no_answer(&self) -> Cause {
        match self.status {
            StatusCode::UNAUTHORIZED if self.names_oauth => Cause::WantsOauth,
            status => Cause::Status(status.as_u16()),
        }
    }
}

/// Whether a challenge says where the OAuth metadata of a resource is.
fn names_oauth(headers: &Headers) -> bool {
    const PARAMETER: &[u8] = b"resource_metadata";
    let mut challenges = headers.get_all("www-authenticate");
    challenges.any(|it| it.windows(PARAMETER.len()).any(|part| part.eq_ignore_ascii_case(PARAMETER)))
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
