//! Reads what is installed in the files of a host, as the host reads it.

use serde_json::Value;

use super::ServerProgram;
use super::json_text::parse;
use crate::command_line::is_hook_line;
use crate::host::{HookName, Host};
use crate::table::tool_call;

/// A hook of ours in a host's file.
#[derive(Clone, Debug, PartialEq)]
pub struct InstalledHook {
    pub hook: HookName,
    pub handler: Handler,
}

/// What the host does for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Handler {
    /// Runs a line in a shell.
    Command(String),
    /// Calls the hidden tool of a server with this input, once it is filled in.
    Tool { server: String, input: Value },
}

/// The hooks of ours in a file of hooks or settings. A text that is no JSON holds none.
pub fn hooks_in(host: Host, text: &str) -> Vec<InstalledHook> {
    let Ok(root) = parse(text) else { return Vec::new() };
    let root = root.value();
    let events = root.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let events = events.filter_map(|(name, groups)| Some((HookName::from_name(name)?, groups.as_array()?)));
    let handlers = events.flat_map(|(hook, groups)| {
        let handlers = groups.iter().filter_map(|group| group.get("hooks")?.as_array()).flatten();
        handlers.filter_map(move |handler| Some(InstalledHook { hook, handler: ours(host, handler)? }))
    });
    handlers.collect()
}

fn ours(host: Host, handler: &Value) -> Option<Handler> {
    let text = |name: &str| handler.get(name).and_then(Value::as_str);
    if let Some(line) = text("command").filter(|line| is_hook_line(line, host)) {
        return Some(Handler::Command(line.to_owned()));
    }
    text("tool").filter(|tool| *tool == tool_call::TOOL)?;
    let input = handler.get("input").cloned().unwrap_or_default();
    Some(Handler::Tool { server: text("server")?.to_owned(), input })
}

/// The program that a host starts for a server of its list.
pub fn program_in(host: Host, text: &str, name: &str) -> Option<ServerProgram> {
    let entry = match host {
        Host::ClaudeCode => parse(text).ok()?.value().get("mcpServers")?.get(name)?.clone(),
        Host::Codex => {
            let root: toml::Table = text.parse().ok()?;
            serde_json::to_value(root.get("mcp_servers")?.get(name)?).ok()?
        }
    };
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let arguments = entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(word);
    let environment = entry.get("env").and_then(Value::as_object).into_iter().flatten();
    let environment = environment.filter_map(|(name, value)| Some((name.clone(), word(value)?)));
    Some(ServerProgram {
        command: entry.get("command").and_then(word)?,
        arguments: arguments.collect(),
        environment: environment.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{connected, install};
    use super::super::{HostFile, Road, installed_hooks};
    use super::*;

    #[test]
    fn what_was_installed_is_found_again() {
        let settings = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"mine\"}]}]}, /* so */}";
        for (host, file, before) in [
            (Host::ClaudeCode, HostFile::ClaudeSettings, settings),
            (Host::Codex, HostFile::CodexHooks, "{}"),
        ] {
            let found = hooks_in(host, &connected(file, Some(before)).contents);
            assert_eq!(found.len(), installed_hooks(host).len());
            for (hook, road) in installed_hooks(host) {
                let handler = &found.iter().find(|found| found.hook == *hook).unwrap().handler;
                assert_eq!(matches!(handler, Handler::Command(_)), *road == Road::Command, "{hook}");
            }
        }
        assert_eq!(hooks_in(Host::ClaudeCode, "no"), []);
    }

    #[test]
    fn the_program_is_found_as_the_host_would_start_it() {
        for (host, file) in
            [(Host::ClaudeCode, HostFile::ClaudeServers), (Host::Codex, HostFile::CodexConfig)]
        {
            let found = program_in(host, &connected(file, None).contents, &install().name);
            assert_eq!(found, Some(install().server));
        }
        assert!(program_in(Host::Codex, "[mcp_servers.highwater]\nurl = \"x\"", "highwater").is_none());
    }
}
