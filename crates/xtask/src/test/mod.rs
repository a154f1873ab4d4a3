//! `cargo xtask test`: the list of parts, what each needs, and the closing count.
//!
//! To add a part, write a function `fn(&Stage) -> Result<Tally>` in a module of this folder and give it
//! a row in [`PARTS`].

mod approval;
mod asked;
mod built;
mod conformance;
mod day;
mod eval;
mod hosts;
mod peers;
pub(crate) mod running;
mod rust;
mod scenarios;
mod tally;

use std::cell::{OnceCell, RefCell};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;

use crate::install::{self, Group};
use crate::repository::Repository;
use approval::Heard;
use built::Built;
use tally::{Row, Tally, print_table};

#[derive(Args)]
pub(crate) struct TestArguments {
    /// Run one part, or the unit tests of one crate, with what it needs; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Say which parts there are
    #[arg(long)]
    list: bool,
}

/// One named step of the test run.
struct Part {
    name: &'static str,
    about: &'static str,
    needs: &'static [Need],
    /// Whether the part runs when no part was named. What takes long to install does not.
    ordinary: bool,
    run: fn(&Stage) -> Result<Tally>,
}

/// What has to be there before a part can run.
#[derive(Clone, Copy)]
enum Need {
    /// Every program and test of the workspace, built.
    Build,
    /// A group of foreign programs, installed.
    Peers(Group),
    /// The programs of PostgreSQL. Tests start servers of their own with them.
    Postgres,
    /// Chromium and its driver.
    Browser,
}

const PARTS: &[Part] = &[
    Part {
        name: "fmt",
        about: "the formatting of the Rust code",
        needs: &[],
        ordinary: true,
        run: rust::fmt,
    },
    Part {
        name: "clippy",
        about: "the lints, warnings denied",
        needs: &[],
        ordinary: true,
        run: rust::clippy,
    },
    Part {
        name: "tidy",
        about: "arrows between crates, licences, headers, links",
        needs: &[],
        ordinary: true,
        run: rust::tidy,
    },
    Part {
        name: "codegen",
        about: "generated files are up to date",
        needs: &[Need::Build],
        ordinary: true,
        run: rust::codegen,
    },
    Part {
        name: "deny",
        about: "cargo-deny, built from source first",
        needs: &[Need::Peers(Group::CargoDeny)],
        ordinary: false,
        run: rust::deny,
    },
    Part {
        name: "unit",
        about: "tests beside the code, tests of single crates, doctests",
        needs: &[Need::Build],
        ordinary: true,
        run: rust::unit,
    },
    Part {
        name: "cedar",
        about: "the rule engine against Cedar, which is built first",
        needs: &[],
        ordinary: true,
        run: rust::cedar,
    },
    Part {
        name: "webauthn",
        about: "passkeys against a foreign authenticator and a foreign verifier, canonical JSON against JavaScript",
        needs: &[Need::Peers(Group::Node), Need::Peers(Group::Approval)],
        ordinary: true,
        run: rust::webauthn,
    },
    Part {
        name: "fuzz-corpus",
        about: "the fuzz targets' corpus, as plain tests",
        needs: &[Need::Build],
        ordinary: true,
        run: rust::fuzz_corpus,
    },
    Part {
        name: "fuzz",
        about: "the fuzz targets looking for new inputs, cargo-fuzz built from source first",
        needs: &[Need::Peers(Group::CargoFuzz)],
        ordinary: false,
        run: rust::fuzz,
    },
    Part {
        name: "fuzz-http1",
        about: "ten million messages of HTTP/1.1 in each direction, read by us and by hyper",
        needs: &[],
        ordinary: false,
        run: rust::fuzz_http1,
    },
    Part {
        name: "integration",
        about: "the shipped program and the test kit, as a whole",
        needs: &[Need::Build, Need::Peers(Group::Node), Need::Peers(Group::PythonServers)],
        ordinary: true,
        run: rust::integration,
    },
    Part {
        name: "scenarios",
        about: "the stories of `scenarios/`, each through a gateway of its own",
        needs: &[Need::Build],
        ordinary: true,
        run: scenarios::run,
    },
    Part {
        name: "postgres",
        about: "the session store and whole gateways on a real PostgreSQL, which is crashed and paused under them",
        needs: &[Need::Build, Need::Postgres],
        ordinary: true,
        run: rust::postgres,
    },
    Part {
        name: "browser",
        about: "the approval page in a real browser, with passkeys that exist in it alone, and under the rules of axe",
        needs: &[Need::Build, Need::Browser, Need::Peers(Group::Node), Need::Peers(Group::Approval)],
        ordinary: true,
        run: rust::browser,
    },
    Part {
        name: "conformance",
        about: "the official suite, directly and through the gateway, before servers on five SDKs",
        needs: &[Need::Build, Need::Peers(Group::Node), Need::Peers(Group::PythonFixtures)],
        ordinary: true,
        run: conformance::run,
    },
    Part {
        name: "peers",
        about: "foreign clients and servers, with the gateway between them",
        needs: &[
            Need::Build,
            Need::Peers(Group::Node),
            Need::Peers(Group::PythonClients),
            Need::Peers(Group::PythonServers),
        ],
        ordinary: true,
        run: peers::run,
    },
    Part {
        name: "day",
        about: "an ordinary day of work with real servers, and what it asks",
        needs: &[
            Need::Build,
            Need::Peers(Group::Node),
            Need::Peers(Group::PythonClients),
            Need::Peers(Group::PythonServers),
            Need::Peers(Group::PythonOlder),
        ],
        ordinary: true,
        run: day::run,
    },
    Part {
        name: "hosts",
        about: "a conversation of the real Claude Code at a terminal, driven by a scripted model",
        needs: &[Need::Build, Need::Peers(Group::ClaudeCode)],
        ordinary: true,
        run: hosts::ordinary,
    },
    Part {
        name: "hosts-all",
        about: "the same with Codex, prompts that the agent makes up, and hooks that fail",
        needs: &[Need::Build, Need::Peers(Group::ClaudeCode), Need::Peers(Group::Codex)],
        ordinary: false,
        run: hosts::everything,
    },
    Part {
        name: "eval",
        about: "one suite of AgentDojo in one mode: the user's work, and attacks on it",
        needs: &[Need::Build, Need::Peers(Group::AgentDojo)],
        ordinary: true,
        run: eval::run,
    },
    // Last: what the others have run is not run again.
    Part {
        name: "approval",
        about: "every rule of verified approval with its tests and what came of them; runs what did not run yet",
        needs: &[
            Need::Build,
            Need::Postgres,
            Need::Browser,
            Need::Peers(Group::Node),
            Need::Peers(Group::PythonClients),
            Need::Peers(Group::PythonServers),
        ],
        ordinary: true,
        run: approval::run,
    },
];

/// What parts share: the repository, and what was built.
struct Stage {
    repository: Repository,
    built: OnceCell<Result<Built, String>>,
    /// What parts have heard of tests that name a rule of approval.
    heard: RefCell<Heard>,
}

/// A part as chosen on the command line.
enum Chosen {
    Part(&'static Part),
    Crate(String),
}

/// Runs the chosen parts, or all ordinary ones, and prints the count.
pub(crate) fn run(repository: Repository, arguments: &TestArguments) -> Result<ExitCode> {
    if arguments.list {
        for part in PARTS {
            let note = if part.ordinary { "" } else { " (only when named)" };
            println!("{:<13}{}{note}", part.name, part.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(&repository, &arguments.only)?;
    let stage = Stage { repository, built: OnceCell::new(), heard: RefCell::default() };
    let mut rows = Vec::new();
    for each in &chosen {
        let name = each.name();
        println!("{name}: started");
        let start = Instant::now();
        let tally = each.run(&stage).unwrap_or_else(|error| {
            println!("{error:#}");
            Tally { passed: 0, failed: 1 }
        });
        let row = Row { name: name.to_owned(), tally, elapsed: start.elapsed() };
        println!("{row}");
        rows.push(row);
    }
    let whole = print_table(&rows);
    Ok(if whole.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn choose(repository: &Repository, names: &[String]) -> Result<Vec<Chosen>> {
    if names.is_empty() {
        return Ok(PARTS.iter().filter(|part| part.ordinary).map(Chosen::Part).collect());
    }
    let choose_one = |name: &String| {
        if let Some(part) = PARTS.iter().find(|part| part.name == name) {
            return Ok(Chosen::Part(part));
        }
        if repository.path("crates").join(name).join("Cargo.toml").is_file() {
            return Ok(Chosen::Crate(name.clone()));
        }
        let parts: Vec<_> = PARTS.iter().map(|part| part.name).collect();
        bail!("there is no part `{name}`; there are {}, and every folder of `crates`", parts.join(", "))
    };
    names.iter().map(choose_one).collect()
}

// === impl Chosen ===

impl Chosen {
    fn name(&self) -> &str {
        match self {
            Self::Part(part) => part.name,
            Self::Crate(name) => name,
        }
    }

    fn run(&self, stage: &Stage) -> Result<Tally> {
        let needs = match self {
            Self::Part(part) => part.needs,
            Self::Crate(_) => &[Need::Build],
        };
        for need in needs {
            stage.meet(*need)?;
        }
        match self {
            Self::Part(part) => (part.run)(stage),
            Self::Crate(name) => rust::one_crate(stage, name),
        }
    }
}

// === impl Stage ===

impl Stage {
    fn meet(&self, need: Need) -> Result<()> {
        match need {
            Need::Build => self.built().map(|_| ()),
            Need::Postgres => install::postgres(),
            Need::Browser => install::browser(),
            Need::Peers(group) => {
                let start = Instant::now();
                if group.install(&self.repository)? {
                    println!("  installed {} in {:.0} s", group.name(), start.elapsed().as_secs_f64());
                }
                Ok(())
            }
        }
    }

    /// What the workspace builds; built on first use.
    fn built(&self) -> Result<&Built> {
        let outcome = self.built.get_or_init(|| {
            let start = Instant::now();
            let built = Built::make(&self.repository).map_err(|error| format!("{error:#}"))?;
            println!("  built the workspace in {:.0} s", start.elapsed().as_secs_f64());
            Ok(built)
        });
        outcome.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }
}
