//! Real agent hosts with the shipped program connected to them, driven by a scripted model.
//!
//! Each runs in a network of its own that has nothing but loopback, and in homes of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Stage;
use super::tally::Tally;
use crate::command::quiet;
use crate::install::{self, Group};

/// The stories take minutes; one that hangs need not be heard to its end.
const STORIES_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs a script in the network of its own that it finds, without the privileges that it took to make it: what is refused to
/// an ordinary user is refused.
const ALONE: &str = "ip link set lo up && exec unshare --map-user=1000 --map-group=1000 python3 \"$@\"";

/// A host by its name, and the program below its group's folder. Its package starts the same by a script that needs Node.
type HostProgram = (&'static str, Group, &'static [&'static str]);

const CLAUDE_CODE: HostProgram = (
    "claude-code",
    Group::ClaudeCode,
    &["@anthropic-ai/claude-code-linux-x64/claude", "@anthropic-ai/claude-code-linux-arm64/claude"],
);

const CODEX: HostProgram = (
    "codex",
    Group::Codex,
    &[
        "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
    ],
);

/// One conversation of one host.
pub(super) fn ordinary(stage: &Stage) -> Result<Tally> {
    run(stage, &stage.repository.results("hosts")?, CLAUDE_CODE, &[])
}

/// Every story of every host.
pub(super) fn everything(stage: &Stage) -> Result<Tally> {
    let results = stage.repository.results("hosts")?;
    let mut tally = run(stage, &results, CLAUDE_CODE, &["--all"])?;
    tally += run(stage, &results, CODEX, &["--all"])?;
    Ok(tally)
}

fn run(stage: &Stage, results: &Path, host: HostProgram, options: &[&str]) -> Result<Tally> {
    let (name, group, _) = host;
    install::require("unshare", "util-linux")?;
    install::require("ip", "iproute2")?;
    let results = results.join(name);
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", ALONE, "sh"]);
    command.arg(stage.repository.path("peers/hosts/run.py")).args(["--host", name]).args(options);
    command.arg("--program").arg(program(stage, host)?);
    command.arg("--highwater").arg(stage.built()?.program("highwater")?);
    command.arg("--folder").arg(&results);
    let outcome = quiet(&mut command, STORIES_LIMIT)?;
    std::fs::create_dir_all(&results)
        .and_then(|()| std::fs::write(results.join("stories.log"), &outcome.output))
        .context("cannot keep the output")?;
    let tally = Tally::of_lines(&outcome.output, outcome.success);
    println!("  {:<34}{:>4} passed{:>4} failed", group.name(), tally.passed, tally.failed);
    if tally.failed > 0 {
        outcome.output.lines().filter(|line| !line.starts_with("ok ")).for_each(|line| println!("  {line}"));
    }
    Ok(tally)
}

fn program(stage: &Stage, (name, group, places): HostProgram) -> Result<PathBuf> {
    let modules = group.folder(&stage.repository).join("node_modules");
    match places.iter().map(|place| modules.join(place)).find(|program| program.is_file()) {
        Some(program) => Ok(program),
        None => bail!("the package of {name} has no program for this machine below `{}`", modules.display()),
    }
}
