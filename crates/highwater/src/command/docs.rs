//! `highwater docs`: reference pages made from the program itself, so that they cannot say anything else.

use clap::{Arg, ArgAction, Args, Command, CommandFactory};

use crate::cli::Cli;
use crate::command::print;

/// What `docs` takes.
#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Which page.
    page: Page,
}

/// The pages.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Page {
    /// Every key of the configuration.
    Configuration,
    /// Every command.
    Commands,
}

pub(crate) fn run(args: &DocsArgs) {
    match args.page {
        Page::Configuration => print(&highwater_config::reference_markdown()),
        Page::Commands => print(&commands()),
    }
}

fn commands() -> String {
    let mut program = Cli::command();
    program.build();
    let mut page =
        String::from("# Commands\n\n<!-- Made from the help texts of the program; edit those. -->\n\n");
    page.push_str(&format!("{}\n\n", about(&program)));
    page.push_str("Every command takes:\n\n");
    for option in program.get_arguments().filter(|option| option.is_global_set()) {
        page.push_str(&item(option));
    }
    if let Some(after) = program.get_after_help() {
        page.push_str(&format!("\n{after}\n"));
    }
    for command in program.get_subcommands().filter(|command| is_shown(command)) {
        page.push_str(&section(command));
    }
    page
}

fn section(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let name = command.get_name();
    let mut text = format!("\n## `{name}`\n\n{}\n\n```text\n{usage}\n```\n", about(command));
    let own = |option: &&Arg| !option.is_global_set() && !option.is_hide_set() && option.get_id() != "help";
    let options: Vec<String> = command.get_arguments().filter(own).map(item).collect();
    if !options.is_empty() {
        text.push('\n');
        text.extend(options);
    }
    text
}

fn item(option: &Arg) -> String {
    let value = || option.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
    let name = match (option.get_long(), value()) {
        (Some(long), Some(value)) if option.get_action().takes_values() => format!("--{long} {value}"),
        (Some(long), _) => format!("--{long}"),
        (None, Some(value)) if matches!(option.get_action(), ArgAction::Append) => format!("{value}…"),
        (None, Some(value)) => value,
        (None, None) => option.get_id().to_string(),
    };
    let help =
        option.get_long_help().or_else(|| option.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- `{name}`: {}\n", sentence(help.replace('\n', " ")));
    // What a switch can be is of no interest; what a word can be is.
    if option.get_action().takes_values() {
        for value in option.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
            let help =
                value.get_help().map(|help| format!(": {}", sentence(help.to_string()))).unwrap_or_default();
            text.push_str(&format!("  - `{}`{help}\n", value.get_name()));
        }
    }
    text
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or_else(|| command.get_about());
    sentence(about.map(ToString::to_string).unwrap_or_default())
}

/// The text with the full stop that help texts go without.
fn sentence(mut text: String) -> String {
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}
