//! The HTTP headers of the modern era: they repeat parts of the body, and must not contradict it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error_code::HEADER_MISMATCH;
use crate::frame::Frame;
use crate::text::{string_member, unquote};

pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub const METHOD: &str = "mcp-method";
pub const NAME: &str = "mcp-name";
pub const SESSION_ID: &str = "mcp-session-id";
pub const CLIENT_SESSION_ID: &str = "mcp-client-session-id";
pub const LAST_EVENT_ID: &str = "last-event-id";
/// Precedes the name that a tool's schema gives to a parameter's header.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// The member of `_meta` that `MCP-Protocol-Version` repeats.
const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

const ENCODED_START: &str = "=?base64?";
const ENCODED_END: &str = "?=";

/// A header that is missing, unreadable, or says something else than the body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("header `{header}` {problem}")]
pub struct HeaderMismatch {
    pub header: String,
    pub problem: HeaderProblem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderProblem {
    #[error("is missing")]
    Missing,
    #[error("must be absent, the body has no such value")]
    Unexpected,
    #[error("does not match the body")]
    Differs,
    #[error("is not valid Base64 text between its markers")]
    BadEncoding,
}

/// A header value between the Base64 markers is not Base64 of UTF-8 text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not valid Base64 text between the markers")]
pub struct BadEncoding;

// === impl HeaderMismatch ===

impl HeaderMismatch {
    pub(crate) fn new(header: &str, problem: HeaderProblem) -> Self {
        Self { header: header.to_owned(), problem }
    }

    /// The JSON-RPC error code that answers it, with HTTP status 400.
    pub fn code(&self) -> i64 {
        HEADER_MISMATCH
    }
}

/// The text as a header value. Whatever a header cannot carry unchanged is Base64 between markers, and so
/// is a text that looks like that.
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7E))
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && encoded_part(text).is_none();
    if plain {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{ENCODED_START}{}{ENCODED_END}", STANDARD.encode(text)))
}

/// The text of a header value, without the whitespace around it.
pub fn decode_value(value: &str) -> Result<Cow<'_, str>, BadEncoding> {
    let value = value.trim_matches([' ', '\t']);
    let Some(encoded) = encoded_part(value) else { return Ok(Cow::Borrowed(value)) };
    let bytes = STANDARD.decode(encoded).map_err(|_| BadEncoding)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| BadEncoding)
}

fn encoded_part(value: &str) -> Option<&str> {
    value.strip_prefix(ENCODED_START)?.strip_suffix(ENCODED_END)
}

/// What `Mcp-Name` has to say for a request, before encoding; nothing for a method without that header.
pub fn expected_name<'a>(method: &str, params: Option<&'a str>) -> Option<Cow<'a, str>> {
    string_member(params?, named_by(method)?)
}

/// Whether requests of this method carry `Mcp-Name`.
pub fn has_name(method: &str) -> bool {
    named_by(method).is_some()
}

/// The member of `params` that `Mcp-Name` repeats.
fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Compares the standard headers of a modern POST with its body.
///
/// `get_header` looks a header up by its lower-case name. A header that is present but no text must be
/// given as some text that no body can hold, such as `"\u{0}"`, not as absent. Whether a body that carries
/// no version, or no name, is acceptable is for the method to say, not for its headers.
pub fn check<'h>(frame: &Frame, get_header: impl Fn(&str) -> Option<&'h str>) -> Result<(), HeaderMismatch> {
    let version = require(PROTOCOL_VERSION, &get_header)?;
    if let Some(in_body) = frame.meta(PROTOCOL_VERSION_KEY).and_then(unquote) {
        compare(PROTOCOL_VERSION, version, &in_body)?;
    }
    let method = require(METHOD, &get_header)?;
    let in_body = frame.method().unwrap_or_default();
    compare(METHOD, method, in_body)?;
    let Some(member) = named_by(in_body) else { return Ok(()) };
    let name = require(NAME, &get_header)?;
    let name =
        decode_value(name).map_err(|BadEncoding| HeaderMismatch::new(NAME, HeaderProblem::BadEncoding))?;
    match frame.param(member).and_then(unquote) {
        Some(in_body) => compare(NAME, &name, &in_body),
        None => Ok(()),
    }
}

fn require<'h>(
    header: &str,
    get_header: &impl Fn(&str) -> Option<&'h str>,
) -> Result<&'h str, HeaderMismatch> {
    match get_header(header) {
        Some(value) => Ok(value.trim_matches([' ', '\t'])),
        None => Err(HeaderMismatch::new(header, HeaderProblem::Missing)),
    }
}

fn compare(header: &str, value: &str, in_body: &str) -> Result<(), HeaderMismatch> {
    if value == in_body { Ok(()) } else { Err(HeaderMismatch::new(header, HeaderProblem::Differs)) }
}

#[cfg(test)]
mod tests;
