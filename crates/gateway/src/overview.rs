//! How the gateway is as a whole, for people who look whether everything is well.

use std::time::Duration;

use highwater_notation::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};

use crate::gateway::{Gateway, now};

/// How many sessions and questions are counted at most.
const MOST: u32 = 1000;

/// How long the store may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// The gateway as a whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overview {
    /// How long it has run.
    pub uptime_seconds: u64,
    /// How many requests it is working on.
    pub requests: usize,
    /// How many transport sessions are open.
    pub connections: usize,
    /// How many conversations are known, a thousand at most; nothing if the store does not say.
    pub conversations: Option<usize>,
    /// How many of them hold what strangers may have written.
    pub untrusted: Option<usize>,
    /// How many questions wait for a person; nothing where nobody can be asked on a page, or the store does not say.
    pub questions: Option<usize>,
    /// How many mandates may be used.
    pub mandates: Option<usize>,
    /// Whether labels can be kept.
    pub store: PartHealth,
    /// Whether what happens can be recorded.
    pub record: PartHealth,
    /// The gateways that share the database; nothing where it is ours alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<GatewayView>,
}

/// Whether a part works.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartHealth {
    /// It does.
    pub works: bool,
    /// What it is.
    pub place: String,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A gateway that shares the database.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GatewayView {
    /// Its name.
    pub id: String,
    /// This one.
    pub own: bool,
    /// When it was last there.
    pub seen: Timestamp,
}

// === impl PartHealth ===

impl PartHealth {
    fn of<E: std::fmt::Display>(place: impl Into<String>, outcome: Result<(), E>) -> Self {
        let why = outcome.err().map(|error| error.to_string());
        Self { works: why.is_none(), place: place.into(), why }
    }
}

impl Gateway {
    /// How it is.
    pub async fn overview(&self) -> Overview {
        let store = match timeout(PATIENCE, self.store.check()).await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err(format!("it did not answer within {PATIENCE:?}")),
        };
        // A store that is away keeps nobody waiting here for what it would have said.
        let approval_service = self.approval_service().filter(|_| store.is_ok());
        let sessions = if store.is_ok() { self.store.sessions(None, None, MOST).await.ok() } else { None };
        let untrusted = sessions
            .as_ref()
            .map(|sessions| sessions.iter().filter(|session| session.label.untrusted()).count());
        let place = if self.store.is_shared() { "postgres" } else { "sqlite" };
        let gateways = match self.store.is_shared() {
            true => self.siblings.all(),
            false => Vec::new(),
        };
        Overview {
            uptime_seconds: Instant::now().duration_since(self.started).as_secs(),
            requests: self.registry.running(),
            connections: self.registry.session_count(),
            conversations: sessions.map(|sessions| sessions.len()),
            untrusted,
            questions: match approval_service {
                Some(approval_service) => {
                    approval_service.list(true, MOST).await.ok().map(|waiting| waiting.len())
                }
                None => None,
            },
            mandates: match approval_service {
                Some(approval_service) => approval_service.mandates().await.ok().map(|mandates| {
                    mandates
                        .iter()
                        .filter(|mandate| {
                            mandate.revoked.is_none() && mandate.remaining > 0 && mandate.expires > now()
                        })
                        .count()
                }),
                None => None,
            },
            store: PartHealth::of(place, store),
            record: PartHealth::of("the audit log", self.audit.flush()),
            gateways: gateways
                .into_iter()
                .map(|gateway| GatewayView {
                    own: gateway.id == self.siblings.own_id(),
                    id: gateway.id,
                    seen: gateway.seen,
                })
                .collect(),
        }
    }
}
