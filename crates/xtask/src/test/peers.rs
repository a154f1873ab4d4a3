//! Real clients in front of real servers, with the shipped program between them.
//!
//! Each client script says `ok` or `not ok` once per check; a gateway of its own stands before four
//! servers for each of them, so that no run sees what another one left.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::running::{Gateway, Site};
use super::tally::Tally;
use super::{Stage, asked};
use crate::command::{quiet, search_path};
use crate::install::{self, Group};

/// A script takes seconds; one whose checks all wait for their own limit need not be heard to its end.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20 * 60);

/// The clients and the eras they speak.
const CLIENTS: [(Script, &str); 5] = [
    (Script::Node("typescript-1.mjs"), "legacy"),
    (Script::Node("typescript-2.mjs"), "legacy"),
    (Script::Node("typescript-2.mjs"), "modern"),
    (Script::Python("python.py"), "legacy"),
    (Script::Python("python.py"), "modern"),
];

#[derive(Clone, Copy)]
enum Script {
    Node(&'static str),
    Python(&'static str),
}

#[derive(Clone, Copy)]
enum Way {
    Http,
    Stdio,
}

/// Programs and places of one run.
struct Peers<'a> {
    stage: &'a Stage,
    highwater: PathBuf,
    scripts: PathBuf,
    results: PathBuf,
    /// The folder that the filesystem server may touch.
    folder: PathBuf,
    /// The repository that the git server reads.
    repository: PathBuf,
}

pub(super) fn run(stage: &Stage) -> Result<Tally> {
    install::require("git", "git")?;
    let results = stage.repository.results("peers")?;
    let peers = Peers {
        stage,
        highwater: stage.built()?.program("highwater")?,
        scripts: install::scripts(&stage.repository)?,
        folder: results.join("folder"),
        repository: results.join("repository"),
        results,
    };
    peers.prepare()?;
    let mut tally = Tally::default();
    for (script, era) in CLIENTS {
        for way in [Way::Http, Way::Stdio] {
            let name = format!("{}, {era}, {}", script.name(), way.name());
            let judged = peers.run(script, era, way).unwrap_or_else(|error| {
                println!("{error:#}");
                Tally::of(false)
            });
            println!("  {name:<34}{:>4} passed{:>4} failed", judged.passed, judged.failed);
            tally += judged;
        }
    }
    tally += asked::run(stage)?;
    Ok(tally)
}

impl Peers<'_> {
    /// Makes the folder and the repository that servers work on.
    fn prepare(&self) -> Result<()> {
        for folder in [&self.folder, &self.repository] {
            std::fs::create_dir_all(folder)?;
        }
        let name = ["-c", "user.name=Shipwright", "-c", "user.email=shipwright@example.com"];
        let commit = ["commit", "--quiet", "--allow-empty", "--message", "Lay the keel"];
        for arguments in [vec!["init", "--quiet"], [&name[..], &commit[..]].concat()] {
            let outcome =
                quiet(Command::new("git").args(arguments).current_dir(&self.repository), SCRIPT_LIMIT)?;
            anyhow::ensure!(outcome.success, "cannot make a repository: {}", outcome.output);
        }
        Ok(())
    }

    /// Runs one script over one way, and shows its output if a check failed.
    fn run(&self, script: Script, era: &str, way: Way) -> Result<Tally> {
        let folder = self.results.join(format!("{}-{era}-{}", script.name(), way.name()));
        let site = Site::new(&folder, &self.config())?;
        let mut command = self.command(script);
        command.args(["--era", era, "--folder"]).arg(&self.folder);
        command.arg("--repository").arg(&self.repository).current_dir(&folder);
        let mut running = None;
        match way {
            Way::Http => {
                let gateway = Gateway::start(&self.highwater, &site, &folder.join("gateway.log"))?;
                command.args(["--http", &gateway.url, "--token", &site.agent_token()?]);
                running = Some(gateway);
            }
            Way::Stdio => {
                command.args(["--stdio", "--"]).arg(&self.highwater).arg("stdio").args(site.arguments());
            }
        }
        let outcome = quiet(&mut command, SCRIPT_LIMIT)?;
        std::fs::write(folder.join("script.log"), &outcome.output).context("cannot keep the output")?;
        let tally = Tally::of_lines(&outcome.output, outcome.success);
        if tally.failed > 0 {
            outcome
                .output
                .lines()
                .filter(|line| !line.starts_with("ok "))
                .for_each(|line| println!("  {line}"));
            if let Some(gateway) = &running {
                println!("the gateway's log ends with:\n{}", gateway.process.last_words());
            }
        }
        Ok(tally)
    }

    fn command(&self, script: Script) -> Command {
        let node = install::node(&self.stage.repository);
        let mut command = match script {
            Script::Node(_) => Command::new(&node),
            Script::Python(_) => {
                Command::new(Group::PythonClients.folder(&self.stage.repository).join("bin/python"))
            }
        };
        command.arg(match script {
            Script::Node(file) => self.scripts.join(file),
            Script::Python(file) => self.stage.repository.path("peers/clients").join(file),
        });
        let mut path = search_path();
        path.insert(0, node.parent().map(Path::to_owned).unwrap_or_default());
        if let Ok(path) = std::env::join_paths(path) {
            command.env("PATH", path);
        }
        command
    }

    /// Four servers: two that speak the legacy era only, two that speak both.
    fn config(&self) -> Value {
        let node = install::node(&self.stage.repository);
        let package = |name: &str| {
            Group::Node
                .folder(&self.stage.repository)
                .join("node_modules/@modelcontextprotocol")
                .join(name)
                .join("dist/index.js")
        };
        let python = |name: &str| Group::PythonServers.folder(&self.stage.repository).join("bin").join(name);
        // They take seconds to start, and far longer on a busy machine.
        let timeouts = json!({ "start": "5m", "probe": "2m" });
        json!({ "flow": "observe", "quarantine": false, "servers": {
            // Vouched for, so that what it declares is what clients are told.
            "everything": {
                "command": node, "args": [package("server-everything"), "stdio"], "trust": { "verified": true },
                "timeouts": timeouts,
            },
            "filesystem": {
                "command": node, "args": [package("server-filesystem"), self.folder], "timeouts": timeouts,
            },
            "git": { "command": python("mcp-server-git"), "timeouts": timeouts },
            "time": {
                "command": python("mcp-server-time"), "args": ["--local-timezone", "UTC"], "timeouts": timeouts,
            },
        } })
    }
}

// === impl Script ===

impl Script {
    fn name(self) -> &'static str {
        let (Self::Node(file) | Self::Python(file)) = self;
        file.split('.').next().unwrap_or(file)
    }
}

// === impl Way ===

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Stdio => "stdio",
        }
    }
}
