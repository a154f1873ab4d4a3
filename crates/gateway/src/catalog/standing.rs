//! What the operator says of each server, whatever it lists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use highwater_config::{HttpKind, Labels, ServerSettings, ShareContext, Transport};
use highwater_core::id::UpstreamId;
use highwater_core::policy::{ManifestState, ServerFacts, ServerTransport, ToolStatus};
use highwater_core::profile::Profile;
use highwater_core::trust::ServerTrust;
use highwater_mcp::annotations::emit::Share;
use highwater_mcp::text::{member, members, string_member};
use highwater_pins::PinKey;

use super::server_listing::ServerListing;
use crate::pins::{Observed, UnknownName, Wanted};

/// What the operator says of one server. Kept apart from how it is reached: it changes without a restart.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(super) upstream: UpstreamId,
    /// What the operator calls it: `trust.label`.
    title: Option<String>,
    pub(super) facts: ServerFacts,
    /// What the file says the server is. Nobody outranks it.
    pub(super) said: Option<Profile>,
    /// What it is, by whoever said so.
    pub(super) profile: Profile,
    /// The entry holds what opens an account somewhere.
    pub(super) holds_secret: bool,
    /// The server itself, and those that keep the same things.
    pub(super) keeps: Arc<[UpstreamId]>,
    pub(super) labels: Labels,
    /// The only tools that exist for clients, if not all.
    allowed_tools: Option<BTreeSet<String>>,
    pub(super) share: Share,
    pub(super) over_http: bool,
    pub(super) wanted: Wanted,
}

/// What the operator says of every server.
pub(crate) type Standings = BTreeMap<UpstreamId, Standing>;

// === impl Standing ===

impl Standing {
    pub(crate) fn new(server: &ServerSettings) -> Self {
        let transport = match &server.transport {
            Transport::Stdio { .. } => ServerTransport::Stdio,
            Transport::Http { kind: HttpKind::Sse, .. } => ServerTransport::Sse,
            Transport::Http { .. } => ServerTransport::Http,
        };
        Self {
            upstream: UpstreamId::new(server.name.as_str()),
            title: server.title.clone(),
            facts: ServerFacts {
                trust: server.trust,
                transport: Some(transport),
                sandboxed: false,
                manifest: ManifestState::Absent,
            },
            said: server.profile,
            profile: server.profile.unwrap_or(Profile::Unknown),
            holds_secret: holds_secret(&server.transport),
            keeps: std::iter::once(&server.name)
                .chain(&server.keeps_with)
                .map(|name| UpstreamId::new(name.as_str()))
                .collect(),
            labels: server.labels.clone(),
            allowed_tools: server.allowed_tools.clone(),
            share: match server.share_context {
                ShareContext::None => Share::Nothing,
                ShareContext::Hints => Share::Hints,
                ShareContext::Full => Share::Full,
            },
            over_http: transport != ServerTransport::Stdio,
            wanted: wanted(server),
        }
    }

    /// The same, beside what was seen of the server and approved of it.
    pub(super) fn observing(mut self, observed: Option<&Observed>) -> Self {
        let wanted = self.wanted;
        if let Some(observed) = observed {
            self.facts.manifest = observed.manifest();
            if let Some(said) = observed.described() {
                self.described(said.profile);
            }
        }
        // Where a manifest must be, it is the manifest that verifies, and nothing else.
        if wanted.manifest {
            let kept = observed.is_some_and(|observed| observed.manifest() == ManifestState::Verified);
            self.facts.trust = self.facts.trust.with_manifest(kept);
        }
        // What has no definition of its own is believed as the server itself is.
        let believed = observed.is_some_and(|observed| observed.believes(&PinKey::identity(), wanted));
        self.facts.trust = self.facts.trust.believed_if(believed);
        self
    }

    pub(super) fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// What the operator calls the server, if anything.
    pub(crate) fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub(super) fn trust(&self) -> ServerTrust {
        self.facts.trust
    }

    /// What holds of something that has no definition of its own.
    pub(super) fn unpinned(&self) -> (ToolStatus, bool) {
        let status = if self.wanted.vouched { ToolStatus::Approved } else { ToolStatus::Pending };
        (status, self.trust().is_believed())
    }

    /// Whether nobody has said what the server is, and people may.
    pub(super) fn is_undescribed(&self) -> bool {
        self.said.is_none() && self.profile == Profile::Unknown
    }

    /// Takes up what a person said the server is, where the file says nothing.
    pub(super) fn described(&mut self, profile: Profile) {
        if self.said.is_none() {
            self.profile = profile;
            self.facts.trust = self.facts.trust.with_profile(profile.replies());
        }
    }

    /// The names in labels and in the allow-list that name nothing of what the server lists.
    pub(crate) fn unknown_names(&self, server_listing: &ServerListing) -> Vec<UnknownName> {
        let server = &self.upstream;
        let (tools, prompts) = (names(&server_listing.tools.items), names(&server_listing.prompts.items));
        let mut unknown = Vec::new();
        let mut look = |name: &str, key: &str, kind: &'static str, known: &BTreeSet<String>| {
            if !known.contains(name) {
                let place = format!("`{key}` of server `{server}`");
                unknown.push(UnknownName::new(name, place, kind, known.iter().map(String::as_str)));
            }
        };
        self.labels.tool_names().for_each(|name| look(name, "labels", "tool", &tools));
        self.labels.prompt_names().for_each(|name| look(name, "prompt_labels", "prompt", &prompts));
        self.allowed_tools.iter().flatten().for_each(|name| look(name, "allowed_tools", "tool", &tools));
        unknown.extend(self.unknown_arguments(server_listing));
        unknown
    }

    /// The arguments in sentences for people that their tools do not have, where it is known what they have.
    fn unknown_arguments(&self, server_listing: &ServerListing) -> Vec<UnknownName> {
        let server = &self.upstream;
        let mut unknown = Vec::new();
        for text in
            server_listing.tools.items.iter().filter_map(|item| std::str::from_utf8(item.as_ref()).ok())
        {
            let Some(tool) = string_member(text, "name") else { continue };
            let Some(sentence) = self.labels.display(&tool) else { continue };
            let properties = member(text, "inputSchema").and_then(|schema| member(schema, "properties"));
            let Some(properties) = properties else { continue };
            let known: BTreeSet<String> = members(properties).map(|(name, _)| name.into_owned()).collect();
            for name in sentence.arguments().filter(|name| !known.contains(*name)) {
                let place = format!("`display` of `{tool}` of server `{server}`");
                unknown.push(UnknownName::new(name, place, "argument", known.iter().map(String::as_str)));
            }
        }
        unknown
    }

    pub(super) fn origin(&self, what: &str) -> String {
        format!("mcp:{}:{what}", self.upstream)
    }
}

/// Whether an entry holds a token, by the names under which people keep them. Such a server has an account elsewhere.
fn holds_secret(transport: &Transport) -> bool {
    const NAMES: [&str; 8] =
        ["token", "secret", "password", "passwd", "api_key", "apikey", "credential", "access_key"];
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase().replace('-', "_");
        NAMES.iter().any(|secret| name.contains(secret)) || name == "authorization" || name == "cookie"
    };
    match transport {
        Transport::Stdio { env, .. } => env.keys().any(|name| is_secret(name)),
        Transport::Http { headers, .. } => headers.iter().any(|(name, _)| is_secret(name)),
    }
}

/// The names of what a server lists.
fn names<T: AsRef<[u8]>>(items: &[T]) -> BTreeSet<String> {
    let texts = items.iter().filter_map(|item| std::str::from_utf8(item.as_ref()).ok());
    texts.filter_map(|text| string_member(text, "name")).map(Into::into).collect()
}

/// What the operator wants of a server.
pub(crate) fn wanted(server: &ServerSettings) -> Wanted {
    Wanted {
        vouched: server.trust.verified(),
        disbelieved: server.trust.is_disbelieved(),
        quarantine: server.quarantine,
        manifest: server.manifest.is_some(),
    }
}
