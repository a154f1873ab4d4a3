//! Gateways that share our database. What opens one of them opens all: an agent that was given the token of one may be sent
//! to another by whatever stands in front of them. Only digests are known here, as of every token.

use arc_swap::ArcSwap;
use highwater_store::{ANNOUNCED, GatewayTokens, Store, StoreError, TokenDigest};
use tokio::time::Instant;

use crate::tokens::{Closed, OLDEST_COPY};

/// The tokens of the gateways that share the database, as they were when they were last read.
pub(crate) struct Siblings {
    own: GatewayTokens,
    known: ArcSwap<SiblingDigests>,
}

struct SiblingDigests {
    gateways: Vec<GatewayTokens>,
    read: Instant,
    announced: Instant,
}

// === impl Siblings ===

impl Siblings {
    /// `gateways` are all of them, read just now, when this one had announced itself.
    pub(crate) fn new(own: GatewayTokens, gateways: Vec<GatewayTokens>) -> Self {
        let (read, announced) = (Instant::now(), Instant::now());
        Self { own, known: ArcSwap::from_pointee(SiblingDigests { gateways, read, announced }) }
    }

    /// Whether a secret is the agent token of one of them.
    pub(crate) fn is_agent(&self, secret: &[u8]) -> Result<(), Closed> {
        self.opens(secret, |gateway| &gateway.agent)
    }

    /// Whether a secret is the operator token of one of them.
    pub(crate) fn is_operator(&self, secret: &[u8]) -> Result<(), Closed> {
        self.opens(secret, |gateway| &gateway.operator)
    }

    fn opens(&self, secret: &[u8], of: fn(&GatewayTokens) -> &TokenDigest) -> Result<(), Closed> {
        let (shown, known) = (TokenDigest::of(secret), self.known.load());
        // All are compared, in a time that does not tell which it is. What this gateway opens with is compared elsewhere.
        let others = known.gateways.iter().filter(|gateway| gateway.id != self.own.id);
        let is_one = others.fold(false, |is_one, gateway| of(gateway).is(&shown) | is_one);
        match (is_one, known.read.elapsed() > OLDEST_COPY) {
            (false, _) => Err(Closed::Unknown),
            (true, true) => Err(Closed::Stale),
            (true, false) => Ok(()),
        }
    }

    /// Reads them again, and says now and then that we are there.
    pub(crate) async fn look_again(&self, store: &Store) -> Result<(), StoreError> {
        let before = self.known.load_full();
        let read = Instant::now();
        let (gateways, announced) = match before.announced.elapsed() < ANNOUNCED {
            true => (store.gateways().await?, before.announced),
            false => (store.announce_gateway(self.own.clone()).await?, read),
        };
        self.known.store(std::sync::Arc::new(SiblingDigests { gateways, read, announced }));
        Ok(())
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<GatewayTokens> {
        self.known.load().gateways.clone()
    }

    /// Our own name.
    pub(crate) fn own_id(&self) -> &str {
        &self.own.id
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use highwater_notation::Timestamp;

    use super::*;

    fn gateway(id: &str) -> GatewayTokens {
        let digest = |kind: &str| TokenDigest::of(format!("{kind} of {id}").as_bytes());
        GatewayTokens {
            id: id.to_owned(),
            agent: digest("agent"),
            operator: digest("operator"),
            seen: Timestamp(0),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_opens_one_gateway_opens_the_others_while_the_copy_is_fresh() {
        let siblings = Siblings::new(gateway("one"), vec![gateway("one"), gateway("other")]);
        assert_eq!(siblings.is_agent(b"agent of other"), Ok(()));
        assert_eq!(siblings.is_operator(b"operator of other"), Ok(()));
        assert_eq!(siblings.is_operator(b"agent of other"), Err(Closed::Unknown), "each opens its own kind");
        assert_eq!(siblings.is_agent(b"agent of nobody"), Err(Closed::Unknown));
        tokio::time::advance(OLDEST_COPY + Duration::from_secs(1)).await;
        assert_eq!(siblings.is_agent(b"agent of other"), Err(Closed::Stale), "it may have been replaced");
    }
}
