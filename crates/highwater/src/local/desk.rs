//! What the gateway answers who asks about approvals. Everything can be looked at and declined here; nothing here
//! approves: an agent with a shell may sit on this socket.

use std::io;

use highwater_config::Listen;
use highwater_core::id::{ApprovalId, UserId};
use highwater_gateway::{By, Desk, DeskFault, Gateway};
use highwater_notation::encode_base64url;
use highwater_receipts::Enrolled;
use serde_json::{Value, json};

use super::answer::of_store;
use super::hello::{AskDesk, Welcome};
use crate::page::free_beside;

/// The port below the one where such pages are.
const BEFORE_USUAL: u16 = 7411;

/// How many requests a list has.
const MOST: u32 = 500;

/// The answer, or why there is none.
pub(super) async fn answer(gateway: &Gateway, ask: &AskDesk) -> io::Result<Welcome> {
    let Some(desk) = gateway.desk() else {
        // Another gateway may have the usual port.
        let free = free_beside(Listen::Localhost { port: BEFORE_USUAL });
        return Ok(Welcome::refused(format!(
            "nobody can be asked here: this gateway has no approval page\nhelp: give it one with `approvals: {{ listen: \
             \"{free}\" }}` in its configuration, and start it again"
        )));
    };
    Ok(match said(desk, ask).await {
        Ok(value) => Welcome::answer(&value)?,
        Err(DeskFault::Unknown) => Welcome::refused(unknown(ask)),
        Err(DeskFault::Store(error)) => Welcome::refused(of_store(&error)),
        Err(fault) => Welcome::refused(fault.to_string()),
    })
}

async fn said(desk: &Desk, ask: &AskDesk) -> Result<Value, DeskFault> {
    let changed = |changed: bool| json!({ "changed": changed });
    Ok(match ask {
        AskDesk::Requests { all } => json!(desk.list(!all, MOST).await?),
        AskDesk::Request { id } => {
            json!(desk.view(&ApprovalId::new(id.as_str())).await?.ok_or(DeskFault::Unknown)?)
        }
        AskDesk::Deny { id, person } => {
            changed(desk.decline(&ApprovalId::new(id.as_str()), By::Operator(person)).await?)
        }
        AskDesk::Enroll { user, person } => {
            let mut window = desk.open_window(&UserId::new(user.as_str()), person).await?;
            window.opens = Some(desk.enrollment_url(&window)?);
            json!(window)
        }
        AskDesk::Credentials => json!(desk.credentials().await?),
        AskDesk::RevokeCredential { id, person, reason } => {
            changed(desk.revoke_credential(id, person, reason).await?)
        }
        AskDesk::RenameCredential { id, name, person } => {
            changed(desk.rename_credential(id, name, By::Operator(person)).await?)
        }
        // Nowhere but to ourselves.
        AskDesk::SignedIn { url } if url.starts_with(&format!("{}/", desk.origin())) => {
            json!(desk.signed_in_url(url))
        }
        AskDesk::SignedIn { url } => json!(url),
        AskDesk::Mandates => json!(desk.mandates().await?),
        AskDesk::RevokeMandate { id, person } => {
            changed(desk.revoke_mandate(id, By::Operator(person)).await?)
        }
        AskDesk::BeginReset { user, person } => {
            json!(desk.begin_reset(&UserId::new(user.as_str()), person).await?)
        }
        AskDesk::CompleteReset { user, person } => {
            json!(desk.complete_reset(&UserId::new(user.as_str()), person).await?)
        }
        AskDesk::Page => json!({
            "origin": desk.origin(), "rpId": desk.rp_id(), "gatewayKey": encode_base64url(desk.receipt_key()),
        }),
        AskDesk::Receipts { from, most } => json!(desk.receipts(*from, *most).await?),
        AskDesk::Receipt { id } => json!(desk.receipt(id).await?.ok_or(DeskFault::Unknown)?),
        AskDesk::Enrollments => json!(enrollments(&desk.enrollments().await?)),
    })
}

/// What receipts are checked with: passkeys that were confirmed, and by whom.
fn enrollments(records: &[Value]) -> Vec<Enrolled> {
    let text = |record: &Value, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    records
        .iter()
        .filter_map(|record| {
            Some(Enrolled {
                credential_id: text(record, "credentialId")?,
                public_key_cose: text(record, "publicKeyCose")?,
                user_ref: text(record, "user")?,
                authorized_by: text(record, "confirmedBy")?,
                confirmed_at: text(record, "confirmedAt")?,
                revoked_at: text(record, "revokedAt"),
            })
        })
        .collect()
}

fn unknown(ask: &AskDesk) -> &'static str {
    match ask {
        AskDesk::Request { .. } | AskDesk::Deny { .. } => {
            "there is no such request; `highwater approvals list` names them"
        }
        AskDesk::RevokeCredential { .. } | AskDesk::RenameCredential { .. } => {
            "there is no such passkey; `highwater approvals credentials` names them"
        }
        AskDesk::RevokeMandate { .. } => "there is no such mandate; `highwater approvals mandate` names them",
        AskDesk::Receipt { .. } => "there is no such receipt; `highwater receipts list` names them",
        AskDesk::CompleteReset { .. } | AskDesk::BeginReset { .. } => {
            "no reset of this user is under way; `highwater approvals reset` begins one"
        }
        AskDesk::Requests { .. }
        | AskDesk::Enroll { .. }
        | AskDesk::Credentials
        | AskDesk::Mandates
        | AskDesk::Page
        | AskDesk::SignedIn { .. }
        | AskDesk::Receipts { .. }
        | AskDesk::Enrollments => "there is no such thing here",
    }
}
