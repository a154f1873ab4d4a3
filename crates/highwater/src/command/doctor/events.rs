//! Fires every event once, by what is installed, and looks which of them the gateway has heard.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use highwater_hosts::connect::{Handler, InstalledHook, installed_hooks};
use highwater_hosts::event::ConversationId;
use highwater_hosts::host::{HookName, Host};
use highwater_hosts::sample;
use highwater_hosts::table::tool_call::{TOOL, fill};
use serde_json::{Value, json};

use super::check::Check;
use super::server::Server;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit};

/// How often to look whether a hook has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// Where events are fired.
pub(super) struct Range<'a> {
    pub(super) host: Host,
    pub(super) hooks: &'a [InstalledHook],
    pub(super) server: Option<&'a mut Server>,
    pub(super) data: &'a Path,
}

impl Range<'_> {
    /// One check per event that this build installs.
    pub(super) fn fire(mut self) -> Vec<Check> {
        let Some(conversation) = sample::conversation(&format!("{}-{}", self.host, std::process::id()))
        else {
            return Vec::new();
        };
        let fired: Vec<(HookName, Result<(), String>)> = installed_hooks(self.host)
            .iter()
            .map(|(hook, _)| (*hook, self.fire_one(*hook, &conversation)))
            .collect();
        let heard = self.heard(&conversation);
        let check = |(hook, fired): (HookName, Result<(), String>)| {
            let name = format!("event {hook}");
            match fired {
                Err(why) => Check::failed(name, why, mend(self.host)),
                Ok(()) if heard.iter().any(|event| event == hook.name()) => Check::ok(name, "arrived"),
                Ok(()) => Check::failed(name, "it ran, and nothing arrived at the gateway", mend(self.host)),
            }
        };
        fired.into_iter().map(check).collect()
    }

    fn fire_one(&mut self, hook: HookName, conversation: &ConversationId) -> Result<(), String> {
        let installed = self.hooks.iter().find(|installed| installed.hook == hook);
        let handler = &installed.ok_or("it is not installed")?.handler;
        let payload = sample::payload(self.host, hook, conversation);
        match handler {
            Handler::Command(line) => run(line, &payload, hook),
            Handler::Tool { input, .. } => {
                let arguments = fill(self.host, input, &payload);
                let params = match self.host {
                    Host::ClaudeCode => json!({ "name": TOOL, "arguments": arguments }),
                    // It names the thread beside the call.
                    Host::Codex => {
                        let meta = json!({ "threadId": conversation.as_str() });
                        json!({ "name": TOOL, "arguments": arguments, "_meta": meta })
                    }
                };
                let server = self.server.as_mut().ok_or("our server does not run")?;
                let result = server.ask("tools/call", params)?;
                match result.get("isError") == Some(&json!(true)) {
                    true => Err(result
                        .pointer("/content/0/text")
                        .and_then(Value::as_str)
                        .unwrap_or("refused")
                        .to_owned()),
                    false => Ok(()),
                }
            }
        }
    }

    /// What the gateway has heard of these events.
    fn heard(&self, conversation: &ConversationId) -> Vec<String> {
        let ask = Ask::MadeUpHooks { conversation: conversation.as_str().to_owned() };
        match visit(self.data, &Hello::ask(ask)) {
            Ok(Visit::Welcome { welcome, .. }) => {
                welcome.answer.and_then(|answer| serde_json::from_str(answer.get()).ok()).unwrap_or_default()
            }
            Ok(Visit::Refused(_) | Visit::Absent) | Err(_) => Vec::new(),
        }
    }
}

fn mend(host: Host) -> String {
    format!("`highwater connect {host}` installs it again")
}

/// Runs a command hook as the host does: in a shell, with the payload on standard input.
fn run(line: &str, payload: &Value, hook: HookName) -> Result<(), String> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("there is no shell: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that is not there reads nothing; its exit status tells.
        stdin.write_all(payload.to_string().as_bytes()).ok();
    }
    let deadline = Instant::now() + Duration::from_secs(hook.deadlines().host_s);
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Instant::now() > deadline {
            child.kill().ok();
            return Err(format!("it took longer than {} s", hook.deadlines().host_s));
        }
        std::thread::sleep(PAUSE);
    }
    judge(&child.wait_with_output().map_err(|error| error.to_string())?)
}

/// A hook that does its work exits with 0 and prints one JSON object.
fn judge(output: &Output) -> Result<(), String> {
    let printed = serde_json::from_slice::<serde_json::Map<String, Value>>(&output.stdout);
    match (output.status.code(), printed) {
        (Some(0), Ok(_)) => Ok(()),
        (Some(0), Err(_)) => Err("it printed something else than one JSON object".to_owned()),
        (code, _) => {
            let said =
                String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            let code = code.map_or_else(|| "by a signal".to_owned(), |code| format!("with {code}"));
            Err(format!("it ended {code}: {said}"))
        }
    }
}
