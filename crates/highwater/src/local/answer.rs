//! What the gateway answers who only asks.

use std::io;

use highwater_gateway::{Gateway, Reset};
use highwater_store::{SessionState, StoreError};
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
    };
    Ok(answered.unwrap_or_else(|error: StoreError| Ok(Welcome::refused(error.to_string())))?)
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
