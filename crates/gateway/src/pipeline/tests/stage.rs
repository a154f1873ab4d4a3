//! A gateway and everything around it.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use highwater_audit::{AuditEvent, Happened, label_words};
use highwater_config::Settings;
use highwater_core::id::{SessionKey, UpstreamId};
use highwater_mcp::era::Era;
use highwater_notation::Timestamp;
use highwater_store::{DataDir, Fault, Memory, Secret, StoreOptions, TokenBasis, TokenDigest, TokenRecord};
use highwater_upstream::control::ListKind;
use serde_json::{Value, json};

use super::agent::{Agent, ClientOptions};
use super::scripted::{Script, ScriptedServer};
use crate::approvals::ApprovalServiceParts;
use crate::gateway::{Gateway, Parts, now};
use crate::tokens::Token;

/// How large a file of the audit log becomes.
const LOG_FILE: u64 = 16 << 20;

/// How much of the first file is left for a test to write into.
const LOG_ROOM: usize = 256 * 1024;

/// What fills it up.
const FILLER: &str = "filler";

/// A gateway and everything around it.
pub(super) struct Stage {
    pub(super) gateway: Arc<Gateway>,
    pub(super) memory: Memory,
    scripts: BTreeMap<String, Arc<Script>>,
    config: Value,
    reader: AuditReader,
    _folder: tempfile::TempDir,
}

/// How a stage is set up.
pub(super) struct Setup {
    config: Value,
    scripts: BTreeMap<String, Script>,
    memory: Memory,
    page: bool,
}

/// What is on record.
#[derive(Clone)]
pub(super) struct AuditReader {
    folder: PathBuf,
}

// === impl Setup ===

impl Setup {
    pub(super) fn new() -> Self {
        let config = json!({ "servers": {}, "approvals": { "open_browser": false, "notify": false } });
        Self { config, scripts: BTreeMap::new(), memory: Memory::new(false), page: false }
    }

    /// With one server that has a tool of each kind.
    pub(super) fn usual() -> Self {
        Self::new().server("up", super::stocked())
    }

    /// Adds a server that the operator verified, without quarantine.
    pub(super) fn server(mut self, name: &str, script: Script) -> Self {
        self.config["servers"][name] = json!({
            "command": "scripted",
            "quarantine": false,
            "trust": { "server_trust": "tool", "resource_trust": "tool", "verified": true },
        });
        self.scripts.insert(name.to_owned(), script);
        self
    }

    /// Changes the configuration.
    pub(super) fn with(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.config);
        self
    }

    /// Adds a rule.
    pub(super) fn rule(self, rule: Value) -> Self {
        self.with(|config| {
            if config["rules"].is_null() {
                config["rules"] = json!([]);
            }
            config["rules"].as_array_mut().unwrap().push(rule);
        })
    }

    /// Adds a token that grants this.
    pub(super) fn token(self, name: &str, grants: Value) -> Self {
        self.with(|config| config["agent_tokens"][name] = grants)
    }

    /// The store lies in this database.
    pub(super) fn on(self, memory: &Memory) -> Self {
        Self { memory: memory.clone(), ..self }
    }

    /// People can be asked on a page.
    pub(super) fn with_page(self) -> Self {
        Self { page: true, ..self }
    }

    pub(super) async fn open(self) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = DataDir::open(folder.path().join("data")).unwrap();
        give_secrets(&data_dir);
        let reader = AuditReader::begin(folder.path().join("data").join("audit"));
        let store = self.memory.open(&StoreOptions::default()).await.unwrap();
        let approvals = if self.page {
            let installation = store.installation("localhost", "http://localhost:7412").await.unwrap();
            Some(ApprovalServiceParts { installation, key: data_dir.receipt_key().unwrap() })
        } else {
            None
        };
        let scripts: BTreeMap<String, Arc<Script>> =
            self.scripts.into_iter().map(|(name, script)| (name, Arc::new(script))).collect();
        let names = self.config["agent_tokens"].as_object().into_iter().flat_map(|tokens| tokens.keys());
        let seal_key = data_dir.secret(Secret::SealKey).unwrap();
        let parts = Parts {
            settings: settings(&self.config),
            data_dir,
            store,
            tokens: names.map(|name| token(name)).collect(),
            approvals,
            guard: PathBuf::new(),
            own_files: Vec::new(),
            safe_env: Vec::new(),
            seal_key,
            gateways: Vec::new(),
        };
        let known = scripts.clone();
        let open = move |spec: highwater_upstream::ServerSpec, _, _| {
            let script = Arc::clone(&known[spec.id.as_str()]);
            Box::new(ScriptedServer::new(spec, script)) as Box<dyn highwater_upstream::Perform>
        };
        let gateway = Gateway::start_with(parts, Box::new(open)).unwrap();
        Stage { gateway, memory: self.memory, scripts, config: self.config, reader, _folder: folder }
    }
}

/// Gives a data directory the secrets that every other has: to make each anew would force them to disk each time.
fn give_secrets(data_dir: &DataDir) {
    const SECRETS: [Secret; 4] =
        [Secret::AgentToken, Secret::OperatorToken, Secret::SealKey, Secret::ReceiptKey];
    static MADE: LazyLock<[String; 4]> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = DataDir::open(folder.path().join("data")).unwrap();
        SECRETS.map(|secret| data_dir.secret(secret).unwrap())
    });
    for (secret, text) in SECRETS.into_iter().zip(&*MADE) {
        let mut file = std::fs::OpenOptions::new();
        let file = file.create_new(true).write(true).mode(0o600).open(data_dir.secret_path(secret));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }
    std::fs::write(data_dir.path().join("gateway-id"), "gw_test").unwrap();
}

fn settings(config: &Value) -> Settings {
    let settings = highwater_config::load("test", &config.to_string(), &|_| None);
    settings.unwrap_or_else(|problems| panic!("{problems}"))
}

/// A token of the configuration. Its secret is its name.
fn token(name: &str) -> TokenRecord {
    TokenRecord {
        name: name.to_owned(),
        digest: TokenDigest::of(name.as_bytes()),
        prefix: name.to_owned(),
        basis: TokenBasis::Configured,
        person: "test".to_owned(),
        created: Timestamp(0),
        rotated: None,
        used: None,
        revoked: None,
    }
}

// === impl Stage ===

impl Stage {
    /// What a server was told to do, and what it heard.
    pub(super) fn server(&self, name: &str) -> &Arc<Script> {
        &self.scripts[name]
    }

    /// The usual one.
    pub(super) fn up(&self) -> &Arc<Script> {
        self.server("up")
    }

    /// From now on the store fails like this.
    pub(super) fn store_fails(&self, fault: impl Into<Option<Fault>>) {
        self.memory.set_fault(fault.into());
    }

    /// From now on nothing can be put on record: the log's file is full, and the next cannot be begun.
    pub(super) fn log_fails(&self) {
        self.reader.fill(&self.gateway);
    }

    /// It can again.
    pub(super) fn log_works(&self) {
        std::fs::remove_dir(self.reader.folder.join("000002.jsonl")).unwrap();
    }

    /// Takes up another configuration.
    pub(super) fn reload(&self, change: impl FnOnce(&mut Value)) {
        let mut config = self.config.clone();
        change(&mut config);
        self.gateway.reload(settings(&config));
    }

    /// Reads a server's list of tools again, which has changed.
    pub(super) async fn restock(&self, server: &str) {
        let world = self.gateway.world.load_full();
        world.catalog_servers[&UpstreamId::new(server)].restock(&[ListKind::Tools]).await;
    }

    /// A client of 2026-07-28 with these capabilities.
    pub(super) fn modern(&self, capabilities: Value) -> Agent {
        self.agent(ClientOptions { era: Era::Modern, capabilities, ..ClientOptions::default() })
    }

    /// A client of 2025-11-25 with these capabilities.
    pub(super) fn legacy(&self, capabilities: Value) -> Agent {
        self.agent(ClientOptions { era: Era::Legacy, capabilities, ..ClientOptions::default() })
    }

    /// A client of this era that can be asked nothing.
    pub(super) fn of_era(&self, era: Era) -> Agent {
        self.agent(ClientOptions { era, ..ClientOptions::default() })
    }

    /// A client.
    pub(super) fn agent(&self, who: ClientOptions<'_>) -> Agent {
        Agent::new(&self.gateway, who)
    }

    /// A token of the configuration.
    pub(super) fn token(&self, name: &str) -> Arc<Token> {
        self.gateway.tokens.find(name.as_bytes(), now()).unwrap()
    }

    /// The label of an agent's session as it lies in the database, in words.
    pub(super) fn label(&self, agent: &Agent) -> Vec<&'static str> {
        let session = self.memory.look(agent.session().key());
        session.map(|found| label_words(&found.session.label).collect()).unwrap_or_default()
    }

    /// Where what is on record can be read.
    pub(super) fn audit_reader(&self) -> AuditReader {
        self.reader.clone()
    }

    /// What is on record, in order.
    pub(super) fn audit(&self) -> Vec<Value> {
        self.reader.records()
    }

    /// The same in short.
    pub(super) fn events(&self) -> Vec<String> {
        self.reader.events()
    }
}

// === impl AuditReader ===

impl AuditReader {
    /// A log whose first file is nearly full.
    fn begin(folder: PathBuf) -> Self {
        std::fs::create_dir(&folder).unwrap();
        let first = std::fs::File::create(folder.join("000001.jsonl")).unwrap();
        first.set_len(LOG_FILE - LOG_ROOM as u64).unwrap();
        Self { folder }
    }

    /// Fills the first file, and takes the place of the next.
    fn fill(&self, gateway: &Gateway) {
        std::fs::create_dir(self.folder.join("000002.jsonl")).unwrap();
        let (session, detail) = (SessionKey::new(""), "-".repeat(LOG_ROOM));
        let happened = Happened::Remark { session: &session, what: FILLER, detail: &detail };
        let event = AuditEvent { time: Timestamp(0), id: None, happened };
        gateway.audit.append(&event).unwrap();
        assert!(gateway.audit.append(&event).is_err(), "nothing can be recorded any more");
    }

    /// What is on record of calls, in order.
    pub(super) fn records(&self) -> Vec<Value> {
        let mut text = String::new();
        let mut first = std::fs::File::open(self.folder.join("000001.jsonl")).unwrap();
        first.seek(SeekFrom::Start(LOG_FILE - LOG_ROOM as u64)).unwrap();
        first.read_to_string(&mut text).unwrap();
        text.push_str(&std::fs::read_to_string(self.folder.join("000002.jsonl")).unwrap_or_default());
        let lines = text.lines().filter(|line| !line.is_empty());
        let records = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let is_of_call = |record: &Value| record["event"] != "access" && record["event"] != "log";
        records.filter(|record| record["what"] != FILLER && is_of_call(record)).collect()
    }

    /// What is on record, in order and in short.
    pub(super) fn events(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let told = |record: &Value| match record["event"].as_str() {
            Some("decision") => format!("{} {}", word(&record["ruling"]), word(&record["method"])),
            Some("outcome") => word(&record["outcome"]),
            Some("question") => format!("question {}", word(&record["effect"])),
            Some("asked") => format!("asked by {}", word(&record["how"])),
            Some("answered") => format!("answered {}", word(&record["answer"])),
            Some("retried") => format!("retried {}", record["attempt"]),
            Some("approval") => format!("approval {}", word(&record["act"])),
            _ => word(&record["event"]),
        };
        self.records().iter().map(told).collect()
    }
}
