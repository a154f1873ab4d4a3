//! Settings of a host by which our hooks would not run, or not alone.

use std::fmt;

use serde_json::Value;

use super::json_text::{Part, line_and_column, parse};
use crate::host::Host;

/// A setting that stands in our way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Where in its file.
    pub line: usize,
    pub setting: &'static str,
    pub effect: &'static str,
}

/// Who wrote a file of settings. What an administrator wrote outranks us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsOf {
    User,
    Project,
    Administrator,
}

/// What a file of settings says against us. A text that cannot be read says nothing: its host does not heed it either.
pub fn obstacles(host: Host, of: SettingsOf, text: &str) -> Vec<Obstacle> {
    match host {
        Host::ClaudeCode => claude_code(of, text),
        Host::Codex => codex(of, text),
    }
}

fn claude_code(of: SettingsOf, text: &str) -> Vec<Obstacle> {
    let Ok(root) = parse(text) else { return Vec::new() };
    let found = |setting: &'static str, effect: &'static str, stands: &dyn Fn(&Value) -> bool| {
        let part = root.member(setting).filter(|part| stands(&part.value()))?;
        Some(Obstacle { line: line_of(text, part), setting, effect })
    };
    let is_on = |value: &Value| value == &Value::Bool(true);
    let off = found("disableAllHooks", "no hook runs", &is_on);
    let managed = found("allowManagedHooksOnly", "only hooks of the administrator run", &is_on)
        .filter(|_| of == SettingsOf::Administrator);
    let messages = found("crossSessionInbound", "messages of other processes arrive as prompts", &|value| {
        value != "refuse"
    });
    [off, managed, messages].into_iter().flatten().collect()
}

fn codex(of: SettingsOf, text: &str) -> Vec<Obstacle> {
    let Ok(root) = text.parse::<toml::Table>() else { return Vec::new() };
    let hooks = root.get("features").and_then(|features| features.get("hooks"));
    let off = (hooks == Some(&toml::Value::Boolean(false))).then(|| Obstacle {
        line: line_with(text, "hooks"),
        setting: "features.hooks",
        effect: "no hook runs",
    });
    let only_managed = root.get("allow_managed_hooks_only") == Some(&toml::Value::Boolean(true));
    let managed = (only_managed && of == SettingsOf::Administrator).then(|| Obstacle {
        line: line_with(text, "allow_managed_hooks_only"),
        setting: "allow_managed_hooks_only",
        effect: "only hooks of the administrator run",
    });
    [off, managed].into_iter().flatten().collect()
}

fn line_of(text: &str, part: &Part) -> usize {
    line_and_column(text, part.span.start).0
}

/// The line in which a key is set, wherever its table begins.
fn line_with(text: &str, key: &str) -> usize {
    let sets = |line: &str| {
        line.contains('=')
            && line.split(['=', '{', ',']).any(|part| part.trim().rsplit('.').next() == Some(key))
    };
    text.lines().position(sets).map_or(1, |index| index + 1)
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: `{}`: {}", self.line, self.setting, self.effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(host: Host, of: SettingsOf, text: &str) -> Vec<String> {
        obstacles(host, of, text).iter().map(Obstacle::to_string).collect()
    }

    #[test]
    fn what_keeps_hooks_of_claude_code_from_running_is_named_with_its_line() {
        let text = "{\n  // off for now\n  \"disableAllHooks\": true,\n  \"crossSessionInbound\": \"accept\",\n  \"allowManagedHooksOnly\": true\n}";
        let mine = [
            "line 3: `disableAllHooks`: no hook runs",
            "line 4: `crossSessionInbound`: messages of other processes arrive as prompts",
        ];
        assert_eq!(told(Host::ClaudeCode, SettingsOf::Project, text), mine);
        assert_eq!(told(Host::ClaudeCode, SettingsOf::Administrator, text).len(), 3);
        let fine = "{\"disableAllHooks\": false, \"crossSessionInbound\": \"refuse\"}";
        assert!(told(Host::ClaudeCode, SettingsOf::User, fine).is_empty());
        assert!(told(Host::ClaudeCode, SettingsOf::User, "{").is_empty());
    }

    #[test]
    fn what_keeps_hooks_of_codex_from_running_is_named_with_its_line() {
        for (text, line) in [
            ("model = \"x\"\n\n[features]\nweb = true\nhooks = false\n", 5),
            ("features = { hooks = false }\n", 1),
            ("a = 1\nfeatures.hooks = false\n", 2),
        ] {
            let told = told(Host::Codex, SettingsOf::User, text);
            assert_eq!(told, [format!("line {line}: `features.hooks`: no hook runs")]);
        }
        let managed = "allow_managed_hooks_only = true\n";
        assert!(told(Host::Codex, SettingsOf::User, managed).is_empty());
        assert_eq!(told(Host::Codex, SettingsOf::Administrator, managed).len(), 1);
        assert!(told(Host::Codex, SettingsOf::User, "[features]\nhooks = true\n").is_empty());
    }
}
