//! What definitions say in so many words.

use std::collections::HashMap;
use std::sync::Arc;

use highwater_mcp::parameters;
use highwater_mcp::text::{is_object, member, string_member};
use highwater_notation::Parameters;

use super::server_listing::ServerListing;

/// What each prompt declares. The first of a name counts, as it does in the list.
pub(super) fn prompts(server_listing: &ServerListing) -> HashMap<Arc<str>, Parameters> {
    let mut prompts = HashMap::new();
    for text in server_listing.prompts.items.iter().filter_map(|item| std::str::from_utf8(item).ok()) {
        if let (Some(name), Some(declared)) = (string_member(text, "name"), parameters::of_prompt(text)) {
            prompts.entry(name.into()).or_insert(declared);
        }
    }
    prompts
}

/// Whether a tool says that it reaches anybody's world.
pub(super) fn says_open_world(tool: &str) -> bool {
    let annotations = member(tool, "annotations").filter(|annotations| is_object(annotations));
    annotations
        .and_then(|annotations| member(annotations, "openWorldHint"))
        .is_some_and(|said| said == "true")
}
