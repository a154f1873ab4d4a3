//! Agent tokens: made, given another secret, revoked, listed, used. Each is one statement on one row, so that a process
//! which dies at any moment leaves the old row or the new one.

use highwater_notation::Timestamp;

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::sql::{Row, Tx, Value, first, statement};
use crate::token::{MOST_TOKENS, TokenBasis, TokenDigest, TokenRecord};

/// What replicas hear when a token has changed. No session has such a key.
pub(crate) const TOKENS: &str = "token/";

/// Writes down a new token, unless its name is taken; gives the token of that name, or nothing if there is no room.
#[derive(Debug)]
pub(crate) struct CreateToken(pub(crate) TokenRecord);

/// Replaces the secret of a token.
#[derive(Debug)]
pub(crate) struct RotateToken {
    pub(crate) name: String,
    pub(crate) digest: TokenDigest,
    pub(crate) prefix: String,
    pub(crate) now: Timestamp,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Rotating {
    Done(TokenRecord),
    Revoked(TokenRecord),
    Unknown,
}

/// Ends a token.
#[derive(Debug)]
pub(crate) struct RevokeToken {
    pub(crate) name: String,
    pub(crate) now: Timestamp,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Revoking {
    Done(TokenRecord),
    Before(TokenRecord),
    Unknown,
}

/// Every token.
#[derive(Debug)]
pub(crate) struct ListTokens;

/// Notes when a token was used.
#[derive(Debug)]
pub(crate) struct UseToken {
    pub(crate) name: String,
    pub(crate) at: Timestamp,
}

// === impl CreateToken ===

impl Operation for CreateToken {
    type Output = Option<TokenRecord>;

    const DOING: &'static str = "make a token";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        // The second time the name is taken, by the same secret.
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<TokenRecord>, StoreError> {
        let TokenRecord { name, digest, prefix, basis, person, created, .. } = &self.0;
        if let Some(found) = find(tx, name).await? {
            return Ok(Some(found));
        }
        let (digest, terms) = (digest.to_hex(), basis.to_text()?);
        let values = [
            Value::Text(name),
            Value::Text(&digest),
            Value::Text(prefix),
            Value::Text(&terms),
            Value::Text(person),
            time(*created),
            Value::Int(i64::from(MOST_TOKENS)),
        ];
        if tx.execute(statement::CREATE_TOKEN, &values).await? == 0 {
            // Another replica was quicker, or there is no room.
            return find(tx, name).await;
        }
        tx.announce(TOKENS).await?;
        Ok(Some(self.0.clone()))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<TokenRecord> {
        if model.tokens.len() >= MOST_TOKENS as usize && !model.tokens.contains_key(&self.0.name) {
            return None;
        }
        Some(model.tokens.entry(self.0.name.clone()).or_insert_with(|| self.0.clone()).clone())
    }
}

// === impl RotateToken ===

impl Operation for RotateToken {
    type Output = Rotating;

    const DOING: &'static str = "rotate a token";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Rotating, StoreError> {
        let digest = self.digest.to_hex();
        let values =
            [Value::Text(&digest), Value::Text(&self.prefix), time(self.now), Value::Text(&self.name)];
        let changed = tx.execute(statement::ROTATE_TOKEN, &values).await? > 0;
        if changed {
            tx.announce(TOKENS).await?;
        }
        Ok(match find(tx, &self.name).await? {
            Some(record) if changed => Rotating::Done(record),
            Some(record) => Rotating::Revoked(record),
            None => Rotating::Unknown,
        })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Rotating {
        match model.tokens.get_mut(&self.name) {
            None => Rotating::Unknown,
            Some(token) if token.revoked.is_some() => Rotating::Revoked(token.clone()),
            Some(token) => {
                token.digest = self.digest;
                token.prefix.clone_from(&self.prefix);
                token.rotated = Some(self.now);
                Rotating::Done(token.clone())
            }
        }
    }
}

// === impl RevokeToken ===

impl Operation for RevokeToken {
    type Output = Revoking;

    const DOING: &'static str = "revoke a token";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Revoking, StoreError> {
        let values = [time(self.now), Value::Text(&self.name)];
        let changed = tx.execute(statement::REVOKE_TOKEN, &values).await? > 0;
        if changed {
            tx.announce(TOKENS).await?;
        }
        Ok(match find(tx, &self.name).await? {
            Some(record) if changed => Revoking::Done(record),
            Some(record) => Revoking::Before(record),
            None => Revoking::Unknown,
        })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Revoking {
        match model.tokens.get_mut(&self.name) {
            None => Revoking::Unknown,
            Some(token) if token.revoked.is_some() => Revoking::Before(token.clone()),
            Some(token) => {
                token.revoked = Some(self.now);
                Revoking::Done(token.clone())
            }
        }
    }
}

// === impl ListTokens ===

impl Operation for ListTokens {
    type Output = Vec<TokenRecord>;

    const DOING: &'static str = "list tokens";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<TokenRecord>, StoreError> {
        tx.query(statement::TOKENS, &[]).await?.iter().map(record).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<TokenRecord> {
        model.tokens.values().cloned().collect()
    }
}

// === impl UseToken ===

impl Operation for UseToken {
    type Output = ();

    const DOING: &'static str = "note when a token was used";

    fn access(&self) -> Access {
        Access::Write(Durability::Statistic)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        tx.execute(statement::USE_TOKEN, &[time(self.at), Value::Text(&self.name)]).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        if let Some(token) = model.tokens.get_mut(&self.name) {
            token.used = token.used.max(Some(self.at));
        }
    }
}

async fn find<T: Tx>(tx: &mut T, name: &str) -> Result<Option<TokenRecord>, StoreError> {
    first(tx.query(statement::TOKEN, &[Value::Text(name)]).await?).as_ref().map(record).transpose()
}

fn record(row: &Row) -> Result<TokenRecord, StoreError> {
    let at = |column| Ok(Timestamp(row.count(column)?));
    // A time that is `0` until something happens.
    let happened = |column| Ok::<_, StoreError>(Some(at(column)?).filter(|time| time.0 != 0));
    Ok(TokenRecord {
        name: row.text(0)?.to_owned(),
        digest: TokenDigest::from_hex(row.text(1)?)?,
        prefix: row.text(2)?.to_owned(),
        basis: TokenBasis::from_text(row.text(3)?),
        person: row.text(4)?.to_owned(),
        created: at(5)?,
        rotated: happened(6)?,
        used: happened(7)?,
        revoked: happened(8)?,
    })
}

fn time(at: Timestamp) -> Value<'static> {
    Value::Int(i64::try_from(at.0).unwrap_or(i64::MAX))
}
