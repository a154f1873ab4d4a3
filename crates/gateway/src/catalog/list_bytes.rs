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
use highwater_upstream::control::ListKind;

use super::merge::Shelf;
use super::station::Stock;
use super::view::{Row, ToolRow};

/// What the modern era wants at the end of a list. Our lists depend on who asks, so they are nobody else's.
const MODERN_TAIL: &str = r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#;

/// A list result without its closing brace, so that each era can add its own end.
pub(super) struct ListBytes {
    pub(super) bytes: Bytes,
    /// Where each entry stands.
    items: Vec<Range<usize>>,
}

// === impl ListBytes ===

impl ListBytes {
    pub(super) fn start(kind: ListKind) -> String {
        format!("{{\"{}\":[", kind.member())
    }

    pub(super) fn build<'t>(kind: ListKind, items: impl Iterator<Item = &'t str>, shelves: &[Shelf]) -> Self {
        let listing = |stock: &Stock| match kind {
            ListKind::Tools => Arc::clone(&stock.tools),
            ListKind::Prompts => Arc::clone(&stock.prompts),
            ListKind::Resources => Arc::clone(&stock.resources),
            ListKind::ResourceTemplates => Arc::clone(&stock.templates),
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
        for stock in shelves.iter().filter_map(|(_, stock)| stock.as_ref()) {
            for (key, value) in &listing(stock).rest {
                let Ok(value) = std::str::from_utf8(value) else { continue };
                let shown = if key == "_meta" { unforged_meta(value) } else { value.to_owned() };
                let emptied = shown == "{}" && value != "{}";
                if !emptied && written.insert(key.clone()) {
                    out.push(',');
                    out.push_str(&quote(key));
                    out.push(':');
                    out.push_str(&shown);
                }
            }
        }
        Self { bytes: Bytes::from(out), items: places }
    }

    /// The same list with a member of `_meta`, as JSON text. It has no places of entries.
    pub(super) fn with_meta(&self, key: &str, value: &str) -> Self {
        let whole = format!("{}}}", String::from_utf8_lossy(&self.bytes));
        let mut edited = edit_object(&whole, &[("_meta", Edit::Merge(&[(key, Edit::Set(value))]))]);
        edited.truncate(edited.trim_end().len() - 1);
        Self { bytes: Bytes::from(edited), items: Vec::new() }
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

    /// A whole response; an empty one where there is no such list.
    pub(super) fn response(list: Option<&Self>, era: Era, id: &str) -> Vec<u8> {
        let body: &[u8] = list.map_or(b"{", |list| &list.bytes);
        let tail = match era {
            Era::Legacy => "",
            Era::Modern => MODERN_TAIL,
        };
        let mut out = Vec::with_capacity(body.len() + tail.len() + id.len() + 48);
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(br#","result":"#);
        out.extend_from_slice(body);
        out.extend_from_slice(tail.as_bytes());
        out.extend_from_slice(b"}}");
        out
    }
}

/// The `_meta` of a list without one server's name for itself, which would stand for all of them, and without what only
/// we may say.
fn unforged_meta(meta: &str) -> String {
    let ours: Vec<_> = members(meta).map(|(key, _)| key).filter(|key| key.starts_with(OURS)).collect();
    let mut edits: Vec<(&str, Edit<'_>)> = ours.iter().map(|key| (&**key, Edit::Remove)).collect();
    edits.push((SERVER_INFO, Edit::Remove));
    edit_object(meta, &edits)
}
