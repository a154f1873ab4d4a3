//! Everything a tool's definition says, in whichever place it says it.

use highwater_core::annotation::{Authority, Claim};

use super::heard::{Heard, Place, Reading, Subject};
use super::resolution::ServerSays;
use crate::text::members;

/// The claims of a tool's definition: of the tool itself, of its `annotations` and of its `_meta`.
pub fn tool_claims(tool: &str, server: &ServerSays, by: Authority) -> Reading {
    let mut heard = Heard::new(Subject::Tool, by);
    for (key, raw) in members(tool) {
        match &*key {
            "annotations" => heard.annotations(raw),
            "_meta" => heard.meta(raw),
            // What every tool has, and what says nothing of it.
            "name" | "title" | "description" | "inputSchema" | "outputSchema" | "icons" => {}
            key => heard.member(Place::Tool, key, raw),
        }
    }
    if let Some(tokens) = &server.accept_from {
        // A tool's own policy replaces its server's.
        heard.unless_said(|claim| matches!(claim, Claim::AcceptFrom(_)), Claim::AcceptFrom(tokens.clone()));
    }
    heard.finish()
}
