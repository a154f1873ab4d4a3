//! `highwater servers`: how the servers of the running gateway are.

use anyhow::Context;
use clap::Args;
use serde::Deserialize;

use crate::command::print;
use crate::exit::Failure;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit};
use crate::place::DataPlace;

/// What `servers` takes.
#[derive(Debug, Args)]
pub(crate) struct ServersArgs {
    #[command(flatten)]
    data: DataPlace,

    /// Print JSON in place of a table.
    #[arg(long)]
    json: bool,
}

/// What the table shows of a server.
#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    state: String,
    version: Option<String>,
    tools: usize,
    in_flight: usize,
    error: Option<String>,
}

const HEADINGS: [&str; 6] = ["server", "state", "version", "tools", "in flight", "error"];

pub(crate) fn run(args: &ServersArgs) -> Result<(), Failure> {
    let data = args.data.path()?;
    let visit = visit(&data, &Hello::ask(Ask::Servers)).context("cannot reach the gateway")?;
    let servers = match visit {
        Visit::Welcome { welcome, .. } => {
            welcome.answer.context("the gateway does not say how its servers are")?
        }
        Visit::Refused(why) => return Err(Failure::failed(why)),
        Visit::Absent => {
            return Err(Failure::failed(format_args!("no gateway runs on `{}`", data.display()))
                .help("start one with `highwater serve`, or name its directory with `--data-dir`"));
        }
    };
    if args.json {
        print(&format!("{}\n", servers.get()));
    } else {
        let rows: Vec<Row> =
            serde_json::from_str(servers.get()).context("the gateway speaks another language")?;
        print(&table(&rows));
    }
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    for row in rows {
        lines.push([
            row.name.clone(),
            row.state.clone(),
            row.version.clone().unwrap_or_else(|| "-".to_owned()),
            row.tools.to_string(),
            row.in_flight.to_string(),
            // A server's own words may hold line breaks and worse; one line of plain text is shown.
            row.error
                .iter()
                .flat_map(|error| error.chars())
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect(),
        ]);
    }
    let mut widths = [0; HEADINGS.len()];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up_and_shows_no_control_characters() {
        let rows: Vec<Row> = serde_json::from_str(
            r#"[{"name":"mail","state":"up","version":"2026-07-28","tools":5,"in_flight":1},
                {"name":"repo","state":"failed","tools":0,"in_flight":0,"error":"exit\ncode 1"}]"#,
        )
        .unwrap();
        assert_eq!(
            table(&rows),
            "server  state   version     tools  in flight  error\n\
             mail    up      2026-07-28  5      1\n\
             repo    failed  -           0      0          exit code 1\n"
        );
    }
}
