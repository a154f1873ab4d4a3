//! What a server says of itself and of what it offers, as definitions.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use highwater_config::{ServerSettings, Transport};
use highwater_mcp::annotations::{pinned, server_says};
use highwater_mcp::text::string_member;
use highwater_pins::{Definition, PinKey};
use serde_json::{Value, json};

use crate::catalog::ServerListing;

/// Definitions by what they define. Of two of one name the first counts, as it does in the list.
pub(super) type Definitions = BTreeMap<PinKey, Definition>;

/// How a server is reached, as far as that says who it is.
///
/// Arguments and the query of a URL are where people put secrets, so they are kept as a digest.
pub(crate) fn reached(server: &ServerSettings) -> Vec<(&'static str, Value)> {
    let hidden =
        |text: &str| json!(format!("sha256-{}", URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))));
    match &server.transport {
        Transport::Stdio { command, args, .. } => {
            let mut parts = vec![("command", json!(command))];
            if !args.is_empty() {
                parts.push(("arguments", hidden(&json!(args).to_string())));
            }
            parts
        }
        Transport::Http { url, .. } => {
            let (address, query) = url.split_once('?').map_or((url.as_str(), None), |(a, q)| (a, Some(q)));
            let mut parts = vec![("url", json!(address))];
            parts.extend(query.map(|query| ("query", hidden(query))));
            parts
        }
    }
}

/// Everything in a server's listing that is pinned.
pub(super) fn definitions(
    reached: &[(&'static str, Value)],
    server_listing: &ServerListing,
    key: Option<&str>,
) -> Definitions {
    let text = |bytes: &Bytes| std::str::from_utf8(bytes).map(str::to_owned).ok();
    let capabilities = text(&server_listing.greeting.capabilities).unwrap_or_default();
    let says = server_says(&capabilities);
    let info = server_listing.greeting.server_info.as_ref().and_then(text);
    let name = info.as_deref().and_then(|info| string_member(info, "name")).map(|name| json!(name));
    let mut who = reached.to_vec();
    who.extend(name.map(|name| ("name", name)));
    who.extend(key.map(|key| ("key", json!(key))));
    let mut all = Definitions::new();
    let mut keep = |definition: Option<Definition>| {
        if let Some(definition) = definition {
            all.entry(definition.key().clone()).or_insert(definition);
        }
    };
    keep(Some(pinned::identity(who)));
    keep(
        server_listing
            .greeting
            .instructions
            .as_ref()
            .and_then(text)
            .and_then(|text| pinned::instructions(&text)),
    );
    for item in server_listing.tools.items.iter().filter_map(text) {
        keep(pinned::tool(&item, &says));
    }
    for item in server_listing.prompts.items.iter().filter_map(text) {
        keep(pinned::prompt(&item));
    }
    for item in server_listing.templates.items.iter().filter_map(text) {
        keep(pinned::template(&item));
    }
    all
}
