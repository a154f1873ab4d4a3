//! What the gateway answers who asks about approvals. Everything can be looked at and declined here; nothing here
//! approves: an agent with a shell may sit on this socket.

use std::io;

use highwater_config::Listen;
use highwater_core::id::{ApprovalId, UserId};
use highwater_gateway::{ApprovalFault, ApprovalService, By, Gateway};
use highwater_notation::encode_base64url;
use highwater_receipts::Enrolled;
use serde_json::{Value, json};

use super::answer::of_store;
use super::hello::{ApprovalQuery, Welcome};
use crate::page::free_beside;

/// The port below the one where such pages are.
const BEFORE_USUAL: u16 = 7411;

/// How many requests a list has.
const MOST: u32 = 500;

/// The answer, or why there is none.
pub(super) async fn answer(gateway: &Gateway, ask: &ApprovalQuery) -> io::Result<Welcome> {
    let Some(approval_service) = gateway.approval_service() else {
        // Another gateway may have the usual port.
        let free = free_beside(Listen::Localhost { port: BEFORE_USUAL });
        return Ok(Welcome::refused(format!(
            "nobody can be asked here: this gateway has no approval page\nhelp: give it one with `approvals: {{ listen: \
             \"{free}\" }}` in its configuration, and start it again"
        )));
    };
    Ok(match said(approval_service, ask).await {
        Ok(value) => Welcome::answer(&value)?,
        Err(ApprovalFault::Unknown) => Welcome::refused(unknown(ask)),
        Err(ApprovalFault::Store(error)) => Welcome::refused(of_store(&error)),
        Err(fault) => Welcome::refused(fault.to_string()),
    })
}

async fn said(approval_service: &ApprovalService, ask: &ApprovalQuery) -> Result<Value, ApprovalFault> {
    let changed = |changed: bool| json!({ "changed": changed });
    Ok(match ask {
        ApprovalQuery::Requests { all } => json!(approval_service.list(!all, MOST).await?),
        ApprovalQuery::Request { id } => {
            json!(approval_service.view(&ApprovalId::new(id.as_str())).await?.ok_or(ApprovalFault::Unknown)?)
        }
        ApprovalQuery::Deny { id, person } => {
            changed(approval_service.decline(&ApprovalId::new(id.as_str()), By::Operator(person)).await?)
        }
        ApprovalQuery::Enroll { user, person } => {
            let mut window = approval_service.open_window(&UserId::new(user.as_str()), person).await?;
            window.opens = Some(approval_service.enrollment_url(&window)?);
            json!(window)
        }
        ApprovalQuery::Credentials => json!(approval_service.credentials().await?),
        ApprovalQuery::RevokeCredential { id, person, reason } => {
            changed(approval_service.revoke_credential(id, person, reason).await?)
        }
        ApprovalQuery::RenameCredential { id, name, person } => {
            changed(approval_service.rename_credential(id, name, By::Operator(person)).await?)
        }
        // Nowhere but to ourselves.
        ApprovalQuery::SignedIn { url } if url.starts_with(&format!("{}/", approval_service.origin())) => {
            json!(approval_service.signed_in_url(url))
        }
        ApprovalQuery::SignedIn { url } => json!(url),
        ApprovalQuery::Mandates => json!(approval_service.mandates().await?),
        ApprovalQuery::RevokeMandate { id, person } => {
            changed(approval_service.revoke_mandate(id, By::Operator(person)).await?)
        }
        ApprovalQuery::BeginReset { user, person } => {
            json!(approval_service.begin_reset(&UserId::new(user.as_str()), person).await?)
        }
        ApprovalQuery::CompleteReset { user, person } => {
            json!(approval_service.complete_reset(&UserId::new(user.as_str()), person).await?)
        }
        ApprovalQuery::Page => json!({
            "origin": approval_service.origin(), "rpId": approval_service.rp_id(), "gatewayKey": encode_base64url(approval_service.receipt_key()),
        }),
        ApprovalQuery::Receipts { from, most } => json!(approval_service.receipts(*from, *most).await?),
        ApprovalQuery::Receipt { id } => {
            json!(approval_service.receipt(id).await?.ok_or(ApprovalFault::Unknown)?)
        }
        ApprovalQuery::Enrollments => json!(enrollments(&approval_service.enrollments().await?)),
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

fn unknown(ask: &ApprovalQuery) -> &'static str {
    match ask {
        ApprovalQuery::Request { .. } | ApprovalQuery::Deny { .. } => {
            "there is no such request; `highwater approvals list` names them"
        }
        ApprovalQuery::RevokeCredential { .. } | ApprovalQuery::RenameCredential { .. } => {
            "there is no such passkey; `highwater approvals credentials` names them"
        }
        ApprovalQuery::RevokeMandate { .. } => {
            "there is no such mandate; `highwater approvals mandate` names them"
        }
        ApprovalQuery::Receipt { .. } => "there is no such receipt; `highwater receipts list` names them",
        ApprovalQuery::CompleteReset { .. } | ApprovalQuery::BeginReset { .. } => {
            "no reset of this user is under way; `highwater approvals reset` begins one"
        }
        ApprovalQuery::Requests { .. }
        | ApprovalQuery::Enroll { .. }
        | ApprovalQuery::Credentials
        | ApprovalQuery::Mandates
        | ApprovalQuery::Page
        | ApprovalQuery::SignedIn { .. }
        | ApprovalQuery::Receipts { .. }
        | ApprovalQuery::Enrollments => "there is no such thing here",
    }
}
