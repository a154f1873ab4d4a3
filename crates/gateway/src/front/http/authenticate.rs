//! Who is calling. An agent's token opens `/mcp` and nothing else; the operator token opens what is for people.

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use highwater_audit::Access;
use highwater_config::{Auth, Settings};
use highwater_http1::headers::Headers;
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

use super::response::{self, Refused};
use crate::front::server::Request;
use crate::gateway::{Gateway, now};
use crate::tokens::{Closed, Token};

/// The token behind a request to `/mcp`.
pub(super) fn agent(
    request: &Request,
    settings: &Settings,
    gateway: &Gateway,
) -> Result<Arc<Token>, Refused> {
    // Where nobody has to show a token, who shows one is held to it: a token narrows.
    let Some(shown) = bearer(&request.head.headers) else {
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
        Err(Closed::Unknown) => match gateway.siblings.is_agent(shown) {
            Ok(()) => Ok(Arc::clone(&gateway.tokens.agent)),
            Err(Closed::Unknown) => Err(turned_away(
                request,
                "mcp",
                gateway,
                "this token opens nothing; it may be revoked or over",
            )),
            Err(Closed::Stale) => Err(stale()),
        },
        Err(Closed::Stale) => Err(stale()),
    }
}

/// Nobody knows whether the token still opens anything.
fn stale() -> Refused {
    let message = "the tokens could not be read for a while; try again later";
    let mut response = response::text(StatusCode::SERVICE_UNAVAILABLE, message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
    Box::new(response)
}

/// Whether a request comes from the operator.
pub(super) fn operator(request: &Request, what: &str, gateway: &Gateway) -> Result<(), Refused> {
    let shown = bearer(&request.head.headers).unwrap_or_default();
    if !gateway.is_operator(shown) {
        let message = "the operator token is needed: `Authorization: Bearer hwo_…`";
        return Err(turned_away(request, what, gateway, message));
    }
    let from = request.peer.to_string();
    let (principal, from) = (Some("operator"), Some(from.as_str()));
    gateway.access.note("signed-in", Access { principal, from, what: Some(what), ..Access::default() });
    Ok(())
}

/// Refuses a token that opens nothing, and puts that on record. Nothing of the token is: it may be one of another place.
fn turned_away(request: &Request, what: &str, gateway: &Gateway, message: &str) -> Refused {
    let from = request.peer.to_string();
    gateway.access.note("wrong-token", Access { from: Some(&from), what: Some(what), ..Access::default() });
    unauthorized(message)
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
