//! `cargo xtask tidy`: what no compiler checks. Each check is a function from the repository to the
//! problems it found; the test run counts each as one test.

mod crates;
mod files;
mod licence;
mod links;
mod lints;
mod scenarios;
mod shipped;
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
    let files = Files::walk(&repository.root)?;
    let lines = shipped::lines(&files);
    let total: usize = lines.iter().map(|(_, lines)| lines).sum();
    let each: Vec<String> = lines.iter().map(|(name, lines)| format!("{name} {lines}")).collect();
    println!("shipped lines of code, without tests and comments: {total} ({})", each.join(", "));
    let (kernel, most) = shipped::kernel(&files);
    println!("lines of the kernel: {kernel}, at most {most}");
    let clean = checks.iter().all(|check| check.problems.is_empty());
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every check.
pub(crate) fn checks(repository: &Repository) -> Result<Vec<Check>> {
    let files = Files::walk(&repository.root)?;
    let policy = licence::Policy::read(repository)?;
    Ok(vec![
        Check::new("crates depend only along the listed arrows", crates::arrows(repository)),
        Check::new("crates below the gateway keep out what they forbid", crates::forbidden(repository)),
        Check::new("unit tests below the gateway do without the test kit", sources::testkit(&files)),
        Check::new("no banned crate or feature is shipped", licence::bans(repository, &policy)?),
        Check::new("shipped crates have one version each", licence::duplicates(repository, &policy)?),
        Check::new("every dependency comes from the registry", licence::sources(repository)?),
        Check::new("licences of all dependencies are allowed", licence::licences(repository, &policy)?),
        Check::new("every crate has the workspace's lints", lints::lint_tables(repository)?),
        Check::new("every clippy.toml has the workspace's bans", lints::clippy_bans(repository)?),
        Check::new("every Rust file says what it is", sources::headers(&files)),
        Check::new("no file is too long", sources::lengths(&files)),
        Check::new("the kernel is not larger than its bound", shipped::kernel_bound(&files)),
        Check::new("every lint exception has a reason", sources::reasons(&files)),
        Check::new("no test is ignored", sources::ignored(&files)),
        Check::new("no path of one machine and no registry host", sources::machine_paths(&files)),
        Check::new("links in documents lead somewhere", links::check(&files)),
        Check::new("every fact is named by a scenario", scenarios::facts(&files)),
        Check::new("every finding is named by a scenario", scenarios::findings(&files)),
        Check::new("every key of the configuration is used by a scenario", scenarios::keys(&files)),
    ])
}

// === impl Check ===

impl Check {
    fn new(name: &'static str, problems: Vec<String>) -> Self {
        Self { name, problems }
    }

    pub(crate) fn print_problems(&self) {
        if !self.problems.is_empty() {
            println!("not ok: {}", self.name);
        }
        for problem in &self.problems {
            println!("  {problem}");
        }
    }
}
