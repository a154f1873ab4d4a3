//! The servers, one a line.

use std::collections::BTreeSet;

use anyhow::Context;
use highwater_core::pin::visible;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exit::Failure;

/// What the table shows of a server.
#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    #[serde(default)]
    label: Option<String>,
    state: String,
    version: Option<String>,
    tools: usize,
    approval: String,
    held: usize,
    #[serde(default)]
    drifted: usize,
    believed: usize,
    vouched: bool,
    manifest: String,
    #[serde(default)]
    manifest_says: Option<String>,
    /// Nothing while nobody knows what it has.
    profile: Option<String>,
    #[serde(default)]
    by_file: bool,
    in_flight: usize,
    error: Option<String>,
    #[serde(default)]
    unknown_names: Vec<UnknownName>,
}

/// A name that somebody wrote and that names nothing.
#[derive(Debug, Deserialize)]
struct UnknownName {
    says: String,
}

const HEADINGS: [&str; 8] =
    ["server", "state", "version", "tools", "what it is", "approval", "in flight", "error"];

/// The table of what the gateway says.
pub(super) fn table(servers: &RawValue) -> Result<String, Failure> {
    let rows: Vec<Row> =
        serde_json::from_str(servers.get()).context("the gateway speaks another language")?;
    Ok(lined_up(&rows))
}

fn lined_up(rows: &[Row]) -> String {
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    for row in rows {
        lines.push([
            match &row.label {
                Some(label) => format!("{} ({})", row.name, one_line(label)),
                None => row.name.clone(),
            },
            row.state.clone(),
            row.version.clone().unwrap_or_else(|| "-".to_owned()),
            row.tools.to_string(),
            what_it_is(row),
            approval(row),
            row.in_flight.to_string(),
            row.error.as_deref().map(one_line).unwrap_or_default(),
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
    // A pattern of a token may speak of several servers, and is told once.
    let unknown: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.unknown_names).map(|name| name.says.as_str()).collect();
    for says in unknown {
        text.push_str(&format!("warning: {}\n", one_line(says)));
    }
    text
}

/// The operator's one word for it; a person's, where the file has none, can be taken back.
fn what_it_is(row: &Row) -> String {
    match (row.profile.as_deref(), row.by_file) {
        (None, _) => "-".to_owned(),
        (Some("unknown"), false) => "not said".to_owned(),
        (Some(word), true) => word.to_owned(),
        (Some(word), false) => format!("{word}, as you said"),
    }
}

/// What was approved, on whose word, and what became of the manifest if there is or should be one.
fn approval(row: &Row) -> String {
    // A server is started when it is first used, and only then shows what it has.
    let state = if row.approval == "unseen" { "not seen yet" } else { &row.approval };
    let mut text = state.to_owned();
    if row.approval == "approved" && row.vouched && row.manifest != "verified" {
        text.push_str(" (vouched for)");
    }
    if row.believed > 0 && !row.vouched && row.manifest != "verified" {
        text.push_str(&format!(", {} believed", row.believed));
    }
    if row.drifted > 0 {
        text.push_str(&format!(", {} drifted", row.drifted));
    }
    if row.held > 0 {
        text.push_str(&format!(", {} held", row.held));
    }
    match (row.manifest.as_str(), &row.manifest_says) {
        ("absent", None) => {}
        (state, None) => text.push_str(&format!(", manifest {state}")),
        (state, Some(says)) => text.push_str(&format!(", manifest {state}: {}", one_line(says))),
    }
    text
}

/// A server's own words may hold line breaks and worse; one line of plain text is shown.
fn one_line(words: &str) -> String {
    visible(words).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up_and_shows_no_control_characters() {
        let rows: Vec<Row> = serde_json::from_str(
            r#"[{"name":"mail","state":"up","version":"2026-07-28","tools":5,"approval":"approved","held":0,"believed":5,"in_flight":1,
                 "vouched":true,"manifest":"absent","profile":"private","by_file":true},
                {"name":"notes","label":"My notes","state":"up","tools":3,"approval":"drifted","held":0,"drifted":1,"believed":2,"in_flight":0,
                 "vouched":false,"manifest":"absent","profile":"local","by_file":false},
                {"name":"repo","state":"failed","tools":0,"approval":"held","held":2,"believed":0,"in_flight":0,"error":"exit\ncode 1",
                 "vouched":false,"manifest":"invalid","manifest_says":"it expired"}]"#,
        )
        .unwrap();
        assert_eq!(
            lined_up(&rows),
            "server            state   version     tools  what it is          approval                                    in flight  error\n\
             mail              up      2026-07-28  5      private             approved (vouched for)                      1\n\
             notes (My notes)  up      -           3      local, as you said  drifted, 2 believed, 1 drifted              0\n\
             repo              failed  -           0      -                   held, 2 held, manifest invalid: it expired  0          exit code 1\n"
        );
    }

    #[test]
    fn a_name_that_names_nothing_is_told_once_below_the_table() {
        let row = |name: &str| {
            format!(
                r#"{{"name":"{name}","state":"up","tools":1,"approval":"approved","held":0,"believed":0,"in_flight":0,
                "vouched":false,"manifest":"absent","unknown_names":[{{"name":"sned","place":"x","says":"`sned` names\nno tool"}}]}}"#
            )
        };
        let rows: Vec<Row> = serde_json::from_str(&format!("[{},{}]", row("mail"), row("post"))).unwrap();
        let table = lined_up(&rows);
        let told: Vec<&str> = table.lines().filter(|line| line.starts_with("warning")).collect();
        assert_eq!(told, ["warning: `sned` names no tool"]);
    }
}
