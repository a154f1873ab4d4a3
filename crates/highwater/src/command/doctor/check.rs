//! What was found out, one thing at a time.

use serde::Serialize;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) found: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    Ok,
    /// Not as it was tested, but it works.
    Warning,
    Failed,
}

// === impl Check ===

impl Check {
    pub(super) fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Ok, found: found.into(), help: None }
    }

    pub(super) fn warning(
        name: impl Into<String>,
        found: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), state: State::Warning, found: found.into(), help: Some(help.into()) }
    }

    pub(super) fn failed(name: impl Into<String>, found: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Failed, found: found.into(), help: Some(help.into()) }
    }
}

/// All of it for people.
pub(super) fn text(title: &str, checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    let mut text = format!("{title}\n");
    for check in checks {
        let word = match check.state {
            State::Ok => "ok",
            State::Warning => "note",
            State::Failed => "MISSING",
        };
        text.push_str(&format!("  {word:<8} {:<width$}  {}\n", check.name, check.found));
        if let Some(help) = &check.help {
            text.push_str(&format!("  {:<8} {:<width$}  help: {help}\n", "", ""));
        }
    }
    text
}
