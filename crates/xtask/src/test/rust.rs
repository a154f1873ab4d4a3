//! The parts that cargo and our own test programs make up.

use std::process::Command;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use anyhow::{Result, bail};

use super::Stage;
use super::built::TestProgram;
use super::tally::Tally;
use crate::command::{Outcome, quiet, shown};
use crate::install::{self, Group};

/// A cold compilation of everything stays below this, on a small machine with other things to do.
const COMPILE_LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// One test program that takes longer hangs. Each of its tests gives up earlier and says why.
const TEST_LIMIT: Duration = Duration::from_secs(60 * 60);

/// Which cases the property tests look at. Unless somebody sets it, a run depends on the commit alone:
/// who changes one thing is not told about another. To look at other cases, set it to any number.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";
const ORDINARY_SEED: &str = "1";

/// How many test programs of the integration part run at once: most of their time they wait for servers and clocks.
const INTEGRATION_PROGRAMS_AT_ONCE: usize = 2;

/// The crates whose `tests/` exercise the product as a whole.
const INTEGRATION: [&str; 2] = ["highwater", "testkit"];

/// The test that walks the committed corpus of the fuzz targets, in whichever crate.
const FUZZ_CORPUS: &str = "corpus";

/// Tests that start a PostgreSQL server, in whichever crate.
const POSTGRES: &str = "postgres";

/// Tests that start a browser.
const BROWSER: &str = "browser";

pub(super) fn fmt(stage: &Stage) -> Result<Tally> {
    cargo(stage, &["fmt", "--all", "--check"])
}

pub(super) fn clippy(stage: &Stage) -> Result<Tally> {
    cargo(stage, &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

pub(super) fn tidy(stage: &Stage) -> Result<Tally> {
    let mut tally = Tally::default();
    for check in crate::tidy::checks(&stage.repository)? {
        check.print_problems();
        tally += Tally::of(check.problems.is_empty());
    }
    Ok(tally)
}

pub(super) fn codegen(stage: &Stage) -> Result<Tally> {
    let program = stage.built()?.program("highwater")?;
    let mut tally = Tally::default();
    for stale in crate::codegen::compare(&stage.repository, &program)? {
        if let Some(why) = &stale.difference {
            println!("{why}");
        }
        tally += Tally::of(stale.difference.is_none());
    }
    Ok(tally)
}

pub(super) fn deny(stage: &Stage) -> Result<Tally> {
    let program = Group::CargoDeny.folder(&stage.repository).join("bin/cargo-deny");
    let mut command = Command::new(program);
    // Advisories need a database that is cloned from the network; whoever has it runs them by hand.
    command.args(["--offline", "check", "licenses", "bans", "sources"]).current_dir(&stage.repository.root);
    show_failure(&mut command, COMPILE_LIMIT, |_, success| Tally::of(success))
}

pub(super) fn unit(stage: &Stage) -> Result<Tally> {
    let elsewhere = [FUZZ_CORPUS, POSTGRES, BROWSER];
    let is_unit = |test: &TestProgram| !is_integration(test) && !elsewhere.contains(&test.name.as_str());
    let mut tally = run_tests(stage, 1, is_unit)?;
    let mut doctests = stage.repository.cargo();
    doctests.args(["test", "--quiet", "--workspace", "--doc"]);
    tally += show_failure(&mut doctests, COMPILE_LIMIT, Tally::of_harness)?;
    Ok(tally)
}

/// Apart from the others, because Cedar is larger than all we build besides: only this part builds it.
pub(super) fn cedar(stage: &Stage) -> Result<Tally> {
    let mut command = stage.repository.cargo();
    command.args([
        "test",
        "--quiet",
        "--package",
        "highwater-testkit",
        "--features",
        "cedar",
        "--test",
        "cedar",
    ]);
    show_failure(&mut command, COMPILE_LIMIT, Tally::of_harness)
}

/// Apart from the others for the same reason: the foreign authenticator is large.
pub(super) fn webauthn(stage: &Stage) -> Result<Tally> {
    install::approval_judge(&stage.repository)?;
    let mut command = stage.repository.cargo();
    command.args(["test", "--package", "highwater-testkit", "--features", "passkey", "--test", "webauthn"]);
    show_failure(&mut command, COMPILE_LIMIT, |output, success| {
        stage.heard.borrow_mut().listen_to("testkit/webauthn", output);
        Tally::of_harness(output, success)
    })
}

pub(super) fn integration(stage: &Stage) -> Result<Tally> {
    run_tests(stage, INTEGRATION_PROGRAMS_AT_ONCE, is_integration)
}

pub(super) fn postgres(stage: &Stage) -> Result<Tally> {
    run_tests(stage, 1, |test| test.name == POSTGRES)
}

pub(super) fn browser(stage: &Stage) -> Result<Tally> {
    run_tests(stage, 1, |test| test.name == BROWSER)
}

pub(super) fn fuzz_corpus(stage: &Stage) -> Result<Tally> {
    run_tests(stage, 1, |test| test.name == FUZZ_CORPUS)
}

/// Lets every fuzz target look for new inputs for a while. What it finds is left in the results.
pub(super) fn fuzz(stage: &Stage) -> Result<Tally> {
    let found = stage.repository.results("fuzz")?;
    let program = Group::CargoFuzz.folder(&stage.repository).join("bin/cargo-fuzz");
    let corpus = stage.repository.path("fuzz/corpus");
    let mut tally = Tally::default();
    for target in std::fs::read_dir(&corpus)? {
        let name = target?.file_name();
        std::fs::create_dir_all(found.join(&name))?;
        let mut command = Command::new(&program);
        command.args(["fuzz", "run"]).arg(&name).arg(found.join(&name)).arg(corpus.join(&name));
        command.args(["--", "-max_total_time=30"]).current_dir(&stage.repository.root);
        // The instrumentation is for nightly compilers only; the stable one has it, too.
        command.env("RUSTC_BOOTSTRAP", "1");
        tally += show_failure(&mut command, COMPILE_LIMIT, |_, success| Tally::of(success))?;
    }
    Ok(tally)
}

/// Holds our reader of HTTP/1.1 against hyper's, on many more messages than the ordinary run.
pub(super) fn fuzz_http1(stage: &Stage) -> Result<Tally> {
    let mut command = stage.repository.cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "highwater-http1",
        "--example",
        "differential",
    ]);
    let outcome = run_seeded(&mut command, COMPILE_LIMIT)?;
    println!("{}", outcome.output);
    Ok(Tally::of(outcome.success))
}

/// Everything that one crate's tests can say, for a quick look while working on it.
pub(super) fn one_crate(stage: &Stage, name: &str) -> Result<Tally> {
    run_tests(stage, 1, |test| test.crate_name == name)
}

fn is_integration(test: &TestProgram) -> bool {
    let elsewhere = [POSTGRES, BROWSER];
    test.is_outside
        && !elsewhere.contains(&test.name.as_str())
        && INTEGRATION.contains(&test.crate_name.as_str())
}

/// Runs the chosen test programs, so many at once, and counts each when it ends.
fn run_tests(stage: &Stage, at_once: usize, wanted: impl Fn(&TestProgram) -> bool) -> Result<Tally> {
    let programs: Vec<&TestProgram> = stage.built()?.tests.iter().filter(|test| wanted(test)).collect();
    if programs.is_empty() {
        bail!("no test program belongs to this part");
    }
    let next = Mutex::new(programs.into_iter());
    let (sender, ended) = mpsc::channel();
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                loop {
                    let program = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(program) = program else { return };
                    let mut command = program.command();
                    let outcome = run_seeded(&mut command, TEST_LIMIT);
                    if sender.send((program, command, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (program, command, outcome) in ended {
            tally += count_and_show(&command, outcome?, |output, success| {
                stage.heard.borrow_mut().listen(program, output);
                Tally::of_harness(output, success)
            });
        }
        Ok(tally)
    })
}

fn cargo(stage: &Stage, arguments: &[&str]) -> Result<Tally> {
    let mut command = stage.repository.cargo();
    command.args(arguments);
    show_failure(&mut command, COMPILE_LIMIT, |_, success| Tally::of(success))
}

/// Runs a command, counts its output, and shows that output if anything failed.
pub(super) fn show_failure(
    command: &mut Command,
    limit: Duration,
    count: impl Fn(&str, bool) -> Tally,
) -> Result<Tally> {
    let outcome = run_seeded(command, limit)?;
    Ok(count_and_show(command, outcome, count))
}

/// Runs a command in which property tests look at the ordinary cases, unless others were chosen.
fn run_seeded(command: &mut Command, limit: Duration) -> Result<Outcome> {
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever sets a seed means the tests that are run from here"
    )]
    let chosen = std::env::var_os(PROPERTY_SEED).is_some();
    if !chosen {
        command.env(PROPERTY_SEED, ORDINARY_SEED);
    }
    quiet(command, limit)
}

fn count_and_show(command: &Command, outcome: Outcome, count: impl Fn(&str, bool) -> Tally) -> Tally {
    let tally = count(&outcome.output, outcome.success);
    if tally.failed > 0 {
        println!("{}\nfailed: {}", outcome.output.trim_end(), shown(command));
    }
    tally
}
