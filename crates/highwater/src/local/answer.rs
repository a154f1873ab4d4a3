//! What the gateway answers who only asks.

use std::io;

use highwater_core::label::Label;
use highwater_gateway::{
    ClearedMarks, Decided, Gateway, Judgement, Reset, StatedLabel, TokenAdmin, TokenFault, TokenView,
};
use highwater_store::{PinScope, PinVerdict, SessionState, StoreError, TokenSecret};
use serde_json::json;

use super::approvals;
use super::hello::{Ask, Decide, Welcome};

/// How many sessions a list has.
const MOST: u32 = 1000;

/// The answer, or why there is none.
pub(super) async fn answer(gateway: &Gateway, ask: &Ask) -> io::Result<Welcome> {
    let answered = match ask {
        Ask::Servers => return Ok(Welcome::answer(&gateway.servers())?),
        Ask::Overview => return Ok(Welcome::answer(&gateway.overview().await)?),
        Ask::Hooks => return Ok(Welcome::answer(&gateway.hook_status().await)?),
        Ask::MadeUpHooks { conversation } => {
            return Ok(Welcome::answer(&gateway.made_up_hooks(conversation).await)?);
        }
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
        Ask::Review { server } => gateway.review(server).await.map(|review| match review {
            Some(review) => Welcome::answer(&review),
            None => Ok(Welcome::refused(NO_SERVER)),
        }),
        Ask::Offer { server } => {
            return Ok(match gateway.offer(server).await {
                Some(offer) => Welcome::answer(&offer)?,
                None => Welcome::refused("there is no such server, or it cannot be reached"),
            });
        }
        Ask::Approvals(ask) => return approvals::answer(gateway, ask).await,
        Ask::Decide(decide) => gateway.decide_pins(judgement(decide)).await.map(decided),
        Ask::Describe { server, profile, person, reason } => {
            gateway.describe(server, *profile, person, reason).await.map(|said| match said.refusal() {
                None => Welcome::answer(&json!({ "done": true })),
                Some(why) => Ok(Welcome::refused(why)),
            })
        }
        Ask::NewContext { person, note, label } => match StatedLabel::read(label) {
            Ok(label) => {
                gateway.new_context(person, note, &label).await.map(|context| Welcome::answer(&context))
            }
            Err(why) => return Ok(Welcome::refused(why)),
        },
        Ask::NewConversation { principal, person, note, label } => match StatedLabel::read(label) {
            Ok(label) => {
                let note = if note.is_empty() { "this is a new conversation" } else { note };
                gateway.begin_conversation(principal, label.label(), person, note).await.map(reset)
            }
            Err(why) => return Ok(Welcome::refused(why)),
        },
        Ask::OwnConversation { key, person, note } => {
            let note = if note.is_empty() { "this conversation is mine" } else { note };
            let said = (person.as_str(), note);
            gateway.new_conversation(key, None, None, &Label::bottom(), said).await.map(|outcome| {
                match outcome {
                    Reset::Unknown => Ok(Welcome::refused("nobody asks whose this conversation is")),
                    outcome => reset(outcome),
                }
            })
        }
        Ask::Marks { choice } => gateway.marks(choice).await.map(|marks| Welcome::answer(&marks)),
        Ask::ClearMarks { choice, person, reason } => {
            gateway.clear_marks(choice, person, reason).await.map(|outcome| match outcome {
                ClearedMarks::Done(marks) => Welcome::answer(&marks),
                ClearedMarks::Unknown => {
                    Ok(Welcome::refused("there is no such mark; `highwater marks list` names them"))
                }
                ClearedMarks::NoReason => Ok(Welcome::refused("a reason is needed, and a short one")),
            })
        }
        Ask::Tokens => gateway.tokens().await.map(|tokens| Welcome::answer(&tokens)),
        Ask::CreateToken { name, terms, person } => {
            let terms = terms.as_deref().cloned();
            return Ok(secret(gateway.create_token(name, terms, person).await)?);
        }
        Ask::RotateToken { name, person } => return Ok(secret(gateway.rotate_token(name, person).await)?),
        Ask::RevokeToken { name, person } => return Ok(revoked(gateway.revoke_token(name, person).await)?),
    };
    Ok(answered.unwrap_or_else(|error: StoreError| Ok(Welcome::refused(of_store(&error))))?)
}

/// What a store says that cannot do what was asked; an outage is told as one.
pub(super) fn of_store(error: &StoreError) -> String {
    match error.is_outage() {
        true => format!("{error}\nhelp: {OUTAGE}"),
        false => error.to_string(),
    }
}

/// What helps while the store is away.
pub(crate) const OUTAGE: &str =
    "this is an outage: try the same again when the store is back; `highwater status` says whether it is";

/// The answer of the token commands where no gateway runs; what it does not do is refused.
pub(crate) async fn on_page(approval_service: &TokenAdmin<'_>, ask: &Ask) -> serde_json::Result<Welcome> {
    match ask {
        Ask::Tokens => match approval_service.list().await {
            Ok(tokens) => Welcome::answer(&tokens),
            Err(error) => Ok(Welcome::refused(of_store(&error))),
        },
        Ask::CreateToken { name, terms, person } => {
            secret(approval_service.create(name, terms.as_deref().cloned(), person).await)
        }
        Ask::RotateToken { name, person } => secret(approval_service.rotate(name, person).await),
        Ask::RevokeToken { name, person } => revoked(approval_service.revoke(name, person).await),
        Ask::Servers
        | Ask::Overview
        | Ask::Hooks
        | Ask::MadeUpHooks { .. }
        | Ask::Sessions { .. }
        | Ask::Session { .. }
        | Ask::Reset { .. }
        | Ask::Marks { .. }
        | Ask::ClearMarks { .. }
        | Ask::Review { .. }
        | Ask::Decide(_)
        | Ask::Describe { .. }
        | Ask::Approvals(_)
        | Ask::Offer { .. }
        | Ask::NewContext { .. }
        | Ask::OwnConversation { .. }
        | Ask::NewConversation { .. } => Ok(Welcome::refused("only a running gateway can say that")),
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
    if let TokenFault::Store(error) = fault {
        return Welcome::refused(of_store(error));
    }
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

fn judgement(decide: &Decide) -> Judgement {
    let scope = match decide.digest {
        Some(digest) => PinScope::Server(digest),
        None => PinScope::Some(decide.items.clone()),
    };
    Judgement {
        server: decide.server.clone(),
        verdict: match decide.approve {
            true => PinVerdict::Approve { believed: decide.believe },
            false => PinVerdict::Reject,
        },
        scope,
        person: decide.person.clone(),
        reason: decide.reason.clone(),
    }
}

fn decided(outcome: Decided) -> serde_json::Result<Welcome> {
    match outcome {
        Decided::Done(changed) => Welcome::answer(&json!({ "done": true, "changed": changed })),
        Decided::Moved => Welcome::answer(&json!({ "done": false })),
        Decided::Unknown => Ok(Welcome::refused(NO_SERVER)),
        Decided::Unseen => {
            Ok(Welcome::refused("the server cannot be reached; `highwater servers` tells why"))
        }
    }
}

const NO_SERVER: &str = "there is no such server; `highwater servers` names them";

fn unknown() -> Welcome {
    Welcome::refused("there is no such session; `highwater session list` names them")
}
