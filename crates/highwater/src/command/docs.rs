//! `highwater docs`: reference pages made from the program itself, so that they cannot say anything else.

use clap::{Arg, ArgAction, Args, Command, CommandFactory};
use highwater_core::policy::{FACTS, Kind, Phase, Rises};

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
    /// Every fact that rules can ask for.
    Facts,
}

pub(crate) fn run(args: &DocsArgs) {
    match args.page {
        Page::Configuration => print(&highwater_config::reference_markdown()),
        Page::Commands => print(&commands()),
        Page::Facts => print(&facts()),
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
        page.push_str(&section(command, command.get_name(), 2));
    }
    page
}

fn section(command: &Command, name: &str, depth: usize) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut text =
        format!("\n{} `{name}`\n\n{}\n\n```text\n{usage}\n```\n", "#".repeat(depth), about(command));
    let own = |option: &&Arg| !option.is_global_set() && !option.is_hide_set() && option.get_id() != "help";
    let options: Vec<String> = command.get_arguments().filter(own).map(item).collect();
    if !options.is_empty() {
        text.push('\n');
        text.extend(options);
    }
    for inner in command.get_subcommands().filter(|command| is_shown(command)) {
        text.push_str(&section(inner, &format!("{name} {}", inner.get_name()), depth + 1));
    }
    text
}

fn facts() -> String {
    let mut page = String::from(
        "# Facts\n\n<!-- Made from the fact table of the program; edit that. -->\n\n\
         What the conditions of [rules](../guide/rules.md), waivers and cases can ask for. A fact is known in some \
         phases: `call` before a tool is called, `resource` before a resource, prompt or completion is asked for, \
         `result` before a reply is released, `list` when tools are listed. The facts of one rule must meet in some \
         phase. Facts marked ↑ can only rise, and those marked ↓ only fall, as the session reads more.\n\n\
         Besides these there is `arguments.` followed by the pointer of an argument without its first slash: \
         `arguments.to`, `arguments.message/to`, `arguments.items/0/id`. It is known in `call`, `resource` and \
         `result`, and unknown if the call has no such argument.\n",
    );
    let mut family = "";
    for fact in FACTS {
        let own = fact.path.split('.').next().unwrap_or(fact.path);
        if own != family {
            family = own;
            page.push_str(&format!("\n## `{family}`\n\n"));
        }
        let moves = match fact.rises {
            Rises::No => "",
            Rises::Up => " ↑",
            Rises::Down => " ↓",
        };
        let phases: Vec<&str> =
            Phase::ALL.into_iter().filter(|phase| fact.phases.has(*phase)).map(Phase::as_str).collect();
        page.push_str(&format!("- `{}`{moves}: {} {}", fact.path, fact.doc, capital(fact.kind.noun())));
        let words = fact.kind.words().filter(|_| fact.kind != Kind::Bool).unwrap_or_default();
        if !words.is_empty() {
            let between = if matches!(fact.kind, Kind::Enum { ordered: true, .. }) { " < " } else { ", " };
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            page.push_str(&format!(": {}", words.join(between)));
        }
        page.push_str(&match fact.missing() {
            Some(why) => format!(". Never known: {why}, so a rule that asks for it does not load.\n"),
            None => format!(". Known in {}.\n", phases.join(", ")),
        });
    }
    page
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
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
