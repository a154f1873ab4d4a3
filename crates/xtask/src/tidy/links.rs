//! Links in Markdown documents: a relative one must name a file that exists, and a heading in it.

use std::path::{Component, Path, PathBuf};

use super::files::{File, Files};

pub(super) fn check(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.ending_in(".md") {
        for (line, target) in links(&file.text) {
            if let Some(problem) = problem(files, file, &target) {
                problems.push(format!("{}:{line}: `{target}` {problem}", file.name));
            }
        }
    }
    problems
}

fn problem(files: &Files, from: &File, target: &str) -> Option<&'static str> {
    let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
    if is_elsewhere {
        return None;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let name = if path.is_empty() { from.name.clone() } else { resolve(&from.name, path) };
    if !files.root.join(&name).exists() {
        return Some("does not exist");
    }
    let document = files.files.iter().find(|file| file.name == name && name.ends_with(".md"));
    let is_missing = document.is_some_and(|document| !headings(&document.text).any(|slug| slug == heading));
    (!heading.is_empty() && is_missing).then_some("names no heading of that document")
}

/// The link targets of a document with their lines, leaving out code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second piece between backticks is code.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for piece in plain.split("](").skip(1) {
            if let Some((target, _)) = piece.split_once(')') {
                let target = target.split_whitespace().next().unwrap_or_default();
                found.push((number, target.trim_matches(['<', '>']).to_owned()));
            }
        }
    }
    found
}

/// The headings of a document in the form in which links name them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len() && title.starts_with(' ')).then(|| slug(title.trim()))
    })
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The numbered lines of a document that are not in a fenced block.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((number, line))
    })
}

/// A path relative to a document, made relative to the root.
fn resolve(from: &str, path: &str) -> String {
    let mut whole = PathBuf::from(from);
    whole.pop();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::Normal(part) => whole.push(part),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    whole.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code_only() {
        let text = "see [a](b.md#c) and `[x](y.md)`\n```\n[x](z.md)\n```\n![p](d/e.svg \"title\")\n";
        let found: Vec<_> = links(text);
        assert_eq!(found, [(1, "b.md#c".to_owned()), (5, "d/e.svg".to_owned())]);
    }

    #[test]
    fn a_heading_is_named_as_forges_name_it() {
        let text = "# The road: one way\n```\n# not this\n```\n## `serve`, and more\n";
        assert_eq!(headings(text).collect::<Vec<_>>(), ["the-road-one-way", "serve-and-more"]);
    }

    #[test]
    fn a_link_goes_from_its_own_document() {
        assert_eq!(resolve("docs/a.md", "../README.md"), "README.md");
        assert_eq!(resolve("docs/a.md", "b/c.md"), "docs/b/c.md");
    }
}
