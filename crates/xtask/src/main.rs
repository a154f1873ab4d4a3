//! `cargo xtask`: everything that is done to this repository apart from compiling it.
//!
//! `test` is the one command that says whether a change is good; the others are its parts that are also
//! useful alone.

#![expect(clippy::print_stdout, reason = "a command-line tool whose output is its result")]

mod bench;
mod codegen;
mod command;
mod eval;
mod install;
mod repository;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::repository::Repository;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Checks, measures and generates parts of this repository")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check and every test; install what they need
    Test(test::TestArguments),
    /// Measure the gateway against a bare reverse proxy
    Bench(bench::BenchArgs),
    /// Measure what the gateway stops and what it asks, on tasks and attacks of others
    Eval(eval::EvalArguments),
    /// Check what no compiler checks: arrows between crates, licences, headers, links
    Tidy,
    /// Write the schema and the reference pages from the program itself
    Codegen(codegen::CodegenArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = Repository::open().and_then(|repository| match arguments.task {
        Task::Test(arguments) => test::run(repository, &arguments),
        Task::Bench(arguments) => bench::run(arguments).map(|()| ExitCode::SUCCESS),
        Task::Eval(arguments) => eval::run(&repository, &arguments),
        Task::Tidy => tidy::run(&repository),
        Task::Codegen(arguments) => codegen::run(&repository, &arguments),
    });
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
