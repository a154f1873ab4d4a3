//! How the servers are, for people.

use highwater_upstream::HealthState;
use serde::Serialize;

use crate::gateway::Gateway;

/// One server's state.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStatus {
    /// The operator's name for it.
    pub name: String,
    /// `idle`, `starting`, `up`, `failed`.
    pub state: String,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The protocol version agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many tools it lists.
    pub tools: usize,
    /// How many calls it is working on.
    pub in_flight: usize,
    /// How often it was started or connected to.
    pub starts: u64,
    /// The last lines it wrote to its standard error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

impl Gateway {
    /// How every server is, in the order of their names.
    pub fn servers(&self) -> Vec<ServerStatus> {
        self.world
            .load()
            .stations
            .values()
            .map(|station| {
                let health = station.upstream.health();
                ServerStatus {
                    name: station.id().to_string(),
                    state: word(&health.state).to_owned(),
                    error: health.last_error.filter(|_| health.state != HealthState::Up),
                    version: health.version,
                    tools: station.stock().map_or(0, |stock| stock.tools.items.len()),
                    in_flight: health.in_flight,
                    starts: health.starts,
                    stderr: health.stderr,
                }
            })
            .collect()
    }
}

fn word(state: &HealthState) -> &'static str {
    match state {
        HealthState::Idle => "idle",
        HealthState::Starting => "starting",
        HealthState::Up => "up",
        HealthState::Failed { .. } => "failed",
    }
}
