//! Challenges: stored before they are answered, and read together with the credential that answered.

use highwater_core::approval::ChallengeRecord;
use highwater_core::id::{ApprovalId, ChallengeId};
use highwater_notation::encode_base64url;
use highwater_passkey::CredentialId;

use super::super::{Access, Durability, Operation};
use super::codec::{self, digest_text, millis, rebased, stamp, time, upstream_text};
use super::recovery;
use crate::StoreError;
use crate::approval::{MOST_CHALLENGES, Put, RequestState, StoredCredential};
use crate::sql::{Tx, Value, approvals as statement, first, only};

/// Stores a challenge: of a request while it waits, or of a native client.
#[derive(Debug)]
pub(crate) struct PutChallenge {
    pub(crate) record: ChallengeRecord,
    pub(crate) approval: Option<ApprovalId>,
}

/// Reads a challenge and a credential as they were at one moment (G24).
#[derive(Debug)]
pub(crate) struct ChallengeAndCredential {
    pub(crate) challenge: ChallengeId,
    pub(crate) credential: Option<CredentialId>,
}

/// What was found of both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) challenge: Option<(ChallengeRecord, Option<ApprovalId>)>,
    pub(crate) credential: Option<StoredCredential>,
}

// === impl PutChallenge ===

impl Operation for PutChallenge {
    type Output = Put;

    const DOING: &'static str = "issue a challenge";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Put, StoreError> {
        let now = tx.now(millis(self.record.issued)).await?;
        if recovery::forbids(tx, &self.record.user, &self.record.tool).await? {
            return Ok(Put::Resetting);
        }
        if let Some(approval) = &self.approval {
            let id = Value::Text(approval.as_str());
            let found = first(tx.query(statement::TAKE_REQUEST, &[id]).await?);
            let found = found.as_ref().map(|row| codec::request(row, now)).transpose()?;
            let waits = found.is_some_and(|found| {
                found.state == RequestState::Pending
                    && found.action == self.record.wire.action()
                    && found.principal == self.record.principal
            });
            let count = only(tx.query(statement::COUNT_CHALLENGES, &[id]).await?)?.count(0)?;
            if !waits || count >= u64::from(MOST_CHALLENGES) {
                return Ok(Put::TooMany);
            }
        }
        let record = self.record_at(now);
        let action = record.wire.action().to_string();
        let (wire, definition) = (encode_base64url(record.wire.as_bytes()), digest_text(record.definition));
        let values = [
            Value::Text(record.id.as_str()),
            Value::Text(self.approval.as_ref().map_or("", ApprovalId::as_str)),
            Value::Text(record.principal.as_str()),
            Value::Text(record.user.as_str()),
            Value::Text(record.tool.as_str()),
            Value::Text(upstream_text(record.upstream.as_ref())),
            Value::Text(&definition),
            Value::Text(record.arguments.as_str()),
            Value::Text(&action),
            Value::Text(&wire),
            time(record.issued),
            time(record.expires),
        ];
        tx.execute(statement::PUT_CHALLENGE, &values).await?;
        Ok(Put::Done(Box::new(record)))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Put {
        model.approvals.put_challenge(self)
    }
}

impl PutChallenge {
    /// The record, by the store's clock.
    pub(crate) fn record_at(&self, now: i64) -> ChallengeRecord {
        ChallengeRecord {
            issued: stamp(now),
            expires: stamp(rebased(self.record.expires, self.record.issued, now)),
            consumed: false,
            ..self.record.clone()
        }
    }
}

// === impl ChallengeAndCredential ===

impl Operation for ChallengeAndCredential {
    type Output = Found;

    const DOING: &'static str = "read a challenge";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Found, StoreError> {
        let credential = self.credential.as_ref().map(ToString::to_string).unwrap_or_default();
        let values = [Value::Text(&credential), Value::Text(self.challenge.as_str())];
        let Some(row) = first(tx.query(statement::CHALLENGE_AND_CREDENTIAL, &values).await?) else {
            return Ok(Found::default());
        };
        let challenge = Some(codec::challenge(&row)?);
        let credential = if row.text(12)?.is_empty() { None } else { Some(codec::credential(&row, 12)?) };
        Ok(Found { challenge, credential })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Found {
        model.approvals.challenge_and_credential(&self.challenge, self.credential.as_ref())
    }
}
