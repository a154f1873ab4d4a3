//! What is offered of a server before it has started: what was seen of it the last time, as far as that was approved.
//! What it lists once it is up takes the place of it, and no call is sent before that.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use highwater_mcp::annotations::pinned;
use highwater_mcp::era::Era;
use highwater_mcp::text::string_member;
use highwater_pins::{PinKey, PinKind};
use highwater_store::{RememberedOffer, RememberedServers};
use highwater_upstream::control::{ListKind, Listing};
use highwater_upstream::{Greeting, RememberedEra};
use serde_json::{Map, Value};

use super::observed::Observed;
use crate::catalog::ServerListing;
use crate::reached::remembered_era;

/// What a server is taken to be able to do that is known by its definitions alone: whatever could be carried for it, since
/// a legacy client asks once and never again.
const ANYTHING: &str =
    r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}}"#;

/// The member of a server's identity that it says itself.
const NAME: &str = "name";

/// What was learned of one server in an earlier run, besides its definitions.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    servers: Arc<RememberedServers>,
    server: String,
    /// The fingerprint of how it is reached: what was learned counts while that is the same.
    print: String,
}

// === impl Memory ===

impl Memory {
    pub(crate) fn new(servers: Arc<RememberedServers>, server: &str, print: String) -> Self {
        Self { servers, server: server.to_owned(), print }
    }

    /// Keeps what is not kept with its definitions.
    pub(super) fn keep(&self, server_listing: &ServerListing) {
        let capabilities = String::from_utf8_lossy(&server_listing.greeting.capabilities).into_owned();
        let lists = [
            (ListKind::Tools, &server_listing.tools, "name"),
            (ListKind::Prompts, &server_listing.prompts, "name"),
            (ListKind::ResourceTemplates, &server_listing.templates, "uriTemplate"),
        ];
        let order = lists.into_iter().filter(|(_, listing, _)| !listing.items.is_empty());
        let order = order.map(|(kind, listing, key)| (kind.member().to_owned(), names(listing, key)));
        let offer = RememberedOffer { capabilities, order: order.collect() };
        self.servers.remember_offer(&self.server, &self.print, offer);
    }

    /// A listing made of what is known of the server; nothing of it has been listed by the server itself.
    pub(super) fn server_listing(&self, observed: Observed) -> ServerListing {
        let RememberedOffer { capabilities, order } = self
            .servers
            .offer(&self.server, &self.print)
            .unwrap_or_else(|| RememberedOffer { capabilities: ANYTHING.to_owned(), order: BTreeMap::new() });
        let era = self.servers.era(&self.server, &self.print);
        let era = match era.as_deref().and_then(remembered_era) {
            Some(RememberedEra::Modern) => Era::Modern,
            Some(RememberedEra::Legacy | RememberedEra::Sse) | None => Era::Legacy,
        };
        let instructions = observed.texts(PinKind::Instructions).next();
        let greeting = Greeting {
            era,
            version: String::new(),
            capabilities: capabilities.into(),
            instructions: instructions.map(|(_, text)| Bytes::from(text.as_bytes().to_vec())),
            server_info: None,
        };
        let listing = |kind: PinKind, list: ListKind| {
            let place = |name: &str| {
                let named = order.get(list.member());
                named.and_then(|names| names.iter().position(|other| other == name)).unwrap_or(usize::MAX)
            };
            let mut items: Vec<_> = observed.texts(kind).collect();
            // Those that have no place keep the order of their names.
            items.sort_by_key(|(name, _)| place(name));
            let items = items.into_iter().map(|(_, text)| Bytes::from(pinned::as_listed(kind, &text)));
            Arc::new(Listing { items: items.collect(), rest: Vec::new(), ttl: None })
        };
        let (tools, prompts, templates) = (
            listing(PinKind::Tool, ListKind::Tools),
            listing(PinKind::Prompt, ListKind::Prompts),
            listing(PinKind::Template, ListKind::ResourceTemplates),
        );
        ServerListing::kept(greeting, [tools, prompts, templates], Arc::new(observed))
    }
}

// === impl Observed ===

impl Observed {
    /// Whether what was seen of the server was seen of one that is reached like this.
    pub(super) fn was_reached_by(&self, reached: &[(&'static str, Value)]) -> bool {
        let Some(identity) = self.definitions.get(&PinKey::identity()) else { return false };
        let Ok(mut seen) = serde_json::from_str::<Map<String, Value>>(identity.text()) else { return false };
        seen.remove(NAME);
        let reached: Map<String, Value> =
            reached.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        seen == reached
    }
}

fn names(listing: &Listing, key: &str) -> Vec<String> {
    let texts = listing.items.iter().filter_map(|item| std::str::from_utf8(item).ok());
    texts.filter_map(|text| string_member(text, key)).map(Into::into).collect()
}
