//! The official conformance suite against our fixture server, directly and through the gateway.
//!
//! The fixture alone must be without failure. Through the gateway, with the fixture behind HTTP and
//! behind stdio, no check may get worse. Then the gateway plays the client of the suite's own servers, and stands before
//! fixtures that are written on other people's SDKs.

mod checks;
mod client;
mod exceptions;
mod foreign;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Stage;
use super::running::{Fixture, Gateway, Site};
use super::tally::Tally;
use crate::command::quiet;
use crate::install::{self, Group};
use checks::{Checks, STATUSES};
use client::ClientLeg;

/// The suite's requirement sets; each is run at its own version on the wire.
const SETS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// One set takes seconds; this is for scenarios that all wait for their own limit.
const SET_LIMIT: Duration = Duration::from_secs(60 * 60);

/// What the suite talks to.
#[derive(Clone, Copy)]
enum Cell {
    Fixture,
    OverHttp,
    OverStdio,
}

const CELLS: [Cell; 3] = [Cell::Fixture, Cell::OverHttp, Cell::OverStdio];

/// Programs and places of one run.
struct Suite {
    node: PathBuf,
    suite: PathBuf,
    fixture: PathBuf,
    highwater: PathBuf,
    results: PathBuf,
}

pub(super) fn run(stage: &Stage) -> Result<Tally> {
    install::require("ip", "iproute2")?;
    let built = stage.built()?;
    let package = Group::Node.folder(&stage.repository);
    let results = stage.repository.results("conformance")?;
    let suite = Suite {
        node: install::node(&stage.repository),
        suite: package.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"),
        fixture: built.program("fixture")?,
        highwater: built.program("highwater")?,
        results: results.clone(),
    };
    let client_leg = ClientLeg {
        node: suite.node.clone(),
        suite: suite.suite.clone(),
        driver: install::scripts(&stage.repository)?.join("conformance-driver.mjs"),
        highwater: suite.highwater.clone(),
        results,
    };
    let mut report = Report::default();
    let heads = STATUSES.map(|status| format!("{:>9}", status.name())).concat();
    println!("  {:<12}{:<26}{heads}", "set", "checked");
    for set in SETS {
        let mut direct = None;
        for cell in CELLS {
            let Some(checks) = report.row(set, cell.name(), suite.run(cell, set)) else { continue };
            report.judge(
                set,
                cell.name(),
                match &direct {
                    None => checks.judge_alone(),
                    Some(direct) => checks.judge_against(direct),
                },
            );
            direct.get_or_insert(checks);
        }
        let name = "gateway as the client";
        if let Some(checks) = report.row(set, name, client_leg.run(set)) {
            report.judge(set, name, checks.judge_alone());
        }
    }
    foreign::run(stage, &suite, &mut report)?;
    for problem in &report.problems {
        println!("  not ok: {problem}");
    }
    if !report.problems.is_empty() {
        println!("  everything that was written is in {}", stage.repository.shown(&suite.results));
    }
    Ok(report.tally)
}

/// What is known so far.
#[derive(Default)]
struct Report {
    tally: Tally,
    problems: Vec<String>,
}

impl Report {
    /// Prints a row of the table, or notes that there is none.
    fn row(&mut self, set: &str, name: &str, checks: Result<Checks>) -> Option<Checks> {
        match checks {
            Ok(checks) => {
                let counts = STATUSES.map(|status| format!("{:>9}", checks.count(status))).concat();
                println!("  {set:<12}{name:<26}{counts}");
                Some(checks)
            }
            Err(error) => {
                self.judge(set, name, (Tally::of(false), vec![format!("{error:#}")]));
                None
            }
        }
    }

    /// Notes what came of one row.
    fn judge(&mut self, set: &str, name: &str, (tally, problems): (Tally, Vec<String>)) {
        self.tally += tally;
        self.problems.extend(problems.into_iter().map(|problem| format!("{set}, {name}: {problem}")));
    }
}

// === impl Cell ===

impl Cell {
    fn name(self) -> &'static str {
        match self {
            Self::Fixture => "fixture",
            Self::OverHttp => "gateway, HTTP upstream",
            Self::OverStdio => "gateway, stdio upstream",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Fixture => "fixture",
            Self::OverHttp => "over-http",
            Self::OverStdio => "over-stdio",
        }
    }
}

// === impl Suite ===

impl Suite {
    /// Runs one set against one cell, with every program started anew.
    fn run(&self, cell: Cell, set: &str) -> Result<Checks> {
        let folder = self.results.join(set).join(cell.folder());
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let fixture_log = folder.join("fixture.log");
        match cell {
            Cell::Fixture => {
                let fixture = Fixture::start(&mut self.fixture_over_http(), &fixture_log)?;
                self.run_against(&fixture.url, set, &folder)
            }
            Cell::OverHttp => {
                let fixture = Fixture::start(&mut self.fixture_over_http(), &fixture_log)?;
                self.run_through_gateway(&json!({ "url": fixture.url }), set, &folder)
            }
            Cell::OverStdio => {
                let upstream = json!({ "command": self.fixture, "args": ["--stdio"] });
                self.run_through_gateway(&upstream, set, &folder)
            }
        }
    }

    fn fixture_over_http(&self) -> Command {
        let mut command = Command::new(&self.fixture);
        command.args(["--listen", "127.0.0.1:0"]);
        command
    }

    fn run_through_gateway(&self, upstream: &Value, set: &str, folder: &Path) -> Result<Checks> {
        let config = json!({ "auth": "none", "prefix": "never", "flow": "observe", "quarantine": false, "servers": { "fixture": upstream } });
        let site = Site::new(&folder.join("site"), &config)?;
        let gateway = Gateway::start(&self.highwater, &site, &folder.join("gateway.log"))?;
        gateway.wait_for_tool("test_simple_text")?;
        let checks = self.run_against(&gateway.url, set, folder)?;
        anyhow::ensure!(!gateway.process.has_ended(), "the gateway died\n{}", gateway.process.last_words());
        Ok(checks)
    }

    fn run_against(&self, url: &str, set: &str, folder: &Path) -> Result<Checks> {
        let results = folder.join("results");
        let mut command = Command::new(&self.node);
        command.arg(&self.suite).args(["server", "--url", url, "--requirements", set]);
        command.args(["--timeout", "120000", "--output-dir"]).arg(&results).current_dir(folder);
        // Its exit code says whether the required scenarios passed; we judge every check instead.
        let outcome = quiet(&mut command, SET_LIMIT)?;
        std::fs::write(folder.join("suite.log"), &outcome.output)?;
        Checks::read(&results, "server-").with_context(|| outcome.output.trim_end().to_owned())
    }
}
