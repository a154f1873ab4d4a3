//! Lints that would otherwise quietly not apply: a manifest that does not inherit them, a `clippy.toml`
//! that replaces the workspace's.

use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::repository::Repository;

/// The one crate that may spell out its lints, to allow `unsafe` with a comment.
const UNSAFE_CRATE: &str = "sandbox";

/// Crates whose lints are not the workspace's.
pub(super) fn lint_tables(repository: &Repository) -> Result<Vec<String>> {
    let root = read(&repository.path("Cargo.toml"))?;
    let workspace = root.get("workspace").and_then(|workspace| workspace.get("lints"));
    let workspace = without_unsafe(workspace.context("the workspace has no lints")?);
    let mut problems = Vec::new();
    for package in repository.metadata.workspace_packages() {
        let manifest = read(package.manifest_path.as_std_path())?;
        let lints = manifest.get("lints");
        if lints.and_then(|lints| lints.get("workspace")).and_then(Value::as_bool) == Some(true) {
            continue;
        }
        let shown = repository.shown(package.manifest_path.as_std_path());
        match lints {
            Some(own) if package.name.ends_with(UNSAFE_CRATE) && without_unsafe(own) == workspace => {}
            Some(_) if package.name.ends_with(UNSAFE_CRATE) => {
                problems
                    .push(format!("{shown}: the lints differ from the workspace's by more than `unsafe`"));
            }
            _ => problems.push(format!("{shown}: add `[lints]` with `workspace = true`")),
        }
    }
    Ok(problems)
}

/// `clippy.toml` files that lack a line of the workspace's, which clippy does not merge in.
pub(super) fn clippy_bans(repository: &Repository) -> Result<Vec<String>> {
    let workspace = read(&repository.path("clippy.toml"))?;
    let mut problems = Vec::new();
    for package in repository.metadata.workspace_packages() {
        let path = package.manifest_path.with_file_name("clippy.toml").into_std_path_buf();
        if !path.exists() {
            continue;
        }
        let own = read(&path)?;
        let shown = repository.shown(&path);
        for (key, value) in &workspace {
            match (value, own.get(key)) {
                (Value::Array(bans), Some(Value::Array(own))) => {
                    let missing = bans.iter().filter(|ban| !own.contains(ban));
                    problems.extend(missing.map(|ban| format!("{shown}: `{key}` lacks {}", name_of(ban))));
                }
                (value, own) if own != Some(value) => {
                    problems.push(format!("{shown}: `{key}` is not as in the workspace's clippy.toml"));
                }
                _ => {}
            }
        }
    }
    Ok(problems)
}

fn name_of(ban: &Value) -> String {
    let path = ban.get("path").or(Some(ban)).and_then(Value::as_str);
    format!("`{}`, with the workspace's reason", path.unwrap_or("?"))
}

fn without_unsafe(lints: &Value) -> Value {
    let mut lints = lints.clone();
    for (tool, lint) in [("rust", "unsafe_code"), ("clippy", "undocumented_unsafe_blocks")] {
        if let Some(table) = lints.get_mut(tool).and_then(Value::as_table_mut) {
            table.remove(lint);
        }
    }
    lints
}

fn read(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    text.parse().with_context(|| format!("`{}` is no TOML", path.display()))
}
