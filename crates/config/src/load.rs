//! From text to settings, in one call.

use crate::diagnose::{Diagnostics, Problem, Problems};
use crate::expand::Environment;
use crate::file::ConfigFile;
use crate::lower::lower;
use crate::node::{Node, Value};
use crate::read::{Trees, read_with_trees};
use crate::settings::Settings;
use crate::yaml::parse;

/// Reads a configuration file.
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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let problems = Problems::default();
    let settings = settings(text, environment, &problems);
    problems.into_result(file_name, text, settings)
}

fn settings(text: &str, environment: Environment<'_>, problems: &Problems) -> Option<Settings> {
    let node = parse(text).map_err(|problem| problems.push(problem)).ok()?;
    if let Node { value: Value::Null { .. }, .. } = node {
        problems.push(Problem {
            code: None,
            message: "the file is empty".to_owned(),
            help: Some(NO_SERVERS_HELP.to_owned()),
            span: None,
        });
        return None;
    }
    settings_of(&node, text, environment, problems)
}

/// The settings that a tree stands for, whose places are in `text`.
pub(crate) fn settings_of(
    node: &Node,
    text: &str,
    environment: Environment<'_>,
    problems: &Problems,
) -> Option<Settings> {
    // From here on it is known where secrets are.
    problems.hide(node.secrets(text));
    let comments = node.swallowed_comments(text);
    if !comments.is_empty() {
        for span in comments {
            problems.report(span, "this comment would be read as text", COMMENT_HELP);
        }
        return None;
    }
    let trees = Trees::default();
    let file: ConfigFile = read_with_trees(node, text, problems, &trees)?;
    lower(&file, text, environment, problems)
}

/// The way out for comments as editors allow them in JSON.
pub(crate) const COMMENT_HELP: &str = "start comments with `#`; quote a value that starts with `//`";

/// The way out for a file that names no server.
pub(crate) const NO_SERVERS_HELP: &str = "name at least one server, such as `servers: { memory: { command: npx, args: [-y, \"@modelcontextprotocol/server-memory\"] } }`";
