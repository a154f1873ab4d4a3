//! The installation, the people it knows, and its clock.

use highwater_core::id::UserId;
use highwater_notation::{Timestamp, encode_base64url};
use highwater_passkey::ServerId;

use super::super::{Access, Durability, Operation};
use super::codec::{array, time};
use crate::StoreError;
use crate::approval::Installation;
use crate::sql::{Row, Tx, Value, approvals as statement, only};

/// Makes the installation if there is none, and reads it. Its page is that of the passkeys, and the one that is asked for
/// while there are none.
#[derive(Debug)]
pub(crate) struct Install(pub(crate) Installation);

/// What authenticators call a person; made once.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) user: UserId,
    pub(crate) drawn: [u8; 32],
    pub(crate) now: Timestamp,
}

/// Everybody who was ever named.
#[derive(Debug)]
pub(crate) struct ListApprovers;

/// The time by which things expire.
#[derive(Debug)]
pub(crate) struct ReadClock(pub(crate) i64);

// === impl Install ===

impl Operation for Install {
    type Output = Installation;

    const DOING: &'static str = "make the installation";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Installation, StoreError> {
        let Installation { server_id, rp_id, origin, created } = &self.0;
        let values =
            [Value::Text(server_id.as_str()), Value::Text(rp_id), Value::Text(origin), time(*created)];
        tx.execute(statement::INSTALL, &values).await?;
        let row = only(tx.query(statement::INSTALLATION, &[]).await?)?;
        let foreign = |_| StoreError::Foreign { what: "an installation without an id" };
        // While nobody has a passkey, nothing is bound to a page: each gateway has its own.
        let is_free = tx.query(statement::COUNTING_CREDENTIAL, &[]).await?.is_empty();
        let page = |stored: &str, own: &str| if is_free { own.to_owned() } else { stored.to_owned() };
        Ok(Installation {
            server_id: ServerId::new(row.text(0)?).map_err(foreign)?,
            rp_id: page(row.text(1)?, rp_id),
            origin: page(row.text(2)?, origin),
            created: Timestamp(row.count(3)?),
        })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Installation {
        let is_free = !model.approvals.has_credentials();
        let made = model.approvals.installation.get_or_insert_with(|| self.0.clone()).clone();
        let Installation { rp_id, origin, .. } = self.0.clone();
        if is_free { Installation { rp_id, origin, ..made } } else { made }
    }
}

// === impl Handle ===

impl Operation for Handle {
    type Output = [u8; 32];

    const DOING: &'static str = "name a person";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<[u8; 32], StoreError> {
        let (user, drawn) = (Value::Text(self.user.as_str()), encode_base64url(&self.drawn));
        tx.execute(statement::NAME_APPROVER, &[user, Value::Text(&drawn), time(self.now)]).await?;
        array(only(tx.query(statement::HANDLE, &[user]).await?)?.text(0)?)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> [u8; 32] {
        *model.approvals.handles.entry(self.user.clone()).or_insert(self.drawn)
    }
}

// === impl ListApprovers ===

impl Operation for ListApprovers {
    type Output = Vec<UserId>;

    const DOING: &'static str = "list people";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<UserId>, StoreError> {
        let rows = tx.query(statement::APPROVERS, &[]).await?;
        rows.iter().map(|row: &Row| Ok(UserId::new(row.text(0)?))).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<UserId> {
        model.approvals.handles.keys().cloned().collect()
    }
}

// === impl ReadClock ===

impl Operation for ReadClock {
    type Output = i64;

    const DOING: &'static str = "tell the time";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<i64, StoreError> {
        tx.now(self.0).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, _model: &mut crate::memory::Model) -> i64 {
        self.0
    }
}
