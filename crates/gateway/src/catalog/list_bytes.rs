//! A list as the bytes that are sent.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use highwater_core::id::UpstreamId;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::Era;
use highwater_mcp::era::meta_key::{OURS, SERVER_INFO};
use highwater_mcp::text::{members, quote};
use highwater_notation::Json;
use highwater_upstream::control::ListKind;

use super::merge::Shelf;
use super::server_listing::ServerListing;
use super::view::{Row, ToolRow};
use crate::gateway::OUR_INFO;

/// What the modern era wants at the end of a list. Our lists depend on who asks, so they are nobody else's.
const MODERN_TAIL: &str = r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#;

/// A list result without its closing brace, so that each era can add its own end.
pub(super) struct ListBytes {
    pub(super) bytes: Bytes,
    /// Where each entry stands.
    items: Vec<Range<usize>>,
    /// Whether it ends with a `_meta` that holds something.
    has_meta: bool,
}

// === impl ListBytes ===

impl ListBytes {
    pub(super) fn start(kind: ListKind) -> String {
        format!("{{\"{}\":[", kind.member())
    }

    pub(super) fn build<'t>(kind: ListKind, items: impl Iterator<Item = &'t str>, shelves: &[Shelf]) -> Self {
        let listing = |server_listing: &ServerListing| match kind {
            ListKind::Tools => Arc::clone(&server_listing.tools),
            ListKind::Prompts => Arc::clone(&server_listing.prompts),
            ListKind::Resources => Arc::clone(&server_listing.resources),
            ListKind::ResourceTemplates => Arc::clone(&server_listing.templates),
        };
        let mut out = Self::start(kind);
        let mut places = Vec::new();
        for (index, item) in items.enumerate() {
            if index > 0 {
                out.push(',');
            }
            places.push(out.len()..out.len() + item.len());
            out.push_str(item);
        }
        out.push(']');
        let mut written = BTreeSet::new();
        // Written last, so that the modern era can say in it who made the list.
        let mut meta = None;
        for server_listing in shelves.iter().filter_map(|(_, server_listing)| server_listing.as_ref()) {
            for (key, value) in &listing(server_listing).rest {
                let Ok(value) = std::str::from_utf8(value) else { continue };
                let shown = if key == "_meta" { unforged_meta(value) } else { value.to_owned() };
                let emptied = shown == "{}" && value != "{}";
                if emptied || !written.insert(key.clone()) {
                    continue;
                }
                if key == "_meta" {
                    meta = Some(shown);
                } else {
                    out.push(',');
                    out.push_str(&quote(key));
                    out.push(':');
                    out.push_str(&shown);
                }
            }
        }
        if let Some(meta) = &meta {
            out.push_str(r#","_meta":"#);
            out.push_str(meta);
        }
        let has_meta = meta.is_some_and(|meta| members(&meta).next().is_some());
        Self { bytes: Bytes::from(out), items: places, has_meta }
    }

    /// The same list with a member of `_meta`, as JSON text. It has no places of entries.
    pub(super) fn with_meta(&self, key: &str, value: &str) -> Self {
        let whole = format!("{}}}", String::from_utf8_lossy(&self.bytes));
        let mut edited = edit_object(&whole, &[("_meta", Edit::Merge(&[(key, Edit::Set(value))]))]);
        edited.truncate(edited.trim_end().len() - 1);
        Self { bytes: Bytes::from(edited), items: Vec::new(), has_meta: true }
    }

    /// Each entry with whose it is; `of` are as many as there are entries.
    pub(super) fn rows<'a>(
        &'a self,
        of: impl IntoIterator<Item = (UpstreamId, Option<ToolRow>), IntoIter: 'a>,
    ) -> impl Iterator<Item = Row> + 'a {
        self.items.iter().zip(of).map(|(place, (upstream, tool))| Row {
            upstream,
            text: self.bytes.slice(place.clone()),
            tool,
        })
    }

    /// Whether two lists say the same to whoever reads them as JSON, in the same order.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        if self.bytes == other.bytes {
            return true;
        }
        let end = |list: &Self| list.items.last().map_or(0, |last| last.end);
        let items = |list: &Self| -> Vec<Bytes> {
            list.items.iter().map(|place| list.bytes.slice(place.clone())).collect()
        };
        self.items.len() == other.items.len()
            && self.bytes.get(end(self)..) == other.bytes.get(end(other)..)
            && items(self).iter().zip(items(other)).all(|(one, other)| *one == other || is_same(one, &other))
    }

    /// A whole response; an empty one where there is no such list.
    pub(super) fn response(list: Option<&Self>, era: Era, id: &str) -> Vec<u8> {
        let body: &[u8] = list.map_or(b"{", |list| &list.bytes);
        let whole_meta = list.filter(|list| list.has_meta).and_then(|list| list.bytes.strip_suffix(b"}"));
        let mut out = Vec::with_capacity(body.len() + MODERN_TAIL.len() + OUR_INFO.len() + id.len() + 112);
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(br#","result":"#);
        match (era, whole_meta) {
            (Era::Legacy, _) => out.extend_from_slice(body),
            (Era::Modern, Some(open_meta)) => {
                out.extend_from_slice(open_meta);
                push_our_info(&mut out, ",");
                out.extend_from_slice(MODERN_TAIL.as_bytes());
            }
            (Era::Modern, None) => {
                out.extend_from_slice(body);
                out.extend_from_slice(MODERN_TAIL.as_bytes());
                push_our_info(&mut out, r#","_meta":{"#);
            }
        }
        out.extend_from_slice(b"}}");
        out
    }
}

/// Whether two entries are one, whatever the order of their members. A member that is null is none.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let read = |text: &[u8]| match Json::parse(std::str::from_utf8(text).ok()?)? {
        Json::Object(mut members) => {
            members.retain(|(_, value)| *value != Json::Null);
            Some(members)
        }
        _ => None,
    };
    let one = read(one);
    one.is_some() && one == read(other)
}

/// The `_meta` of a list without one server's name for itself, which would stand for all of them, and without what only
/// we may say.
fn unforged_meta(meta: &str) -> String {
    let ours: Vec<_> = members(meta).map(|(key, _)| key).filter(|key| key.starts_with(OURS)).collect();
    let mut edits: Vec<(&str, Edit<'_>)> = ours.iter().map(|key| (&**key, Edit::Remove)).collect();
    edits.push((SERVER_INFO, Edit::Remove));
    edit_object(meta, &edits)
}

/// Says who we are, as the last member of `_meta`, whose end it writes.
fn push_our_info(out: &mut Vec<u8>, before: &str) {
    for part in [before, "\"", SERVER_INFO, "\":", OUR_INFO, "}"] {
        out.extend_from_slice(part.as_bytes());
    }
}
