//! The part of the interface for people that is about approvals. Everything can be looked at and declined here; nothing
//! here approves: an agent with a shell may hold the operator's token.

use highwater_core::id::{ApprovalId, UserId};
use highwater_notation::encode_base64url;
use http::{Response, StatusCode};
use serde_json::json;

use super::HttpFront;
use super::api::{Act, asked, json, problem};
use crate::approvals::{By, Desk, DeskFault};
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
        let Some(desk) = self.gateway.desk() else {
            let words = "approvals are off here: nobody can be asked on a page (`approvals.listen`)";
            return problem(StatusCode::NOT_FOUND, words);
        };
        match act {
            None => looked(desk, path, query).await,
            Some(act) => done(desk, path, &act).await,
        }
        .unwrap_or_else(|fault| refused(&fault))
    }
}

async fn looked(desk: &Desk, path: &[&str], query: &str) -> Result<Response<ResponseBody>, DeskFault> {
    let most = asked(query, "most").and_then(|most| most.parse().ok()).unwrap_or(MOST).min(MOST);
    Ok(match path {
        [] => {
            let pending = asked(query, "state").as_deref() != Some("all");
            json(StatusCode::OK, &desk.list(pending, most).await?)
        }
        ["inbox"] => json(StatusCode::OK, &desk.inbox().await?),
        ["credentials"] => json(StatusCode::OK, &desk.credentials().await?),
        ["enrollments"] => json(StatusCode::OK, &desk.enrollments().await?),
        ["mandates"] => json(StatusCode::OK, &desk.mandates().await?),
        ["resets"] => json(StatusCode::OK, &desk.resets().await?),
        ["receipts"] => {
            let from = asked(query, "from").and_then(|from| from.parse().ok()).unwrap_or(0);
            let receipts = desk.receipts(from, most).await?;
            json(
                StatusCode::OK,
                &json!({ "gatewayKey": encode_base64url(desk.receipt_key()), "receipts": receipts }),
            )
        }
        ["receipts", id] => match desk.receipt(id).await? {
            Some(receipt) => json(StatusCode::OK, &receipt),
            None => problem(StatusCode::NOT_FOUND, "there is no such receipt"),
        },
        [id] => match desk.view(&ApprovalId::new(*id)).await? {
            Some(request) => json(StatusCode::OK, &request),
            None => problem(StatusCode::NOT_FOUND, "there is no such request"),
        },
        _ => problem(StatusCode::NOT_FOUND, "nothing is here"),
    })
}

async fn done(desk: &Desk, path: &[&str], act: &Act) -> Result<Response<ResponseBody>, DeskFault> {
    let by = By::Operator(act.person());
    let changed = |changed: bool| json(StatusCode::OK, &json!({ "changed": changed }));
    let user = || act.user.as_deref().map(UserId::new).ok_or(DeskFault::Unknown);
    Ok(match path {
        ["enroll"] => json(StatusCode::CREATED, &desk.open_window(&user()?, act.person()).await?),
        ["credentials", id, "revoke"] => {
            changed(desk.revoke_credential(id, act.person(), &act.reason).await?)
        }
        ["credentials", id, "rename"] => {
            let name = act.name.as_deref().unwrap_or_default();
            changed(desk.rename_credential(id, name, by).await?)
        }
        ["mandates", id, "revoke"] => changed(desk.revoke_mandate(id, by).await?),
        ["remembered", id, "forget"] => changed(desk.forget(id, by).await?),
        ["paused", principal, tool, "resume"] => {
            desk.resume(principal, tool, by).await?;
            changed(true)
        }
        ["reset"] => json(StatusCode::CREATED, &desk.begin_reset(&user()?, act.person()).await?),
        ["reset", "complete"] => json(StatusCode::OK, &desk.complete_reset(&user()?, act.person()).await?),
        [id, "deny"] => changed(desk.decline(&ApprovalId::new(*id), by).await?),
        _ => problem(StatusCode::NOT_FOUND, "nothing is here"),
    })
}

fn refused(fault: &DeskFault) -> Response<ResponseBody> {
    let status = match fault {
        DeskFault::Unknown => StatusCode::NOT_FOUND,
        DeskFault::Over(_) | DeskFault::Resetting | DeskFault::NotDue(_) | DeskFault::Rejected(_) => {
            StatusCode::CONFLICT
        }
        DeskFault::TooMany => StatusCode::TOO_MANY_REQUESTS,
        DeskFault::NeedsPasskey
        | DeskFault::NotAsked
        | DeskFault::WrongCode { .. }
        | DeskFault::NoWindow
        | DeskFault::AlreadySigned
        | DeskFault::BadName { .. }
        | DeskFault::NotRememberable
        | DeskFault::NeedsWord
        | DeskFault::NotPresumed
        | DeskFault::Mandate(_)
        | DeskFault::Terms(_) => StatusCode::BAD_REQUEST,
        DeskFault::Unsealable | DeskFault::NoEntropy | DeskFault::Store(_) | DeskFault::Audit(_) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        tracing::error!(error = %fault, "a person could not be answered about approvals");
    }
    problem(status, &fault.to_string())
}
