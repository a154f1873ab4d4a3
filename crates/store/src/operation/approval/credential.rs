//! Passkeys: added, confirmed, revoked, listed. None is ever deleted.

use highwater_core::approval::{CredentialStanding, NewCredential};
use highwater_core::id::UserId;
use highwater_notation::{Timestamp, encode_base64url};
use highwater_passkey::CredentialId;

use super::super::{Access, Durability, Operation};
use super::codec::{self, millis, transports_text};
use crate::StoreError;
use crate::approval::{Added, StoredCredential};
use crate::sql::{Tx, Value, approvals as statement, first};

/// Adds a verified credential, unless it is there (S19, S20).
#[derive(Debug)]
pub(crate) struct AddCredential {
    /// The relying party and the page for which it is, if this gateway has one.
    pub(crate) page: Option<(String, String)>,
    pub(crate) new: NewCredential,
    pub(crate) enrolled_by: String,
    pub(crate) standing: CredentialStanding,
    pub(crate) now: Timestamp,
}

/// A person says that a credential counts.
#[derive(Debug)]
pub(crate) struct ConfirmCredential {
    pub(crate) id: CredentialId,
    pub(crate) by: String,
    pub(crate) now: Timestamp,
}

/// A person names a credential.
#[derive(Debug)]
pub(crate) struct RenameCredential {
    pub(crate) id: CredentialId,
    pub(crate) name: String,
}

/// A credential ends.
#[derive(Debug)]
pub(crate) struct RevokeCredential {
    pub(crate) id: CredentialId,
    pub(crate) by: String,
    pub(crate) reason: String,
    pub(crate) now: Timestamp,
}

/// The credentials of a person, or of all.
#[derive(Debug)]
pub(crate) struct ListCredentials(pub(crate) Option<UserId>);

// === impl AddCredential ===

impl Operation for AddCredential {
    /// What became of it, or the relying party and the page for which all others are.
    type Output = Result<Added, (String, String)>;

    const DOING: &'static str = "add a passkey";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Self::Output, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        if let Some((rp_id, origin)) = &self.page
            && let Some(row) = first(tx.query(statement::TAKE_INSTALLATION, &[]).await?)
        {
            // The first passkey says which page it is for all that share the database.
            let page = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
            if tx.query(statement::COUNTING_CREDENTIAL, &[]).await?.is_empty() {
                let values = [Value::Text(rp_id), Value::Text(origin)];
                tx.execute(statement::SETTLE_INSTALLATION, &values).await?;
            } else if page != (rp_id.clone(), origin.clone()) {
                return Ok(Err(page));
            }
        }
        let NewCredential { user, user_handle, registration } = &self.new;
        let id = registration.id.to_string();
        let (handle, cose) = (encode_base64url(user_handle), encode_base64url(registration.key.as_cose()));
        let transports = transports_text(&registration.transports)?;
        let aaguid = encode_base64url(&registration.aaguid);
        let attestation = encode_base64url(&registration.attestation_object);
        let client_data = encode_base64url(&registration.client_data);
        let active = self.standing == CredentialStanding::Active;
        let (confirmed, confirmed_by) = if active { (now, self.enrolled_by.as_str()) } else { (0, "") };
        let values = [
            Value::Text(&id),
            Value::Text(user.as_str()),
            Value::Text(&handle),
            Value::Text(&cose),
            Value::Int(i64::from(registration.counter)),
            Value::Text(&transports),
            Value::Text(&aaguid),
            Value::Int(i64::from(registration.backup_eligible)),
            Value::Int(i64::from(registration.backed_up)),
            Value::Text(&registration.format),
            Value::Text(&attestation),
            Value::Text(&client_data),
            Value::Int(now),
            Value::Text(&self.enrolled_by),
            Value::Int(confirmed),
            Value::Text(confirmed_by),
        ];
        let added = tx.execute(statement::ADD_CREDENTIAL, &values).await? > 0;
        Ok(Ok(if added { Added::Done } else { Added::AlreadyEnrolled }))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Self::Output {
        let is_free = !model.approvals.has_credentials();
        if let (Some((rp_id, origin)), Some(made)) = (&self.page, &mut model.approvals.installation) {
            if is_free {
                (made.rp_id, made.origin) = (rp_id.clone(), origin.clone());
            } else if (&made.rp_id, &made.origin) != (rp_id, origin) {
                return Err((made.rp_id.clone(), made.origin.clone()));
            }
        }
        Ok(model.approvals.add_credential(self))
    }
}

// === impl ConfirmCredential ===

impl Operation for ConfirmCredential {
    type Output = bool;

    const DOING: &'static str = "confirm a passkey";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let (id, now) = (self.id.to_string(), tx.now(millis(self.now)).await?);
        let values = [Value::Int(now), Value::Text(&self.by), Value::Text(&id)];
        Ok(tx.execute(statement::CONFIRM_CREDENTIAL, &values).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.confirm_credential(&self.id, &self.by, self.now)
    }
}

// === impl RenameCredential ===

impl Operation for RenameCredential {
    type Output = bool;

    const DOING: &'static str = "name a passkey";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let id = self.id.to_string();
        Ok(tx.execute(statement::RENAME_CREDENTIAL, &[Value::Text(&self.name), Value::Text(&id)]).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.rename_credential(&self.id, &self.name)
    }
}

// === impl RevokeCredential ===

impl Operation for RevokeCredential {
    type Output = bool;

    const DOING: &'static str = "revoke a passkey";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let (id, now) = (self.id.to_string(), tx.now(millis(self.now)).await?);
        let values = [Value::Int(now), Value::Text(&self.by), Value::Text(&self.reason), Value::Text(&id)];
        Ok(tx.execute(statement::REVOKE_CREDENTIAL, &values).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.revoke_credential(&self.id, &self.by, &self.reason, self.now)
    }
}

// === impl ListCredentials ===

impl Operation for ListCredentials {
    type Output = Vec<StoredCredential>;

    const DOING: &'static str = "list passkeys";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<StoredCredential>, StoreError> {
        let user = Value::Text(self.0.as_ref().map_or("", UserId::as_str));
        let rows = tx.query(statement::CREDENTIALS, &[user]).await?;
        rows.iter().map(|row| codec::credential(row, 0)).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<StoredCredential> {
        model.approvals.list_credentials(self.0.as_ref())
    }
}
