//! What gateways that share a database tell each other: the key with which they seal, and by which tokens each is opened.

use highwater_notation::Timestamp;

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::gateways::GatewayTokens;
use crate::sql::{Row, Tx, Value, only, statement};
use crate::token::TokenDigest;

/// The key with which requests states are sealed: the one that is there, else this one.
#[derive(Debug)]
pub(crate) struct EnsureSealKey(pub(crate) String);

/// Says that a gateway is there and by which tokens it is opened, in place of what it said before; forgets those that
/// have not been there for long, and lists the others.
#[derive(Debug)]
pub(crate) struct AnnounceGateway {
    pub(crate) tokens: GatewayTokens,
    /// Who was last there before this is forgotten.
    pub(crate) since: Timestamp,
}

/// The gateways that were there since a time.
#[derive(Debug)]
pub(crate) struct ListGateways {
    pub(crate) since: Timestamp,
}

// === impl EnsureSealKey ===

impl Operation for EnsureSealKey {
    type Output = String;

    const DOING: &'static str = "share the key of request states";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<String, StoreError> {
        tx.execute(statement::MAKE_SEAL_KEY, &[Value::Text(&self.0)]).await?;
        Ok(only(tx.query(statement::SEAL_KEY, &[]).await?)?.text(0)?.to_owned())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> String {
        model.seal_key.get_or_insert_with(|| self.0.clone()).clone()
    }
}

// === impl AnnounceGateway ===

impl Operation for AnnounceGateway {
    type Output = Vec<GatewayTokens>;

    const DOING: &'static str = "tell the other gateways of this one";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<GatewayTokens>, StoreError> {
        let GatewayTokens { id, agent, operator, seen } = &self.tokens;
        let (agent, operator) = (agent.to_hex(), operator.to_hex());
        let values = [Value::Text(id), Value::Text(&agent), Value::Text(&operator), millis(*seen)];
        tx.execute(statement::ANNOUNCE_GATEWAY, &values).await?;
        tx.execute(statement::FORGET_GATEWAYS, &[millis(self.since)]).await?;
        list(tx, self.since).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<GatewayTokens> {
        model.gateways.insert(self.tokens.id.clone(), self.tokens.clone());
        model.gateways.retain(|_, gateway| gateway.seen >= self.since);
        model.gateways.values().cloned().collect()
    }
}

// === impl ListGateways ===

impl Operation for ListGateways {
    type Output = Vec<GatewayTokens>;

    const DOING: &'static str = "list the other gateways";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<GatewayTokens>, StoreError> {
        list(tx, self.since).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<GatewayTokens> {
        model.gateways.values().filter(|gateway| gateway.seen >= self.since).cloned().collect()
    }
}

async fn list<T: Tx>(tx: &mut T, since: Timestamp) -> Result<Vec<GatewayTokens>, StoreError> {
    let rows = tx.query(statement::GATEWAYS, &[millis(since)]).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<GatewayTokens, StoreError> {
    Ok(GatewayTokens {
        id: row.text(0)?.to_owned(),
        agent: TokenDigest::from_hex(row.text(1)?)?,
        operator: TokenDigest::from_hex(row.text(2)?)?,
        seen: Timestamp(row.count(3)?),
    })
}

fn millis(time: Timestamp) -> Value<'static> {
    Value::Int(i64::try_from(time.0).unwrap_or(i64::MAX))
}
