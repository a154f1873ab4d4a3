//! Answers of the page, each with the whole set of headers that keep a browser from doing more than it should.

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, Response, StatusCode};
use serde::Serialize;

use super::backend::Refusal;
use crate::front::server::{self, ResponseBody};

/// What is sent.
pub(super) type Answer = Response<ResponseBody>;

/// Nothing from elsewhere, no scripts in documents, no frames, and no text that becomes markup in the browser.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'";

const PERMISSIONS: &str = "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=()";

/// The headers of every answer.
const HEADERS: [(HeaderName, &str); 9] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    (HeaderName::from_static("x-frame-options"), "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "no-store"),
];

/// An answer in JSON that is no success.
#[derive(Serialize)]
struct Problem<'a> {
    error: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

pub(super) fn with(status: StatusCode, body: ResponseBody) -> Answer {
    let mut answer = server::response(status, body);
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn whole(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    with(status, ResponseBody::Whole(content_type, body.into()))
}

/// A file of ours.
pub(super) fn asset(content_type: &'static str, text: &'static str) -> Answer {
    whole(StatusCode::OK, content_type, text)
}

pub(super) fn document(status: StatusCode, html: String) -> Answer {
    whole(status, "text/html; charset=utf-8", html)
}

/// A sentence for whoever is no browser, or none of ours.
pub(super) fn text(status: StatusCode, message: &str) -> Answer {
    whole(status, "text/plain; charset=utf-8", format!("{message}\n"))
}

/// JSON that was made elsewhere.
pub(super) fn json_text(status: StatusCode, text: String) -> Answer {
    whole(status, "application/json", text)
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    match serde_json::to_string(value) {
        Ok(text) => json_text(status, text),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be written"),
    }
}

pub(super) fn refusal(refusal: &Refusal) -> Answer {
    json(refusal.status, &Problem { error: &refusal.words, reason: refusal.reason })
}

pub(super) fn redirect(to: &str) -> Answer {
    let mut answer = text(StatusCode::TEMPORARY_REDIRECT, "this page is somewhere else");
    match HeaderValue::from_str(to) {
        Ok(to) => {
            answer.headers_mut().insert(LOCATION, to);
            answer
        }
        Err(_) => text(StatusCode::MISDIRECTED_REQUEST, "this name is not served here"),
    }
}

pub(super) fn not_allowed(allowed: &'static str) -> Answer {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// Gives the browser a cookie, or takes it away with an age of zero.
pub(super) fn set_cookie(answer: &mut Answer, name: &str, value: &str, seconds: u64, secure: bool) {
    let secure = if secure { "; Secure" } else { "" };
    // Lax: a link from a client on the web must find the person signed in.
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
}
