//! What is kept of a legacy client's `initialize`, so that its transport session can be taken up again after a restart, or
//! after it was put away because it was silent.

use highwater_mcp::era::LEGACY_VERSIONS;
use serde::{Deserialize, Serialize};

use crate::client::{LegacySession, Said};

/// What a client said of itself, and where.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeptClient {
    version: String,
    capabilities: String,
    /// The same as servers are told them; missing in what older versions kept.
    #[serde(default)]
    announced: Option<String>,
    speaks_approval: bool,
    name: String,
    /// The context in the address that it came to.
    pub(crate) context: Option<String>,
}

// === impl KeptClient ===

impl KeptClient {
    pub(crate) fn of(session: &LegacySession, context: Option<&str>) -> Self {
        Self {
            version: session.version.to_owned(),
            capabilities: session.capabilities.clone(),
            announced: Some(session.upstream.capabilities().to_owned()),
            speaks_approval: session.speaks_approval(),
            name: session.name.clone(),
            context: context.map(str::to_owned),
        }
    }

    /// As it is stored.
    pub(crate) fn text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The version that was agreed, and what the client said, if this program speaks that version still.
    pub(crate) fn into_said(self) -> Option<(&'static str, Said)> {
        let version = LEGACY_VERSIONS.into_iter().find(|known| *known == self.version)?;
        let Self { capabilities, announced, speaks_approval, name, .. } = self;
        let announced = announced.unwrap_or_else(|| capabilities.clone());
        Some((version, Said { capabilities, announced, speaks_approval, name }))
    }

    /// What the client calls itself.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
