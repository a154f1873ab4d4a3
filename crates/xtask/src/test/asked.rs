//! Real clients whose calls wait for a person, one gateway for each of them.
//!
//! The scripts play the person as well: they answer on the gateway's own page, with a passkey made of
//! software where one is asked for. The journal of the server behind the gateway says what ran.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Stage;
use super::running::{Gateway, Site};
use super::tally::Tally;
use crate::command::quiet;
use crate::install::{self, Group};

const SCRIPT_LIMIT: Duration = Duration::from_secs(20 * 60);

/// How long a call is held. One check waits for the end of it, all others for less.
const HOLD: &str = "20s";

/// The agents, one for each kind of client: what one of them was told no to is not asked again.
const KINDS: [&str; 4] = ["url", "form", "none", "native"];

/// The clients and the eras they speak.
const CLIENTS: [(&str, &str); 5] = [
    ("approval-typescript-1.mjs", "legacy"),
    ("approval-typescript-2.mjs", "legacy"),
    ("approval-typescript-2.mjs", "modern"),
    ("approval_python.py", "legacy"),
    ("approval_python.py", "modern"),
];

/// Programs and places of one run.
struct Asked {
    highwater: PathBuf,
    scripted: PathBuf,
    node: PathBuf,
    python: PathBuf,
    scripts: PathBuf,
    results: PathBuf,
}

/// Runs all clients at once: what they do most is wait.
pub(super) fn run(stage: &Stage) -> Result<Tally> {
    let asked = Asked {
        highwater: stage.built()?.program("highwater")?,
        scripted: stage.built()?.program("scripted")?,
        node: install::node(&stage.repository),
        python: Group::PythonClients.folder(&stage.repository).join("bin/python"),
        scripts: install::scripts(&stage.repository)?,
        results: stage.repository.results("asked")?,
    };
    let judged = std::thread::scope(|scope| {
        let running = CLIENTS.map(|(script, era)| scope.spawn(|| asked.run(script, era)));
        running
            .map(|run| run.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the run of a client broke off"))))
    });
    let mut tally = Tally::default();
    for ((script, era), judged) in CLIENTS.into_iter().zip(judged) {
        let judged = judged.unwrap_or_else(|error| {
            println!("{error:#}");
            Tally::of(false)
        });
        let name = format!("{}, {era}", stem(script));
        println!("  {name:<34}{:>4} passed{:>4} failed", judged.passed, judged.failed);
        tally += judged;
    }
    Ok(tally)
}

// === impl Asked ===

impl Asked {
    /// Runs one script, and shows its output if a check failed.
    fn run(&self, script: &str, era: &str) -> Result<Tally> {
        let folder = self.results.join(format!("{}-{era}", stem(script)));
        let journal = folder.join("journal.jsonl");
        let site = Site::new(&folder, &self.config(&folder, &journal))?;
        std::fs::write(folder.join("script.json"), server().to_string())?;
        std::fs::write(&journal, "")?;
        let gateway = Gateway::start(&self.highwater, &site, &folder.join("gateway.log"))?;
        let mut command = Command::new(if script.ends_with(".py") { &self.python } else { &self.node });
        command.arg(self.scripts.join(script)).args(["--era", era, "--http", &gateway.url]);
        command.args(["--operator", &site.operator_token()?, "--journal"]).arg(&journal);
        // Modules that are compiled on the way belong to nobody.
        command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(&folder);
        let outcome = quiet(&mut command, SCRIPT_LIMIT)?;
        std::fs::write(folder.join("script.log"), &outcome.output).context("cannot keep the output")?;
        let tally = Tally::of_lines(&outcome.output, outcome.success);
        if tally.failed > 0 {
            let failed = outcome.output.lines().filter(|line| !line.starts_with("ok "));
            failed.for_each(|line| println!("  {line}"));
            println!("the gateway's log ends with:\n{}", gateway.process.last_words());
        }
        Ok(tally)
    }

    /// One server, whose tools ask for a passkey, for a button, and for nothing.
    fn config(&self, folder: &Path, journal: &Path) -> Value {
        let token = json!({ "permissions": ["read", "write", "destructive"], "servers": ["files"], "forms": "person" });
        let tokens: serde_json::Map<_, _> =
            KINDS.into_iter().map(|kind| (kind.to_owned(), token.clone())).collect();
        json!({
            "limits": { "drain": "0s" },
            "approvals": { "listen": "localhost:0", "open_browser": false, "notify": false, "hold": HOLD },
            "agent_tokens": tokens,
            "servers": { "files": {
                "command": self.scripted,
                "args": ["--script", folder.join("script.json"), "--journal", journal],
                "era": "legacy",
                "trust": { "server_trust": "tool", "verified": true },
                "labels": { "delete": { "approval": "passkey" }, "write": { "approval": "confirm" } },
            } },
        })
    }
}

/// What the server says. Nothing about its tools is a reason to ask, except that the configuration does.
fn server() -> Value {
    let annotations = json!({
        "inputMetadata": {
            "destination": "ephemeral",
            "sensitivity": ["user", "pii", "financial", "credentials"],
            "outcomes": "benign",
        },
        "returnMetadata": { "source": "system", "sensitivity": "none" },
    });
    let tool =
        |name: &str| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations });
    let says = |result: Value| json!([format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)]);
    json!({
        "initialize": says(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "files", "version": "1" },
        })),
        "tools/list": says(json!({ "tools": [tool("delete"), tool("write"), tool("look")] })),
        "tools/call": says(json!({ "content": [{ "type": "text", "text": "done" }] })),
        "ping": says(json!({})),
    })
}

fn stem(script: &str) -> &str {
    script.split('.').next().unwrap_or(script)
}
