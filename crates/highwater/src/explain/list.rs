//! The latest decisions, one a line.

use super::account::Summary;
use super::data::ruling;
use super::phrase::{listed, plain};
use super::when::{clock, date};
use crate::reevaluate::balanced_effect;
use crate::terminal::{Table, View};

/// Some of the decisions on record.
pub(crate) struct List {
    /// The latest, oldest first.
    pub(crate) decisions: Vec<Summary>,
    /// Whether there are older ones.
    pub(crate) has_more: bool,
}

/// The decisions as a table, and how to see the others.
pub(crate) fn list(list: &List) -> String {
    let headings = ["time (UTC)", "decision", "ruling", "balanced would", "what", "findings"];
    let mut table = Table::new(headings);
    for Summary { id, time, decision } in &list.decisions {
        let findings: Vec<String> = decision.findings.iter().map(|finding| finding.id.to_string()).collect();
        table.row([
            format!("{} {}", date(*time), clock(*time)),
            id.to_string(),
            ruling(decision.ruling).to_owned(),
            balanced_effect(decision).map_or("-", |effect| effect.as_str()).to_owned(),
            plain(decision.tool.as_deref().unwrap_or(&decision.target)),
            listed(&findings),
        ]);
    }
    let mut text = table.text(View::stdout());
    if list.has_more {
        let shown = list.decisions.len();
        text.push_str(&format!(
            "\nThese are the latest {shown}; there are older ones. `highwater explain --limit {}` shows more of them, \
             `highwater report` counts them all.\n",
            shown.saturating_mul(10)
        ));
    }
    text
}
