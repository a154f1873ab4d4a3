//! What people write for a shell, where there is none: a whole line as the program, `~`, and `$NAME`.

use super::Lowering;
use crate::diagnose::Problem;
use crate::file::ServerFile;
use crate::node::Span;
use crate::read::{Entries, Written};

/// Programs that expand what they are given.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "fish", "ksh"];

/// What stands in a value as if a shell read it, and what to write.
#[derive(Debug, PartialEq, Eq)]
struct Unexpanded<'t> {
    written: &'t str,
    instead: String,
}

impl Lowering<'_> {
    /// Refuses a command that is a whole line. One that begins with a path may have blanks in it.
    pub(super) fn one_program(&self, command: &Written<String>, file: &ServerFile, subject: &str) {
        let words = words(&command.value);
        let Some((program, rest)) = words.split_first().filter(|(_, rest)| !rest.is_empty()) else { return };
        let has_option = rest.iter().any(|word| word.starts_with('-'));
        if program.contains(['/', '\\']) && !has_option {
            return;
        }
        let own = file.args.value().into_iter().flatten().map(|arg| arg.value.as_ref());
        let args: Vec<String> = rest.iter().map(String::as_str).chain(own).map(quoted).collect();
        self.report(
            command.span,
            format!("`command` of {subject} is a whole line, and no shell takes it apart"),
            format!("write `command: {program}` and `args: [{}]`", args.join(", ")),
        );
    }

    /// Remarks on what only a shell would expand.
    pub(super) fn unexpanded(&self, command: &Written<String>, file: &ServerFile, subject: &str) {
        let program = command.value.rsplit('/').next().unwrap_or(&command.value);
        if SHELLS.contains(&program) {
            return;
        }
        self.remark_unexpanded("command", command.span, &command.value, subject);
        for argument in file.args.value().into_iter().flatten() {
            self.remark_unexpanded("args", argument.span, argument.value.as_ref(), subject);
        }
        for (key, value) in file.env.value().into_iter().flat_map(|Entries(all)| all) {
            self.remark_unexpanded(&format!("env.{}", key.value), value.span, value.value.as_ref(), subject);
        }
    }

    fn remark_unexpanded(&self, place: &str, span: Span, value: &str, subject: &str) {
        let Some(Unexpanded { written, instead }) = Unexpanded::of(value) else { return };
        self.problems.warn(Problem {
            code: Some("unexpanded"),
            message: format!("`{place}` of {subject}: nothing expands `{written}` here"),
            help: Some(format!("write `{instead}`")),
            span: Some(span.narrow(self.text, written)),
            also: None,
        });
    }
}

// === impl Unexpanded ===

impl<'t> Unexpanded<'t> {
    /// The first thing in a value that a shell would have expanded.
    fn of(value: &'t str) -> Option<Self> {
        // At the beginning, or behind the `=` of an option.
        let start = match value.split_once('=') {
            Some((option, rest)) if option.starts_with('-') => rest,
            _ => value,
        };
        if start == "~" || start.starts_with("~/") {
            let rest = start.strip_prefix('~').unwrap_or_default();
            return Some(Self { written: "~", instead: format!("${{HOME}}{rest}") });
        }
        for (at, _) in value.match_indices('$') {
            let after = value.get(at + 1..).unwrap_or_default();
            let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            let name = after.get(..after.find(|c| !is_name(c)).unwrap_or(after.len())).unwrap_or_default();
            // `$${` is a literal `${`; what is in small letters is somebody's own language.
            let is_literal = value.get(..at).is_some_and(|before| before.ends_with('$'));
            if name.len() > 1 && name.starts_with(|c: char| c.is_ascii_uppercase()) && !is_literal {
                let written = value.get(at..=at + name.len()).unwrap_or_default();
                return Some(Self { written, instead: format!("${{{name}}}{}", rest_of_path(after, name)) });
            }
        }
        None
    }
}

/// What of a path follows a variable.
fn rest_of_path<'t>(after: &'t str, name: &str) -> &'t str {
    let rest = after.get(name.len()..).unwrap_or_default();
    rest.get(..rest.find(char::is_whitespace).unwrap_or(rest.len())).unwrap_or_default()
}

/// The words of a line, as a shell would take it apart.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A word as an item of a list in YAML.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+".contains(c);
    let is_plain = !word.is_empty() && word.chars().all(plain) && word.parse::<f64>().is_err();
    if is_plain {
        word.to_owned()
    } else {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_as_a_shell_would() {
        assert_eq!(words("uvx x --tz 'a b' \"\" c'd'"), ["uvx", "x", "--tz", "a b", "", "cd"]);
        assert_eq!(words("  one "), ["one"]);
        assert!(words(" ").is_empty());
    }

    #[test]
    fn what_a_shell_would_expand_is_found_and_nothing_else() {
        for (value, written, instead) in [
            ("~/notes", "~", "${HOME}/notes"),
            ("~", "~", "${HOME}"),
            ("--dir=~/notes", "~", "${HOME}/notes"),
            ("$HOME/notes", "$HOME", "${HOME}/notes"),
            ("a:$PWD/x b", "$PWD", "${PWD}/x"),
        ] {
            let found = Unexpanded::of(value);
            assert_eq!(found, Some(Unexpanded { written, instead: instead.to_owned() }), "{value}");
        }
        for value in
            ["${HOME}/notes", "a~b", "~user/x", "$name", "$1", "cost: $5", "$${HOME}", "a=~/b", "US$"]
        {
            assert_eq!(Unexpanded::of(value), None, "{value}");
        }
    }
}
