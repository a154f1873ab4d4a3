//! The `highwater` command.

mod announce;
mod cli;
mod command;
mod configuration;
mod connection;
mod copies;
mod deferred;
mod environment;
mod example;
mod exit;
mod explain;
mod life;
mod local;
mod log;
mod log_file;
mod memory;
mod new_question;
mod page;
mod place;
mod reevaluate;
mod reload;
mod report;
mod running;
mod scenario;
mod signals;
mod terminal;
mod wire;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The machine's own allocator costs a call several microseconds; musl's far more.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Before anything else: the guard stands over every child and must stay as small as a process can be.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|command| command == "guard") {
        return highwater_sandbox::guard::run(arguments);
    }
    match cli::Cli::of_process().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
