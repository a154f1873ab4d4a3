//! `cargo xtask bench`: what Highwater costs, as multiples of a bare reverse proxy measured beside it.
//!
//! One upstream and one load generator of our own; directly, through the floor, and through Highwater in turn,
//! round after round. The figures are judged against the bars of the design in [`bars`]; a missed bar is
//! reported and is not a failure, because a timing depends on the machine. A wrong answer is a failure.

mod bars;
mod gateway;
mod machine;
mod parts;
mod plan;
mod record;
mod report;
mod run;
mod stand;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Args;

use parts::Binaries;
use run::Runner;

/// What `cargo xtask bench` is told.
#[derive(Args, Clone, Debug)]
pub(crate) struct BenchArgs {
    /// How many times everything is measured; the median is reported.
    #[arg(long)]
    rounds: Option<usize>,
    /// Fewer and shorter measurements, in less than two minutes.
    #[arg(long)]
    quick: bool,
    /// Where the figures are written as JSON [default: `bench/bench.json` in the target directory].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only measurements whose name contains this, for example `call/100B`, `list` or `start`.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Measure this binary instead of building `highwater`.
    #[arg(long, value_name = "FILE")]
    gateway_bin: Option<PathBuf>,
    /// Measure a second floor in the place of Highwater, to see how far two equal programs differ here.
    #[arg(long, conflicts_with = "gateway_bin")]
    stand_in: bool,
    /// Use the release binaries as they are.
    #[arg(long)]
    no_build: bool,
    /// Let agents in without a token.
    #[arg(long)]
    auth_none: bool,
    /// In place of everything else: how long `explain` takes over so many GiB of records. It takes minutes and that much disk
    /// for a while.
    #[arg(long, value_name = "GIB", conflicts_with_all = ["stand_in", "quick"])]
    record: Option<usize>,
    /// How many rules Highwater evaluates for every call.
    #[arg(long, default_value_t = 100)]
    rules: usize,
}

/// Everything after the build must fit in this much time; rounds that would not are left out.
const BUDGET: Duration = Duration::from_secs(11 * 60);
const QUICK_BUDGET: Duration = Duration::from_secs(105);

/// Builds what is needed, measures, prints the tables and writes the JSON file.
pub(crate) fn run(args: BenchArgs) -> anyhow::Result<()> {
    let target = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .exec()
        .context("`cargo metadata` failed")?
        .target_directory
        .into_std_path_buf();
    // Before the build, which is our own load.
    let before = machine::Load::now();
    if !args.no_build {
        build(&args)?;
    }
    let release = target.join("release");
    let binaries = Binaries::find(&release, args.gateway_bin.as_deref(), args.stand_in)?;
    let folder = target.join("bench");
    // What an earlier run left behind, which it does if it fails: its logs explain why.
    let work = folder.join("run");
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("cannot remove `{}`", work.display()))?;
    }
    fs::create_dir_all(&work).with_context(|| format!("cannot make the folder `{}`", work.display()))?;

    if let (Some(gibibytes), Some(program)) = (args.record, &binaries.gateway) {
        record::run(program, &work, gibibytes)?;
        return fs::remove_dir_all(&work).with_context(|| format!("cannot remove `{}`", work.display()));
    }

    let budget = if args.quick { QUICK_BUDGET } else { BUDGET };
    let outcome = Runner::new(&args, &binaries, &work, Instant::now() + budget).run()?;
    let out = args.out.clone().unwrap_or_else(|| folder.join("bench.json"));
    report::print(&outcome, before)?;
    report::write_json(&outcome, before, &out)?;
    let errors = outcome.errors();
    ensure!(errors == 0, "{errors} calls were answered wrongly or not at all; see `{}`", work.display());
    fs::remove_dir_all(&work).with_context(|| format!("cannot remove `{}`", work.display()))?;
    Ok(())
}

fn build(args: &BenchArgs) -> anyhow::Result<()> {
    // On its own: built together with the other programs, ours would have what only they ask of the libraries.
    if !args.stand_in && args.gateway_bin.is_none() {
        cargo_build(&["--package", "highwater"])?;
    }
    cargo_build(&["--package", "highwater-testkit", "--bins"])
}

fn cargo_build(packages: &[&str]) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release"]).args(packages);
    let status = cargo.status().context("`cargo build` could not be started")?;
    ensure!(status.success(), "`cargo build` failed");
    Ok(())
}
