//! An ordinary day of work: seven real servers, one client of each era, and a person who answers what they are asked.
//!
//! The script says what may be asked. Here is what a newcomer would write down, with one word per server and without.

use std::io::{Read, Write};
use std::net::TcpListener;
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

/// The days, and the eras of the clients that live them.
const DAYS: [(&str, &str); 3] = [("described", "legacy"), ("described", "modern"), ("undescribed", "modern")];

pub(super) fn run(stage: &Stage) -> Result<Tally> {
    install::require("git", "git")?;
    let results = stage.repository.results("day")?;
    let page = serve_pages()?;
    let mut tally = Tally::default();
    for (day, era) in DAYS {
        let folder = results.join(format!("{day}-{era}"));
        let judged = live(stage, &folder, day, era, &page).unwrap_or_else(|error| {
            println!("{error:#}");
            Tally::of(false)
        });
        println!("  {:<34}{:>4} passed{:>4} failed", format!("{day}, {era}"), judged.passed, judged.failed);
        tally += judged;
    }
    Ok(tally)
}

/// One day, with a gateway, servers and a project of its own.
fn live(stage: &Stage, folder: &Path, day: &str, era: &str, page: &str) -> Result<Tally> {
    let home = prepare(folder)?;
    let site = Site::new(folder, &config(stage, &home, day == "described"))?;
    let highwater = stage.built()?.program("highwater")?;
    let gateway = Gateway::start(&highwater, &site, &folder.join("gateway.log"))?;
    let mut command = Command::new(Group::PythonClients.folder(&stage.repository).join("bin/python"));
    command.arg(stage.repository.path("peers/clients/day.py")).current_dir(folder);
    command.args(["--era", era, "--day", day, "--http", &gateway.url, "--token", &site.agent_token()?]);
    command.args(["--operator", &site.operator_token()?, "--page", page, "--project"]).arg(home.join("site"));
    let outcome = quiet(&mut command, SCRIPT_LIMIT)?;
    std::fs::write(folder.join("script.log"), &outcome.output).context("cannot keep the output")?;
    let tally = Tally::of_lines(&outcome.output, outcome.success);
    if tally.failed > 0 {
        outcome.output.lines().filter(|line| !line.starts_with("ok ")).for_each(|line| println!("  {line}"));
        println!("the gateway's log ends with:\n{}", gateway.process.last_words());
    }
    Ok(tally)
}

/// Makes the project, the wiki and the database. Where they are.
fn prepare(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("home");
    let project = home.join("site");
    for made in [&project, &home.join("wiki")] {
        std::fs::create_dir_all(made).with_context(|| format!("cannot make `{}`", made.display()))?;
    }
    std::fs::write(project.join("README.md"), "The first version.\n")?;
    std::fs::write(home.join("wiki/Onboarding.md"), "How we start.\n")?;
    let name = ["-c", "user.name=Shipwright", "-c", "user.email=shipwright@example.com"];
    for arguments in [
        vec!["init", "--quiet"],
        vec!["config", "user.name", "Shipwright"],
        vec!["config", "user.email", "shipwright@example.com"],
        vec!["add", "README.md"],
        [&name[..], &["commit", "--quiet", "--message", "First"]].concat(),
    ] {
        let outcome = quiet(Command::new("git").args(arguments).current_dir(&project), SCRIPT_LIMIT)?;
        anyhow::ensure!(outcome.success, "cannot make a repository: {}", outcome.output);
    }
    let rows = "import sqlite3; rows = sqlite3.connect('rows.db'); rows.execute('CREATE TABLE visits (name)'); rows.commit()";
    let outcome = quiet(Command::new("python3").args(["-c", rows]).current_dir(&home), SCRIPT_LIMIT)?;
    anyhow::ensure!(outcome.success, "cannot make a database: {}", outcome.output);
    Ok(home)
}

/// What a newcomer writes down: the servers, and if they read on, one word for each and where they work.
fn config(stage: &Stage, home: &Path, described: bool) -> Value {
    let repository = &stage.repository;
    let node = |name: &str| {
        let package = Group::Node.folder(repository).join("node_modules/@modelcontextprotocol").join(name);
        package.join("dist/index.js")
    };
    let python = |name: &str| Group::PythonServers.folder(repository).join("bin").join(name);
    let older = |name: &str| Group::PythonOlder.folder(repository).join("bin").join(name);
    let interpreter = install::node(repository);
    let plain = repository.path("peers/servers/plain.py");
    let site = home.join("site");
    // They take seconds to start, and far longer on a busy machine.
    let timeouts = json!({ "start": "5m", "probe": "2m" });
    let servers = [
        ("filesystem", "local", json!({ "command": interpreter, "args": [node("server-filesystem"), site] })),
        (
            "memory",
            "local",
            json!({ "command": interpreter, "args": [node("server-memory")],
                    "env": { "MEMORY_FILE_PATH": home.join("memory.json") } }),
        ),
        ("git", "local", json!({ "command": python("mcp-server-git"), "args": ["--repository", site] })),
        (
            "time",
            "local",
            json!({ "command": python("mcp-server-time"), "args": ["--local-timezone", "UTC"] }),
        ),
        (
            "sqlite",
            "local",
            json!({ "command": older("mcp-server-sqlite"), "args": ["--db-path", home.join("rows.db")] }),
        ),
        (
            "fetch",
            "public",
            json!({ "command": python("mcp-server-fetch"), "args": ["--allow-private-ips"] }),
        ),
        (
            "wiki",
            "private",
            json!({ "command": older("python"), "args": [plain, "wiki", home.join("wiki")] }),
        ),
    ];
    let entries = servers.into_iter().map(|(name, word, mut entry)| {
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("timeouts".to_owned(), timeouts.clone());
            if described {
                entry.insert("profile".to_owned(), json!(word));
            }
        }
        (name.to_owned(), entry)
    });
    json!({
        "projects": if described { vec![&site] } else { Vec::new() },
        "approvals": { "open_browser": false, "notify": false },
        "servers": entries.collect::<serde_json::Map<String, Value>>(),
    })
}

/// Serves every path the same page, and a file that lets robots in. Where.
fn serve_pages() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut asked = [0; 4096];
            let read = stream.read(&mut asked).unwrap_or(0);
            let robots = asked.get(..read).is_some_and(|asked| asked.starts_with(b"GET /robots.txt "));
            let (kind, body) = match robots {
                true => ("text/plain", "User-agent: *\nAllow: /\n"),
                false => ("text/html", "<html><body><h1>News</h1><p>What strangers wrote.</p></body></html>"),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok();
        }
    });
    Ok(format!("http://{address}"))
}
