//! A gateway with fixtures behind it, and the means to look behind its back.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, fixture_program};
use highwater_testkit::client::{Answer, Client, Era, Request};
use highwater_testkit::wait;
use serde_json::{Value, json};

use crate::processes::{Process, of_server};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// A home before its gateway runs.
pub(crate) struct Ground {
    pub(crate) home: Home,
    fixture: PathBuf,
}

/// A running gateway.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
}

/// What calls of `sleep` can wait for.
pub(crate) struct Gate(PathBuf);

// === impl Ground ===

impl Ground {
    pub(crate) fn new() -> Self {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        Self { home, fixture: fixture_program(Path::new(PROGRAM)).unwrap() }
    }

    /// The same home for another program, which starts ours.
    pub(crate) fn run_by(self, program: PathBuf) -> Self {
        Self { home: self.home.by(program), ..self }
    }

    pub(crate) fn fixture(&self) -> &Path {
        &self.fixture
    }

    /// The entry of a fixture over stdio. Its processes are known by the path of its journal.
    pub(crate) fn stdio(&self, name: &str) -> Value {
        json!({ "command": self.fixture, "args": ["--stdio", "--extras"], "env": self.env(name) })
    }

    /// The same, spoken to in the modern era by clients of both, so that it is one process for all of them.
    pub(crate) fn one_stdio(&self, name: &str) -> Value {
        let mut entry = self.stdio(name);
        entry["era"] = json!("modern");
        entry
    }

    /// The entry of a shell script as a server. It finds the fixture in `$FIXTURE`.
    pub(crate) fn script(&self, name: &str, script: &str) -> Value {
        let mut env = self.env(name);
        env["FIXTURE"] = json!(self.fixture);
        json!({ "command": "sh", "args": ["-c", script], "env": env })
    }

    /// The same, spoken to in the modern era by clients of both, so that it is started once for all of them.
    pub(crate) fn one_script(&self, name: &str, script: &str) -> Value {
        let mut entry = self.script(name, script);
        entry["era"] = json!("modern");
        entry
    }

    fn env(&self, name: &str) -> Value {
        json!({ "FIXTURE_LOG": journal(self.home.path(), name).path() })
    }

    pub(crate) fn configure(&self, config: &Value) {
        self.home.configure(&config.to_string()).unwrap();
    }

    pub(crate) async fn serve(self, config: &Value) -> Stage {
        self.configure(config);
        Stage { gateway: self.home.serve().await.unwrap() }
    }
}

// === impl Stage ===

impl Stage {
    /// A gateway with these fixtures over stdio, each of them one process.
    pub(crate) async fn of(names: &[&str]) -> Self {
        let ground = Ground::new();
        let servers: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).to_owned(), ground.one_stdio(name))).collect();
        ground.serve(&json!({ "flow": "observe", "servers": servers })).await
    }

    /// A client over HTTP without a stream of its own.
    pub(crate) async fn client(&self, era: Era) -> Client {
        self.gateway.http(era).without_stream().connect().await.unwrap()
    }

    pub(crate) fn journal(&self, name: &str) -> Journal {
        journal(self.gateway.home().path(), name)
    }

    /// The guard and the server of a name, waiting until both run.
    pub(crate) async fn processes(&self, name: &str) -> (Process, Process) {
        of_server(&self.gateway.home().path().join(format!("{name}.jsonl"))).await
    }

    /// What `highwater servers --json` says of one server.
    pub(crate) async fn status(&self, name: &str) -> Value {
        status(self.gateway.home(), name).await
    }

    /// Waits until `highwater servers --json` says of a server what is wanted.
    pub(crate) async fn status_where(&self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let fitting = wait::until(name, async || {
            last = self.status(name).await;
            fits(&last).then(|| last.clone())
        });
        let fitting = fitting.await;
        fitting.unwrap_or_else(|error| panic!("{error:#}: it stays {last:#}"))
    }

    /// A gate for calls to wait at. It is closed.
    pub(crate) fn gate(&self) -> Gate {
        Gate::in_folder(self.gateway.home().path())
    }

    /// The most memory the gateway has used so far, in MiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let pid = self.gateway.pid().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }
}

// === impl Gate ===

impl Gate {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        Self(folder.join(format!("gate-{}", NUMBER.fetch_add(1, Ordering::Relaxed))))
    }

    /// A call of `sleep` that is answered with `waited` once the gate is open.
    pub(crate) fn call(&self, server: &str, mark: &str) -> Request {
        Request::call(&format!("{server}__sleep"), &json!({ "until": self.0, "mark": mark }))
    }

    pub(crate) fn open(&self) {
        std::fs::write(&self.0, "").unwrap();
    }
}

pub(crate) async fn status(home: &Home, name: &str) -> Value {
    let output = home.command("servers").arg("--json").output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let servers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    servers.into_iter().find(|server| server["name"] == name).expect("the server is listed")
}

pub(crate) fn journal(folder: &Path, name: &str) -> Journal {
    Journal::at(folder.join(format!("{name}.jsonl")))
}

/// Calls `echo` and checks that the answer is the caller's own.
pub(crate) async fn assert_echo(client: &Client, server: &str, payload: &str) {
    let answer = client.call(&format!("{server}__echo"), json!({ "body": payload })).await.unwrap();
    assert_eq!(answer.at("/result/structuredContent/body"), payload, "{}", answer.raw());
}

/// The text of an answer that is a tool result with an error.
pub(crate) fn failure(answer: &Answer) -> String {
    assert!(answer.is_tool_error(), "not a failure: {}", answer.raw());
    answer.text().unwrap()
}

/// Waits until something that tells nobody when it changes has come true.
pub(crate) async fn until(what: &str, fits: impl Fn() -> bool) {
    wait::until_true(what, fits).await.unwrap();
}
