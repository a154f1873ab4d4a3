//! The contracts of tools by the definitions that were last seen, made without a gateway that runs: to judge what is on
//! record once more under another configuration.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use highwater_config::{ServerSettings, Settings};
use highwater_core::annotation::Contract;
use highwater_core::id::UpstreamId;
use highwater_core::policy::ServerFacts;
use highwater_core::profile::Profile;
use highwater_mcp::annotations::ServerSays;
use highwater_pins::PinKind;
use highwater_profile::ToolShape;
use highwater_store::StoredPin;

use super::contracts::tool;
use super::known::Known;
use super::standing::{Standing, wanted};
use crate::pins::Observed;

/// What is known of the tools of every server that is configured.
#[derive(Debug, Default)]
pub struct ToolContracts {
    tools: HashMap<UpstreamId, HashMap<Arc<str>, Known>>,
    servers: HashMap<UpstreamId, ServerFacts>,
    profiles: HashMap<UpstreamId, Profile>,
}

// === impl ToolContracts ===

impl ToolContracts {
    /// Weighs the definitions that are stored of each server. What a manifest signs is not looked up.
    pub fn weigh(settings: &Settings, pins: &BTreeMap<String, Vec<StoredPin>>) -> Self {
        let mut all = Self::default();
        for server in settings.servers.iter().filter(|server| !server.disabled) {
            let stored = pins.get(&server.name).cloned().unwrap_or_default();
            all.add(server, stored);
        }
        all
    }

    fn add(&mut self, server: &ServerSettings, stored: Vec<StoredPin>) {
        let wanted = wanted(server);
        let observed = Observed::kept(stored);
        let standing = Standing::new(server).observing(Some(&observed));
        let tools = observed.texts(PinKind::Tool).map(|(name, text)| {
            let item = observed.item(PinKind::Tool, &name, wanted);
            // What the server says for all its tools is kept with each of them.
            let (known, _) = tool(&standing, &name, &text, &ServerSays::default(), item);
            (name, known)
        });
        let id = UpstreamId::new(server.name.as_str());
        self.tools.insert(id.clone(), tools.collect());
        self.profiles.insert(id.clone(), standing.profile);
        self.servers.insert(id, *standing.facts());
    }

    /// The contract of a tool, by its server's own name.
    pub fn tool(&self, upstream: &UpstreamId, own: &str) -> Option<&Contract> {
        Some(&self.tools.get(upstream)?.get(own)?.contract)
    }

    /// What the definition of a tool tells without being believed.
    pub fn shape(&self, upstream: &UpstreamId, own: &str) -> Option<&ToolShape> {
        Some(&self.tools.get(upstream)?.get(own)?.shape)
    }

    /// The operator's one word for a server.
    pub fn profile(&self, upstream: &UpstreamId) -> Profile {
        self.profiles.get(upstream).copied().unwrap_or(Profile::Unknown)
    }

    /// The contracts of a server's tools.
    pub fn contracts(&self, upstream: &UpstreamId) -> impl Iterator<Item = &Contract> {
        self.tools.get(upstream).into_iter().flat_map(|tools| tools.values().map(|known| &known.contract))
    }

    /// What the definitions of a server's tools tell without being believed.
    pub fn shapes(&self, upstream: &UpstreamId) -> impl Iterator<Item = &ToolShape> {
        self.tools.get(upstream).into_iter().flat_map(|tools| tools.values().map(|known| &*known.shape))
    }

    /// What rules may know of a server.
    pub fn server(&self, upstream: &UpstreamId) -> ServerFacts {
        self.servers.get(upstream).copied().unwrap_or_default()
    }
}
