//! Task ids as clients see them: sealed together with their upstream and principal, so that a task of one server cannot
//! be asked of another, nor by anybody else.

use std::borrow::Cow;

use highwater_core::id::UpstreamId;
use highwater_core::seal::Purpose;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::text::{member, pointer, quote, unquote};
use memchr::memmem;

use super::Arrival;
use super::arrival::Route;
use super::seals::Seals;

/// Where a legacy result names the task it belongs to.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// What stands behind a task id that we gave out.
pub(super) struct OpenTask {
    pub(super) upstream: UpstreamId,
    /// The upstream's own id.
    pub(super) own: String,
    /// The tool whose call it is, by the upstream's own name: what comes of the task is what the tool returns.
    pub(super) tool: Option<String>,
}

// === impl Seals ===

impl Seals {
    /// The upstream and its own id behind a task id, if it was given to this principal.
    pub(super) fn open_task_id(&self, arrival: &Arrival, shown: &str) -> Option<OpenTask> {
        let (principal, upstream, own, tool): (String, String, String, Option<String>) =
            self.seal.open(Purpose::TaskId, shown)?;
        let theirs = principal == arrival.client.caller().principal.as_str();
        theirs.then(|| OpenTask { upstream: UpstreamId::new(upstream), own, tool })
    }

    /// The id that a client is given for an upstream's own, which is JSON text.
    pub(super) fn task_id(&self, arrival: &Arrival, route: &Route, own: &str) -> Option<String> {
        let own = unquote(own)?;
        let principal = arrival.client.caller().principal.as_str();
        let tool = route.tool.as_ref().map(|tool| &*tool.own);
        self.seal.close(Purpose::TaskId, &(principal, route.upstream().as_str(), own, tool))
    }

    /// The result with the task ids that belong to it sealed. Where they are depends on what was asked, never on what
    /// the result looks like.
    pub(super) fn wrap_task_ids<'a>(
        &self,
        arrival: &Arrival,
        route: &Route,
        reply: &Frame,
        result: &'a str,
    ) -> Cow<'a, str> {
        let speaks_of_tasks = match route.method {
            Some(Method::CallTool) => {
                arrival.frame.param("task").is_some()
                    || reply.result_member("resultType").and_then(unquote).as_deref() == Some("task")
            }
            Some(Method::GetTask | Method::TaskResult | Method::CancelTask | Method::UpdateTask) => true,
            _ => false,
        };
        if !speaks_of_tasks || memmem::find(result.as_bytes(), b"taskId").is_none() {
            return Cow::Borrowed(result);
        }
        let seal = |raw: &str| self.task_id(arrival, route, raw).map(|id| quote(&id));
        let flat = member(result, "taskId").and_then(seal);
        let nested = pointer(result, &["task", "taskId"]).and_then(seal);
        let related = pointer(result, &["_meta", RELATED_TASK, "taskId"]).and_then(seal);
        let inlined =
            member(result, "result").map(|inner| route.names.schemes.rewrite_result(route.upstream(), inner));

        let nested_edit = nested.as_deref().map(|id| [("taskId", Edit::Set(id))]);
        let related_id = related.as_deref().map(|id| [("taskId", Edit::Set(id))]);
        let related_edit = related_id.as_ref().map(|edit| [(RELATED_TASK, Edit::Merge(edit))]);
        let mut edits: Vec<(&str, Edit<'_>)> = Vec::new();
        if let Some(id) = &flat {
            edits.push(("taskId", Edit::Set(id)));
        }
        if let Some(edit) = &nested_edit {
            edits.push(("task", Edit::Merge(edit)));
        }
        if let Some(edit) = &related_edit {
            edits.push(("_meta", Edit::Merge(edit)));
        }
        if let Some(inner) = &inlined {
            edits.push(("result", Edit::Set(inner)));
        }
        Cow::Owned(edit_object(result, &edits))
    }
}
