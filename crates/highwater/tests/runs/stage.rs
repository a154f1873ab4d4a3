//! A gateway in front of one faulty server, and what is on record there.

use std::path::{Path, PathBuf};

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::{Client, Era};
use highwater_testkit::wait::until_true;
use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// The tools of the faulty servers, and whether a verified server's word makes them harmless when done twice.
pub(crate) const TOOLS: [(&str, bool); 4] = [("look", true), ("put", true), ("add", false), ("raw", false)];

/// A running gateway.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
}

/// The journal of the faulty server over stdio.
pub(crate) struct Journal(PathBuf);

/// A home with this server as `up`, whose word counts or does not. Nothing is refused: it is looked at what runs.
pub(crate) fn home(entry: Value, verified: bool) -> Home {
    let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
    configure(&home, entry, verified);
    home
}

pub(crate) fn configure(home: &Home, mut entry: Value, verified: bool) {
    entry["trust"] = json!({ "server_trust": "tool", "verified": verified });
    if entry.get("retry").is_none() {
        entry["retry"] = json!({ "wait": "1ms" });
    }
    home.configure(&json!({ "flow": "observe", "servers": { "up": entry } }).to_string()).unwrap();
}

/// The entry of the faulty server over stdio.
pub(crate) fn child(folder: &Path, era: &str) -> (Value, Journal) {
    let journal = folder.join("up.log");
    std::fs::write(&journal, "").unwrap();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/faulty.py");
    (json!({ "command": "python3", "args": [server, journal, era] }), Journal(journal))
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn in_home(home: Home) -> Self {
        Self { gateway: home.serve().await.unwrap() }
    }

    /// A gateway in front of the faulty server over stdio.
    pub(crate) async fn of_child(era: &str, verified: bool, more: Value) -> (Self, Journal) {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        let (mut entry, journal) = child(home.path(), era);
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        configure(&home, entry, verified);
        (Self::in_home(home).await, journal)
    }

    pub(crate) async fn client(&self) -> Client {
        self.gateway.http(Era::Modern).without_stream().connect().await.unwrap()
    }

    /// What the audit log says of attempts after the first, in the order of writing: their numbers.
    pub(crate) fn retries(&self) -> Vec<u64> {
        self.audit("retried").iter().map(|event| event["attempt"].as_u64().unwrap()).collect()
    }

    /// The events of a kind in the audit log.
    pub(crate) fn audit(&self, kind: &str) -> Vec<Value> {
        let files = std::fs::read_dir(self.gateway.home().data_dir().join("audit")).unwrap();
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        let text: String = paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|event| event["event"] == kind)
            .collect()
    }
}

// === impl Journal ===

impl Journal {
    pub(crate) fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(&self.0).unwrap().lines().map(str::to_owned).collect()
    }

    /// How often something is noted, such as `ended MARK`.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.lines().iter().filter(|line| *line == what).count()
    }

    /// Waits until something is noted.
    pub(crate) async fn wait(&self, what: &str) {
        let noted = until_true(what, || self.count(what) > 0).await;
        noted.unwrap_or_else(|error| panic!("{error:#}: {:?}", self.lines()));
    }
}
