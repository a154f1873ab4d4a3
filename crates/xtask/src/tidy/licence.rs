//! What may be shipped: bans, one version each, licences. The policy is `deny.toml`, the same that
//! `cargo-deny` reads, so that it holds where `cargo-deny` is not installed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::command::stdout_of;
use crate::repository::Repository;

/// The parts of `deny.toml` that are checked here.
#[derive(Deserialize)]
pub(super) struct Policy {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Named>,
    features: Vec<BannedFeatures>,
    skip: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct BannedFeatures {
    #[serde(rename = "crate")]
    name: String,
    deny: Vec<String>,
}

/// One crate of a dependency graph, with the features that are on.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    version: String,
    licence: String,
    features: BTreeSet<String>,
}

impl Policy {
    pub(super) fn read(repository: &Repository) -> Result<Self> {
        let text =
            std::fs::read_to_string(repository.path("deny.toml")).context("cannot read `deny.toml`")?;
        toml::from_str(&text).context("`deny.toml` is not as expected")
    }
}

/// Crates and features of the shipped program that the policy bans.
pub(super) fn bans(repository: &Repository, policy: &Policy) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for dependency in shipped(repository)? {
        let name = &dependency.name;
        if policy.bans.deny.iter().any(|ban| ban.name == *name) {
            problems
                .push(format!("`{name}` is banned; see who brings it: cargo tree -p highwater -i {name}"));
        }
        let banned = policy.bans.features.iter().filter(|ban| ban.name == *name).flat_map(|ban| &ban.deny);
        for feature in banned.filter(|feature| dependency.features.contains(*feature)) {
            problems.push(format!("the feature `{feature}` of `{name}` is banned"));
        }
    }
    Ok(problems)
}

/// Crates that the shipped program contains in several versions.
pub(super) fn duplicates(repository: &Repository, policy: &Policy) -> Result<Vec<String>> {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // What only runs while compiling, such as a macro, does not make the program larger.
    let graph = tree(repository, &["--package", "highwater", "--edges", "no-build,no-dev,no-proc-macro"])?;
    for dependency in graph {
        versions.entry(dependency.name).or_default().insert(dependency.version);
    }
    let is_skipped =
        |name: &str| policy.bans.skip.iter().any(|skip| skip.name.split('@').next() == Some(name));
    let several = versions.into_iter().filter(|(name, versions)| versions.len() > 1 && !is_skipped(name));
    Ok(several.map(|(name, versions)| format!("`{name}` is there in the versions {versions:?}")).collect())
}

/// Dependencies of anything in the workspace whose licence the policy does not allow.
pub(super) fn licences(repository: &Repository, policy: &Policy) -> Result<Vec<String>> {
    let allowed = |licence: &str| policy.licenses.allow.iter().any(|allowed| allowed == licence);
    let graph = tree(repository, &["--workspace", "--edges", "normal,build,dev"])?;
    let refused = graph.into_iter().filter(|dependency| !satisfies(&dependency.licence, &allowed));
    Ok(refused.map(|each| format!("`{}` has the licence `{}`", each.name, each.licence)).collect())
}

/// Dependencies that do not come from the registry.
pub(super) fn sources(repository: &Repository) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        source: Option<String>,
    }
    let text = std::fs::read_to_string(repository.path("Cargo.lock")).context("cannot read `Cargo.lock`")?;
    let lock: Lock = toml::from_str(&text).context("`Cargo.lock` is not as expected")?;
    let elsewhere =
        |each: &Locked| each.source.as_ref().is_some_and(|source| !source.starts_with("registry+"));
    let foreign = lock.package.into_iter().filter(elsewhere);
    Ok(foreign
        .map(|each| format!("`{}` comes from `{}`", each.name, each.source.unwrap_or_default()))
        .collect())
}

fn shipped(repository: &Repository) -> Result<BTreeSet<Dependency>> {
    tree(repository, &["--package", "highwater", "--edges", "normal,build"])
}

/// A dependency graph as `cargo tree` resolves it, which is with the features of the chosen packages alone.
fn tree(repository: &Repository, arguments: &[&str]) -> Result<BTreeSet<Dependency>> {
    let mut command = repository.cargo();
    command.args(["tree", "--quiet", "--prefix", "none", "--format", "{p}\t{l}\t{f}\t"]).args(arguments);
    let printed = stdout_of(&mut command)?;
    let parse = |line: &str| {
        let mut fields = line.split('\t');
        let mut package = fields.next()?.split_whitespace();
        Some(Dependency {
            name: package.next()?.to_owned(),
            version: package.next()?.to_owned(),
            licence: fields.next()?.to_owned(),
            features: fields.next()?.split(',').map(str::to_owned).collect(),
        })
    };
    let lines = printed.lines().filter(|line| !line.is_empty());
    lines.map(|line| parse(line).with_context(|| format!("cargo tree printed `{line}`"))).collect()
}

/// Whether a licence expression can be met with the allowed licences alone.
///
/// Reads what crates write: names, `WITH` exceptions, `AND`, `OR`, the old `/` for `OR`, parentheses.
fn satisfies(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Expression { words: words.iter().copied().peekable(), allowed };
    let met = reader.any();
    met && reader.words.next().is_none()
}

struct Expression<'a, I: Iterator<Item = &'a str>> {
    words: std::iter::Peekable<I>,
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a, I: Iterator<Item = &'a str>> Expression<'a, I> {
    fn any(&mut self) -> bool {
        let mut met = self.all();
        while self.words.next_if_eq(&"OR").is_some() {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.words.next_if_eq(&"AND").is_some() {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        match self.words.next() {
            Some("(") => {
                let met = self.any();
                self.words.next_if_eq(&")").is_some() && met
            }
            Some(name) if self.words.next_if_eq(&"WITH").is_some() => {
                let exception = self.words.next().unwrap_or_default();
                (self.allowed)(&format!("{name} WITH {exception}"))
            }
            Some(name) => (self.allowed)(name),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_expression_is_met_by_allowed_names_alone() {
        let allowed = |name: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&name);
        for (expression, met) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("MIT/GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("(GPL-3.0 OR MIT) AND Unlicense", false),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", true),
            ("Apache-2.0", false),
            ("", false),
            ("MIT MIT", false),
            ("(MIT", false),
        ] {
            assert_eq!(satisfies(expression, &allowed), met, "{expression}");
        }
    }
}
