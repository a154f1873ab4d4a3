//! `cargo xtask eval`: what the gateway stops and what it asks, on tasks and attacks that others wrote.
//!
//! Nothing here takes a model. The user's calls and the attackers' are known beforehand, so that the same run gives the
//! same figures; they go through the shipped program, and whether a call was made is read from the server.

pub(crate) mod agentdojo;
mod bars;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};

use crate::install::Group;
use crate::repository::Repository;
use agentdojo::{MODES, Mode, Replayer, SUITES};

#[derive(Args)]
pub(crate) struct EvalArguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// The 97 tasks of AgentDojo, and its attackers' goals in each of them
    Agentdojo(AgentDojoArguments),
}

#[derive(Args)]
struct AgentDojoArguments {
    /// One suite of the four; may be repeated
    #[arg(long, value_name = "NAME", value_parser = SUITES)]
    suite: Vec<String>,
    /// One mode; may be repeated
    #[arg(long, value_name = "NAME", value_parser = MODES.map(|mode| mode.name))]
    mode: Vec<String>,
    /// One experiment of the modes that have it; may be repeated
    #[arg(long, value_name = "NAME")]
    experiment: Vec<String>,
    /// Measure this program instead of building `highwater`
    #[arg(long, value_name = "FILE")]
    gateway_bin: Option<PathBuf>,
    /// Keep what earlier runs measured, and measure only what they did not
    #[arg(long)]
    keep: bool,
    /// Put the tables into the documentation
    #[arg(long)]
    write: bool,
}

/// Runs what was chosen, prints the tables, and fails where a bar is missed.
pub(crate) fn run(repository: &Repository, arguments: &EvalArguments) -> Result<ExitCode> {
    let Benchmark::Agentdojo(arguments) = &arguments.benchmark;
    Group::AgentDojo.install(repository)?;
    let program = match &arguments.gateway_bin {
        Some(program) => {
            program.canonicalize().with_context(|| format!("there is no `{}`", program.display()))?
        }
        None => built(repository)?,
    };
    let is_chosen = |chosen: &[String], name: &str| chosen.is_empty() || chosen.iter().any(|one| one == name);
    let folder =
        if arguments.keep { repository.kept_results("eval")? } else { repository.results("eval")? };
    let mut results = agentdojo::Results::default();
    for mode in MODES.iter().filter(|mode| is_chosen(&arguments.mode, mode.name)) {
        let experiments: Vec<&str> =
            mode.experiments.iter().copied().filter(|name| is_chosen(&arguments.experiment, name)).collect();
        for suite in SUITES.into_iter().filter(|suite| is_chosen(&arguments.suite, suite)) {
            let fitting = fitting(&experiments, suite);
            if fitting.is_empty() {
                continue;
            }
            let replay = Replayer { repository, program: &program, folder: &folder };
            results.add(mode, replay.kept_or_made(mode, suite, &fitting)?);
        }
    }
    let tables = table::tables(&results);
    println!("{tables}");
    let judged = bars::judge(&results);
    for bar in &judged {
        println!("{bar}");
    }
    if arguments.write {
        table::write(&repository.path("docs/agentdojo.md"), &tables, &judged)?;
    }
    let missed = judged.iter().filter(|bar| !bar.is_met).count();
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The experiments that a suite has something for.
fn fitting<'a>(experiments: &[&'a str], suite: &str) -> Vec<&'a str> {
    let is_fitting = |name: &&str| match *name {
        "owners" => matches!(suite, "workspace" | "banking"),
        "names" => suite == "slack",
        _ => true,
    };
    experiments.iter().copied().filter(|name| is_fitting(name)).collect()
}

fn built(repository: &Repository) -> Result<PathBuf> {
    let mut cargo = repository.cargo();
    let status = cargo.args(["build", "--quiet", "--package", "highwater", "--bin", "highwater"]).status()?;
    ensure!(status.success(), "`highwater` does not build");
    Ok(repository.target.join("debug/highwater"))
}

/// A mode by its name.
pub(crate) fn mode(name: &str) -> Result<&'static Mode> {
    MODES.iter().find(|mode| mode.name == name).with_context(|| format!("there is no mode `{name}`"))
}
