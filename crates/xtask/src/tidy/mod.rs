//! `cargo xtask tidy`: what no compiler checks. Each check is a function from the repository to the
//! problems it found; the test run counts each as one test.

mod crates;
mod files;
mod licence;
mod links;
mod lints;
mod sources;

use std::process::ExitCode;

use anyhow::Result;

use crate::repository::Repository;
use files::Files;

/// One check and what it found.
pub(crate) struct Check {
    name: &'static str,
    pub(crate) problems: Vec<String>,
}

/// Runs every check and prints the problems.
pub(crate) fn run(repository: &Repository) -> Result<ExitCode> {
    let checks = checks(repository)?;
    for check in &checks {
        if check.problems.is_empty() {
            println!("ok: {}", check.name);
        }
        check.print_problems();
    }
    let clean = checks.iter().all(|check| check.problems.is_empty());
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every check.
pub(crate) fn checks(repository: &Repository) -> Result<Vec<Check>> {
    let files = Files::walk(&repository.root)?;
    let policy = licence::Policy::read(repository)?;
    Ok(vec![
        Check { name: "crates depend only along the listed arrows", problems: crates::arrows(repository) },
        Check {
            name: "crates below the gateway keep out what they forbid",
            problems: crates::forbidden(repository),
        },
        Check {
            name: "unit tests below the gateway do without the test kit",
            problems: sources::testkit(&files),
        },
        Check {
            name: "no banned crate or feature is shipped",
            problems: licence::bans(repository, &policy)?,
        },
        Check {
            name: "shipped crates have one version each",
            problems: licence::duplicates(repository, &policy)?,
        },
        Check {
            name: "licences of all dependencies are allowed",
            problems: licence::licences(repository, &policy)?,
        },
        Check { name: "every crate has the workspace's lints", problems: lints::lint_tables(repository)? },
        Check {
            name: "every clippy.toml has the workspace's bans",
            problems: lints::clippy_bans(repository)?,
        },
        Check { name: "every Rust file says what it is", problems: sources::headers(&files) },
        Check { name: "no file is too long", problems: sources::lengths(&files) },
        Check { name: "every lint exception has a reason", problems: sources::reasons(&files) },
        Check { name: "no test is ignored", problems: sources::ignored(&files) },
        Check {
            name: "no path of one machine and no registry host",
            problems: sources::machine_paths(&files),
        },
        Check { name: "links in documents lead somewhere", problems: links::check(&files) },
    ])
}

// === impl Check ===

impl Check {
    pub(crate) fn print_problems(&self) {
        if !self.problems.is_empty() {
            println!("not ok: {}", self.name);
        }
        for problem in &self.problems {
            println!("  {problem}");
        }
    }
}
