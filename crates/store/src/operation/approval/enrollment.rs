//! Enrolling: windows that a person opens, and enrollments that were begun.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use highwater_core::approval::{ENROLLMENT_LIFETIME_MS, PendingEnrollment};
use highwater_core::id::{Principal, UserId};
use highwater_notation::{Timestamp, encode_base64url};
use highwater_passkey::Nonce;

use super::super::{Access, Durability, Operation};
use super::codec::{array, bytes, millis, rebased, stamp, time};
use crate::StoreError;
use crate::approval::{CODE_ATTEMPTS, CodeTried, EnrollmentWindow, WINDOW_MS};
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
