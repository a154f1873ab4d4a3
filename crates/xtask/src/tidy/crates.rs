//! Which crate may depend on which: the arrows of the design, held against what cargo says.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Package};

use crate::repository::Repository;

/// Every crate and the crates it may use. A new arrow is a design change, not an edit of this table.
const ARROWS: &[(&str, &[&str])] = &[
    ("passkey", &["notation"]),
    ("notation", &[]),
    ("core", &["notation", "passkey"]),
    ("search", &["core", "notation"]),
    ("marks", &["core", "notation"]),
    ("audit", &["core", "notation", "marks"]),
    ("profile", &["core", "notation"]),
    ("pins", &["core", "notation"]),
    ("display", &["notation", "passkey"]),
    ("receipts", &["core", "display", "notation", "passkey"]),
    ("rules", &["core", "notation", "passkey"]),
    ("mcp", &["core", "notation", "pins"]),
    ("inspect", &["core"]),
    ("hosts", &[]),
    ("provenance", &["core"]),
    ("config", &["core", "notation", "passkey", "marks", "audit", "profile", "display", "rules"]),
    ("store", &["core", "notation", "passkey", "marks", "audit", "profile", "pins", "display", "receipts"]),
    ("sandbox", &["core"]),
    ("upstream", &["core", "mcp", "sandbox"]),
    (
        "gateway",
        &["core", "mcp", "inspect", "hosts", "provenance", "config", "store", "upstream", "notation"],
    ),
    ("highwater", SHIPPED),
    ("testkit", SHIPPED),
    ("xtask", &[]),
];

const SHIPPED: &[&str] = &[
    "passkey",
    "notation",
    "core",
    "search",
    "marks",
    "audit",
    "profile",
    "pins",
    "display",
    "receipts",
    "rules",
    "mcp",
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

/// Third-party crates that would bring in what a crate's description rules out.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("rules", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("receipts", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("display", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("pins", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("profile", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("audit", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("marks", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("search", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("passkey", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("notation", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("core", &["tokio", "hyper", "http", "tracing", "rand", "futures-util", "rustix"]),
    ("mcp", &["tokio", "hyper", "http", "tracing", "rustix"]),
    ("inspect", &["tokio", "hyper", "http"]),
    ("hosts", &["tokio", "hyper", "http", "tracing", "rand", "rustix"]),
    ("provenance", &["tokio", "hyper", "http", "tracing", "rand", "rustix"]),
    ("config", &["tokio", "hyper", "http"]),
    ("store", &["hyper", "http"]),
    (
        "gateway",
        &["rusqlite", "passkey", "search", "marks", "audit", "profile", "pins", "display", "receipts"],
    ),
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
            if !(allowed.contains(&to.as_str()) || (for_tests && (to == "testkit" || to == from))) {
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
