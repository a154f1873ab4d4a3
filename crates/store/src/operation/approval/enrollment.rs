//! Enrolling: windows that a person opens, enrollments that were begun, and starting over.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use highwater_core::approval::{ENROLLMENT_LIFETIME_MS, Nonce, PendingEnrollment, encode_base64url};
use highwater_core::id::{Principal, Timestamp, UserId};

use super::super::{Access, Durability, Operation};
use super::codec::{array, bytes, millis, rebased, stamp, time};
use crate::StoreError;
use crate::approval::{CODE_ATTEMPTS, CodeTried, EnrollmentWindow, Recovery, WINDOW_MS};
use crate::sql::{Row, Tx, Value, approvals as statement, first};

/// Opens a window, or opens it anew.
#[derive(Debug)]
pub(crate) struct OpenWindow {
    pub(crate) user: UserId,
    pub(crate) code_hash: Option<[u8; 32]>,
    pub(crate) by: String,
    pub(crate) now: Timestamp,
}

/// The window of a person, if one is open.
#[derive(Debug)]
pub(crate) struct ReadWindow {
    pub(crate) user: UserId,
    pub(crate) now: Timestamp,
}

/// Closes the window of a person.
#[derive(Debug)]
pub(crate) struct CloseWindow(pub(crate) UserId);

/// Compares a code that somebody typed.
#[derive(Debug)]
pub(crate) struct TryCode {
    pub(crate) user: UserId,
    pub(crate) code_hash: [u8; 32],
    pub(crate) now: Timestamp,
}

/// Keeps an enrollment until it is finished; a new one replaces it (G9).
#[derive(Debug)]
pub(crate) struct BeginEnrollment(pub(crate) PendingEnrollment);

/// Takes an enrollment away, so that it is finished once (G9).
#[derive(Debug)]
pub(crate) struct TakeEnrollment(pub(crate) Principal);

/// Begins to start over.
#[derive(Debug)]
pub(crate) struct BeginRecovery {
    pub(crate) user: UserId,
    pub(crate) by: String,
    pub(crate) delay_ms: u64,
    pub(crate) now: Timestamp,
}

/// Stops it.
#[derive(Debug)]
pub(crate) struct CancelRecovery(pub(crate) UserId);

/// Completes it, if it is due: no passkey of that person counts any more.
#[derive(Debug)]
pub(crate) struct EndRecovery {
    pub(crate) user: UserId,
    pub(crate) by: String,
    pub(crate) now: Timestamp,
}

/// Everybody who starts over.
#[derive(Debug)]
pub(crate) struct ListRecoveries;

/// Why the passkeys of somebody who starts over do not count any more.
pub(crate) const STARTED_OVER: &str = "all passkeys were lost";

fn code_text(code: Option<&[u8; 32]>) -> String {
    code.map(|hash| encode_base64url(hash)).unwrap_or_default()
}

// === impl OpenWindow ===

impl Operation for OpenWindow {
    type Output = EnrollmentWindow;

    const DOING: &'static str = "open an enrollment window";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<EnrollmentWindow, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let window = self.window(now);
        let code = code_text(self.code_hash.as_ref());
        let values = [
            Value::Text(self.user.as_str()),
            Value::Text(&code),
            Value::Text(&self.by),
            time(window.opened),
            time(window.expires),
        ];
        tx.execute(statement::OPEN_WINDOW, &values).await?;
        Ok(window)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> EnrollmentWindow {
        let window = self.window(millis(self.now));
        model.approvals.windows.insert(self.user.clone(), window.clone());
        window
    }
}

impl OpenWindow {
    fn window(&self, now: i64) -> EnrollmentWindow {
        EnrollmentWindow {
            user: self.user.clone(),
            code_hash: self.code_hash,
            opened_by: self.by.clone(),
            opened: stamp(now),
            expires: Timestamp(stamp(now).0.saturating_add(WINDOW_MS)),
            attempts: 0,
        }
    }
}

// === impl ReadWindow ===

impl Operation for ReadWindow {
    type Output = Option<EnrollmentWindow>;

    const DOING: &'static str = "look for an enrollment window";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<EnrollmentWindow>, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let rows = tx.query(statement::WINDOW, &[Value::Text(self.user.as_str()), Value::Int(now)]).await?;
        let window = |row: &Row| {
            let code = row.text(1)?;
            Ok(EnrollmentWindow {
                user: UserId::new(row.text(0)?),
                code_hash: if code.is_empty() { None } else { Some(array(code)?) },
                opened_by: row.text(2)?.to_owned(),
                opened: Timestamp(row.count(3)?),
                expires: Timestamp(row.count(4)?),
                attempts: u32::try_from(row.count(5)?).unwrap_or(u32::MAX),
            })
        };
        first(rows).as_ref().map(window).transpose()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<EnrollmentWindow> {
        model.approvals.window(&self.user, self.now).cloned()
    }
}

// === impl CloseWindow ===

impl Operation for CloseWindow {
    type Output = bool;

    const DOING: &'static str = "close an enrollment window";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        Ok(tx.execute(statement::CLOSE_WINDOW, &[Value::Text(self.0.as_str())]).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.windows.remove(&self.0).is_some()
    }
}

// === impl TryCode ===

impl Operation for TryCode {
    type Output = CodeTried;

    const DOING: &'static str = "compare a code";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<CodeTried, StoreError> {
        let user = Value::Text(self.user.as_str());
        let now = tx.now(millis(self.now)).await?;
        let Some(row) = first(tx.query(statement::COUNT_ATTEMPT, &[user, Value::Int(now)]).await?) else {
            return Ok(CodeTried::Closed);
        };
        let tried = self.judge(&array(row.text(0)?)?, row.count(1)?);
        match tried {
            CodeTried::Right => tx.execute(statement::FORGIVE_ATTEMPT, &[user]).await?,
            CodeTried::Wrong { left: 0 } => tx.execute(statement::CLOSE_WINDOW, &[user]).await?,
            CodeTried::Wrong { .. } | CodeTried::Closed => 0,
        };
        Ok(tried)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> CodeTried {
        let Some(window) = model.approvals.window(&self.user, self.now) else { return CodeTried::Closed };
        let (Some(code), attempts) = (window.code_hash, window.attempts + 1) else {
            return CodeTried::Closed;
        };
        let tried = self.judge(&code, u64::from(attempts));
        match tried {
            CodeTried::Wrong { left: 0 } => drop(model.approvals.windows.remove(&self.user)),
            CodeTried::Wrong { .. } => {
                model.approvals.windows.entry(self.user.clone()).and_modify(|it| it.attempts = attempts);
            }
            CodeTried::Right | CodeTried::Closed => {}
        }
        tried
    }
}

impl TryCode {
    /// `attempts` counts this one.
    fn judge(&self, code: &[u8; 32], attempts: u64) -> CodeTried {
        if verify_slices_are_equal(code, &self.code_hash).is_ok() {
            return CodeTried::Right;
        }
        CodeTried::Wrong { left: CODE_ATTEMPTS.saturating_sub(u32::try_from(attempts).unwrap_or(u32::MAX)) }
    }
}

// === impl BeginEnrollment ===

impl Operation for BeginEnrollment {
    type Output = ();

    const DOING: &'static str = "begin an enrollment";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let PendingEnrollment { principal, user, user_handle, challenge, expires } = &self.0;
        let begun = Timestamp(expires.0.saturating_sub(ENROLLMENT_LIFETIME_MS));
        let now = tx.now(millis(begun)).await?;
        let (handle, challenge) = (encode_base64url(user_handle), encode_base64url(&challenge.0));
        let values = [
            Value::Text(principal.as_str()),
            Value::Text(user.as_str()),
            Value::Text(&handle),
            Value::Text(&challenge),
            Value::Int(rebased(*expires, begun, now)),
        ];
        tx.execute(statement::BEGIN_ENROLLMENT, &values).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.approvals.enrollments.insert(self.0.principal.clone(), self.0.clone());
    }
}

// === impl TakeEnrollment ===

impl Operation for TakeEnrollment {
    type Output = Option<PendingEnrollment>;

    const DOING: &'static str = "take an enrollment";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<PendingEnrollment>, StoreError> {
        let rows = tx.query(statement::TAKE_ENROLLMENT, &[Value::Text(self.0.as_str())]).await?;
        let pending = |row: &Row| {
            Ok(PendingEnrollment {
                principal: self.0.clone(),
                user: UserId::new(row.text(0)?),
                user_handle: bytes(row.text(1)?)?.into(),
                challenge: Nonce(array(row.text(2)?)?),
                expires: Timestamp(row.count(3)?),
            })
        };
        first(rows).as_ref().map(pending).transpose()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<PendingEnrollment> {
        model.approvals.enrollments.remove(&self.0)
    }
}

// === impl BeginRecovery ===

impl Operation for BeginRecovery {
    type Output = bool;

    const DOING: &'static str = "begin to start over";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let recovery = self.recovery(tx.now(millis(self.now)).await?);
        let values = [
            Value::Text(self.user.as_str()),
            Value::Text(&self.by),
            time(recovery.begun),
            time(recovery.due),
        ];
        Ok(tx.execute(statement::BEGIN_RECOVERY, &values).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        let recoveries = &mut model.approvals.recoveries;
        let is_new = !recoveries.contains_key(&self.user);
        let recovery = self.recovery(millis(self.now));
        recoveries.entry(self.user.clone()).or_insert(recovery);
        is_new
    }
}

impl BeginRecovery {
    fn recovery(&self, now: i64) -> Recovery {
        let begun = stamp(now);
        let due = Timestamp(begun.0.saturating_add(self.delay_ms));
        Recovery { user: self.user.clone(), by: self.by.clone(), begun, due }
    }
}

// === impl CancelRecovery ===

impl Operation for CancelRecovery {
    type Output = bool;

    const DOING: &'static str = "stop starting over";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        Ok(tx.execute(statement::CANCEL_RECOVERY, &[Value::Text(self.0.as_str())]).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.recoveries.remove(&self.0).is_some()
    }
}

// === impl EndRecovery ===

impl Operation for EndRecovery {
    type Output = bool;

    const DOING: &'static str = "start over";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let (user, now) = (Value::Text(self.user.as_str()), Value::Int(tx.now(millis(self.now)).await?));
        if tx.execute(statement::END_RECOVERY, &[user, now]).await? == 0 {
            return Ok(false);
        }
        let values = [now, Value::Text(&self.by), Value::Text(STARTED_OVER), user];
        tx.execute(statement::REVOKE_ALL, &values).await?;
        Ok(true)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.end_recovery(&self.user, &self.by, self.now)
    }
}

// === impl ListRecoveries ===

impl Operation for ListRecoveries {
    type Output = Vec<Recovery>;

    const DOING: &'static str = "list who starts over";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Recovery>, StoreError> {
        let recovery = |row: &Row| {
            Ok(Recovery {
                user: UserId::new(row.text(0)?),
                by: row.text(1)?.to_owned(),
                begun: Timestamp(row.count(2)?),
                due: Timestamp(row.count(3)?),
            })
        };
        tx.query(statement::RECOVERIES, &[]).await?.iter().map(recovery).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<Recovery> {
        let mut found: Vec<_> = model.approvals.recoveries.values().cloned().collect();
        found.sort_by_key(|it| (it.due, it.user.clone()));
        found
    }
}
