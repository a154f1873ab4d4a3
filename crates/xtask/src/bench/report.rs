//! The tables for people and the JSON for machines, from the same figures.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::bars::{BARS, Bar, Limit};
use super::machine::{Load, description};
use super::run::{Measured, Outcome, Sample, StartSample, median};
use super::stand::Target;

/// Others used so much of the machine that the figures say little about us.
const MUCH_FOREIGN: f64 = 0.05;

/// A table whose columns are as wide as their widest cell.
struct Table {
    rows: Vec<Vec<String>>,
}

/// Prints both tables and what the reader should know about them.
pub(super) fn print(outcome: &Outcome, before: Load) -> anyhow::Result<()> {
    let mut text = String::new();
    text.push_str(&points_table(outcome).render());
    text.push('\n');
    text.push_str(&bars_table(outcome).render());
    for line in remarks(outcome, before) {
        text.push_str(&format!("\n{line}"));
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").context("standard output is closed")
}

/// Writes everything that was measured.
pub(super) fn write_json(outcome: &Outcome, before: Load, file: &Path) -> anyhow::Result<()> {
    let points: Vec<Value> = outcome.points.iter().map(|measured| point_json(measured, outcome)).collect();
    let bars: Vec<Value> = BARS.iter().map(|bar| bar_json(bar, outcome)).collect();
    let document = json!({
        "machine": description(),
        "load_before": before,
        "foreign_share_median": median(outcome.foreign_shares().into_iter()),
        "seconds": outcome.seconds,
        "rules": outcome.rules,
        "stand_in": outcome.stand_in,
        "bars": bars,
        "points": points,
        "starts": {
            "new_data": outcome.first_starts,
            "known_data": outcome.later_starts,
            "floor": outcome.floor_starts,
            "seven_servers_that_do_not_answer": outcome.pinned_starts,
        },
        "idle_mib": { "highwater": outcome.idle_mib, "floor": outcome.floor_idle_mib },
        "judged": outcome.judged,
        "binary_mib": outcome.binary_mib,
        "notices": outcome.notices,
    });
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    }
    let text = serde_json::to_string_pretty(&document).context("the figures cannot be written")?;
    fs::write(file, text + "\n").with_context(|| format!("cannot write `{}`", file.display()))
}

fn points_table(outcome: &Outcome) -> Table {
    let mut table = Table::new(&[
        "point",
        "through",
        "p50 µs",
        "p99 µs",
        "calls/s",
        "CPU µs/call",
        "CPU × floor",
        "p50 × floor",
        "MiB",
    ]);
    for measured in &outcome.points {
        for target in Target::ALL {
            let median = |of: fn(&Sample) -> Option<f64>| measured.median(target, of);
            let against_floor = |of: fn(&Sample) -> Option<f64>| {
                let figure = |floor: &Sample, gateway: &Sample| Some(of(gateway)? / of(floor)?);
                (target == Target::Gateway)
                    .then(|| measured.median_by_round(|_, floor, gateway| figure(floor, gateway)))
                    .flatten()
            };
            table.row(vec![
                measured.point.to_string(),
                outcome.name(target).to_owned(),
                shown(median(|sample| Some(sample.p50_us)), 1),
                shown(median(|sample| Some(sample.p99_us)), 1),
                shown(median(|sample| Some(sample.calls_per_second)), 0),
                shown(median(|sample| sample.cpu_us_per_call), 2),
                shown(against_floor(|sample| sample.cpu_us_per_call), 2),
                shown(against_floor(|sample| Some(sample.p50_us)), 2),
                shown(median(|sample| sample.resident_mib), 1),
            ]);
        }
    }
    table
}

fn bars_table(outcome: &Outcome) -> Table {
    let mut table = Table::new(&[
        "measure",
        outcome.name(Target::Gateway),
        "floor",
        "judged",
        "bar",
        "aim",
        "best elsewhere",
        "verdict",
    ]);
    for bar in &BARS {
        let reading = bar.figure.read(outcome);
        let unit = if bar.unit == "×" || bar.unit.is_empty() {
            bar.unit.to_owned()
        } else {
            format!(" {}", bar.unit)
        };
        let limit = match bar.limit {
            Limit::AtMost(value) => format!("≤ {value}{unit}"),
            Limit::AtLeast(value) => format!("≥ {value}{unit}"),
        };
        table.row(vec![
            bar.measure.to_owned(),
            shown(reading.as_ref().and_then(|reading| reading.gateway), 2),
            shown(reading.as_ref().and_then(|reading| reading.floor), 2),
            reading.as_ref().map_or_else(|| "–".to_owned(), |reading| format!("{:.2}{unit}", reading.judged)),
            limit,
            format!("{}{unit}", bar.aim),
            bar.best.to_owned(),
            verdict(bar, reading.map(|reading| reading.judged)).to_owned(),
        ]);
    }
    table
}

fn verdict(bar: &Bar, judged: Option<f64>) -> &'static str {
    let aim = match bar.limit {
        Limit::AtMost(_) => Limit::AtMost(bar.aim),
        Limit::AtLeast(_) => Limit::AtLeast(bar.aim),
    };
    match judged {
        None => "not measured",
        Some(value) if aim.is_met_by(value) => "aim met",
        Some(value) if bar.limit.is_met_by(value) => "bar met",
        Some(_) => "MISSED",
    }
}

fn remarks(outcome: &Outcome, before: Load) -> Vec<String> {
    let mut lines = Vec::new();
    if outcome.stand_in {
        lines.push("note: a second floor stood in for Highwater; the ratios show the noise".to_owned());
    }
    let health = |starts: &[StartSample]| shown(median(starts.iter().map(|start| start.healthz_ms)), 1);
    let hello = |starts: &[StartSample]| shown(median(starts.iter().map(|start| start.hello_ms)), 1);
    if !outcome.first_starts.is_empty() {
        for (name, starts) in [
            ("new data", &outcome.first_starts),
            ("known data", &outcome.later_starts),
            ("floor", &outcome.floor_starts),
        ] {
            let (health, hello) = (health(starts), hello(starts));
            lines.push(format!("start, {name}: /healthz after {health} ms, handshake after {hello} ms"));
        }
    }
    if !outcome.pinned_starts.is_empty() {
        let hello = hello(&outcome.pinned_starts);
        let listed = shown(median(outcome.pinned_starts.iter().map(|start| start.listed_ms)), 1);
        lines.push(format!(
            "start, seven known servers of which none answers: handshake after {hello} ms, all tools after {listed} ms"
        ));
    }
    lines.extend(outcome.points.iter().filter_map(hook_remark));
    let shares = outcome.foreign_shares();
    let disturbed = shares.iter().filter(|share| **share > MUCH_FOREIGN).count();
    if before.is_high() {
        let Load { one_minute, cores } = before;
        lines.push(format!("warning: the load average was {one_minute} on {cores} cores before the start"));
    }
    if disturbed > 0 {
        let worst = shares.last().copied().unwrap_or(0.0) * 100.0;
        lines.push(format!(
            "warning: others used the machine during {disturbed} of {} measurements, {worst:.0} % of it at worst",
            shares.len()
        ));
    }
    lines.extend(outcome.notices.iter().map(|notice| format!("note: {notice}")));
    lines.push(format!("measured in {:.0} s, {} rules", outcome.seconds, outcome.rules));
    lines
}

/// How long a host waits for its hooks.
fn hook_remark(measured: &Measured) -> Option<String> {
    let hooks =
        || measured.samples.get(&Target::Gateway).into_iter().flatten().filter_map(|it| it.hooks.as_ref());
    let p50 = median(hooks().map(|taken| taken.p50_us))?;
    let p99 = median(hooks().map(|taken| taken.p99_us))?;
    let command = median(hooks().map(|taken| taken.command_p50_us))? / 1_000.0;
    let slowest = hooks().map(|taken| taken.command_p99_us).fold(0.0, f64::max) / 1_000.0;
    Some(format!(
        "hooks of {}: on the connection p50 {p50:.0} µs, p99 {p99:.0} µs; as a command p50 {command:.1} ms, slowest {slowest:.1} ms",
        measured.point
    ))
}

fn point_json(measured: &Measured, outcome: &Outcome) -> Value {
    let mut targets = serde_json::Map::new();
    for target in Target::ALL {
        let median = |of: fn(&Sample) -> Option<f64>| measured.median(target, of);
        let value = json!({
            "p50_us": median(|sample| Some(sample.p50_us)),
            "p99_us": median(|sample| Some(sample.p99_us)),
            "calls_per_second": median(|sample| Some(sample.calls_per_second)),
            "cpu_us_per_call": median(|sample| sample.cpu_us_per_call),
            "rounds": measured.samples.get(&target),
        });
        targets.insert(outcome.name(target).to_owned(), value);
    }
    json!({ "point": measured.point.to_string(), "sessions": measured.point.sessions, "targets": targets })
}

fn bar_json(bar: &Bar, outcome: &Outcome) -> Value {
    let reading = bar.figure.read(outcome);
    let (at_most, at_least) = match bar.limit {
        Limit::AtMost(value) => (Some(value), None),
        Limit::AtLeast(value) => (None, Some(value)),
    };
    json!({
        "measure": bar.measure,
        "unit": bar.unit,
        "highwater": reading.as_ref().and_then(|reading| reading.gateway),
        "floor": reading.as_ref().and_then(|reading| reading.floor),
        "judged": reading.as_ref().map(|reading| reading.judged),
        "at_most": at_most,
        "at_least": at_least,
        "aim": bar.aim,
        "met": reading.map(|reading| bar.limit.is_met_by(reading.judged)),
    })
}

fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

// === impl Table ===

impl Table {
    fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Text cells stand left, everything from the first figure on stands right.
    fn render(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(
                    |(column, (cell, &width))| {
                        if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}
