//! Which crate may depend on which: the arrows of the design, held against what cargo says.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Package};

use crate::repository::Repository;

/// Every crate and the crates it may use. A new arrow is a design change, not an edit of this table.
const ARROWS: &[(&str, &[&str])] = &[
    ("notation", &[]),
    ("passkey", &["notation"]),
    ("core", &["notation", "passkey"]),
    ("rules", &["notation", "core"]),
    ("profile", &["notation", "core"]),
    ("pins", &["notation", "core"]),
    ("marks", &["notation", "core"]),
    ("display", &["notation", "passkey"]),
    ("receipts", &["notation", "passkey", "core", "display"]),
    ("audit", &["notation", "core", "marks"]),
    ("search", &["notation", "core"]),
    ("mcp", &["notation", "core", "pins"]),
    ("http1", &[]),
    ("inspect", &["core"]),
    ("hosts", &[]),
    ("provenance", &["core"]),
    ("config", &["notation", "passkey", "core", "rules", "pins", "display", "receipts"]),
    ("store", &["notation", "passkey", "core", "pins", "marks", "receipts", "audit"]),
    ("sandbox", &["core"]),
    ("upstream", &["core", "mcp", "http1", "sandbox"]),
    ("gateway", GATEWAY),
    ("highwater", SHIPPED),
    ("testkit", SHIPPED),
    ("xtask", &[]),
];

const GATEWAY: &[&str] = &[
    "notation",
    "passkey",
    "core",
    "profile",
    "pins",
    "marks",
    "display",
    "receipts",
    "audit",
    "search",
    "mcp",
    "http1",
    "inspect",
    "hosts",
    "provenance",
    "config",
    "store",
    "upstream",
];

/// What the tests of a crate use beside the test kit: policies with rules, and what was signed.
const FOR_TESTS: &[(&str, &[&str])] = &[("rules", &["passkey"]), ("store", &["rules"])];

const SHIPPED: &[&str] = &[
    "notation",
    "passkey",
    "core",
    "rules",
    "profile",
    "pins",
    "marks",
    "display",
    "receipts",
    "audit",
    "search",
    "mcp",
    "http1",
    "inspect",
    "hosts",
    "provenance",
    "config",
    "store",
    "sandbox",
    "upstream",
    "gateway",
    "highwater",
];

/// What would bring in I/O, a clock, randomness, async or logging.
const PURE: &[&str] = &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"];

/// Third-party crates that would bring in what a crate's description rules out.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("notation", PURE),
    ("passkey", PURE),
    ("core", PURE),
    ("rules", PURE),
    ("profile", PURE),
    ("pins", PURE),
    ("marks", PURE),
    ("display", PURE),
    ("receipts", PURE),
    ("audit", PURE),
    ("search", PURE),
    ("mcp", &["tokio", "hyper", "http", "tracing", "rustix"]),
    ("http1", &["hyper", "hyper-util", "tracing", "serde_json"]),
    ("inspect", &["tokio", "hyper", "http"]),
    ("hosts", &["tokio", "hyper", "http", "tracing", "rand", "rustix"]),
    ("provenance", &["tokio", "hyper", "http", "tracing", "rand", "rustix"]),
    ("config", &["tokio", "hyper", "http"]),
    ("store", &["hyper", "http"]),
    ("gateway", &["serde-saphyr", "rusqlite", "tokio-postgres", "hyper", "hyper-util"]),
];

/// Arrows that are drawn but not listed.
pub(super) fn arrows(repository: &Repository) -> Vec<String> {
    let packages = repository.metadata.workspace_packages();
    let mut problems = Vec::new();
    for package in &packages {
        let from = folder(package);
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == from) else {
            problems.push(format!("`crates/{from}` is not in the list of crates"));
            continue;
        };
        let is_member =
            |name: &str| packages.iter().find(|other| other.name.as_str() == name).map(|p| folder(p));
        for dependency in &package.dependencies {
            let Some(to) = is_member(&dependency.name) else { continue };
            // Tests may use the test kit; a crate may use itself with other features.
            let for_tests = dependency.kind == DependencyKind::Development;
            let listed = |(name, crates): &(&str, &[&str])| *name == from && crates.contains(&to.as_str());
            let is_of_tests = to == "testkit" || to == from || FOR_TESTS.iter().any(listed);
            if !(allowed.contains(&to.as_str()) || (for_tests && is_of_tests)) {
                problems.push(format!("`{from}` depends on `{to}`, which is no arrow of the design"));
            }
        }
    }
    problems
}

/// Dependencies that a crate's description rules out.
pub(super) fn forbidden(repository: &Repository) -> Vec<String> {
    let mut problems = Vec::new();
    for package in repository.metadata.workspace_packages() {
        let from = folder(package);
        let Some((_, forbidden)) = FORBIDDEN.iter().find(|(name, _)| *name == from) else { continue };
        let names: BTreeSet<_> = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != DependencyKind::Development)
            .map(|dependency| dependency.name.as_str())
            .collect();
        for name in forbidden.iter().filter(|name| names.contains(*name)) {
            problems.push(format!("`{from}` depends on `{name}`, which its description rules out"));
        }
    }
    problems
}

/// The folder of a crate below `crates`, which is its name in the design.
fn folder(package: &Package) -> String {
    package.manifest_path.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_owned()
}
