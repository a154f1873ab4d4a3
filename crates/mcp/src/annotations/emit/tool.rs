//! A tool as clients see it: its hints no milder than its contract, and the contract beside them.

use highwater_core::annotation::{Contract, EffectiveHints};

use super::contract_json;
use crate::annotations::TOOL_RESOLUTION;
use crate::annotations::ours::{self, CONTRACT, DECLARED, forged};
use crate::edit::{Edit, edit_object};
use crate::text::{is_object, member, members, quote_into};

/// A hint: its key, its severe value, and whether the contract calls for that.
type Hint = (&'static str, bool, bool);

/// The tool under the name clients know it by.
///
/// A hint is edited only where the server's reads milder than the contract; its originals then stand in `_meta`.
/// Every other byte stays.
pub fn shown_tool(tool: &str, name: &str, contract: &Contract) -> String {
    let (mut annotations, mut meta) = (None, None);
    for (key, raw) in members(tool) {
        match &*key {
            "annotations" => annotations = Some(raw).filter(|raw| is_object(raw)),
            "_meta" => meta = Some(raw),
            _ => {}
        }
    }
    let hints = severe(contract.hints());
    let mut edited: Vec<(&str, Edit<'_>)> = Vec::new();
    let mut declared = String::new();
    if let Some(annotations) = annotations {
        for (key, value, needed) in hints {
            let Some(raw) = member(annotations, key) else { continue };
            declared.push_str(if declared.is_empty() { "{" } else { "," });
            quote_into(&mut declared, key);
            declared.push(':');
            declared.push_str(raw);
            let text = if value { "true" } else { "false" };
            // Whatever is not the severe value itself, somebody may take for the mild one.
            if needed && raw != text {
                edited.push((key, Edit::Set(text)));
            }
        }
        declared.push('}');
    }
    let contract = contract_json(contract);
    let forged = meta.map(forged).unwrap_or_default();
    let mut noted = vec![(CONTRACT, Edit::Set(&contract))];
    if !edited.is_empty() {
        noted.push((DECLARED, Edit::Set(&declared)));
    }
    noted.push((TOOL_RESOLUTION, Edit::Merge(&[("resolvable", Edit::Set("true"))])));
    ours::remove(&forged, &mut noted);

    let mut quoted = String::with_capacity(name.len() + 2);
    quote_into(&mut quoted, name);
    let mut edits = vec![("name", Edit::Set(&quoted)), ("_meta", Edit::Merge(&noted))];
    if !edited.is_empty() {
        edits.push(("annotations", Edit::Merge(&edited)));
    }
    edit_object(tool, &edits)
}

/// The four hints with their severe values.
fn severe(hints: EffectiveHints) -> [Hint; 4] {
    [
        ("readOnlyHint", false, !hints.read_only),
        ("destructiveHint", true, hints.destructive),
        ("idempotentHint", false, !hints.idempotent),
        ("openWorldHint", true, hints.open_world),
    ]
}
