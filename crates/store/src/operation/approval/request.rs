//! Requests: asked, answered, ended, listed.

use highwater_core::decide::Effect;
use highwater_core::id::{ApprovalId, Principal, UserId};
use highwater_notation::Timestamp;
use highwater_passkey::ToolName;

use super::super::{Access, Durability, Operation};
use super::codec::{
    self, APPROVALS_HINT, digest_text, millis, need_text, rebased, stamp, tool, upstream_text,
};
use super::recovery;
use crate::StoreError;
use crate::approval::{ApprovalRequest, AskLimits, Asked, PausedTool, RequestFilter, RequestState};
use crate::sql::{Row, Tx, Value, approvals as statement, first, only};

/// Asks: joins what waits, finds what was granted, remembers what was declined, and keeps to the limits.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) new: ApprovalRequest,
    pub(crate) limits: AskLimits,
    pub(crate) now: Timestamp,
}

/// One request.
#[derive(Debug)]
pub(crate) struct ReadRequest {
    pub(crate) id: ApprovalId,
    pub(crate) now: Timestamp,
}

/// Requests, newest first.
#[derive(Debug)]
pub(crate) struct ListRequests {
    pub(crate) filter: RequestFilter,
    pub(crate) most: u32,
    pub(crate) now: Timestamp,
}

/// A no.
#[derive(Debug)]
pub(crate) struct Decline {
    pub(crate) id: ApprovalId,
    pub(crate) by: String,
    pub(crate) now: Timestamp,
}

/// A yes by button, to what takes no passkey.
#[derive(Debug)]
pub(crate) struct Confirm {
    pub(crate) id: ApprovalId,
    pub(crate) by: String,
    /// Whose passkey let them press it.
    pub(crate) user: Option<UserId>,
    pub(crate) now: Timestamp,
}

/// Ends a request or a grant that does not cover what is asked now (G21).
#[derive(Debug)]
pub(crate) struct EndRequest {
    pub(crate) id: ApprovalId,
    pub(crate) now: Timestamp,
}

/// A person lets a principal ask for a tool again.
#[derive(Debug)]
pub(crate) struct ResumeTool {
    pub(crate) principal: Principal,
    pub(crate) tool: ToolName,
}

/// Tools that were declined so often.
#[derive(Debug)]
pub(crate) struct ListPaused {
    pub(crate) pause_after: u32,
}

// === impl Ask ===

impl Operation for Ask {
    type Output = Asked;

    const DOING: &'static str = "ask for an approval";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Asked, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let principal = Value::Text(self.new.principal.as_str());
        // One at a time for each principal, so that two that are the same meet.
        tx.execute(statement::TAKE_ASKER, &[principal, Value::Int(now)]).await?;
        if self.new.kind == Effect::Passkey && recovery::is_under_way(tx, &self.new.user).await? {
            return Ok(Asked::Resetting);
        }
        let tool = Value::Text(self.new.tool.as_str());
        let declines = first(tx.query(statement::DECLINES, &[principal, tool]).await?);
        let declines = declines.map(|row| row.count(0)).transpose()?.unwrap_or(0);
        if declines >= u64::from(self.limits.pause_after) {
            return Ok(Asked::Paused);
        }
        let action = self.new.action.to_string();
        let memory = i64::try_from(self.limits.decline_memory_ms).unwrap_or(i64::MAX);
        let since = Value::Int(now.saturating_sub(memory));
        let last = tx.query(statement::LAST_DECLINE, &[principal, Value::Text(&action), since]).await?;
        if let Some(row) = first(last) {
            return Ok(Asked::Declined { until: stamp(row.int(0)?.saturating_add(memory)) });
        }
        let granted = Value::Int(crate::approval::granted_since(now));
        let session = Value::Text(self.new.session.as_str());
        let live = [principal, Value::Text(&action), session, Value::Int(now), granted];
        for row in tx.query(statement::LIVE, &live).await? {
            let found = codec::request(&row, now)?;
            if found.state == RequestState::Approved {
                return Ok(Asked::Granted(found));
            }
            if self.joins(&found) {
                return Ok(Asked::Joined(found));
            }
            // It asks something else of the same action: nobody may say yes to it any more.
            tx.execute(statement::END_REQUEST, &[Value::Int(now), Value::Text(found.id.as_str())]).await?;
            tx.announce(&format!("{APPROVALS_HINT}{}", found.id)).await?;
        }
        let pending = only(tx.query(statement::COUNT_PENDING, &[principal, Value::Int(now)]).await?)?;
        if pending.count(0)? >= u64::from(self.limits.pending) {
            return Ok(Asked::TooMany);
        }
        let new = self.request(now);
        write(tx, &new, &action).await?;
        tx.announce(&format!("{APPROVALS_HINT}{}", new.id)).await?;
        Ok(Asked::New(new))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Asked {
        model.approvals.ask(self)
    }
}

impl Ask {
    /// Whether what waits asks the same: the same definition, for the same reasons, of the same people.
    pub(crate) fn joins(&self, waiting: &ApprovalRequest) -> bool {
        let new = &self.new;
        (waiting.kind, waiting.definition, waiting.question, &waiting.need, &waiting.upstream)
            == (new.kind, new.definition, new.question, &new.need, &new.upstream)
    }

    /// The new request, by the store's clock.
    pub(crate) fn request(&self, now: i64) -> ApprovalRequest {
        ApprovalRequest {
            state: RequestState::Pending,
            created: stamp(now),
            expires: stamp(rebased(self.new.expires, self.new.created, now)),
            decided: None,
            decided_by: None,
            cleared: false,
            ..self.new.clone()
        }
    }
}

async fn write<T: Tx>(tx: &mut T, new: &ApprovalRequest, action: &str) -> Result<(), StoreError> {
    let (definition, need) = (digest_text(new.definition), need_text(&new.need)?);
    let question = new.question.to_string();
    let values = [
        Value::Text(new.id.as_str()),
        Value::Text(new.kind.as_str()),
        Value::Text(new.user.as_str()),
        Value::Text(new.principal.as_str()),
        Value::Text(new.session.as_str()),
        Value::Text(&new.caller),
        Value::Text(new.tool.as_str()),
        Value::Text(upstream_text(new.upstream.as_ref())),
        Value::Text(&definition),
        Value::Text(new.arguments.as_str()),
        Value::Text(action),
        Value::Text(&new.shown),
        Value::Text(&new.told),
        Value::Text(&question),
        Value::Text(&need),
        Value::Int(i64::from(new.sensitive)),
        codec::time(new.created),
        codec::time(new.expires),
    ];
    tx.execute(statement::ASK, &values).await.map(|_| ())
}

// === impl ReadRequest ===

impl Operation for ReadRequest {
    type Output = Option<ApprovalRequest>;

    const DOING: &'static str = "read a request";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<ApprovalRequest>, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let rows = tx.query(statement::REQUEST, &[Value::Text(self.id.as_str())]).await?;
        first(rows).as_ref().map(|row| codec::request(row, now)).transpose()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<ApprovalRequest> {
        model.approvals.request(&self.id, millis(self.now))
    }
}

// === impl ListRequests ===

impl Operation for ListRequests {
    type Output = Vec<ApprovalRequest>;

    const DOING: &'static str = "list requests";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<ApprovalRequest>, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let RequestFilter { user, principal, state } = &self.filter;
        let user = Value::Text(user.as_ref().map_or("", |user| user.as_str()));
        let principal = Value::Text(principal.as_ref().map_or("", |principal| principal.as_str()));
        let most = Value::Int(i64::from(self.most));
        let rows = match state {
            None => tx.query(statement::REQUESTS, &[user, principal, most]).await?,
            Some(state) => {
                let word = Value::Text(state.as_str());
                tx.query(statement::REQUESTS_IN, &[user, principal, word, most]).await?
            }
        };
        let found: Result<Vec<_>, _> = rows.iter().map(|row| codec::request(row, now)).collect();
        // What has run out since is in another state, written down or not.
        Ok(found?.into_iter().filter(|found| state.is_none_or(|state| found.state == state)).collect())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<ApprovalRequest> {
        model.approvals.list_requests(self)
    }
}

// === impl Decline ===

impl Operation for Decline {
    type Output = bool;

    const DOING: &'static str = "decline a request";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let now = Value::Int(tx.now(millis(self.now)).await?);
        let values = [now, Value::Text(&self.by), Value::Text(self.id.as_str())];
        let Some(row) = first(tx.query(statement::DECLINE, &values).await?) else { return Ok(false) };
        let count = [Value::Text(row.text(0)?), Value::Text(row.text(1)?), now];
        tx.execute(statement::COUNT_DECLINE, &count).await?;
        tx.announce(&format!("{APPROVALS_HINT}{}", self.id)).await?;
        Ok(true)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.decline(&self.id, &self.by, self.now)
    }
}

// === impl Confirm ===

impl Operation for Confirm {
    type Output = bool;

    const DOING: &'static str = "confirm a request";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let now = Value::Int(tx.now(millis(self.now)).await?);
        let values = [now, Value::Text(&self.by), Value::Text(self.id.as_str())];
        let Some(row) = first(tx.query(statement::CONFIRM, &values).await?) else { return Ok(false) };
        if let Some(user) = &self.user
            && recovery::is_under_way(tx, user).await?
        {
            tx.give_up();
            return Ok(false);
        }
        let asked = [Value::Text(row.text(0)?), Value::Text(row.text(1)?)];
        tx.execute(statement::FORGET_DECLINES, &asked).await?;
        tx.announce(&format!("{APPROVALS_HINT}{}", self.id)).await?;
        Ok(true)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.confirm(self)
    }
}

// === impl EndRequest ===

impl Operation for EndRequest {
    type Output = bool;

    const DOING: &'static str = "end a request";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let values = [Value::Int(now), Value::Text(self.id.as_str())];
        let ended = tx.execute(statement::END_REQUEST, &values).await? > 0;
        if ended {
            tx.announce(&format!("{APPROVALS_HINT}{}", self.id)).await?;
        }
        Ok(ended)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.end(&self.id, self.now)
    }
}

// === impl ResumeTool ===

impl Operation for ResumeTool {
    type Output = bool;

    const DOING: &'static str = "resume a tool";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let values = [Value::Text(self.principal.as_str()), Value::Text(self.tool.as_str())];
        Ok(tx.execute(statement::FORGET_DECLINES, &values).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.forget_declines(&self.principal, &self.tool)
    }
}

// === impl ListPaused ===

impl Operation for ListPaused {
    type Output = Vec<PausedTool>;

    const DOING: &'static str = "list paused tools";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<PausedTool>, StoreError> {
        let paused = |row: &Row| {
            Ok(PausedTool {
                principal: Principal::new(row.text(0)?),
                tool: tool(row, 1)?,
                declines: u32::try_from(row.count(2)?).unwrap_or(u32::MAX),
                since: Timestamp(row.count(3)?),
            })
        };
        let after = Value::Int(i64::from(self.pause_after));
        tx.query(statement::PAUSED, &[after]).await?.iter().map(paused).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<PausedTool> {
        model.approvals.paused(self.pause_after)
    }
}
