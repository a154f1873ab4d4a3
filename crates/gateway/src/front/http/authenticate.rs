//! Who is calling. An agent's token opens `/mcp` and nothing else; the operator token opens what is for people.

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use highwater_config::{Auth, Settings};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

use super::head::Headers;
use super::response::{self, Refused};
use crate::gateway::{Gateway, now};
use crate::tokens::{Closed, Token};

/// The token behind a request to `/mcp`.
pub(super) fn agent(
    headers: &Headers,
    settings: &Settings,
    gateway: &Gateway,
) -> Result<Arc<Token>, Refused> {
    // Where nobody has to show a token, who shows one is held to it: a token narrows.
    let Some(shown) = bearer(headers) else {
        return match settings.auth {
            Auth::None => Ok(Arc::clone(&gateway.tokens.anonymous)),
            Auth::Token => Err(unauthorized("an agent token is needed: `Authorization: Bearer hwa_…`")),
        };
    };
    // Compared in constant time, so that a token cannot be guessed letter by letter.
    if verify_slices_are_equal(shown, gateway.agent_token.as_bytes()).is_ok() {
        return Ok(Arc::clone(&gateway.tokens.agent));
    }
    let now = now();
    match gateway.tokens.find(shown, now) {
        Ok(token) => {
            if token.is_use_news(now) {
                gateway.store.note_token_use(token.principal.as_str(), now);
            }
            Ok(token)
        }
        Err(Closed::Unknown) => Err(unauthorized("this token opens nothing; it may be revoked or over")),
        Err(Closed::Stale) => {
            let message = "the tokens could not be read for a while; try again later";
            let mut response = response::text(StatusCode::SERVICE_UNAVAILABLE, message);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
            Err(Box::new(response))
        }
    }
}

/// Whether a request comes from the operator.
pub(super) fn operator(headers: &Headers, gateway: &Gateway) -> Result<(), Refused> {
    let shown = bearer(headers).unwrap_or_default();
    match verify_slices_are_equal(shown, gateway.operator_token.as_bytes()) {
        Ok(()) => Ok(()),
        Err(_) => Err(unauthorized("the operator token is needed: `Authorization: Bearer hwo_…`")),
    }
}

/// The token that a request shows.
fn bearer(headers: &Headers) -> Option<&[u8]> {
    let given = headers.get("authorization")?;
    let (scheme, given) = given.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| given.trim_ascii())
}

fn unauthorized(message: &str) -> Refused {
    let mut response = response::text(StatusCode::UNAUTHORIZED, message);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"highwater\""));
    Box::new(response)
}
