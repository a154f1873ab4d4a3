//! Which arguments name the stored thing that a call is about, and which of different tools say the same.

use super::argument::Argument;
use super::split::words;

/// An argument by which a call may name what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// A pointer to it: RFC 6901 without the first slash, `*` for every item of a list and every member of a map.
    pub pointer: String,
    /// What it names, the same word in every tool of a server: `repo_name` and `repository` are both `repo`.
    pub kind: String,
    /// Whether its own name says that it names a thing. Of others it shows only where one tool writes what another reads by
    /// them.
    pub is_object: bool,
}

// === impl Naming ===

impl Naming {
    /// What an argument names that somebody said to name something.
    pub fn kind_of(pointer: &str) -> String {
        let name = pointer.rsplit('/').find(|step| *step != "*").unwrap_or_default();
        kind(&words(name))
    }
}

/// The namings among the arguments of a tool, each place once.
pub(super) fn namings(arguments: &[Argument]) -> Vec<Naming> {
    let mut found: Vec<Naming> = Vec::new();
    for argument in arguments {
        let known = found.iter_mut().find(|naming| naming.pointer == argument.pointer);
        match (known, naming(&argument.pointer, argument)) {
            (Some(known), Some(naming)) => known.is_object |= naming.is_object,
            (None, Some(naming)) => found.push(naming),
            (_, None) => {}
        }
    }
    found.sort_by(|one, other| one.pointer.cmp(&other.pointer));
    found
}

fn naming(pointer: &str, argument: &Argument) -> Option<Naming> {
    let name = pointer.rsplit('/').find(|step| *step != "*")?;
    let kind = if argument.path { "path".to_owned() } else { kind(&words(name)) };
    // The state of a thing is no other thing.
    if kind.is_empty() || argument.code.is_some() || says_how(&kind) {
        return None;
    }
    (argument.object || argument.single).then(|| Naming {
        pointer: pointer.to_owned(),
        kind,
        is_object: argument.object,
    })
}

/// The word for what is named, without what only says that it is a name.
fn kind(words: &[String]) -> String {
    let is_name = |word: &String| {
        matches!(
            word.as_str(),
            "id" | "identifier"
                | "identifiers"
                | "ids"
                | "key"
                | "name"
                | "names"
                | "number"
                | "slug"
                | "slugs"
                | "uuid"
        )
    };
    let named = words.iter().rev().find(|word| !is_name(word)).or_else(|| words.last());
    let Some(word) = named else { return String::new() };
    match word.as_str() {
        "repository" | "repositories" | "repos" => return "repo".to_owned(),
        "document" | "documents" => return "doc".to_owned(),
        "database" | "databases" => return "db".to_owned(),
        _ => {}
    }
    match word.strip_suffix("ies") {
        Some(stem) if stem.len() > 2 => format!("{stem}y"),
        _ if word.len() > 3 && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) => {
            word.strip_suffix('s').unwrap_or(word).to_owned()
        }
        _ => word.clone(),
    }
}

/// Whether the word says in which state a thing is meant, how it is listed, or what is put into it, and not which it is.
fn says_how(kind: &str) -> bool {
    matches!(
        kind,
        "amount"
            | "body"
            | "branch"
            | "case"
            | "category"
            | "code"
            | "color"
            | "column"
            | "comment"
            | "commit"
            | "content"
            | "count"
            | "cursor"
            | "data"
            | "date"
            | "day"
            | "depth"
            | "description"
            | "direction"
            | "dry"
            | "encoding"
            | "end"
            | "field"
            | "filter"
            | "flag"
            | "format"
            | "head"
            | "html"
            | "index"
            | "kind"
            | "label"
            | "lang"
            | "language"
            | "length"
            | "level"
            | "limit"
            | "line"
            | "locale"
            | "markdown"
            | "max"
            | "message"
            | "min"
            | "mode"
            | "offset"
            | "option"
            | "order"
            | "page_size"
            | "pattern"
            | "per"
            | "priority"
            | "q"
            | "query"
            | "reason"
            | "recursive"
            | "ref"
            | "revision"
            | "row"
            | "search"
            | "sha"
            | "since"
            | "size"
            | "sort"
            | "start"
            | "state"
            | "status"
            | "subject"
            | "summary"
            | "tag"
            | "tail"
            | "text"
            | "time"
            | "timeout"
            | "timezone"
            | "type"
            | "unit"
            | "until"
            | "value"
            | "verbose"
            | "version"
            | "word"
    )
}

#[cfg(test)]
mod tests {
    use crate::ToolShape;

    fn kinds(tool: &str, properties: &[&str]) -> Vec<(String, bool)> {
        let properties: Vec<String> =
            properties.iter().map(|name| format!(r#""{name}":{{"type":"string"}}"#)).collect();
        let schema = format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","));
        let shape = ToolShape::read("server", tool, Some(&schema));
        shape.namings().iter().map(|naming| (naming.kind.clone(), naming.is_object)).collect()
    }

    #[test]
    fn arguments_of_different_tools_that_name_the_same_have_one_kind() {
        let of =
            |names: &[&str]| kinds("get_thing", names).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
        for (one, other) in [
            ("repo", "repository"),
            ("repo_name", "repositoryName"),
            ("path", "file_path"),
            ("issue_number", "issueId"),
            ("noteIds", "note"),
        ] {
            assert_eq!(of(&[one]), of(&[other]), "{one} {other}");
        }
        assert_eq!(of(&["id"]), ["id"]);
    }

    #[test]
    fn what_is_put_into_a_thing_or_says_how_it_is_listed_names_none() {
        let how = ["content", "text", "query", "limit", "format", "sha", "branch", "status", "offset"];
        assert_eq!(kinds("update", &how), []);
    }

    #[test]
    fn what_only_a_pair_of_tools_shows_is_told_apart() {
        assert_eq!(
            kinds("remember", &["topic", "note_id"]),
            [("note".to_owned(), true), ("topic".to_owned(), false)]
        );
    }
}
