//! `cargo xtask codegen`: files that are printed by the program itself, so that they cannot say anything
//! else than the program does.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::command::stdout_of;
use crate::repository::Repository;

#[derive(Args)]
pub(crate) struct CodegenArguments {
    /// Fail if a committed file is not what would be written
    #[arg(long)]
    check: bool,
}

/// Each generated file and the arguments with which `highwater` prints it.
const FILES: &[(&str, &[&str])] = &[
    ("highwater.schema.json", &["schema"]),
    ("docs/reference/configuration.md", &["docs", "configuration"]),
    ("docs/reference/commands.md", &["docs", "commands"]),
    ("docs/reference/facts.md", &["docs", "facts"]),
];

/// One generated file and, if it is not what the program prints, how it differs.
pub(crate) struct Generated {
    file: &'static str,
    text: String,
    pub(crate) difference: Option<String>,
}

pub(crate) fn run(repository: &Repository, arguments: &CodegenArguments) -> Result<ExitCode> {
    let built = repository.cargo().args(["build", "--quiet", "--package", "highwater"]).status()?;
    anyhow::ensure!(built.success(), "`highwater` does not build");
    let mut code = ExitCode::SUCCESS;
    for generated in compare(repository, &repository.target.join("debug/highwater"))? {
        let Some(difference) = generated.difference else { continue };
        if arguments.check {
            println!("{difference}");
            code = ExitCode::FAILURE;
        } else {
            let path = repository.path(generated.file);
            let folder = path.parent().context("a file is in a folder")?;
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&path, generated.text))
                .with_context(|| format!("cannot write `{}`", generated.file))?;
            println!("wrote {}", generated.file);
        }
    }
    Ok(code)
}

/// Compares every generated file with what the program prints now.
pub(crate) fn compare(repository: &Repository, program: &Path) -> Result<Vec<Generated>> {
    let one = |(file, arguments): &(&'static str, &[&str])| {
        let mut text = stdout_of(Command::new(program).args(*arguments).current_dir(&repository.root))?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let committed = std::fs::read_to_string(repository.path(file)).ok();
        let difference = difference(file, committed.as_deref(), &text);
        Ok(Generated { file, text, difference })
    };
    FILES.iter().map(one).collect()
}

fn difference(file: &str, committed: Option<&str>, printed: &str) -> Option<String> {
    const HELP: &str = "help: run `cargo xtask codegen` and commit what it writes";
    let Some(committed) = committed else { return Some(format!("`{file}` is missing\n{HELP}")) };
    if committed == printed {
        return None;
    }
    let same = committed.lines().zip(printed.lines()).take_while(|(old, new)| old == new).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(end of file)").to_owned();
    let (old, new) = (line(committed), line(printed));
    Some(format!("`{file}` is stale from line {}:\n- {old}\n+ {new}\n{HELP}", same + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_named() {
        assert_eq!(difference("f", Some("a\nb\n"), "a\nb\n"), None);
        let why = difference("f", Some("a\nb\n"), "a\nc\n").unwrap();
        assert!(why.starts_with("`f` is stale from line 2:\n- b\n+ c\n"), "{why}");
        assert!(difference("f", None, "a\n").unwrap().starts_with("`f` is missing"));
    }
}
