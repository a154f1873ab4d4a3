//! The suite before fixtures of ours that stand on foreign SDKs, each directly and through the gateway, over HTTP and
//! stdio. What an SDK does not pass directly is its own affair; what gets worse on the way is ours.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::super::Stage;
use super::super::running::Fixture;
use super::super::tally::Tally;
use super::checks::{Checks, Status};
use super::exceptions::EXCEPTIONS;
use super::{Report, SETS, Suite};
use crate::install::{self, Group};

/// A fixture that passes fewer checks than this directly, by set, is broken, and a comparison with it would show nothing.
const LEAST: [(&str, usize); 2] = [("2025-11-25", 75), ("2026-07-28", 150)];

/// A fixture and how it is started; `--http` or `--stdio` comes after its words.
struct Foreign {
    name: &'static str,
    words: Vec<PathBuf>,
}

/// How the suite reaches a fixture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Directly,
    OverHttp,
    OverStdio,
}

const WAYS: [Way; 3] = [Way::Directly, Way::OverHttp, Way::OverStdio];

/// Runs the comparison and prints a row for each fixture, set and way.
pub(super) fn run(stage: &Stage, suite: &Suite, report: &mut Report) -> Result<()> {
    let start = Instant::now();
    let mut used = BTreeSet::new();
    let (fixtures, sets) = (foreign(stage)?, SETS);
    for fixture in &fixtures {
        for set in sets {
            // They mostly wait, so that the three of them take little longer than one.
            let [direct, over_http, over_stdio] = std::thread::scope(|scope| {
                WAYS.map(|way| scope.spawn(move || suite.run_foreign(fixture, way, set)))
                    .map(|running| running.join().unwrap_or_else(|_| bail!("the run panicked")))
            });
            let name = |way: Way| format!("{}, {}", fixture.name, way.name());
            let Some(direct) = report.row(set, &name(Way::Directly), direct) else { continue };
            let least = LEAST.iter().find(|(of, _)| *of == set).map_or(0, |(_, least)| *least);
            let passed = direct.count(Status::Success);
            if passed < least {
                let broken = format!("passes {passed} checks, where {least} show that it works");
                report.judge(set, &name(Way::Directly), (Tally::of(false), vec![broken]));
            }
            for (way, checks) in [(Way::OverHttp, over_http), (Way::OverStdio, over_stdio)] {
                if let Some(checks) = report.row(set, &name(way), checks) {
                    let judged = judge(fixture.name, set, &checks, &direct, &mut used);
                    report.judge(set, &name(way), judged);
                }
            }
        }
    }
    for (index, exception) in EXCEPTIONS.iter().enumerate().filter(|(index, _)| !used.contains(index)) {
        let fixture = exception.fixture.unwrap_or("every fixture");
        let problem = format!(
            "exception {index} ({}: {}) makes no difference any more; remove it: {}",
            exception.scenario, exception.check, exception.why
        );
        report.judge(exception.set, fixture, (Tally::of(false), vec![problem]));
    }
    println!("  {} fixtures on foreign SDKs in {:.0} s", fixtures.len(), start.elapsed().as_secs_f64());
    Ok(())
}

/// Counts what is worse, but for the exceptions, and notes which of those were needed.
fn judge(
    fixture: &str,
    set: &str,
    checks: &Checks,
    direct: &Checks,
    used: &mut BTreeSet<usize>,
) -> (Tally, Vec<String>) {
    let (passed, worse) = checks.compare(direct);
    let (mut failed, mut problems) = (0, Vec::new());
    for check in worse {
        let exception = EXCEPTIONS
            .iter()
            .position(|exception| exception.covers(fixture, set, &check.scenario, &check.id));
        match exception {
            Some(index) => drop(used.insert(index)),
            None => {
                failed += check.count;
                problems.push(check.to_string());
            }
        }
    }
    (Tally { passed, failed }, problems)
}

/// The fixtures on foreign SDKs.
fn foreign(stage: &Stage) -> Result<Vec<Foreign>> {
    let repository = &stage.repository;
    let python = Group::PythonFixtures.folder(repository).join("bin/python");
    let python_server = |file: &str| vec![python.clone(), repository.path("peers/conformance").join(file)];
    let typescript = install::fixtures(repository)?.join("typescript_server.mjs");
    Ok(vec![
        Foreign { name: "rmcp", words: vec![stage.built()?.program("rmcp_fixture")?] },
        Foreign { name: "Python SDK", words: python_server("python_server.py") },
        Foreign { name: "FastMCP", words: python_server("fastmcp_server.py") },
        Foreign { name: "TypeScript SDK", words: vec![install::node(repository), typescript] },
    ])
}

// === impl Foreign ===

impl Foreign {
    fn over_http(&self) -> Result<Command> {
        let (program, words) = self.words.split_first().context("a fixture is a program")?;
        let mut command = Command::new(program);
        // What Python compiles is not ours to keep.
        command.args(words).arg("--http").env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    /// Its entry in a configuration.
    fn over_stdio(&self) -> Result<Value> {
        let (program, words) = self.words.split_first().context("a fixture is a program")?;
        let mut args: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        args.push("--stdio".into());
        // They take seconds to start, and far longer on a busy machine.
        Ok(json!({
            "command": program, "args": args, "env": { "PYTHONDONTWRITEBYTECODE": "1" },
            "timeouts": { "start": "5m", "probe": "2m" },
        }))
    }

    fn folder(&self) -> String {
        self.name.to_lowercase().replace(' ', "-")
    }
}

// === impl Way ===

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Directly => "directly",
            Self::OverHttp => "HTTP",
            Self::OverStdio => "stdio",
        }
    }
}

// === impl Suite ===

impl Suite {
    /// Runs one set against a fixture, with every program started anew. The suite itself speaks HTTP alone.
    fn run_foreign(&self, fixture: &Foreign, way: Way, set: &str) -> Result<Checks> {
        let folder = self.results.join(set).join(fixture.folder()).join(way.name());
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let start = |log: &Path| Fixture::start(&mut fixture.over_http()?, log);
        match way {
            Way::Directly => {
                let running = start(&folder.join("fixture.log"))?;
                self.run_against(&running.url, set, &folder)
            }
            Way::OverHttp => {
                let running = start(&folder.join("fixture.log"))?;
                let entry = json!({ "url": running.url, "timeouts": { "probe": "2m" } });
                self.run_through_gateway(&entry, set, &folder)
            }
            Way::OverStdio => self.run_through_gateway(&fixture.over_stdio()?, set, &folder),
        }
    }
}
