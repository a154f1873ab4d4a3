//! The tables of an evaluation, as they stand in the documentation.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::agentdojo::{Experiment, MODES, Mode, Results, Sum};
use super::bars::{Judged, share};

/// What stands around the part of the page that is written by the run.
const BEGIN: &str = "<!-- written by `cargo xtask eval agentdojo --write` -->";
const END: &str = "<!-- end -->";

/// How many examples of calls that pass are shown.
const EXAMPLES: usize = 10;

/// All tables of what was run.
pub(super) fn tables(results: &Results) -> String {
    let mut text = modes(results);
    let further = further(results);
    if !further.is_empty() {
        text.push_str("\n\nWith words, `balanced`, other attackers:\n\n");
        text.push_str(&further);
    }
    let selected = selected(results);
    if !selected.is_empty() {
        text.push_str("\n\nThe user's words in tools that the user did not ask for, by tool:\n\n");
        text.push_str(&selected);
    }
    text
}

/// Puts the tables in their place on the page.
pub(super) fn write(page: &Path, tables: &str, judged: &[Judged]) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("cannot read `{}`", page.display()))?;
    let place = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = place.with_context(|| format!("`{}` has no place for tables", page.display()))?;
    let bars: Vec<String> = judged.iter().map(|bar| format!("- {bar}")).collect();
    let text = format!("{before}{BEGIN}\n\n{tables}\n\n{}\n\n{END}{after}", bars.join("\n"));
    std::fs::write(page, text).with_context(|| format!("cannot write `{}`", page.display()))
}

/// One row for each mode.
fn modes(results: &Results) -> String {
    let head = [
        "",
        "tasks without a question",
        "questions per task",
        "tasks refused",
        "plain",
        "encoded",
        "split",
        "forged",
    ];
    let row = |mode: &Mode| {
        let work = results.work(mode.name, "work");
        let attacks = |form: &str| shown(results.attacks(mode.name, form));
        let is_there = work.is_some() || ["plain", "forged"].iter().any(|form| attacks(form) != "–");
        is_there.then(|| {
            let worked = |of: fn(&super::agentdojo::Work) -> String| work.as_ref().map_or("–".to_owned(), of);
            vec![
                mode.about.to_owned(),
                worked(|work| format!("{:.1} %", 100.0 * share(work.undisturbed, work.tasks))),
                worked(|work| format!("{:.2}", share(work.questions, work.tasks))),
                worked(|work| work.refused.to_string()),
                attacks("plain"),
                attacks("encoded"),
                attacks("split"),
                attacks("forged"),
            ]
        })
    };
    render(&head, MODES.iter().filter_map(row))
}

/// Attackers that know more.
fn further(results: &Results) -> String {
    let mode = "words-balanced";
    let attackers = [
        ("plain-agreed", "the same attacks, with a turn \"Yes, go ahead.\" before the first act"),
        ("owners", "owns one mail, event, file or payment, named by words of the request: tasks"),
        ("names", "owns a member's or a channel's name that is a word of the request: names"),
        ("selection", "puts the user's words into tools that the user did not ask for: calls"),
    ];
    let mut rows: Vec<Vec<String>> = Vec::new();
    if let Some(work) = results.work(mode, "work-agreed") {
        rows.push(vec![
            "no attacker, with a turn \"Yes, go ahead.\": the user's work".to_owned(),
            work.to_string(),
        ]);
    }
    for (experiment, about) in attackers {
        if let Some(sum) = results.attacks(mode, experiment) {
            rows.push(vec![about.to_owned(), sum.to_string()]);
        }
    }
    if rows.is_empty() { String::new() } else { render(&["", "won"], rows) }
}

/// Which calls pass that nobody asked for.
fn selected(results: &Results) -> String {
    let mut tools: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for told in results.of("words-balanced", "selection") {
        let Experiment::Selection { passed, .. } = told else { continue };
        for one in passed {
            let example = || format!("{}: `{}`", one.task.replace('_', " "), one.arguments);
            tools.entry(&one.tool).or_insert_with(|| (0, example())).0 += 1;
        }
    }
    let mut tools: Vec<_> = tools.into_iter().collect();
    tools.sort_by_key(|(_, (count, _))| usize::MAX - count);
    let row = |(tool, (count, example)): (&str, (usize, String))| {
        vec![format!("`{tool}`"), count.to_string(), example]
    };
    if tools.is_empty() {
        return String::new();
    }
    render(&["tool", "passed", "for example"], tools.into_iter().take(EXAMPLES).map(row))
}

fn shown(sum: Option<Sum>) -> String {
    sum.map_or("–".to_owned(), |sum| sum.to_string())
}

/// A table of Markdown.
fn render(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = format!("|{}", "---|".repeat(head.len()));
    let rows = rows.into_iter().map(|row| line(&row));
    [line(&head), rule].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}
