//! The scanned bytes of one JSON-RPC message, and views of its parts.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use bytestring::ByteString;

use crate::era::meta_key;
use crate::scan::{
    self, Members, Parts, ScanError, ScanRules, Span, Violation, has_control, is_id, push_step,
};
use crate::text::{is_object, unquote};

/// One message. What it lends out is text of the message itself; cloning shares it.
#[derive(Clone)]
pub struct Frame {
    inner: Arc<Inner>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    Request,
    Notification,
    Response,
    Error,
}

struct Inner {
    text: ByteString,
    kind: FrameKind,
    id: Option<Span>,
    method: Option<Method>,
    /// `params`, `result` or `error`, as the kind says.
    body: Option<Span>,
    members: Members,
    meta: Members,
    annotates: bool,
}

enum Method {
    Plain(Span),
    Escaped(Box<str>),
}

impl Frame {
    /// Scans the bytes as one message and notes where its parts are.
    pub fn parse(bytes: Bytes, rules: &ScanRules) -> Result<Frame, ScanError> {
        scan::check_size(&bytes, rules)?;
        let text = ByteString::try_from(bytes).map_err(|error| scan::not_utf8(&error))?;
        let mut parts = Parts::default();
        scan::scan_message(&text, rules, &mut parts)?;
        let (kind, method, body) = Envelope { text: &text, parts: &parts, rules }.check()?;
        let id = parts.id.filter(|span| text.get(span.clone()) != Some("null"));
        let annotates = parts.annotates;
        let inner = Inner { kind, id, method, body, members: parts.body, meta: parts.meta, annotates, text };
        Ok(Frame { inner: Arc::new(inner) })
    }

    pub fn bytes(&self) -> &Bytes {
        self.inner.text.as_bytes()
    }

    /// The whole message.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    pub fn kind(&self) -> FrameKind {
        self.inner.kind
    }

    /// The exact JSON text of the id, whatever its size; a string keeps its quotes.
    pub fn id(&self) -> Option<&str> {
        self.part(self.inner.id.as_ref())
    }

    /// The method, unescaped.
    pub fn method(&self) -> Option<&str> {
        match self.inner.method.as_ref()? {
            Method::Plain(span) => self.part(Some(span)),
            Method::Escaped(method) => Some(method),
        }
    }

    /// The raw `params` of a request or notification.
    pub fn params(&self) -> Option<&str> {
        self.body_of(&[FrameKind::Request, FrameKind::Notification])
    }

    /// The raw `result` of a response.
    pub fn result(&self) -> Option<&str> {
        self.body_of(&[FrameKind::Response])
    }

    /// The raw `error` of an error.
    pub fn error(&self) -> Option<&str> {
        self.body_of(&[FrameKind::Error])
    }

    /// The raw value of one member of `params`.
    pub fn param(&self, key: &str) -> Option<&str> {
        let params = self.params()?;
        self.inner.members.get(self.text(), || Some(params), key)
    }

    /// The raw value of one member of `result`.
    pub fn result_member(&self, key: &str) -> Option<&str> {
        let result = self.result()?;
        self.inner.members.get(self.text(), || Some(result), key)
    }

    /// The raw value of one member of `error`.
    pub fn error_member(&self, key: &str) -> Option<&str> {
        let error = self.error()?;
        self.inner.members.get(self.text(), || Some(error), key)
    }

    /// The raw value of one member of `_meta`, of `params` or of `result`.
    pub fn meta(&self, key: &str) -> Option<&str> {
        let body = || self.part(self.inner.body.as_ref());
        let meta = || self.inner.members.get(self.text(), body, "_meta");
        self.inner.meta.get(self.text(), meta, key)
    }

    /// Whether there is nothing in the `_meta` of `params` or `result` but what the eras themselves put on requests: who
    /// sent it said nothing of its own. True without a `_meta`.
    pub fn is_meta_formal(&self) -> bool {
        self.inner.meta.are_among(self.text(), meta_key::FORMAL)
    }

    /// Whether a key of `_meta` may be one that only we may write. True where that cannot be told by looking at how the
    /// keys begin.
    pub fn may_speak_for_us(&self) -> bool {
        self.inner.meta.may_begin(self.text(), meta_key::OURS)
    }

    /// The `result` without one of its members; nothing where that has to be searched for. What is left is what
    /// [`edit_object`](crate::edit::edit_object) leaves.
    pub fn result_without(&self, key: &str) -> Option<String> {
        let (result, whole) = (self.result()?, self.inner.body.clone()?);
        let gone = self.inner.members.removal(self.text(), key)?;
        let (before, after) = (gone.start.checked_sub(whole.start)?, gone.end.checked_sub(whole.start)?);
        let (before, after) = (result.get(..before)?, result.get(after..)?);
        let mut out = String::with_capacity(before.len() + after.len());
        out.push_str(before);
        out.push_str(after);
        Some(out)
    }

    /// Whether something within a member of the body, such as a content block, may be annotated or name a resource. The
    /// scan has seen every key, so that nobody has to search a large reply for them.
    pub fn may_annotate(&self) -> bool {
        self.inner.annotates
    }

    /// The bytes of a part, sharing the message's buffer. A text that is no part of this frame is copied.
    pub fn slice(&self, part: &str) -> Bytes {
        match scan::span_in(self.text(), part) {
            Some(span) => self.bytes().slice(span),
            None => Bytes::copy_from_slice(part.as_bytes()),
        }
    }

    fn part(&self, span: Option<&Span>) -> Option<&str> {
        self.text().get(span?.clone())
    }

    fn body_of(&self, kinds: &[FrameKind]) -> Option<&str> {
        kinds.contains(&self.inner.kind).then(|| self.part(self.inner.body.as_ref()))?
    }
}

/// Names the message and leaves its content out: frames end up in logs.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("kind", &self.inner.kind)
            .field("id", &self.id())
            .field("method", &self.method())
            .field("bytes", &self.bytes().len())
            .finish()
    }
}

/// Rule 7 of the strict scan: whether the parts make a message.
struct Envelope<'a> {
    text: &'a str,
    parts: &'a Parts,
    rules: &'a ScanRules,
}

impl Envelope<'_> {
    fn check(&self) -> Result<(FrameKind, Option<Method>, Option<Span>), ScanError> {
        let first = self.text.trim_start();
        if first.starts_with('[') {
            return Err(ScanError::new(Violation::Batch, String::new(), 0));
        }
        if !is_object(first) {
            return self.refuse("", "not an object");
        }
        let Parts { jsonrpc, id, method, params, result, error, .. } = self.parts;
        match jsonrpc.as_ref().and_then(|span| self.text.get(span.clone())) {
            Some(r#""2.0""#) => {}
            Some(version) if unquote(version).as_deref() == Some("2.0") => {}
            Some(_) => return self.refuse("jsonrpc", "`jsonrpc` must be \"2.0\""),
            None => return self.refuse("", "`jsonrpc` is missing"),
        }
        let id = self.raw(id);
        let has_id = id.is_some_and(is_id);
        if !has_id && id.is_some_and(|id| !self.is_null_of_an_error(id)) {
            return self.refuse("id", "`id` must be a string or an integer");
        }
        match (method, result, error) {
            (Some(method), None, None) => {
                let kind = if has_id { FrameKind::Request } else { FrameKind::Notification };
                let method = self.method(method)?;
                if self.raw(params).is_some_and(|params| !is_object(params)) {
                    return Err(self.fail("params", Violation::ParamsNotObject));
                }
                Ok((kind, Some(method), params.clone()))
            }
            (None, Some(result), None) if has_id => Ok((FrameKind::Response, None, Some(result.clone()))),
            (None, None, Some(error)) if has_id || self.rules.errors_without_id => {
                if !self.raw(&Some(error.clone())).is_some_and(is_object) {
                    return self.refuse("error", "`error` must be an object");
                }
                Ok((FrameKind::Error, None, Some(error.clone())))
            }
            (None, Some(_), None) | (None, None, Some(_)) => self.refuse("", "an answer needs an `id`"),
            (None, None, None) => self.refuse("", "neither `method` nor `result` nor `error`"),
            (_, Some(_), Some(_)) => self.refuse("", "both `result` and `error`"),
            (Some(_), ..) => self.refuse("", "both `method` and an answer"),
        }
    }

    fn method(&self, span: &Span) -> Result<Method, ScanError> {
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let Some(method) = unquote(raw) else {
            return self.refuse("method", "`method` must be a string");
        };
        if has_control(raw) {
            return Err(self.fail("method", Violation::ControlInName));
        }
        Ok(match method {
            std::borrow::Cow::Borrowed(_) => Method::Plain(span.start + 1..span.end - 1),
            std::borrow::Cow::Owned(method) => Method::Escaped(method.into()),
        })
    }

    fn is_null_of_an_error(&self, id: &str) -> bool {
        self.rules.errors_without_id && id == "null" && self.parts.error.is_some()
    }

    fn raw(&self, span: &Option<Span>) -> Option<&str> {
        self.text.get(span.clone()?)
    }

    fn refuse<T>(&self, key: &str, what: &'static str) -> Result<T, ScanError> {
        Err(self.fail(key, Violation::NotAnEnvelope(what)))
    }

    fn fail(&self, key: &str, violation: Violation) -> ScanError {
        let mut path = String::new();
        if !key.is_empty() {
            push_step(&mut path, key);
        }
        let mut error = ScanError::new(violation, path, self.text.len());
        error.id = self.parts.request_id(self.text).map(Box::from);
        error
    }
}

#[cfg(test)]
mod tests;
