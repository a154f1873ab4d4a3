//! What our own files must look like.

use super::files::{File, Files};

/// Longer than this, a file tells more than one thing.
const LONGEST: usize = 500;

/// Files that are long because they are one table. Each needs a reason here.
const TABLES: &[&str] = &[];

/// The crates that lie below the gateway, whose unit tests must not use the test kit: they would be
/// compiled twice, and their types would not match.
const BELOW_GATEWAY: [&str; 20] = [
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
];

/// Beginnings of paths that exist on one machine only, cut in two so that this file does not match.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/te", "am")];

/// Rust files that do not open by saying what they are.
pub(super) fn headers(files: &Files) -> Vec<String> {
    let silent = files.ending_in(".rs").filter(|file| !file.text.starts_with("//! "));
    silent.map(|file| format!("{}: open the file with `//!` and what it is", file.name)).collect()
}

/// Rust files above the limit that are not listed as tables.
pub(super) fn lengths(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.ending_in(".rs") {
        let length = file.text.lines().count();
        let is_table = TABLES.contains(&file.name.as_str());
        if length > LONGEST && !is_table {
            problems.push(format!(
                "{}: {length} lines; split it at a noun, at most {LONGEST} are allowed",
                file.name
            ));
        } else if length <= LONGEST && is_table {
            problems.push(format!("{}: need not be listed as a table any more", file.name));
        }
    }
    for table in TABLES.iter().filter(|table| !files.files.iter().any(|file| file.name == **table)) {
        problems.push(format!("{table}: is listed as a table and does not exist"));
    }
    problems
}

/// `#[allow]` and `#[expect]` without a reason.
pub(super) fn reasons(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.ending_in(".rs") {
        for start in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
            for (at, _) in file.text.match_indices(start) {
                if is_code(file, at) && !attribute(file, at).contains("reason = ") {
                    problems.push(format!("{}: `{start}…)]` without a reason", place(file, at)));
                }
            }
        }
    }
    problems
}

/// Tests that would not run.
pub(super) fn ignored(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.ending_in(".rs") {
        for (at, _) in file.text.match_indices("#[ignore") {
            if is_code(file, at) {
                problems.push(format!(
                    "{}: an ignored test protects nothing; repair or remove it",
                    place(file, at)
                ));
            }
        }
    }
    problems
}

/// Uses of the test kit in unit tests of crates that it depends on.
pub(super) fn testkit(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for name in BELOW_GATEWAY {
        let folder = format!("crates/{name}/src/");
        for file in files.ending_in(".rs").filter(|file| file.name.starts_with(&folder)) {
            for (at, _) in file.text.match_indices("highwater_testkit") {
                problems.push(format!("{}: use the test kit in `crates/{name}/tests` only", place(file, at)));
            }
        }
    }
    problems
}

/// Paths of one machine, and registry addresses in lock files of other package managers.
pub(super) fn machine_paths(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for file in &files.files {
        for path in MACHINE_PATHS {
            for (at, _) in file.text.match_indices(path) {
                // The same word further inside a path makes it one of ours.
                let before = file.text.get(..at).and_then(|before| before.chars().next_back());
                if !before.is_some_and(|before| before.is_alphanumeric() || "._-*/$}".contains(before)) {
                    problems.push(format!("{}: `{path}` is a path of one machine", place(file, at)));
                }
            }
        }
        if file.name.ends_with("package-lock.json") {
            for (at, _) in file.text.match_indices("\"resolved\"") {
                problems.push(format!(
                    "{}: names a registry; lock with omit-lockfile-registry-resolved",
                    place(file, at)
                ));
            }
        }
    }
    problems
}

/// Whether a match is code, and not part of a comment or a string.
fn is_code(file: &File, at: usize) -> bool {
    let line = file.text.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
    line.trim().is_empty()
}

/// The attribute that starts here, up to its closing bracket.
fn attribute(file: &File, at: usize) -> &str {
    let rest = file.text.get(at..).unwrap_or_default();
    rest.split_once(")]").map_or(rest, |(attribute, _)| attribute)
}

fn place(file: &File, at: usize) -> String {
    let line = file.text.get(..at).unwrap_or_default().matches('\n').count() + 1;
    format!("{}:{line}", file.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(name: &str, text: &str) -> Files {
        let file = File { name: name.to_owned(), text: text.to_owned() };
        Files { root: "/".into(), files: vec![file] }
    }

    #[test]
    fn an_exception_needs_a_reason() {
        let bare = files("a.rs", "//! A.\n#[expect(clippy::panic)]\nfn a() {}\n");
        assert_eq!(reasons(&bare), ["a.rs:2: `#[expect(…)]` without a reason"]);
        let good = files("a.rs", "#[expect(\n    clippy::panic,\n    reason = \"why\"\n)]\nfn a() {}\n");
        assert!(reasons(&good).is_empty());
        let comment = files("a.rs", "// as in #[allow(dead_code)]\n");
        assert!(reasons(&comment).is_empty());
    }

    #[test]
    fn a_path_of_one_machine_is_found_and_a_path_of_ours_is_not() {
        let machine = MACHINE_PATHS[0];
        assert_eq!(machine_paths(&files("a.md", &format!("see {machine}x"))).len(), 1);
        assert!(machine_paths(&files("a.md", &format!("see docs{machine}x"))).is_empty());
    }

    #[test]
    fn a_long_file_is_named_with_its_length() {
        let long = files("a.rs", &"//! A.\n".repeat(LONGEST + 1));
        assert!(lengths(&long)[0].starts_with("a.rs: 501 lines"));
        assert!(headers(&files("a.rs", "fn a() {}\n"))[0].starts_with("a.rs: open"));
    }
}
