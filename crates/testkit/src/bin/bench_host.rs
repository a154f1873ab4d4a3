//! Starts a program for a benchmark, times its first answers, prints them as one line of JSON and keeps the
//! program until standard input closes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use highwater_testkit::bench::{Era, host, serve};

#[derive(Parser)]
struct Arguments {
    /// Where the program's standard error goes.
    #[arg(long)]
    log: PathBuf,
    /// Read the agent's token from this file once the program is up.
    #[arg(long)]
    token_file: Option<PathBuf>,
    #[arg(long, default_value = "legacy")]
    era: Era,
    /// How many tools must be listed before the program counts as started.
    #[arg(long)]
    tools: usize,
    /// Seconds until the program counts as failed.
    #[arg(long, default_value_t = 20)]
    patience: u64,
    /// The program and its arguments; `{port}` stands for a free port.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let start = host::Start {
        command: arguments.command,
        log: arguments.log,
        token_file: arguments.token_file,
        era: arguments.era,
        tools: arguments.tools,
        patience: Duration::from_secs(arguments.patience),
    };
    serve::runtime(Some(1))?.block_on(host::run(&start))
}
