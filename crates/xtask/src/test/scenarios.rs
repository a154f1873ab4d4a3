//! The scenario files, told by the program itself.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Stage;
use super::rust::show_failure;
use super::tally::Tally;

/// All of them together stay below this on a small, busy machine.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Where they are.
const FOLDER: &str = "scenarios";

pub(super) fn run(stage: &Stage) -> Result<Tally> {
    let program = stage.built()?.program("highwater")?;
    let mut command = Command::new(program);
    command.args(["test", FOLDER]).current_dir(&stage.repository.root);
    show_failure(&mut command, LIMIT, |output, success| count(output, success).unwrap_or(Tally::of(false)))
}

/// Reads `12 passed, 3 failed, in 1.4 s`. A run that did not end in such a line has failed as a whole.
fn count(output: &str, success: bool) -> Result<Tally> {
    let line = output.lines().rev().find(|line| line.contains(" passed, ")).context("there is no count")?;
    let mut numbers = line.split(' ').filter_map(|word| word.parse().ok());
    let (passed, failed) =
        (numbers.next().context("nothing passed")?, numbers.next().context("nothing failed")?);
    let tally = Tally { passed, failed };
    anyhow::ensure!(success == (failed == 0), "the count and the exit code differ");
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_counted_and_must_fit_the_exit_code() {
        let tally = count("ok\n12 passed, 0 failed, in 1.4 s\n", true).unwrap();
        assert_eq!((tally.passed, tally.failed), (12, 0));
        let tally = count("failed x\n1 passed, 2 failed, in 3.0 s\nerror: 2 scenarios\n", false).unwrap();
        assert_eq!((tally.passed, tally.failed), (1, 2));
        assert!(count("12 passed, 0 failed, in 1.4 s\n", false).is_err());
        assert!(count("error: cannot read\n", false).is_err());
    }
}
