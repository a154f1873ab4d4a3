//! `highwater version`: what this program is and what it speaks.

use clap::Args;
use highwater_mcp::era::{LEGACY_VERSIONS, MODERN_VERSION};
use serde_json::json;

use crate::command::print;

/// The commit that this was built from, where whoever built it said so.
const COMMIT: Option<&str> = option_env!("HIGHWATER_COMMIT");

/// What `version` takes.
#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &VersionArgs) {
    let version = env!("CARGO_PKG_VERSION");
    let commit = COMMIT.filter(|commit| !commit.is_empty());
    let protocols: Vec<&str> = std::iter::once(MODERN_VERSION).chain(LEGACY_VERSIONS).collect();
    let layout = highwater_store::layout();
    print(&match args.json {
        true => format!(
            "{:#}\n",
            json!({ "version": version, "commit": commit, "protocolVersions": protocols, "dataLayout": layout })
        ),
        false => format!(
            "highwater     {version}{}\nprotocol      {}\ndata layout   {layout}\n",
            commit.map(|commit| format!(" ({commit})")).unwrap_or_default(),
            protocols.join(", "),
        ),
    });
}
