//! `highwater completions`: what a shell needs to complete our command line.

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::command::print;
use crate::deferred::define_at_once;

/// What `completions` takes.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(), "highwater", &mut script);
    print(&String::from_utf8_lossy(&script));
}

/// The command line without what only we use.
fn shown() -> Command {
    // A shell completes what stands behind `help`, too, which is made of what is defined by then.
    define_at_once();
    let all = Cli::command();
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("highwater").args(all.get_arguments().cloned()).subcommands(commands)
}
