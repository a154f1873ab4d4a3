//! From text to settings, in one call.

use crate::check::Checked;
use crate::diagnose::{Diagnostics, Problem, Problems, Remarks};
use crate::file::ConfigFile;
use crate::lower::{Read, lower};
use crate::misplaced;
use crate::node::{Node, Span, Value};
use crate::read::{Trees, read_with_trees};
use crate::settings::Settings;
use crate::source::Sources;
use crate::yaml::parse;

/// What surrounds a configuration: the environment and the folder it is in.
pub struct Surroundings<'s> {
    /// Answers for `${NAME}`.
    pub environment: &'s dyn Fn(&str) -> Option<String>,
    /// Reads a file that the configuration names, or says why it cannot be read.
    pub files: &'s dyn Fn(&str) -> Result<String, String>,
}

/// Reads a configuration that stands alone.
///
/// `file_name` is only shown in diagnostics. `environment` answers for `${NAME}`.
///
/// # Errors
///
/// Everything that is wrong with the file, as far as it could be read.
pub fn load(
    file_name: &str,
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, Diagnostics> {
    load_among(file_name, text, &Surroundings { environment, files: &no_files })
}

/// Reads a configuration with the files it names.
///
/// # Errors
///
/// Everything that is wrong with any of them, as far as they could be read.
pub fn load_among(
    file_name: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
) -> Result<Settings, Diagnostics> {
    check(file_name, text, surroundings).map(|checked| checked.settings)
}

/// Reads a configuration with the files it names, and keeps what is worth a look although it loads.
///
/// # Errors
///
/// Everything that is wrong with any of them, as far as they could be read.
pub fn check(file_name: &str, text: &str, surroundings: &Surroundings<'_>) -> Result<Checked, Diagnostics> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut sources = Sources::new(file_name, text);
    let problems = Problems::default();
    let settings = settings(&mut sources, surroundings, &problems);
    let remarks = problems.remarks(&sources);
    let settings = problems.into_result(&sources, settings)?;
    let Remarks { warnings, rules, waivers } = remarks;
    Ok(Checked { settings, warnings, rules, waivers })
}

/// Reads a configuration as if somebody had pasted these lines into it: a proposal is tried before it is made. A mapping is
/// added to the one of its name, a list at the top to the one that is there, and everything else is replaced.
///
/// # Errors
///
/// Everything that is wrong with the result.
pub fn load_with(
    file_name: &str,
    text: &str,
    pasted: &[&str],
    surroundings: &Surroundings<'_>,
) -> Result<Settings, Diagnostics> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut sources = Sources::new(file_name, text);
    let problems = Problems::default();
    let settings = with_lines(&mut sources, pasted, surroundings, &problems);
    problems.into_result(&sources, settings)
}

fn with_lines(
    sources: &mut Sources,
    pasted: &[&str],
    surroundings: &Surroundings<'_>,
    problems: &Problems,
) -> Option<Settings> {
    let mut node = parse(sources.text()).map_err(|problem| problems.push(problem)).ok()?;
    for lines in pasted {
        let start = sources.add("the pasted lines", lines);
        let tree = parse(lines).map_err(|problem| problems.push(problem.moved(start))).ok()?;
        node = node.with_pasted(tree.moved(start), true);
    }
    let others = other_files(&node, sources, surroundings.files, problems);
    settings_of(&node, &others, sources.text(), surroundings, problems)
}

fn settings(sources: &mut Sources, surroundings: &Surroundings<'_>, problems: &Problems) -> Option<Settings> {
    let mut node = parse(sources.text()).map_err(|problem| problems.push(problem)).ok()?;
    if let Node { value: Value::Null { .. }, .. } = node {
        problems.push(Problem {
            message: "the file is empty".to_owned(),
            help: Some(NO_SERVERS_HELP.to_owned()),
            ..Problem::default()
        });
        return None;
    }
    misplaced::mend(&mut node, problems);
    let others = other_files(&node, sources, surroundings.files, problems);
    settings_of(&node, &others, sources.text(), surroundings, problems)
}

/// Reads the files that the configuration names, and lays them behind it.
fn other_files(
    node: &Node,
    sources: &mut Sources,
    files: &dyn Fn(&str) -> Result<String, String>,
    problems: &Problems,
) -> Vec<Node> {
    let Some(Value::List(names)) = node.member("rules_files").map(|list| &list.value) else {
        return Vec::new();
    };
    let mut others = Vec::new();
    for name in names {
        // What is no text is reported when the list is read.
        let Value::Text(path) = &name.value else { continue };
        match files(path) {
            Ok(text) => {
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                let start = sources.add(path, text);
                match parse(text) {
                    Ok(tree) => others.push(tree.moved(start)),
                    Err(problem) => problems.push(problem.moved(start)),
                }
            }
            Err(why) => problems.report(
                name.span,
                format!("`{path}` cannot be read: {why}"),
                "paths start at the folder of this file",
            ),
        }
    }
    others
}

pub(crate) fn no_files(_: &str) -> Result<String, String> {
    Err("there is no folder to look in".to_owned())
}

/// The settings that a tree stands for, with its rule files. All their places are in `text`.
pub(crate) fn settings_of(
    node: &Node,
    rules_files: &[Node],
    text: &str,
    surroundings: &Surroundings<'_>,
    problems: &Problems,
) -> Option<Settings> {
    // From here on it is known where secrets are.
    problems.hide(node.secrets(text));
    let all = std::iter::once(node).chain(rules_files);
    let comments: Vec<Span> = all.flat_map(|node| node.swallowed_comments(text)).collect();
    if !comments.is_empty() {
        for span in comments {
            problems.report(span, "this comment would be read as text", COMMENT_HELP);
        }
        return None;
    }
    let trees = Trees::default();
    let file: ConfigFile = read_with_trees(node, text, problems, &trees)?;
    lower(&Read { file: &file, rules_files, trees: &trees }, text, surroundings, problems)
}

/// The way out for comments as editors allow them in JSON.
pub(crate) const COMMENT_HELP: &str = "start comments with `#`; quote a value that starts with `//`";

/// The way out for a file that names no server.
pub(crate) const NO_SERVERS_HELP: &str = "name at least one server, such as `servers: { memory: { command: npx, args: [-y, \"@modelcontextprotocol/server-memory\"] } }`";
