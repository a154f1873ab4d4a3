//! The capabilities and instructions of a virtual server: the union of what its upstreams declare, reduced to
//! what we can carry. What we do not know stays in, except extensions, which could add methods.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_mcp::annotations::{APPROVAL_EXTENSIONS, TOOL_RESOLUTION, declares_approval};
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::Era;
use highwater_mcp::text::{is_object, member, members, quote, unquote};

use super::server::CatalogServer;
use super::server_listing::ServerListing;
use crate::handshake::TASKS_EXTENSION;

/// Capabilities that only one era has.
const LEGACY_ONLY: &[&str] = &["tasks"];
const MODERN_ONLY: &[&str] = &["extensions"];

/// The capabilities shown to a client of `era`, as JSON text.
///
/// While a server is not up its capabilities are unknown; everything we could carry for it is declared then, since
/// a legacy client asks once and never again.
///
/// `approvals` is whether calls can be approved here. It is said whatever the tools are: they may come later (S5).
pub(crate) fn capabilities(
    era: Era,
    shelves: &[(Arc<CatalogServer>, Option<Arc<ServerListing>>)],
    approvals: bool,
) -> String {
    let mut merged: BTreeMap<String, String> = BTreeMap::new();
    for server_listing in shelves.iter().filter_map(|(_, server_listing)| server_listing.as_ref()) {
        let text = std::str::from_utf8(&server_listing.greeting.capabilities).unwrap_or("{}");
        for (key, value) in members(text) {
            let foreign = match era {
                Era::Legacy => {
                    MODERN_ONLY.contains(&&*key)
                        || (LEGACY_ONLY.contains(&&*key) && server_listing.greeting.era != era)
                }
                Era::Modern => LEGACY_ONLY.contains(&&*key),
            };
            if foreign {
                continue;
            }
            let value = match &*key {
                "extensions" => carried_extensions(value),
                // A shared server's list of tasks would show one client the tasks of another.
                "tasks" => edit_object(value, &[("list", Edit::Remove)]),
                _ => value.to_owned(),
            };
            merged.entry(key.into_owned()).and_modify(|known| *known = union(known, &value)).or_insert(value);
        }
    }
    if shelves.is_empty() || shelves.iter().any(|(_, server_listing)| server_listing.is_none()) {
        for (key, value) in [
            ("prompts", "{}"),
            ("resources", r#"{"subscribe":true}"#),
            ("logging", "{}"),
            ("completions", "{}"),
        ] {
            merged.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    let tools = merged.entry("tools".to_owned()).or_insert_with(|| "{}".to_owned());
    // We answer what would apply to a call for every tool, whether or not its server does.
    match era {
        Era::Legacy => *tools = edit_object(tools, &[("resolve", Edit::Set("true"))]),
        Era::Modern => {
            *tools = edit_object(tools, &[("resolve", Edit::Remove)]);
            let extensions = merged.entry("extensions".to_owned()).or_insert_with(|| "{}".to_owned());
            *extensions = edit_object(extensions, &[(TOOL_RESOLUTION, Edit::Set("{}"))]);
        }
    }
    // A server that verifies approvals itself is asked for its challenges through us.
    let verifies = |server_listing: &Arc<ServerListing>| {
        std::str::from_utf8(&server_listing.greeting.capabilities).is_ok_and(declares_approval)
    };
    if approvals || shelves.iter().filter_map(|(_, server_listing)| server_listing.as_ref()).any(verifies) {
        let extensions = merged.entry("extensions".to_owned()).or_insert_with(|| "{}".to_owned());
        *extensions = edit_object(extensions, &APPROVAL_EXTENSIONS.map(|key| (key, Edit::Set("{}"))));
    }
    // Each list that is offered may change by ourselves, whatever its servers can tell: a person approves something, the
    // configuration or a grant changes, a server comes up late or is found to be another. Clients are told of all of it.
    for key in ["tools", "prompts", "resources"] {
        if let Some(value) = merged.get_mut(key) {
            *value = edit_object(value, &[("listChanged", Edit::Set("true"))]);
        }
    }
    let mut out = String::from("{");
    for (index, (key, value)) in merged.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&quote(key));
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    out
}

/// The instructions of all servers as a JSON string literal: one server's as they are, several under their aliases.
pub(crate) fn instructions(shelves: &[(Arc<CatalogServer>, Option<Arc<ServerListing>>)]) -> Option<String> {
    let texts: Vec<(&str, &str)> = shelves
        .iter()
        .filter_map(|(catalog_server, server_listing)| {
            let literal = server_listing.as_ref()?.greeting.instructions.as_ref()?;
            Some((catalog_server.id().as_str(), std::str::from_utf8(literal).ok()?))
        })
        .collect();
    match texts.as_slice() {
        [] => None,
        [(_, literal)] if shelves.len() == 1 => Some((*literal).to_owned()),
        several => {
            let parts: Vec<String> = several
                .iter()
                .filter_map(|(alias, literal)| Some(format!("# {alias}\n\n{}", unquote(literal)?)))
                .collect();
            Some(quote(&parts.join("\n\n")))
        }
    }
}

fn carried_extensions(extensions: &str) -> String {
    match member(extensions, TASKS_EXTENSION) {
        Some(settings) => format!("{{{}:{settings}}}", quote(TASKS_EXTENSION)),
        None => "{}".to_owned(),
    }
}

/// Both objects in one, `true` before `false`, the first otherwise. Something that is no object stays as it is.
fn union(known: &str, other: &str) -> String {
    if !is_object(known) || !is_object(other) {
        return if known == "false" { other.to_owned() } else { known.to_owned() };
    }
    let mut out = known.to_owned();
    for (key, value) in members(other) {
        let value = match member(&out, &key) {
            Some(present) => union(present, value),
            None => value.to_owned(),
        };
        out = edit_object(&out, &[(&key, Edit::Set(&value))]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_keeps_what_either_side_has() {
        assert_eq!(
            union(r#"{"a":{"x":false},"u":1}"#, r#"{"a":{"x":true,"y":2},"b":{}}"#),
            r#"{"a":{"x":true,"y":2},"u":1,"b":{}}"#
        );
    }

    #[test]
    fn extensions_that_could_add_methods_are_dropped() {
        let text = r#"{"x.y/z":{},"io.modelcontextprotocol/tasks":{"a":1}}"#;
        assert_eq!(carried_extensions(text), r#"{"io.modelcontextprotocol/tasks":{"a":1}}"#);
    }
}
