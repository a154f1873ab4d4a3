//! What the gateway answers who only asks.

use std::io;

use highwater_gateway::{Gateway, Reset, TokenDesk, TokenFault, TokenView};
use highwater_store::{SessionState, StoreError, TokenSecret};
use serde_json::json;

use super::hello::{Ask, Welcome};

/// How many sessions a list has.
const MOST: u32 = 1000;

/// The answer, or why there is none.
pub(super) async fn answer(gateway: &Gateway, ask: &Ask) -> io::Result<Welcome> {
    let answered = match ask {
        Ask::Servers => return Ok(Welcome::answer(&gateway.servers())?),
        Ask::Sessions { principal } => {
            gateway.sessions(principal.as_ref(), MOST).await.map(|sessions| Welcome::answer(&sessions))
        }
        Ask::Session { key } => gateway.session(key).await.map(|session| match session {
            Some(session) => Welcome::answer(&session),
            None => Ok(unknown()),
        }),
        Ask::Reset { key, epoch, person, reason } => {
            gateway.reset_session(key, *epoch, person, reason).await.map(reset)
        }
        Ask::NewContext { person, note } => {
            gateway.new_context(person, note).await.map(|context| Welcome::answer(&context))
        }
        Ask::Tokens => gateway.tokens().await.map(|tokens| Welcome::answer(&tokens)),
        Ask::CreateToken { name, terms, person } => {
            let terms = terms.as_deref().cloned();
            return Ok(secret(gateway.create_token(name, terms, person).await)?);
        }
        Ask::RotateToken { name, person } => return Ok(secret(gateway.rotate_token(name, person).await)?),
        Ask::RevokeToken { name, person } => return Ok(revoked(gateway.revoke_token(name, person).await)?),
    };
    Ok(answered.unwrap_or_else(|error: StoreError| Ok(Welcome::refused(error.to_string())))?)
}

/// The answer of a desk where no gateway runs; what it does not do is refused.
pub(crate) async fn at_desk(desk: &TokenDesk<'_>, ask: &Ask) -> serde_json::Result<Welcome> {
    match ask {
        Ask::Tokens => match desk.list().await {
            Ok(tokens) => Welcome::answer(&tokens),
            Err(error) => Ok(Welcome::refused(error.to_string())),
        },
        Ask::CreateToken { name, terms, person } => {
            secret(desk.create(name, terms.as_deref().cloned(), person).await)
        }
        Ask::RotateToken { name, person } => secret(desk.rotate(name, person).await),
        Ask::RevokeToken { name, person } => revoked(desk.revoke(name, person).await),
        Ask::Servers
        | Ask::Sessions { .. }
        | Ask::Session { .. }
        | Ask::Reset { .. }
        | Ask::NewContext { .. } => Ok(Welcome::refused("only a running gateway can say that")),
    }
}

fn secret(made: Result<(TokenView, TokenSecret), TokenFault>) -> serde_json::Result<Welcome> {
    match made {
        Ok((token, secret)) => Welcome::answer(&json!({ "token": token, "secret": secret.expose() })),
        Err(fault) => Ok(refused(&fault)),
    }
}

fn revoked(done: Result<TokenView, TokenFault>) -> serde_json::Result<Welcome> {
    match done {
        Ok(token) => Welcome::answer(&json!({ "token": token })),
        Err(fault) => Ok(refused(&fault)),
    }
}

fn refused(fault: &TokenFault) -> Welcome {
    Welcome::refused(match fault.help() {
        Some(help) => format!("{fault}\nhelp: {help}"),
        None => fault.to_string(),
    })
}

fn reset(outcome: Reset) -> serde_json::Result<Welcome> {
    let state = |done: bool, state: &SessionState| {
        Welcome::answer(&json!({ "done": done, "epoch": state.epoch, "label": state.label }))
    };
    match outcome {
        Reset::Done(after) => state(true, &after),
        Reset::Changed(now) => state(false, &now),
        Reset::Unknown => Ok(unknown()),
        Reset::NoReason => Ok(Welcome::refused("a reason is needed, and a short one")),
    }
}

fn unknown() -> Welcome {
    Welcome::refused("there is no such session; `highwater session list` names them")
}
