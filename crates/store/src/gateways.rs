//! Gateways that share a database: one key seals what they hand out, and each is opened by the tokens of all. Of a token
//! its SHA-256 alone is in the database. Where there is one gateway, nothing of this leaves its data directory.

use std::time::Duration;

use highwater_notation::Timestamp;

use crate::operation::{AnnounceGateway, EnsureSealKey, ListGateways};
use crate::token::TokenDigest;
use crate::{DataDir, Secret, Store, StoreError, clock};

/// How long the tokens of a gateway open the others after it was last there.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often a gateway says that it is there.
pub const ANNOUNCED: Duration = Duration::from_secs(60 * 60);

/// By which tokens a gateway is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayTokens {
    /// Its data directory's name for itself.
    pub id: String,
    /// The digest of the agent token that it prints.
    pub agent: TokenDigest,
    /// That of its operator token.
    pub operator: TokenDigest,
    /// When it was last there.
    pub seen: Timestamp,
}

// === impl GatewayTokens ===

impl GatewayTokens {
    /// Those of the gateway of a data directory, now.
    pub fn of(data: &DataDir) -> Result<Self, crate::DataDirError> {
        let digest = |secret| data.secret(secret).map(|text| TokenDigest::of(text.as_bytes()));
        Ok(Self {
            id: data.gateway_id()?,
            agent: digest(Secret::AgentToken)?,
            operator: digest(Secret::OperatorToken)?,
            seen: clock::timestamp(),
        })
    }
}

// === impl Store ===

impl Store {
    /// The key with which this gateway seals: its own, or that of all which share the database. The first brings it along.
    pub async fn seal_key(&self, own: String) -> Result<String, StoreError> {
        if !self.is_shared() {
            return Ok(own);
        }
        self.0.perform(EnsureSealKey(own)).await
    }

    /// Tells the gateways that share the database of this one, and lists all of them. Alone, nobody is told.
    pub async fn announce_gateway(&self, tokens: GatewayTokens) -> Result<Vec<GatewayTokens>, StoreError> {
        if !self.is_shared() {
            return Ok(vec![tokens]);
        }
        let tokens = GatewayTokens { seen: clock::timestamp(), ..tokens };
        self.0.perform(AnnounceGateway { tokens, since: since() }).await
    }

    /// The gateways that share the database and were there lately, this one among them.
    pub async fn gateways(&self) -> Result<Vec<GatewayTokens>, StoreError> {
        self.0.perform(ListGateways { since: since() }).await
    }
}

fn since() -> Timestamp {
    let remembered = u64::try_from(REMEMBERED.as_millis()).unwrap_or(u64::MAX);
    Timestamp(clock::timestamp().0.saturating_sub(remembered))
}
