//! The servers, one a line, and below them what is wrong with those that do not work.

use std::collections::BTreeSet;

use anyhow::Context;
use highwater_notation::Timestamp;
use highwater_pins::visible;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exit::Failure;
use crate::explain::when::{clock, date, moment};
use crate::terminal::{Cell, Style, Table, View};

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
    #[serde(default)]
    starts: u64,
    /// When what it says of itself was last read.
    #[serde(default)]
    looked_at: Option<Timestamp>,
    error: Option<String>,
    #[serde(default)]
    trouble: Option<Trouble>,
    #[serde(default)]
    stderr: Vec<String>,
    #[serde(default)]
    unknown_names: Vec<UnknownName>,
}

/// What is wrong with a server.
#[derive(Debug, Deserialize)]
struct Trouble {
    cause: String,
    #[serde(default)]
    fix: Option<String>,
    #[serde(default)]
    last_words: Option<String>,
}

/// A name that somebody wrote and that names nothing.
#[derive(Debug, Deserialize)]
struct UnknownName {
    says: String,
}

/// The table of what the gateway says.
pub(super) fn table(servers: &RawValue, view: View) -> Result<String, Failure> {
    Ok(lined_up(&rows(servers)?, view))
}

/// How one server is, with everything that is known of why it does not work.
pub(super) fn state(servers: &RawValue, name: &str, view: View) -> Result<String, Failure> {
    let rows = rows(servers)?;
    let Some(row) = rows.iter().find(|row| row.name == name) else { return Ok(String::new()) };
    let mut text = format!("server `{name}`: {}", view.paint(style(&row.state), &row.state));
    match row.starts {
        0 => text.push_str(", not started yet"),
        1 => {}
        starts => text.push_str(&format!(", started {starts} times")),
    }
    if row.in_flight > 0 {
        text.push_str(&format!(", {} calls in flight", row.in_flight));
    }
    text.push('\n');
    if let Some(looked) = row.looked_at {
        text.push_str(&format!("   = last looked at {}\n", moment(looked)));
    }
    if let Some(error) = &row.error {
        text.push_str(&view.paragraph(Style::Bad, "   = why: ", &one_line(error), 7));
    }
    if let Some(trouble) = &row.trouble {
        text.push_str(&format!("   = cause: {}\n", one_line(&trouble.cause)));
        if let Some(fix) = &trouble.fix {
            text.push_str(&view.paragraph(Style::Help, "   = fix: ", &one_line(fix), 7));
        }
        if !row.stderr.is_empty() {
            text.push_str("   = what it last wrote to its standard error:\n");
        }
        for line in &row.stderr {
            text.push_str(&view.paragraph(Style::Faint, "     | ", &one_line(line), 7));
        }
    }
    Ok(text)
}

fn rows(servers: &RawValue) -> Result<Vec<Row>, Failure> {
    Ok(serde_json::from_str(servers.get()).context("the gateway speaks another language")?)
}

fn lined_up(rows: &[Row], view: View) -> String {
    let is_looked = rows.iter().any(|row| row.looked_at.is_some());
    let mut heads = vec!["server", "state", "version", "tools", "what it is", "approval", "in flight"];
    heads.extend(is_looked.then_some("looked at (UTC)"));
    let mut table = Table::new(heads);
    for row in rows {
        let name = match &row.label {
            Some(label) => format!("{} ({})", row.name, one_line(label)),
            None => row.name.clone(),
        };
        let mut cells: Vec<Cell> = vec![
            name.into(),
            Cell::styled(style(&row.state), row.state.clone()),
            row.version.clone().unwrap_or_else(|| "-".to_owned()).into(),
            row.tools.to_string().into(),
            what_it_is(row).into(),
            approval(row).into(),
            row.in_flight.to_string().into(),
        ];
        if is_looked {
            let looked = row.looked_at.map(|looked| format!("{} {}", date(looked), clock(looked)));
            cells.push(looked.unwrap_or_else(|| "-".to_owned()).into());
        }
        table.row(cells);
    }
    let mut text = table.text(view);
    for row in rows {
        let Some(error) = &row.error else { continue };
        text.push('\n');
        let head = format!("{} {}: ", row.name, row.state);
        text.push_str(&view.paragraph(style(&row.state), &head, &one_line(error), 4));
        let Some(trouble) = &row.trouble else { continue };
        if let Some(words) = &trouble.last_words {
            text.push_str(&view.paragraph(Style::Faint, "  last words: ", &one_line(words), 4));
        }
        if let Some(fix) = &trouble.fix {
            text.push_str(&view.paragraph(Style::Help, "  fix: ", &one_line(fix), 4));
        }
    }
    // A pattern of a token may speak of several servers, and is told once.
    let unknown: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.unknown_names).map(|name| name.says.as_str()).collect();
    for says in unknown {
        text.push_str(&view.paragraph(Style::Caution, "warning: ", &one_line(says), 2));
    }
    text
}

fn style(state: &str) -> Style {
    match state {
        "up" => Style::Good,
        "failed" => Style::Bad,
        "starting" => Style::Caution,
        _ => Style::Faint,
    }
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
                 "trouble":{"cause":"ended","last_words":"no\ttoken","fix":"write it"},"vouched":false,"manifest":"invalid","manifest_says":"it expired"}]"#,
        )
        .unwrap();
        assert_eq!(
            lined_up(&rows, View::PLAIN),
            "server            state   version     tools  what it is          approval                                    in flight\n\
             mail              up      2026-07-28  5      private             approved (vouched for)                      1\n\
             notes (My notes)  up      -           3      local, as you said  drifted, 2 believed, 1 drifted              0\n\
             repo              failed  -           0      -                   held, 2 held, manifest invalid: it expired  0\n\
             \n\
             repo failed: exit code 1\n\
             \x20 last words: no token\n\
             \x20 fix: write it\n"
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
        let table = lined_up(&rows, View::PLAIN);
        let told: Vec<&str> = table.lines().filter(|line| line.starts_with("warning")).collect();
        assert_eq!(told, ["warning: `sned` names no tool"]);
    }

    #[test]
    fn a_narrow_terminal_shows_whole_words_and_no_line_that_is_too_long() {
        let path = (0..40).map(|number| format!("/opt/{number}/bin")).collect::<Vec<_>>().join(", ");
        let rows: Vec<Row> = serde_json::from_str(&format!(
            r#"[{{"name":"time","state":"failed","tools":0,"approval":"unseen","held":0,"believed":0,"in_flight":0,"vouched":false,
            "manifest":"absent","error":"could not be started: `uvx` was not found on its PATH","looked_at":0,
            "trouble":{{"cause":"not-found","fix":"install it; it was looked for in {path}"}}}}]"#
        ))
        .unwrap();
        let text = lined_up(&rows, View { colour: false, width: Some(80) });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("/opt/39/bin") && text.contains("looked at"), "{text}");
        let table: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(table.len() <= 4 && table.iter().all(|line| !line.contains("/opt")), "{text}");
    }
}
