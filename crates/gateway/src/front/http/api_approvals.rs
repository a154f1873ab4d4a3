//! The part of the interface for people that is about approvals. Everything can be looked at and declined here; nothing
//! here approves: an agent with a shell may hold the operator's token.

use highwater_core::id::{ApprovalId, UserId};
use highwater_notation::encode_base64url;
use http::{Response, StatusCode};
use serde_json::json;

use super::HttpFront;
use super::api::{Act, asked, json, problem};
use crate::approvals::{ApprovalFault, ApprovalService, By};
use crate::front::server::ResponseBody;

/// How many entries a list has, unless fewer are asked for.
const MOST: u32 = 500;

impl HttpFront {
    /// Answers a request about approvals; `path` is what stands behind `approvals`.
    pub(super) async fn approvals_api(
        &self,
        path: &[&str],
        query: &str,
        act: Option<Act>,
    ) -> Response<ResponseBody> {
        let Some(approval_service) = self.gateway.approval_service() else {
            let words = "approvals are off here: nobody can be asked on a page (`approvals.listen`)";
            return problem(StatusCode::NOT_FOUND, words);
        };
        match act {
            None => looked(approval_service, path, query).await,
            Some(act) => done(approval_service, path, &act).await,
        }
        .unwrap_or_else(|fault| refused(&fault))
    }
}

async fn looked(
    approval_service: &ApprovalService,
    path: &[&str],
    query: &str,
) -> Result<Response<ResponseBody>, ApprovalFault> {
    let most = asked(query, "most").and_then(|most| most.parse().ok()).unwrap_or(MOST).min(MOST);
    Ok(match path {
        [] => {
            let pending = asked(query, "state").as_deref() != Some("all");
            json(StatusCode::OK, &approval_service.list(pending, most).await?)
        }
        ["inbox"] => json(StatusCode::OK, &approval_service.inbox().await?),
        ["credentials"] => json(StatusCode::OK, &approval_service.credentials().await?),
        ["enrollments"] => json(StatusCode::OK, &approval_service.enrollments().await?),
        ["mandates"] => json(StatusCode::OK, &approval_service.mandates().await?),
        ["resets"] => json(StatusCode::OK, &approval_service.resets().await?),
        ["receipts"] => {
            let from = asked(query, "from").and_then(|from| from.parse().ok()).unwrap_or(0);
            let receipts = approval_service.receipts(from, most).await?;
            json(
                StatusCode::OK,
                &json!({ "gatewayKey": encode_base64url(approval_service.receipt_key()), "receipts": receipts }),
            )
        }
        ["receipts", id] => match approval_service.receipt(id).await? {
            Some(receipt) => json(StatusCode::OK, &receipt),
            None => problem(StatusCode::NOT_FOUND, "there is no such receipt"),
        },
        [id] => match approval_service.view(&ApprovalId::new(*id)).await? {
            Some(request) => json(StatusCode::OK, &request),
            None => problem(StatusCode::NOT_FOUND, "there is no such request"),
        },
        _ => problem(StatusCode::NOT_FOUND, "nothing is here"),
    })
}

async fn done(
    approval_service: &ApprovalService,
    path: &[&str],
    act: &Act,
) -> Result<Response<ResponseBody>, ApprovalFault> {
    let by = By::Operator(act.person());
    let changed = |changed: bool| json(StatusCode::OK, &json!({ "changed": changed }));
    let user = || act.user.as_deref().map(UserId::new).ok_or(ApprovalFault::Unknown);
    Ok(match path {
        ["enroll"] => json(StatusCode::CREATED, &approval_service.open_window(&user()?, act.person()).await?),
        ["credentials", id, "revoke"] => {
            changed(approval_service.revoke_credential(id, act.person(), &act.reason).await?)
        }
        ["credentials", id, "rename"] => {
            let name = act.name.as_deref().unwrap_or_default();
            changed(approval_service.rename_credential(id, name, by).await?)
        }
        ["mandates", id, "revoke"] => changed(approval_service.revoke_mandate(id, by).await?),
        ["remembered", id, "forget"] => changed(approval_service.forget(id, by).await?),
        ["paused", principal, tool, "resume"] => {
            approval_service.resume(principal, tool, by).await?;
            changed(true)
        }
        ["reset"] => json(StatusCode::CREATED, &approval_service.begin_reset(&user()?, act.person()).await?),
        ["reset", "complete"] => {
            json(StatusCode::OK, &approval_service.complete_reset(&user()?, act.person()).await?)
        }
        [id, "deny"] => changed(approval_service.decline(&ApprovalId::new(*id), by).await?),
        _ => problem(StatusCode::NOT_FOUND, "nothing is here"),
    })
}

fn refused(fault: &ApprovalFault) -> Response<ResponseBody> {
    let status = match fault {
        ApprovalFault::Unknown => StatusCode::NOT_FOUND,
        ApprovalFault::Over(_)
        | ApprovalFault::Resetting
        | ApprovalFault::NotDue(_)
        | ApprovalFault::Rejected(_) => StatusCode::CONFLICT,
        ApprovalFault::TooMany => StatusCode::TOO_MANY_REQUESTS,
        ApprovalFault::NeedsPasskey
        | ApprovalFault::NotAsked
        | ApprovalFault::WrongCode { .. }
        | ApprovalFault::NoWindow
        | ApprovalFault::AlreadySigned
        | ApprovalFault::BadName { .. }
        | ApprovalFault::NotRememberable
        | ApprovalFault::NeedsWord
        | ApprovalFault::NotPresumed
        | ApprovalFault::Mandate(_)
        | ApprovalFault::Terms(_) => StatusCode::BAD_REQUEST,
        ApprovalFault::Unsealable
        | ApprovalFault::NoEntropy
        | ApprovalFault::Store(_)
        | ApprovalFault::Audit(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        tracing::error!(error = %fault, "a person could not be answered about approvals");
    }
    problem(status, &fault.to_string())
}
