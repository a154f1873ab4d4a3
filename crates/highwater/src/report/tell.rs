//! The report as text and as data.

use std::fmt::Write;

use highwater_core::decide::FindingId;
use highwater_notation::Timestamp;
use serde_json::{Value, json};

use super::record::{Report, Stop, Unanswered};
use super::remedies::Found;
use crate::explain::when::moment;
use crate::explain::{plain, table};

/// The report for people. `tried` is what was found to help, where a configuration could be tried.
pub(crate) fn text(report: &Report, tried: Option<&Found>) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    tell(&mut text, report, tried).unwrap_or_default();
    text
}

fn tell(text: &mut String, report: &Report, tried: Option<&Found>) -> std::fmt::Result {
    let Some((first, last)) = report.span else {
        return writeln!(text, "no decision is on record for this time");
    };
    let stops = report.stops();
    let (asked, refused) = totals(&stops);
    writeln!(text, "{} from {} to {}", count(report.decisions, "decision"), moment(first), moment(last))?;
    if report.unsaid > 0 {
        writeln!(
            text,
            "   = {} made in `strict` or `samos`; what `balanced` would have done is not on record",
            count(report.unsaid, "was|were")
        )?;
    }
    if report.left_out > 0 {
        writeln!(text, "   = the oldest {} are not counted below", report.left_out)?;
    }
    if stops.is_empty() {
        return writeln!(text, "\n`balanced` would have asked about none of them, and refused none");
    }
    writeln!(text, "\n`balanced` would have asked about {asked} of them, and refused {refused}")?;
    let mut rows = vec![["server", "reason", "asked", "refused", ""].map(str::to_owned)];
    for stop in &stops {
        rows.push([
            stop.upstream.to_string(),
            plain(&stop.finding.to_string()),
            stop.asked.to_string(),
            stop.refused.to_string(),
            found(&stop.finding).to_owned(),
        ]);
    }
    table(text, "  ", &rows)?;
    remedies(text, tried, asked + refused)?;
    permits(text, &report.unanswered())
}

/// How many permits are proposed.
const PROPOSED: usize = 3;

/// What an agent that nobody watches could be permitted. Arguments are not on record, so that they are left to be written.
fn permits(text: &mut String, unanswered: &[Unanswered]) -> std::fmt::Result {
    for Unanswered { token, upstream, tool, calls } in unanswered.iter().take(PROPOSED) {
        let (token, tool) = (plain(token.as_str()), plain(tool));
        let times = count(*calls, "call");
        writeln!(text, "\nnobody was there to ask about {times} of `{upstream}:{tool}` by token `{token}`")?;
        writeln!(
            text,
            "  if it works alone, permit exactly what it is to do, every target fixed; or sign a mandate"
        )?;
        writeln!(text, "       permits:")?;
        writeln!(text, "         {token}-{tool}:")?;
        writeln!(text, "           token: {token}")?;
        writeln!(text, "           tool: {upstream}:{tool}")?;
        writeln!(
            text,
            "           arguments: {{}}   # each argument: const, enum, min, max, max_length or prefix"
        )?;
        writeln!(text, "           until: YYYY-MM-DD")?;
    }
    Ok(())
}

fn remedies(text: &mut String, tried: Option<&Found>, stopped: usize) -> std::fmt::Result {
    let Some(tried) = tried else {
        return writeln!(text, "\nno label was tried: name the configuration with `--config`");
    };
    if tried.remedies.is_empty() {
        return writeln!(text, "\nno label that was tried removes any of it");
    }
    writeln!(text, "\nwhat would remove most of it; choose what is true")?;
    for (number, remedy) in (1..).zip(&tried.remedies) {
        let beside = if number > 1 { ", beside those above" } else { "" };
        writeln!(text, "  {number}. removes {} of {stopped}{beside}", remedy.removes)?;
        writeln!(text, "     {}", remedy.proposal.what)?;
        for line in remedy.proposal.lines.lines() {
            writeln!(text, "       {line}")?;
        }
    }
    if tried.understood < stopped {
        writeln!(
            text,
            "{} of {stopped} could not be judged again by the configuration of today, and are left as they were",
            stopped - tried.understood
        )?;
    }
    Ok(())
}

/// The report for programs.
pub(crate) fn data(report: &Report, tried: Option<&Found>) -> Value {
    let at = |time: Timestamp| json!({ "time": time, "at": moment(time) });
    let stops = report.stops();
    let (asked, refused) = totals(&stops);
    json!({
        "decisions": report.decisions,
        "first": report.span.map(|(first, _)| at(first)),
        "last": report.span.map(|(_, last)| at(last)),
        "unsaid": report.unsaid,
        "leftOut": report.left_out,
        "asked": asked,
        "refused": refused,
        "stops": stops
            .iter()
            .map(|stop| {
                json!({ "server": stop.upstream, "finding": stop.finding, "asked": stop.asked,
                        "refused": stop.refused })
            })
            .collect::<Vec<_>>(),
        "unanswered": report
            .unanswered()
            .iter()
            .map(|it| json!({ "token": it.token.as_str(), "server": it.upstream, "tool": it.tool, "calls": it.calls }))
            .collect::<Vec<_>>(),
        "judgedAgain": tried.map(|tried| tried.understood),
        "remedies": tried.map(|tried| {
            tried
                .remedies
                .iter()
                .map(|remedy| {
                    json!({ "what": remedy.proposal.what, "lines": remedy.proposal.lines,
                            "removes": remedy.removes })
                })
                .collect::<Vec<_>>()
        }),
    })
}

fn totals(stops: &[Stop]) -> (usize, usize) {
    stops.iter().fold((0, 0), |(asked, refused), stop| (asked + stop.asked, refused + stop.refused))
}

/// What a finding is about, where that is the same for every call.
fn found(id: &FindingId) -> &'static str {
    match id {
        FindingId::Flow(rule) => rule.gate().found,
        FindingId::Rule(_) => "a rule of yours",
        FindingId::Quarantine => "nobody has approved it",
        FindingId::Approval => "a person is wanted at every call",
        FindingId::Cap => "a number is above its cap",
        FindingId::Token => "the agent's token does not grant it",
        _ => "",
    }
}

/// `1 decision`, `2 decisions`, `2 were`.
fn count(number: usize, noun: &str) -> String {
    match noun.split_once('|') {
        Some((one, many)) => format!("{number} {}", if number == 1 { one } else { many }),
        None if number == 1 => format!("{number} {noun}"),
        None => format!("{number} {noun}s"),
    }
}
