//! Who is calling. The agent token opens `/mcp` and nothing else; the operator token opens what is for people.

use std::sync::LazyLock;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use highwater_config::{Auth, Settings};
use highwater_core::id::Principal;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use super::response::{self, Refused};
use crate::gateway::Gateway;

static ANONYMOUS: LazyLock<Principal> = LazyLock::new(|| Principal::new("anonymous"));
static AGENT: LazyLock<Principal> = LazyLock::new(|| Principal::new("agent"));

/// The principal behind a request to `/mcp`.
pub(super) fn agent(
    headers: &HeaderMap,
    settings: &Settings,
    gateway: &Gateway,
) -> Result<Principal, Refused> {
    match settings.auth {
        Auth::None => Ok(ANONYMOUS.clone()),
        Auth::Token if bears(headers, &gateway.agent_token) => Ok(AGENT.clone()),
        Auth::Token => Err(unauthorized("the agent token is needed: `Authorization: Bearer hwa_…`")),
    }
}

/// Whether a request comes from the operator.
pub(super) fn operator(headers: &HeaderMap, gateway: &Gateway) -> Result<(), Refused> {
    if bears(headers, &gateway.operator_token) {
        Ok(())
    } else {
        Err(unauthorized("the operator token is needed: `Authorization: Bearer hwo_…`"))
    }
}

/// Compares in constant time, so that a token cannot be guessed letter by letter.
fn bears(headers: &HeaderMap, token: &str) -> bool {
    let Some(given) = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes) else { return false };
    let Some((scheme, given)) = given.split_at_checked(b"Bearer ".len()) else { return false };
    scheme.eq_ignore_ascii_case(b"Bearer ")
        && verify_slices_are_equal(given.trim_ascii(), token.as_bytes()).is_ok()
}

fn unauthorized(message: &str) -> Refused {
    let mut response = response::text(StatusCode::UNAUTHORIZED, message);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"highwater\""));
    Box::new(response)
}
