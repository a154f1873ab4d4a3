//! The commands, one file each: its arguments and what it does. Only here is anything written to standard output.

pub(crate) mod approvals;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod disconnect;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod example_server;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod logs;
pub(crate) mod manifest;
pub(crate) mod marks;
pub(crate) mod receipts;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod session;
pub(crate) mod status;
pub(crate) mod stdio;
pub(crate) mod stdio_gateway;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod version;

use std::io::{self, BufRead, Write};

use anyhow::Context;
use clap::Args;

use crate::environment::variable;
use crate::exit::Failure;
use crate::place::DataPlace;
use crate::terminal::{Style, View, wrap};

/// What each command takes that asks the running gateway.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    data: DataPlace,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

/// Writes to standard output. A reader that has gone away, such as `head`, has seen enough.
pub(crate) fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        tracing::debug!(%error, "standard output is closed");
    }
}

/// How far from the left text may stand behind a name.
const WIDEST_NAME: usize = 24;

/// Writes running text to standard output, its lines broken where a terminal ends. Lines to be copied stay whole.
pub(crate) fn tell(text: &str) {
    tell_in_colour(text, |_| Style::Plain);
}

/// The same, each line in the colour of what it says.
pub(crate) fn tell_in_colour(text: &str, style: impl Fn(&str) -> Style) {
    let view = View::stdout();
    let painted = |line: &str| format!("{}\n", view.paint(style(line), &broken(line, view)));
    print(&text.lines().map(painted).collect::<String>());
}

/// A line, broken where a terminal ends.
fn broken(line: &str, view: View) -> String {
    let Some(width) = view.width else { return line.to_owned() };
    let start = line.trim_start();
    let is_copied = ["highwater ", "curl ", "{", "}", "\""].iter().any(|sign| start.starts_with(sign));
    if is_copied {
        return line.to_owned();
    }
    let lead = line.chars().count() - start.chars().count();
    // What stands behind a name in a column of its own goes on below itself.
    let column = start.find("  ").map(|at| {
        let rest = start.get(at..).unwrap_or_default();
        lead + start.chars().count() - rest.trim_start().chars().count()
    });
    let indent = column.filter(|column| *column <= WIDEST_NAME).unwrap_or(lead + 2);
    wrap(line, width, indent)
}

/// Who goes on record for what a person does.
pub(crate) fn named(person: Option<&str>) -> String {
    person
        .map(str::to_owned)
        .or_else(|| variable("USER"))
        .or_else(|| variable("LOGNAME"))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "operator".to_owned())
}

/// Asks somebody; anything but a yes is a no.
pub(crate) fn yes(question: &str) -> Result<bool, Failure> {
    print(&format!("{question} [y/N] "));
    std::io::stdout().flush().context("cannot ask")?;
    let mut said = String::new();
    std::io::stdin().lock().read_line(&mut said).context("cannot hear the answer")?;
    Ok(matches!(said.trim(), "y" | "yes"))
}
