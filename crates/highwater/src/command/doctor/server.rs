//! Our server, started as the host starts it, and spoken to as the host speaks.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use highwater_hosts::connect::ServerProgram;
use serde_json::{Value, json};

/// How long the server may take to start, with a gateway behind it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server while it is asked. It ends with this.
pub(super) struct Server {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    next: u64,
}

impl Server {
    /// Starts it and begins a session. What went wrong, in its own words where it has some.
    pub(super) fn start(program: &ServerProgram) -> Result<Self, String> {
        let ServerProgram { command, arguments, environment } = program;
        let mut started = Command::new(command);
        started.args(arguments).envs(environment.iter().cloned());
        started.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = started.spawn().map_err(|error| format!("`{command}` does not start: {error}"))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err("it has no streams".to_owned()) };
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut server = Self { child, stdin, lines, next: 1 };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "highwater-doctor", "version": env!("CARGO_PKG_VERSION") },
        });
        match server.ask("initialize", params) {
            Ok(_) => {
                server.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
                Ok(server)
            }
            Err(why) => Err(server.last_words().unwrap_or(why)),
        }
    }

    /// One request and the result of it.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next;
        self.next += 1;
        self.tell(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let line = self.lines.recv_timeout(PATIENCE).map_err(|_| "it gives no answer".to_owned())?;
            let Ok(mut reply) = serde_json::from_str::<Value>(&line) else { continue };
            if reply.get("id") != Some(&json!(id)) {
                continue;
            }
            return match reply.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => Err(reply
                    .pointer("/error/message")
                    .and_then(Value::as_str)
                    .unwrap_or("an error")
                    .to_owned()),
            };
        }
    }

    fn tell(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let told = self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.flush());
        told.map_err(|error| format!("it does not listen: {error}"))
    }

    /// What it wrote to standard error before it ended, in one line.
    fn last_words(&mut self) -> Option<String> {
        self.child.kill().ok();
        let mut words = String::new();
        self.child.stderr.take()?.take(4096).read_to_string(&mut words).ok()?;
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        (!words.is_empty()).then_some(words)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The gateway behind it ends when its last client has left.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
