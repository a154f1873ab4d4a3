//! An ordinary day of work: seven real servers, one client of each era, and a person who answers what they are asked.
//!
//! The script says what may be asked. Here is what a newcomer would write down, with one word per server and without.
//! Twenty days in a row cost no more in the end than in the beginning, and a day that was only watched costs nothing
//! afterwards. The last of the days is observed first: what `highwater report` names then is written down, and the day is
//! lived again.

use std::collections::BTreeMap;
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

/// How many reports it may take until nothing is left to say, at three labels each.
const MOST_REPORTS: usize = 4;

/// How many questions such a day may cost then.
const MOST_QUESTIONS: usize = 2;

/// After how many seconds of silence the next of twenty days is another conversation.
const QUIET: usize = 3;

/// The servers and what they are, in one word.
type Profiles = BTreeMap<String, String>;

/// The one word for each server.
const WORDS: [(&str, &str); 7] = [
    ("filesystem", "local"),
    ("memory", "local"),
    ("git", "local"),
    ("time", "local"),
    ("sqlite", "local"),
    ("fetch", "public"),
    ("wiki", "private"),
];

/// One day: what was written down before it, and what may be asked.
struct Day<'a> {
    /// What the script calls it.
    name: &'a str,
    era: &'a str,
    profiles: Profiles,
    /// Whether it is written down where the project is.
    has_project: bool,
    flow: &'a str,
    /// How many questions it costs, where that is known beforehand.
    questions: Option<usize>,
}

/// What `highwater report` found.
struct Reported {
    /// How many calls would have been stopped, and how many of them what it names would let through.
    stopped: usize,
    removed: usize,
    profiles: Profiles,
}

pub(super) fn run(stage: &Stage) -> Result<Tally> {
    install::require("git", "git")?;
    let results = stage.repository.results("day")?;
    let page = serve_pages()?;
    let described: Profiles = WORDS.iter().map(|(name, word)| ((*name).into(), (*word).into())).collect();
    let balanced = |name, era, profiles: Profiles| {
        let has_project = !profiles.is_empty();
        Day { name, era, profiles, has_project, flow: "balanced", questions: None }
    };
    let mut tally = Tally::default();
    for day in [
        balanced("described", "legacy", described.clone()),
        balanced("described", "modern", described.clone()),
        balanced("undescribed", "modern", Profiles::new()),
        balanced("twenty", "modern", described.clone()),
    ] {
        let folder = results.join(format!("{}-{}", day.name, day.era));
        tally += told(&format!("{}, {}", day.name, day.era), live(stage, &folder, &day, &page));
    }
    tally += told("the morning after", second_start(stage, &results.join("described-modern")));
    let watched =
        Day { flow: "observe", questions: Some(0), ..balanced("counted", "modern", described.clone()) };
    let folder = results.join("watched");
    let afterwards = || -> Result<Tally> {
        let mut tally = live(stage, &folder, &watched, &page)?;
        tally += live(stage, &folder, &balanced("described", "modern", described), &page)?;
        Ok(tally)
    };
    tally += told("observed, then in earnest", afterwards());
    tally += told("observed, then as reported", observed(stage, &results, &page));
    Ok(tally)
}

fn told(name: &str, judged: Result<Tally>) -> Tally {
    let judged = judged.unwrap_or_else(|error| {
        println!("{error:#}");
        Tally::of(false)
    });
    println!("  {name:<34}{:>4} passed{:>4} failed", judged.passed, judged.failed);
    judged
}

/// Days that are only watched, the first of them without a word: what the report names is written down, and the next day
/// would be stopped that much less often. Where it names nothing any more, the same day in earnest asks what is left.
fn observed(stage: &Stage, results: &Path, page: &str) -> Result<Tally> {
    let day = |flow, profiles: &Profiles, questions| Day {
        name: "counted",
        era: "modern",
        profiles: profiles.clone(),
        has_project: true,
        flow,
        questions: Some(questions),
    };
    let mut tally = Tally::default();
    let mut profiles = Profiles::new();
    let mut expected = None;
    for number in 1..=MOST_REPORTS {
        let folder = results.join(format!("observed-{number}"));
        tally += live(stage, &folder, &day("observe", &profiles, 0), page)?;
        let Reported { stopped, removed, profiles: named } = report(stage, &folder)?;
        println!("    report {number}: {stopped} stopped, {removed} of them removed by {named:?}");
        tally += Tally::of(expected.is_none_or(|expected| expected == stopped));
        if removed == 0 {
            tally += Tally::of(stopped <= MOST_QUESTIONS);
            tally += live(stage, &results.join("reported"), &day("balanced", &profiles, stopped), page)?;
            return Ok(tally);
        }
        profiles.extend(named);
        expected = Some(stopped - removed);
    }
    anyhow::bail!("after {MOST_REPORTS} reports there is still something to say");
}

/// Asks the shipped program what `balanced` would have stopped, and what to say about it.
fn report(stage: &Stage, folder: &Path) -> Result<Reported> {
    let mut command = Command::new(stage.built()?.program("highwater")?);
    command.args(["report", "--json"]).args(Site::below(folder).arguments());
    let outcome = quiet(&mut command, SCRIPT_LIMIT)?;
    anyhow::ensure!(outcome.success, "`highwater report` failed: {}", outcome.output);
    let report: Value = serde_json::from_str(&outcome.output).context("a report that is no JSON")?;
    let number = |of: &Value, key: &str| usize::try_from(of.get(key).and_then(Value::as_u64).unwrap_or(0));
    let mut reported = Reported {
        stopped: number(&report, "asked")? + number(&report, "refused")?,
        removed: 0,
        profiles: Profiles::new(),
    };
    for remedy in report.get("remedies").and_then(Value::as_array).into_iter().flatten() {
        let lines = remedy.get("lines").and_then(Value::as_str).unwrap_or_default();
        let lines: Vec<&str> = lines.lines().map(str::trim).collect();
        let ["servers:", server, word] = lines[..] else {
            anyhow::bail!("not one word for a server: {remedy}");
        };
        let word = word.strip_prefix("profile: ").with_context(|| format!("no profile: {remedy}"))?;
        reported.profiles.insert(server.trim_end_matches(':').to_owned(), word.to_owned());
        reported.removed += number(remedy, "removes")?;
    }
    Ok(reported)
}

/// One day, with a gateway, servers and a project of its own.
fn live(stage: &Stage, folder: &Path, day: &Day<'_>, page: &str) -> Result<Tally> {
    let home = prepare(folder)?;
    let site = Site::new(folder, &config(stage, &home, day))?;
    let highwater = stage.built()?.program("highwater")?;
    let gateway = Gateway::start(&highwater, &site, &folder.join("gateway.log"))?;
    let mut command = Command::new(Group::PythonClients.folder(&stage.repository).join("bin/python"));
    command.arg(stage.repository.path("peers/clients/day.py")).current_dir(folder);
    command.args(["--era", day.era, "--day", day.name, "--http", &gateway.url]);
    command.args(["--token", &site.agent_token()?, "--operator", &site.operator_token()?, "--page", page]);
    command.arg("--project").arg(home.join("site"));
    command.args(["--quiet", &QUIET.to_string()]);
    if let Some(questions) = day.questions {
        command.args(["--questions", &questions.to_string()]);
    }
    let outcome = quiet(&mut command, SCRIPT_LIMIT)?;
    std::fs::write(folder.join("script.log"), &outcome.output).context("cannot keep the output")?;
    let tally = Tally::of_lines(&outcome.output, outcome.success);
    if tally.failed > 0 {
        outcome.output.lines().filter(|line| !line.starts_with("ok ")).for_each(|line| println!("  {line}"));
        println!("the gateway's log ends with:\n{}", gateway.process.last_words());
    }
    Ok(tally)
}

/// The same gateway, started again: its client gets the tools of the seven servers before these have started.
fn second_start(stage: &Stage, folder: &Path) -> Result<Tally> {
    let day = Site::below(folder);
    // Nobody is asked here, and passkeys of the day work on the day's page alone.
    let said = std::fs::read_to_string(&day.config).context("cannot read the configuration of the day")?;
    let mut config: Value = serde_json::from_str(&said)?;
    let approvals = config.get_mut("approvals").and_then(Value::as_object_mut);
    approvals
        .context("the configuration of the day has no `approvals`")?
        .insert("listen".into(), json!("none"));
    let site = Site::new(folder, &config)?;
    let highwater = stage.built()?.program("highwater")?;
    let gateway = Gateway::start(&highwater, &site, &folder.join("second-start.log"))?;
    let mut command = Command::new("python3");
    command.arg(stage.repository.path("peers/clients/second_start.py"));
    command.args(["--http", &gateway.url, "--token", &site.agent_token()?]);
    command.args(["--operator", &site.operator_token()?]);
    command.args(["--servers", &WORDS.map(|(name, _)| name).join(",")]);
    let outcome = quiet(&mut command, SCRIPT_LIMIT)?;
    let shown = outcome.output.lines().filter(|line| !line.starts_with("ok "));
    shown.for_each(|line| println!("    {}", line.trim_start_matches("# ")));
    Ok(Tally::of_lines(&outcome.output, outcome.success))
}

/// Makes the project, the wiki and the database, unless an earlier day has them. Where they are.
fn prepare(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("home");
    if home.exists() {
        return Ok(home);
    }
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
fn config(stage: &Stage, home: &Path, day: &Day<'_>) -> Value {
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
        ("filesystem", json!({ "command": interpreter, "args": [node("server-filesystem"), site] })),
        (
            "memory",
            json!({ "command": interpreter, "args": [node("server-memory")],
                    "env": { "MEMORY_FILE_PATH": home.join("memory.json") } }),
        ),
        ("git", json!({ "command": python("mcp-server-git"), "args": ["--repository", site] })),
        ("time", json!({ "command": python("mcp-server-time"), "args": ["--local-timezone", "UTC"] })),
        (
            "sqlite",
            json!({ "command": older("mcp-server-sqlite"), "args": ["--db-path", home.join("rows.db")] }),
        ),
        ("fetch", json!({ "command": python("mcp-server-fetch"), "args": ["--allow-private-ips"] })),
        ("wiki", json!({ "command": older("python"), "args": [plain, "wiki", home.join("wiki")] })),
    ];
    let entries = servers.into_iter().map(|(name, mut entry)| {
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("timeouts".to_owned(), timeouts.clone());
            entry.extend(day.profiles.get(name).map(|word| ("profile".to_owned(), json!(word))));
        }
        (name.to_owned(), entry)
    });
    let quiet = if day.name == "twenty" { format!("{QUIET}s") } else { "30m".to_owned() };
    // Where nothing is asked there is no page; the next gateway on the same data has one of its own.
    let listen = if day.flow == "observe" { "none" } else { "localhost:0" };
    json!({
        "flow": day.flow,
        "sessions": { "quiet": quiet },
        "projects": if day.has_project { vec![&site] } else { Vec::new() },
        "approvals": { "listen": listen, "open_browser": false, "notify": false },
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
