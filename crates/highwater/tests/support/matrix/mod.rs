//! The stories of the matrix, told in front of the fixture.

pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod questions;
pub(crate) mod reads;
pub(crate) mod tasks;

use std::path::Path;

use anyhow::Context;
use highwater_testkit::client::peer::{Journal, fixture_program};
use serde_json::Value;

use crate::stage::{ALIAS, Program, Stage, Upstream, highwater};

/// The fixture with its extras, as the upstream of a cell.
pub(crate) fn fixture(upstream: Upstream, _: &Path, _: &Journal) -> anyhow::Result<Program> {
    let transport: &[&str] = match upstream {
        Upstream::StdioLegacy => &["--stdio", "--era", "legacy"],
        Upstream::StdioModern => &["--stdio", "--era", "modern"],
        Upstream::HttpLegacy => &["--era", "legacy"],
        Upstream::HttpModern => &["--era", "modern"],
        Upstream::Sse => &["--sse", "--era", "legacy"],
    };
    let arguments = ["--extras"].iter().chain(transport).map(|argument| (*argument).to_owned()).collect();
    Ok(Program { path: fixture_program(highwater())?, arguments })
}

/// How many times the server was asked to do this.
fn ran(stage: &Stage, method: &str) -> usize {
    stage.journal.of(method).len()
}

/// The name a client knows a tool or prompt by.
fn shown(name: &str) -> String {
    format!("{ALIAS}__{name}")
}

/// The URI a client knows a resource by.
fn shown_uri(uri: &str) -> String {
    format!("{ALIAS}+{uri}")
}

/// The entry of a list with this member.
fn entry<'a>(list: &'a Value, member: &str, value: &str) -> anyhow::Result<&'a Value> {
    let entries = list.as_array().context("no list")?;
    let found = entries.iter().find(|entry| entry.get(member).is_some_and(|found| found == value));
    found.with_context(|| format!("nothing with `{member}` `{value}` is listed: {list}"))
}
