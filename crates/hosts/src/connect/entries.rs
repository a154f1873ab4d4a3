//! What is written into the files of each host.

use serde_json::{Map, Value, json};
use toml::Table;

use super::json_file::Wanted;
use super::toml_file::{Entry, key, string};
use super::{HostFile, Install, ServerProgram};
use crate::command_line::is_hook_line;
use crate::host::{HookName, Host};
use crate::table::tool_call;

/// How an event reaches us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Road {
    /// `highwater hook`: what may refuse, and what comes while no connection is there.
    Command,
    /// The hidden tool on the host's own connection, which ties the event to it. It fails open.
    Tool,
}

/// The events that are asked for, each by one road.
pub const fn installed_hooks(host: Host) -> &'static [(HookName, Road)] {
    match host {
        Host::ClaudeCode => &[
            // These two do not reach MCP tools.
            (HookName::SessionStart, Road::Command),
            (HookName::SessionEnd, Road::Command),
            (HookName::PreToolUse, Road::Command),
            (HookName::UserPromptSubmit, Road::Tool),
            (HookName::PostToolUse, Road::Tool),
            (HookName::PostToolUseFailure, Road::Tool),
            (HookName::SubagentStart, Road::Tool),
            (HookName::SubagentStop, Road::Tool),
        ],
        Host::Codex => &[
            (HookName::PreToolUse, Road::Command),
            // The connection is closed before this one.
            (HookName::SessionEnd, Road::Command),
            (HookName::SessionStart, Road::Tool),
            (HookName::UserPromptSubmit, Road::Tool),
            (HookName::PostToolUse, Road::Tool),
            (HookName::SubagentStart, Road::Tool),
            (HookName::SubagentStop, Road::Tool),
        ],
    }
}

/// What a JSON file should hold.
pub(super) fn wanted(file: HostFile, install: &Install) -> Vec<Wanted> {
    let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    match file {
        HostFile::ClaudeServers => {
            vec![Wanted::Member(path(&["mcpServers", &install.name]), server_entry(&install.server))]
        }
        HostFile::ClaudeSettings => {
            let hooks = installed_hooks(Host::ClaudeCode).iter();
            let hooks = hooks.map(|(hook, road)| {
                let group = hook_group(Host::ClaudeCode, *hook, *road, &install.name, install);
                Wanted::Item(path(&["hooks", hook.name()]), group)
            });
            hooks.chain([refuse_peers()]).collect()
        }
        // A plugin cannot hold this one.
        HostFile::ClaudePluginSettings => vec![refuse_peers()],
        HostFile::CodexHooks => {
            let hooks = installed_hooks(Host::Codex).iter();
            let hooks = hooks.map(|(hook, road)| {
                let group = hook_group(Host::Codex, *hook, *road, &install.name, install);
                Wanted::Item(path(&["hooks", hook.name()]), group)
            });
            hooks.collect()
        }
        HostFile::CodexConfig => Vec::new(),
    }
}

/// Messages of other processes would arrive as prompts.
fn refuse_peers() -> Wanted {
    Wanted::Member(vec!["crossSessionInbound".to_owned()], json!("refuse"))
}

/// Our entry among Codex's servers.
pub(super) fn codex_server(install: &Install) -> Entry<'_> {
    let list = |items: &[String]| {
        let items: Vec<_> = items.iter().map(|item| string(item)).collect();
        format!("[{}]", items.join(", "))
    };
    let ServerProgram { command, arguments, environment } = &install.server;
    let mut members = vec![("command".to_owned(), string(command)), ("args".to_owned(), list(arguments))];
    if !environment.is_empty() {
        let pairs = environment.iter().map(|(name, value)| format!("{} = {}", key(name), string(value)));
        let pairs: Vec<_> = pairs.collect();
        members.push(("env".to_owned(), format!("{{ {} }}", pairs.join(", "))));
    }
    Entry { name: &install.name, members }
}

/// The files of a directory that Claude Code takes as a plugin, by their paths in it.
pub fn plugin_files(install: &Install, version: &str) -> Vec<(&'static str, String)> {
    let server = format!("plugin:{}:{}", install.name, install.name);
    let hooks = installed_hooks(Host::ClaudeCode).iter().map(|(hook, road)| {
        let group = hook_group(Host::ClaudeCode, *hook, *road, &server, install);
        (hook.name().to_owned(), json!([group]))
    });
    let manifest = json!({
        "name": install.name,
        "version": version,
        "description": "Highwater: a security gateway for MCP, and hooks that tell it of the conversation",
    });
    let servers = json!({ "mcpServers": { (install.name.as_str()): server_entry(&install.server) } });
    let hooks = json!({ "hooks": hooks.collect::<Map<_, _>>() });
    vec![
        (".claude-plugin/plugin.json", format!("{manifest:#}\n")),
        (".mcp.json", format!("{servers:#}\n")),
        ("hooks/hooks.json", format!("{hooks:#}\n")),
    ]
}

fn server_entry(server: &ServerProgram) -> Value {
    let ServerProgram { command, arguments, environment } = server;
    let environment: Map<_, _> =
        environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({ "type": "stdio", "command": command, "args": arguments, "env": environment })
}

fn hook_group(host: Host, hook: HookName, road: Road, server: &str, install: &Install) -> Value {
    let timeout = hook.deadlines().host_s;
    let handler = match road {
        Road::Command => {
            json!({ "type": "command", "command": install.hook.line(host, hook), "timeout": timeout })
        }
        Road::Tool => json!({ "type": "mcp_tool", "server": server, "tool": tool_call::TOOL,
            "input": tool_call::arguments(host, hook), "timeout": timeout }),
    };
    let of_tools =
        matches!(hook, HookName::PreToolUse | HookName::PostToolUse | HookName::PostToolUseFailure);
    if of_tools { json!({ "matcher": "*", "hooks": [handler] }) } else { json!({ "hooks": [handler] }) }
}

/// Whether a value of a JSON file is ours by its looks: a group of hooks that are all ours, or a server that
/// is started as ours is.
pub(super) fn is_ours(host: Host, path: &[String], value: &Value) -> bool {
    if path.first().is_some_and(|first| first == "mcpServers") {
        let args = value.get("args").and_then(Value::as_array);
        let is_stdio = args.and_then(|args| args.first()).and_then(Value::as_str) == Some("stdio");
        let command = value.get("command").and_then(Value::as_str).unwrap_or_default();
        return is_stdio && is_program(command);
    }
    let handlers = value.get("hooks").and_then(Value::as_array);
    handlers.is_some_and(|handlers| {
        let is_handler = |handler: &Value| {
            let text = |name: &str| handler.get(name).and_then(Value::as_str).unwrap_or_default();
            is_hook_line(text("command"), host) || text("tool") == tool_call::TOOL
        };
        !handlers.is_empty() && handlers.iter().all(is_handler)
    })
}

/// The same of a server in Codex's configuration.
pub(super) fn is_our_section(server: &Table) -> bool {
    let args = server.get("args").and_then(toml::Value::as_array);
    let is_stdio = args.and_then(|args| args.first()).and_then(toml::Value::as_str) == Some("stdio");
    is_stdio && is_program(server.get("command").and_then(toml::Value::as_str).unwrap_or_default())
}

fn is_program(command: &str) -> bool {
    command.rsplit(['/', '\\']).next().is_some_and(|name| name == "highwater" || name == "highwater.exe")
}
