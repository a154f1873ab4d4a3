//! The suite's client scenarios, with the gateway as the client: a driver script makes the scenario's
//! server the one upstream of a gateway and uses everything it lists.
//!
//! The scenarios about OAuth are left out: the gateway does not obtain tokens for its upstreams.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::checks::Checks;
use crate::command::quiet;

/// The scenarios of each requirement set, those that are run but not scored included.
const SCENARIOS: [(&str, &[&str]); 2] = [
    (
        "2025-11-25",
        &[
            "initialize",
            "tools_call",
            "elicitation-sep1034-client-defaults",
            "sse-retry",
            "json-schema-2020-12-preservation",
        ],
    ),
    (
        "2026-07-28",
        &[
            "tools_call",
            "request-metadata",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
            "json-schema-2020-12-preservation",
        ],
    ),
];

/// The suite gives up on a client after two minutes by itself.
const SCENARIO_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Programs and places of the client leg.
pub(super) struct ClientLeg {
    pub(super) node: PathBuf,
    pub(super) suite: PathBuf,
    pub(super) driver: PathBuf,
    pub(super) highwater: PathBuf,
    pub(super) results: PathBuf,
}

impl ClientLeg {
    /// Runs the scenarios of one set and reads all their checks.
    pub(super) fn run(&self, set: &str) -> Result<Checks> {
        let scenarios = SCENARIOS.iter().find(|(name, _)| *name == set).context("a set without scenarios")?.1;
        let folder = self.results.join(set).join("client");
        let sites = folder.join("sites");
        std::fs::create_dir_all(&sites).with_context(|| format!("cannot make `{}`", sites.display()))?;
        let results = folder.join("results");
        let alone = alone_on_the_network()?;
        let mut log = String::new();
        for scenario in scenarios {
            let outcome = quiet(&mut self.command(alone, set, scenario, &sites, &results), SCENARIO_LIMIT)?;
            log.push_str(&outcome.output);
        }
        std::fs::write(folder.join("suite.log"), &log)?;
        let checks = Checks::read(&results, "").with_context(|| log.trim_end().to_owned())?;
        for scenario in scenarios {
            ensure!(checks.has_success(scenario), "the scenario `{scenario}` has no success\n{log}");
        }
        Ok(checks)
    }

    fn command(&self, alone: &[&str], set: &str, scenario: &str, sites: &Path, results: &Path) -> Command {
        let words = [
            self.node.as_os_str(),
            self.driver.as_os_str(),
            "--highwater".as_ref(),
            self.highwater.as_os_str(),
            "--folder".as_ref(),
            sites.as_os_str(),
        ];
        let driver = words.map(|word| word.to_string_lossy().into_owned()).join(" ");
        let mut command = Command::new("unshare");
        command.args(alone).args(["sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
        command.arg(&self.node).arg(&self.suite).args(["client", "--command", &driver]);
        command.args(["--scenario", scenario, "--spec-version", set, "--timeout", "120000"]);
        command.arg("--output-dir").arg(results);
        command
    }
}

/// The arguments with which `unshare` gives a program a network of its own, as root or as anyone.
///
/// The scenario servers listen on every interface, so they run alone or not at all.
fn alone_on_the_network() -> Result<&'static [&'static str]> {
    const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    let mut why = String::new();
    for way in WAYS {
        let outcome =
            quiet(Command::new("unshare").args(way).args(["ip", "link", "set", "lo", "up"]), SCENARIO_LIMIT)?;
        if outcome.success {
            return Ok(way);
        }
        why.push_str(&outcome.output);
    }
    bail!("{why}the scenarios need a network namespace; as root, this must work: unshare --net true")
}
