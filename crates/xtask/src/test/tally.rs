//! Counting tests, also those of programs that only print text.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

/// One line of the closing table.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) tally: Tally,
    pub(super) elapsed: Duration,
}

/// Prints the table of all parts, then the closing line alone, and returns the sum.
pub(super) fn print_table(rows: &[Row]) -> Tally {
    let mut whole = Tally::default();
    println!("\n{:<13}{:>8}{:>8}{:>10}", "part", "passed", "failed", "time");
    for row in rows {
        let Tally { passed, failed } = row.tally;
        println!("{:<13}{passed:>8}{failed:>8}{:>8.1} s", row.name, row.elapsed.as_secs_f64());
        whole += row.tally;
    }
    println!("\n{} passed, {} failed", whole.passed, whole.failed);
    whole
}

// === impl Tally ===

impl Tally {
    /// The count of a check that has one answer.
    pub(super) fn of(passed: bool) -> Self {
        Self { passed: usize::from(passed), failed: usize::from(!passed) }
    }

    /// Counts the `test result:` lines that Rust's test harness prints.
    ///
    /// A test that was ignored counts as failed, since nothing is skipped here; so does a program that
    /// failed without saying which test did.
    pub(super) fn of_harness(output: &str, success: bool) -> Self {
        let mut tally = Self::default();
        for line in output.lines() {
            let Some(counts) = line.strip_prefix("test result: ") else { continue };
            for count in counts.split([';', '.']) {
                let mut words = count.split_whitespace();
                let (Some(number), Some(kind)) = (words.next(), words.next()) else { continue };
                let Ok(number) = number.parse::<usize>() else { continue };
                match kind {
                    "passed" => tally.passed += number,
                    "failed" | "ignored" => tally.failed += number,
                    _ => {}
                }
            }
        }
        if !success && tally.failed == 0 {
            tally.failed = 1;
        }
        tally
    }

    /// Counts lines that start with `ok ` and `not ok `. A script that ended badly without a failed
    /// check, or that checked nothing, counts as one failure.
    pub(super) fn of_lines(output: &str, success: bool) -> Self {
        let count = |start: &str| output.lines().filter(|line| line.starts_with(start)).count();
        let mut tally = Self { passed: count("ok "), failed: count("not ok ") };
        if tally.failed == 0 && (!success || tally.passed == 0) {
            tally.failed = 1;
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

// === impl Row ===

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { passed, failed } = self.tally;
        let seconds = self.elapsed.as_secs_f64();
        write!(out, "{}: {passed} passed, {failed} failed in {seconds:.1} s", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_lines_of_several_programs_are_added() {
        let output = "running 3 tests\n\
            test a ... ok\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.01s\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s\n";
        assert_eq!(Tally::of_harness(output, false), Tally { passed: 4, failed: 2 });
    }

    #[test]
    fn an_ignored_test_is_a_failed_one() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(Tally::of_harness(output, true), Tally { passed: 3, failed: 1 });
    }

    #[test]
    fn a_program_that_dies_without_a_word_has_failed() {
        assert_eq!(Tally::of_harness("running 3 tests\n", false), Tally { passed: 0, failed: 1 });
    }

    #[test]
    fn a_script_that_checks_nothing_has_failed() {
        assert_eq!(Tally::of_lines("starting\n", true), Tally { passed: 0, failed: 1 });
        assert_eq!(Tally::of_lines("ok a\nok b\n", true), Tally { passed: 2, failed: 0 });
        assert_eq!(Tally::of_lines("ok a\nnot ok b: why\n", false), Tally { passed: 1, failed: 1 });
        assert_eq!(Tally::of_lines("ok a\n", false), Tally { passed: 1, failed: 1 });
    }
}
