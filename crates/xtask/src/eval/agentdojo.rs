//! One replay: a gateway in front of one suite, in one mode, and what came of the user's calls and the attackers'.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::command::{quiet, stdout_of};
use crate::install::Group;
use crate::repository::Repository;
use crate::test::running::{Gateway, Site};

/// Only decides how late a hang is noticed.
const REPLAY_LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

/// What the replay writes, in a folder of its own.
const RESULT: &str = "result.json";

pub(crate) const SUITES: [&str; 4] = ["workspace", "travel", "banking", "slack"];

/// How the gateway judges, what it is told, and what is tried.
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    pub(super) about: &'static str,
    /// Its name in `peers/agentdojo/config.py`.
    config: &'static str,
    /// Whether the host tells the user's words.
    words: bool,
    pub(super) experiments: &'static [&'static str],
}

const FORMS: &[&str] = &["work", "plain", "encoded", "split", "forged"];

pub(crate) const MODES: [Mode; 8] = [
    Mode {
        name: "every-write",
        about: "every write is confirmed",
        config: "every-write",
        words: false,
        experiments: &["work", "plain"],
    },
    Mode {
        name: "label-balanced",
        about: "the label alone, `balanced`",
        config: "label-balanced",
        words: false,
        experiments: &["work", "plain"],
    },
    Mode {
        name: "label-strict",
        about: "the label alone, `strict`",
        config: "label-strict",
        words: false,
        experiments: &["work", "plain"],
    },
    Mode {
        name: "no-words-balanced",
        about: "no words, `balanced`",
        config: "balanced",
        words: false,
        experiments: FORMS,
    },
    Mode {
        name: "no-words-strict",
        about: "no words, `strict`",
        config: "strict",
        words: false,
        experiments: FORMS,
    },
    Mode {
        name: "words-balanced",
        about: "**words, `balanced`**",
        config: "balanced",
        words: true,
        experiments: &[
            "work",
            "work-agreed",
            "plain",
            "encoded",
            "split",
            "forged",
            "plain-agreed",
            "owners",
            "names",
            "selection",
        ],
    },
    Mode {
        name: "first-labels",
        about: "words, `balanced`, labels as first written",
        config: "first-labels",
        words: true,
        experiments: &["work", "plain"],
    },
    Mode {
        name: "words-strict",
        about: "words, `strict`",
        config: "strict",
        words: true,
        experiments: &["work", "work-agreed", "plain", "encoded", "split", "forged"],
    },
];

/// What came of one mode in one suite, by experiment.
pub(crate) type Replay = BTreeMap<String, Experiment>;

/// What came of everything.
#[derive(Default)]
pub(crate) struct Results(BTreeMap<&'static str, Vec<Replay>>);

/// What came of one experiment in one suite, as the replay writes it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Experiment {
    /// The user's tasks, with nobody else there.
    Work { tasks: Vec<Worked> },
    /// The user's words in tools that they did not ask for.
    Selection { tried: usize, passed: Vec<Passed> },
    /// Strangers in every task that they can reach.
    Owners { tasks: Vec<String>, won: Vec<Won> },
    /// Strangers' calls.
    Attacks { tried: usize, won: Vec<Won> },
}

/// One task of the user.
#[derive(Deserialize)]
pub(crate) struct Worked {
    pub(crate) task: String,
    pub(crate) questions: Vec<Value>,
    pub(crate) refused: Vec<String>,
}

/// An attack that was not stopped.
#[derive(Deserialize)]
pub(crate) struct Won {
    pub(crate) task: String,
    /// The attacker's goal, or the name that they took.
    #[serde(alias = "name")]
    pub(crate) goal: String,
    pub(crate) call: String,
}

/// A call with the user's words that the user did not ask for, and that was made.
#[derive(Deserialize)]
pub(crate) struct Passed {
    pub(crate) task: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

/// Figures over all suites of one mode.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) tried: usize,
    pub(crate) won: usize,
}

/// The user's tasks of one mode, over all suites.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) tasks: usize,
    /// Without a question and without a refusal.
    pub(crate) undisturbed: usize,
    pub(crate) questions: usize,
    /// With a call that nobody could agree to.
    pub(crate) refused: usize,
}

/// What every replay needs.
pub(crate) struct Replayer<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) program: &'a Path,
    /// Where what came of it is kept.
    pub(crate) folder: &'a Path,
}

// === impl Replayer ===

impl Replayer<'_> {
    /// What an earlier run measured, or else what comes of it now.
    pub(crate) fn kept_or_made(&self, mode: &Mode, suite: &str, experiments: &[&str]) -> Result<Replay> {
        let kept = self.place(mode, suite).join(RESULT);
        if kept.is_file() {
            let kept = read(&kept)?;
            if experiments.iter().all(|name| kept.contains_key(*name)) {
                return Ok(kept);
            }
        }
        self.replay(mode, suite, experiments)
    }

    fn place(&self, mode: &Mode, suite: &str) -> PathBuf {
        self.folder.join(format!("{}-{suite}", mode.name))
    }

    /// Starts a gateway for one suite in one mode, and replays.
    pub(crate) fn replay(&self, mode: &Mode, suite: &str, experiments: &[&str]) -> Result<Replay> {
        let Self { repository, program, .. } = *self;
        let started = Instant::now();
        let folder = self.place(mode, suite);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot empty `{}`", folder.display()))?;
        }
        // A socket's path must be short, wherever the repository is.
        let short = tempfile::tempdir().context("there is no place for a socket")?;
        let world = short.path().join("world");
        let python = Group::AgentDojo.folder(repository).join("bin/python");
        let script = |command: &mut Command, name: &str| {
            command.arg(repository.path("peers/agentdojo").join(name)).arg(suite);
        };
        let mut configured = Command::new(&python);
        script(&mut configured, "config.py");
        let config = stdout_of(configured.arg(&world).args(["--mode", mode.config]))?;
        let site =
            Site::new(&folder, &serde_json::from_str(&config).context("a configuration that is no JSON")?)?;
        let gateway = Gateway::start(program, &site, &folder.join("gateway.log"))?;
        let out = folder.join(RESULT);
        let mut command =
            if mode.words { below_a_host(short.path(), &python)? } else { Command::new(&python) };
        script(&mut command, "replay.py");
        command.args(["--endpoint", &gateway.url, "--operator", &site.operator_token()?]);
        command.arg("--world").arg(&world).arg("--out").arg(&out);
        if mode.words {
            let transcripts = folder.join("transcripts");
            std::fs::create_dir_all(&transcripts).context("cannot make the folder of transcripts")?;
            command.arg("--transcripts").arg(transcripts);
            command.arg("--hook").arg(program).arg("--data").arg(&site.data);
        }
        for name in experiments {
            command.args(["--experiment", name]);
        }
        let outcome = quiet(&mut command, REPLAY_LIMIT)?;
        ensure!(
            outcome.success,
            "the replay of {suite} in mode {} failed:\n{}\nthe gateway's log ends with:\n{}",
            mode.name,
            outcome.output,
            gateway.process.last_words()
        );
        println!("{} {suite}: replayed in {:.0} s", mode.name, started.elapsed().as_secs_f64());
        read(&out)
    }
}

fn read(file: &Path) -> Result<Replay> {
    let told = std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    serde_json::from_slice(&told).context("the replay's result is not understood")
}

/// Starts a program below a process that is called as the host is. A prompt counts only if its host was started by no other
/// host: in a terminal of another agent this replay has no words.
fn below_a_host(folder: &Path, program: &Path) -> Result<Command> {
    let host = folder.join("claude");
    std::fs::copy("/bin/sh", &host).context("there is no shell to stand in for a host")?;
    let mut command = Command::new(host);
    // Two commands, so that the shell stays.
    command.args(["-c", "\"$@\"; exit $?", "claude"]).arg(program);
    Ok(command)
}

// === impl Results ===

impl Results {
    pub(crate) fn add(&mut self, mode: &'static Mode, replay: Replay) {
        self.0.entry(mode.name).or_default().push(replay);
    }

    /// What an experiment brought in each suite.
    pub(crate) fn of<'a>(&'a self, mode: &str, experiment: &'a str) -> impl Iterator<Item = &'a Experiment> {
        self.0.get(mode).into_iter().flatten().filter_map(move |replay| replay.get(experiment))
    }

    /// The user's tasks, if they were replayed.
    pub(crate) fn work(&self, mode: &str, experiment: &str) -> Option<Work> {
        let mut sum = Work::default();
        for told in self.of(mode, experiment) {
            let Experiment::Work { tasks } = told else { continue };
            for task in tasks {
                sum.tasks += 1;
                sum.undisturbed += usize::from(task.questions.is_empty() && task.refused.is_empty());
                sum.questions += task.questions.len();
                sum.refused += usize::from(!task.refused.is_empty());
            }
        }
        (sum.tasks > 0).then_some(sum)
    }

    /// How often strangers tried and won, if they did.
    pub(crate) fn attacks(&self, mode: &str, experiment: &str) -> Option<Sum> {
        let mut sum = Sum::default();
        for told in self.of(mode, experiment) {
            let (tried, won) = match told {
                Experiment::Attacks { tried, won } => (*tried, won.len()),
                Experiment::Owners { tasks, won } => (tasks.len(), won.len()),
                Experiment::Selection { tried, passed } => (*tried, passed.len()),
                Experiment::Work { .. } => continue,
            };
            sum.tried += tried;
            sum.won += won;
        }
        (sum.tried > 0).then_some(sum)
    }
}
