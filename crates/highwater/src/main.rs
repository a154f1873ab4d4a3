//! The `highwater` command.

mod example;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A security gateway for the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "highwater", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one of the built-in example servers on standard input and output.
    ExampleServer {
        /// Which one.
        which: example::ExampleServer,
        #[command(flatten)]
        args: example::ExampleArgs,
    },
}

fn main() -> ExitCode {
    let Command::ExampleServer { which, args } = Cli::parse().command;
    match example::run(which, &args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(usage) => usage.exit(),
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}
