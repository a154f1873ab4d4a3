//! Reads what the conformance suite wrote, and compares two runs check by check.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::super::tally::Tally;

/// How the suite answers one check.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    Info,
}

/// The columns of the table, in order.
pub(super) const STATUSES: [Status; 5] =
    [Status::Success, Status::Failure, Status::Warning, Status::Skipped, Status::Info];

/// One check as the suite writes it.
#[derive(Clone, Debug, Deserialize)]
struct Check {
    id: String,
    status: Status,
    #[serde(rename = "errorMessage")]
    error: Option<String>,
    #[serde(default)]
    details: serde_json::Value,
}

/// All checks of one run, by scenario and check id. A check may come several times in a scenario.
#[derive(Debug, Default)]
pub(super) struct Checks {
    checks: BTreeMap<(String, String), Vec<Check>>,
}

/// A check that is worse than in the run it is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Worse {
    pub(super) scenario: String,
    pub(super) id: String,
    /// How many times.
    pub(super) count: usize,
    why: String,
}

impl fmt::Display for Worse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.scenario, self.id, self.why)
    }
}

impl Status {
    /// The word that the suite writes.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Failure => "FAILURE",
            Self::Warning => "WARNING",
            Self::Skipped => "SKIPPED",
            Self::Info => "INFO",
        }
    }
}

impl Checks {
    /// Reads an output folder of the suite: one folder per scenario, named by a prefix, the scenario and the
    /// time.
    pub(super) fn read(folder: &Path, prefix: &str) -> Result<Self> {
        let mut all = Self::default();
        for entry in
            std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?
        {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(scenario) = scenario(&name, prefix) else { continue };
            let path = entry.path().join("checks.json");
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            let checks: Vec<Check> = serde_json::from_str(&text)
                .with_context(|| format!("`{}` is not what the suite used to write", path.display()))?;
            all.add(scenario, checks);
        }
        ensure!(!all.checks.is_empty(), "the suite left no results in `{}`", folder.display());
        Ok(all)
    }

    fn add(&mut self, scenario: &str, checks: Vec<Check>) {
        for check in checks {
            self.checks.entry((scenario.to_owned(), check.id.clone())).or_default().push(check);
        }
    }

    /// How many checks have a status.
    pub(super) fn count(&self, status: Status) -> usize {
        self.checks.values().flatten().filter(|check| check.status == status).count()
    }

    /// Whether any check of a scenario succeeded.
    pub(super) fn has_success(&self, scenario: &str) -> bool {
        let of_scenario = self.checks.iter().filter(|((name, _), _)| name == scenario);
        of_scenario.flat_map(|(_, checks)| checks).any(|check| check.status == Status::Success)
    }

    /// Counts successes as passed and failures as failed, and says what failed.
    pub(super) fn judge_alone(&self) -> (Tally, Vec<String>) {
        let tally = Tally { passed: self.count(Status::Success), failed: self.count(Status::Failure) };
        let mut problems = Vec::new();
        for ((scenario, id), checks) in &self.checks {
            for check in checks.iter().filter(|check| check.status == Status::Failure) {
                problems.push(format!("{scenario}: {id}: {}", check.explanation()));
            }
        }
        (tally, problems)
    }

    /// Compares a run through the gateway with the direct one. A success that is none any more is a
    /// failure, and so is a failure that was none; each check id in a scenario is counted by itself.
    pub(super) fn judge_against(&self, direct: &Self) -> (Tally, Vec<String>) {
        let (passed, worse) = self.compare(direct);
        let failed = worse.iter().map(|check| check.count).sum();
        (Tally { passed, failed }, worse.iter().map(Worse::to_string).collect())
    }

    /// How many successes of the direct run are still there, and every check that is worse.
    pub(super) fn compare(&self, direct: &Self) -> (usize, Vec<Worse>) {
        let mut kept_in_all = 0;
        let mut all_worse = Vec::new();
        let keys: std::collections::BTreeSet<_> = self.checks.keys().chain(direct.checks.keys()).collect();
        for key in keys {
            let (here, there) = (self.of(key), direct.of(key));
            let (kept, wanted) = (count(here, Status::Success), count(there, Status::Success));
            let lost = wanted.saturating_sub(kept);
            let new_failures = count(here, Status::Failure).saturating_sub(count(there, Status::Failure));
            kept_in_all += wanted - lost;
            let count = lost.max(new_failures);
            if count == 0 {
                continue;
            }
            let (scenario, id) = key;
            let worse = here.iter().find(|check| check.status != Status::Success);
            let why = worse.map_or_else(|| "the check did not run".to_owned(), Check::explanation);
            let why = format!("{kept} of {wanted} successes: {why}");
            all_worse.push(Worse { scenario: scenario.clone(), id: id.clone(), count, why });
        }
        (kept_in_all, all_worse)
    }

    fn of(&self, key: &(String, String)) -> &[Check] {
        self.checks.get(key).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Check {
    fn explanation(&self) -> String {
        let error = self.error.as_deref().unwrap_or("no message");
        let details = if self.details.is_null() { String::new() } else { format!(" {}", self.details) };
        let shortened: String =
            format!("{} {error}{details}", self.status.name()).chars().take(1200).collect();
        shortened
    }
}

fn count(checks: &[Check], status: Status) -> usize {
    checks.iter().filter(|check| check.status == status).count()
}

/// The scenario in a folder name: without the prefix, and without the time at the end.
fn scenario<'a>(folder: &'a str, prefix: &str) -> Option<&'a str> {
    /// Such as `-2026-11-15T08-46-05-122Z`.
    const TIME: usize = 25;
    let name = folder.strip_prefix(prefix)?;
    name.get(..name.len().checked_sub(TIME)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(scenario: &str, list: &[(&str, Status)]) -> Checks {
        let mut checks = Checks::default();
        let check = |(id, status): &(&str, Status)| Check {
            id: (*id).to_owned(),
            status: *status,
            error: None,
            details: serde_json::Value::Null,
        };
        checks.add(scenario, list.iter().map(check).collect());
        checks
    }

    #[test]
    fn a_folder_name_holds_the_scenario() {
        assert_eq!(scenario("server-tools-list-2026-11-15T08-46-05-122Z", "server-"), Some("tools-list"));
        assert_eq!(scenario("summary.json", "server-"), None);
        assert_eq!(scenario("server-short", "server-"), None);
    }

    #[test]
    fn no_success_may_be_lost_through_the_gateway() {
        let direct = checks("s", &[("a", Status::Success), ("a", Status::Success), ("b", Status::Skipped)]);
        let same = checks("s", &[("a", Status::Success), ("a", Status::Success), ("b", Status::Success)]);
        assert_eq!(same.judge_against(&direct).0, Tally { passed: 2, failed: 0 });
        let worse = checks("s", &[("a", Status::Success), ("a", Status::Warning), ("b", Status::Skipped)]);
        let (tally, problems) = worse.judge_against(&direct);
        assert_eq!(tally, Tally { passed: 1, failed: 1 });
        assert_eq!(problems, ["s: a: 1 of 2 successes: WARNING no message"]);
    }

    #[test]
    fn a_check_that_vanishes_or_newly_fails_is_worse() {
        let direct = checks("s", &[("a", Status::Success), ("b", Status::Info)]);
        let vanished = checks("s", &[("b", Status::Info)]);
        assert_eq!(vanished.judge_against(&direct).0, Tally { passed: 0, failed: 1 });
        let failing = checks("s", &[("a", Status::Success), ("b", Status::Failure)]);
        assert_eq!(failing.judge_against(&direct).0, Tally { passed: 1, failed: 1 });
    }
}
