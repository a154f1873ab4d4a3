//! The rules of verified approval, each with the tests that are named after it.
//!
//! A test says which rules it holds in its name: `s52_s57_…`, `c05_…`, `g19_…`. What other parts have run already is not
//! run again; a rule that no test names is a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use anyhow::Result;

use super::Stage;
use super::built::TestProgram;
use super::rust::show_failure;
use super::tally::Tally;
use crate::command::quiet;

/// One program with its tests of rules alone.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Naming the tests of a program takes no time.
const LIST_LIMIT: Duration = Duration::from_secs(5 * 60);

/// The letters of the rules and how many there are of each: the server's, the client's, the rulings.
const RULES: [(char, u8); 3] = [('S', 57), ('C', 16), ('G', 27)];

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    /// The place of its letter in [`RULES`].
    letter: usize,
    number: u8,
}

/// What came of tests, by crate, program and name.
#[derive(Debug, Default)]
pub(super) struct Heard(BTreeMap<String, bool>);

pub(super) fn run(stage: &Stage) -> Result<Tally> {
    let mut unheard = Vec::new();
    for program in &stage.built()?.tests {
        let names = rule_tests(program)?;
        let missing: Vec<String> = {
            let heard = stage.heard.borrow();
            names.into_iter().filter(|name| !heard.0.contains_key(&full_name(program, name))).collect()
        };
        if !missing.is_empty() {
            unheard.push((program, missing));
        }
    }
    for (program, names) in unheard {
        let mut command = program.command();
        command.arg("--exact").args(&names);
        show_failure(&mut command, LIMIT, |output, success| {
            stage.heard.borrow_mut().listen(program, output);
            Tally::of_harness(output, success)
        })?;
        // A test of which nothing was heard took its program down with it.
        let mut heard = stage.heard.borrow_mut();
        for name in names {
            heard.0.entry(full_name(program, &name)).or_insert(false);
        }
    }
    let heard = stage.heard.borrow();
    let mut by_rule: BTreeMap<Rule, Vec<(&str, bool)>> = Rule::all().map(|rule| (rule, Vec::new())).collect();
    for (name, passed) in &heard.0 {
        for rule in Rule::named_in(name) {
            by_rule.entry(rule).or_default().push((name, *passed));
        }
    }
    let mut tally = Tally::default();
    for (rule, tests) in &by_rule {
        let held = !tests.is_empty() && tests.iter().all(|(_, passed)| *passed);
        tally += Tally::of(held);
        match tests.as_slice() {
            [] => println!("  {rule:<4} NO TEST"),
            tests => {
                for (at, (name, passed)) in tests.iter().enumerate() {
                    let shown = if at == 0 { rule.to_string() } else { String::new() };
                    println!("  {shown:<4} {}  {name}", if *passed { "passed" } else { "FAILED" });
                }
            }
        }
    }
    Ok(tally)
}

/// The tests of a program that name a rule.
fn rule_tests(program: &TestProgram) -> Result<Vec<String>> {
    let mut command = program.command();
    command.args(["--list", "--format", "terse"]);
    let outcome = quiet(&mut command, LIST_LIMIT)?;
    anyhow::ensure!(outcome.success, "`{}` does not name its tests", program.path.display());
    let names = outcome.output.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.filter(|name| Rule::named_in(name).next().is_some()).map(str::to_owned).collect())
}

fn full_name(program: &TestProgram, test: &str) -> String {
    if program.is_outside {
        format!("{}/{} {test}", program.crate_name, program.name)
    } else {
        format!("{} {test}", program.crate_name)
    }
}

// === impl Heard ===

impl Heard {
    /// Keeps what a program says of its tests of rules.
    pub(super) fn listen(&mut self, program: &TestProgram, output: &str) {
        self.keep(output, |name| full_name(program, name));
    }

    /// The same for a program that cargo was asked to run.
    pub(super) fn listen_to(&mut self, place: &str, output: &str) {
        self.keep(output, |name| format!("{place} {name}"));
    }

    fn keep(&mut self, output: &str, full: impl Fn(&str) -> String) {
        for (name, passed) in outcomes(output) {
            if Rule::named_in(name).next().is_some() {
                // One that failed anywhere has failed.
                *self.0.entry(full(name)).or_insert(true) &= passed;
            }
        }
    }
}

/// The lines in which the harness says how a test went.
fn outcomes(output: &str) -> impl Iterator<Item = (&str, bool)> {
    output.lines().filter_map(|line| {
        let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        let name = name.split(" - ").next().unwrap_or(name);
        Some((name, result.trim() == "ok"))
    })
}

// === impl Rule ===

impl Rule {
    fn all() -> impl Iterator<Item = Self> {
        RULES
            .iter()
            .enumerate()
            .flat_map(|(letter, (_, last))| (1..=*last).map(move |number| Self { letter, number }))
    }

    /// The rules that the name of a test speaks of.
    fn named_in(name: &str) -> impl Iterator<Item = Self> {
        let words = name.rsplit("::").next().unwrap_or(name).split('_');
        let words = words.flat_map(|word| word.rsplit(' ').next());
        let found: BTreeSet<Self> = words.filter_map(Self::parse).collect();
        found.into_iter()
    }

    /// `s7`, `s07`.
    fn parse(word: &str) -> Option<Self> {
        let mut letters = word.chars();
        let first = letters.next()?.to_ascii_uppercase();
        let digits = letters.as_str();
        if !(1..=2).contains(&digits.len()) || !digits.chars().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let (letter, (_, last)) = RULES.iter().enumerate().find(|(_, (letter, _))| *letter == first)?;
        let number = digits.parse().ok().filter(|number| (1..=*last).contains(number))?;
        Some(Self { letter, number })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = RULES.get(self.letter).map_or('?', |(letter, _)| *letter);
        f.pad(&format!("{letter}{}", self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Vec<String> {
        Rule::named_in(name).map(|rule| rule.to_string()).collect()
    }

    #[test]
    fn rules_are_read_from_names_with_and_without_zeros() {
        assert_eq!(named("order::s52_s57_a_bad_signature"), ["S52", "S57"]);
        assert_eq!(named("s7_g19_who_gets_it"), ["S7", "G19"]);
        assert_eq!(named("c05_never_before"), ["C5"]);
        for none in ["s58_x", "s0_x", "c17", "g28", "es256_key", "s100_x", "a_size", "x2_y", "sha_s256"] {
            assert!(named(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn there_are_a_hundred_rules() {
        assert_eq!(Rule::all().count(), 100);
    }

    #[test]
    fn what_the_harness_says_is_understood() {
        let output =
            "running 3 tests\ntest a::s01_x ... ok\ntest s02_y - should panic ... ok\ntest b::c ... FAILED\n";
        let heard: Vec<_> = outcomes(output).collect();
        assert_eq!(heard, [("a::s01_x", true), ("s02_y", true), ("b::c", false)]);
    }
}
