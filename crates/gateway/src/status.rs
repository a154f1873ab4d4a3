//! How the servers are, for people.

use highwater_core::policy::ManifestState;
use highwater_notation::Timestamp;
use highwater_upstream::HealthState;
use serde::Serialize;

use crate::describe::WhatItIs;
use crate::gateway::Gateway;
use crate::pins::{UnknownName, state};
use crate::server_trouble::ServerTrouble;

/// One server's state.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStatus {
    /// The operator's name for it.
    pub name: String,
    /// What the operator calls it: `trust.label`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `idle`, `starting`, `up`, `not answering`, `failed`.
    pub state: String,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What that is and what can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<ServerTrouble>,
    /// The protocol version agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many tools it lists.
    pub tools: usize,
    /// What was approved of it: `approved`, `drifted` (some of it is in use, and not as it was approved), `quarantined`,
    /// `held` (some of it), `rejected`; `open` if nothing is ever held; `unseen` while nobody knows what it has.
    pub approval: &'static str,
    /// How many of its definitions are held until a person has looked at them.
    pub held: usize,
    /// How many are in use, and not as they were approved.
    pub drifted: usize,
    /// Of how many of its tools the claims are believed: they may make decisions milder.
    pub believed: usize,
    /// The operator vouches for it: what was seen first counts as approved.
    pub vouched: bool,
    /// What it is, in the operator's one word, and by whom; nothing while nobody knows what it has.
    #[serde(flatten)]
    pub what: Option<WhatItIs>,
    /// What became of its manifest.
    pub manifest: ManifestState,
    /// What there is to say about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_says: Option<String>,
    /// Names in the configuration and in tokens that name nothing of what it lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_names: Vec<UnknownName>,
    /// How many calls it is working on.
    pub in_flight: usize,
    /// When it was last looked at: what it says of itself and everything it lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<Timestamp>,
    /// How often it was started or connected to.
    pub starts: u64,
    /// The last lines it wrote to its standard error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

impl Gateway {
    /// How every server is, in the order of their names.
    pub fn servers(&self) -> Vec<ServerStatus> {
        let patterns = self.tool_names.unknown();
        self.world
            .load()
            .catalog_servers
            .values()
            .map(|catalog_server| {
                let health = catalog_server.upstream.health();
                let (server_listing, wanted) =
                    (catalog_server.server_listing(), catalog_server.enforcer.wanted());
                let observed = server_listing.as_ref().map(|server_listing| &*server_listing.observed);
                ServerStatus {
                    name: catalog_server.id().to_string(),
                    label: catalog_server.enforcer.title(),
                    state: word(&health.state).to_owned(),
                    trouble: matches!(health.state, HealthState::Failed { .. }).then(|| {
                        let (spec, cause) = (catalog_server.upstream.spec(), health.last_error.as_ref());
                        ServerTrouble::of(spec, cause, &health.own_stderr)
                    }),
                    error: health
                        .last_error
                        .filter(|_| health.state != HealthState::Up)
                        .map(|error| error.to_string()),
                    version: health.version,
                    tools: server_listing
                        .as_ref()
                        .map_or(0, |server_listing| server_listing.tools.items.len()),
                    approval: state(observed, wanted),
                    held: observed.map_or(0, |observed| observed.held(wanted)),
                    drifted: observed.map_or(0, |observed| observed.drifted(wanted)),
                    believed: observed.map_or(0, |observed| observed.believed(wanted)),
                    vouched: wanted.vouched,
                    what: self.what_it_is(catalog_server.id()),
                    manifest: observed.map_or(ManifestState::Absent, |observed| observed.manifest()),
                    manifest_says: observed.and_then(|observed| observed.manifest_says()).map(str::to_owned),
                    unknown_names: {
                        let of_patterns = patterns.iter().filter(|(_, servers)| {
                            // One that speaks of no server at all is shown with each.
                            servers.is_empty() || servers.contains(catalog_server.id())
                        });
                        let own = server_listing
                            .as_ref()
                            .map(|server_listing| catalog_server.enforcer.unknown_names(server_listing));
                        let of_patterns = of_patterns.map(|(name, _)| name.clone());
                        own.unwrap_or_default().into_iter().chain(of_patterns).collect()
                    },
                    in_flight: health.in_flight,
                    looked_at: catalog_server.looked_at(),
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
        HealthState::NotAnswering => "not answering",
        HealthState::Failed { .. } => "failed",
    }
}
