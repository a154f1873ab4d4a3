//! Whether Codex runs our hooks: it runs none that its user has not trusted, and says nothing about it. It is asked itself.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::check::Check;

/// Codex answers within a second.
const PATIENCE: Duration = Duration::from_secs(15);

const NAME: &str = "trust";

/// Asks Codex which hooks of a file it trusts.
pub(super) fn codex(program: &Path, hooks: &Path) -> Check {
    match hooks_of(program) {
        Err(why) => Check::warning(
            NAME,
            format!("Codex did not say which hooks it trusts: {why}"),
            "start `codex`, enter `/hooks` and look whether those of Highwater are trusted",
        ),
        Ok(found) => judge(&found, hooks),
    }
}

/// What its list says of the hooks of a file.
fn judge(list: &Value, hooks: &Path) -> Check {
    let found = list.pointer("/data/0/hooks").and_then(Value::as_array).into_iter().flatten();
    let text =
        |hook: &Value, name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let ours: Vec<&Value> = found
        .filter(|hook| Path::new(&text(hook, "sourcePath")) == hooks)
        .filter(|hook| {
            text(hook, "command").contains(" hook codex ") || text(hook, "tool") == "highwater__hook"
        })
        .collect();
    let is_run = |hook: &&&Value| {
        matches!(text(hook, "trustStatus").as_str(), "trusted" | "managed")
            && hook.get("enabled") != Some(&json!(false))
    };
    let left: Vec<String> =
        ours.iter().filter(|hook| !is_run(hook)).map(|hook| text(hook, "eventName")).collect();
    match (ours.len(), left.is_empty()) {
        (0, _) => Check::failed(NAME, "Codex knows no hook of ours", "`highwater connect codex`"),
        (count, true) => Check::ok(NAME, format!("you have trusted all {count} hooks")),
        (_, false) => Check::failed(
            NAME,
            format!("Codex does not run {}: you have not trusted them as they are", left.join(", ")),
            "start `codex`, enter `/hooks` and trust those of Highwater",
        ),
    }
}

fn hooks_of(program: &Path) -> Result<Value, String> {
    let mut command = Command::new(program);
    command.arg("app-server").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let answered = (|| {
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else { return Err("no streams".to_owned()) };
        let client =
            json!({ "name": "highwater", "title": "Highwater", "version": env!("CARGO_PKG_VERSION") });
        let here = std::env::current_dir().unwrap_or_default();
        for message in [
            json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client } }),
            json!({ "method": "initialized" }),
            json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [here] } }),
        ] {
            // One that does not listen gives no answer either.
            stdin.write_all(format!("{message}\n").as_bytes()).ok();
        }
        let (sender, answer) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message = serde_json::from_str::<Value>(&line).unwrap_or_default();
                if message.get("id") == Some(&json!(2)) {
                    sender.send(message).ok();
                    return;
                }
            }
        });
        let mut answer = answer.recv_timeout(PATIENCE).map_err(|_| "no answer".to_owned())?;
        answer.get_mut("result").map(Value::take).ok_or_else(|| "this version cannot tell".to_owned())
    })();
    child.kill().ok();
    child.wait().ok();
    answered
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    #[test]
    fn each_hook_of_ours_must_be_trusted() {
        let hooks = Path::new("/home/me/.codex/hooks.json");
        let hook = |status: &str, command: &str| json!({ "eventName": "preToolUse", "sourcePath": hooks, "command": command, "enabled": true, "trustStatus": status });
        let told = |found: &[Value]| judge(&json!({ "data": [{ "hooks": found }] }), hooks).state;
        let line = "/usr/bin/highwater hook codex PreToolUse || exit 2";
        assert_eq!(told(&[hook("trusted", line), hook("untrusted", "of others")]), State::Ok);
        assert_eq!(told(&[hook("trusted", line), hook("untrusted", line)]), State::Failed);
        assert_eq!(told(&[hook("modified", line)]), State::Failed);
        assert_eq!(told(&[hook("trusted", "of others")]), State::Failed);
    }
}
