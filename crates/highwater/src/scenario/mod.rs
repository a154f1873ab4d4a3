//! Scenario files: a story in YAML, told through a real gateway. They are the executable part of the specification,
//! and what `highwater test` runs for people who want to know whether their policy does what they think.
//!
//! ```text
//! text ── parse ──> Scenario ── run ──> Told ── report ──> words or JSON
//! ```
//!
//! A telling starts a gateway with a data directory of its own and a server process for each server of the story.
//! Whether a call ran is read from what the server wrote down, never from what the gateway answered.

mod file;
mod model;
mod parse;
pub(crate) mod report;
mod run;
mod script;
pub(crate) mod scripted;

pub(crate) use self::model::Scenario;
pub(crate) use self::run::{Told, tell};

use highwater_config::Diagnostics;

/// Reads a scenario. Everything that is wrong with it, or with the configuration in it, is said with its place.
pub(crate) fn read(name: &str, text: &str) -> Result<Scenario, Diagnostics> {
    let scenario = parse::scenario(name, text)?;
    run::check_configurations(&scenario)?;
    Ok(scenario)
}
