//! The road in one process: a gateway with a store in memory, scripted servers, and clients that are values. What a server
//! was sent is read from its journal, and what happened from the audit log.

mod scripted;
mod stories;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use highwater_core::id::VirtualServerId;
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::scan::ScanRules;
use highwater_store::{DataDir, Fault, Memory, StoreOptions};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::scripted::{Script, ScriptedServer};
use crate::approvals::DeskParts;
use crate::client::{Caller, Client, LegacySession, ModernClient, Said};
use crate::gateway::{Gateway, Parts};
use crate::pipeline::Arrival;

/// A gateway and everything around it.
struct Stage {
    gateway: Arc<Gateway>,
    memory: Memory,
    scripts: BTreeMap<String, Arc<Script>>,
    folder: tempfile::TempDir,
}

/// How a stage is set up.
struct Setup {
    config: Value,
    scripts: BTreeMap<String, Script>,
    is_shared: bool,
    page: bool,
}

/// A client of the gateway.
struct Agent {
    gateway: Arc<Gateway>,
    client: AgentClient,
    next: AtomicU64,
}

enum AgentClient {
    Legacy(Arc<LegacySession>),
    Modern { caller: Caller, capabilities: Value },
}

/// One request and what came of it.
struct Outcome {
    answer: Value,
    /// What preceded the answer.
    before: Vec<Value>,
}

// === impl Setup ===

impl Setup {
    fn new() -> Self {
        let config = json!({ "servers": {}, "approvals": { "open_browser": false, "notify": false } });
        Self { config, scripts: BTreeMap::new(), is_shared: false, page: false }
    }

    /// Adds a server that the operator verified and that nobody has to approve.
    fn server(mut self, name: &str, script: Script) -> Self {
        self.config["servers"][name] = json!({
            "command": "scripted",
            "quarantine": false,
            "trust": { "server_trust": "tool", "resource_trust": "tool", "verified": true },
        });
        self.scripts.insert(name.to_owned(), script);
        self
    }

    /// Changes the configuration.
    fn with(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.config);
        self
    }

    /// Other gateways share the store.
    fn shared(self) -> Self {
        Self { is_shared: true, ..self }
    }

    /// People can be asked on a page.
    fn with_page(self) -> Self {
        Self { page: true, ..self }
    }

    async fn open(self) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = DataDir::open(folder.path().join("data")).unwrap();
        let settings = highwater_config::load("test", &self.config.to_string(), &|_| None);
        let settings = settings.unwrap_or_else(|problems| panic!("{problems}"));
        let memory = Memory::new(self.is_shared);
        let store = memory.open("boot", &StoreOptions::default()).await.unwrap();
        let approvals = if self.page {
            let installation = store.installation("localhost", "http://localhost:7412").await.unwrap();
            Some(DeskParts { installation, key: data_dir.receipt_key().unwrap() })
        } else {
            None
        };
        let scripts: BTreeMap<String, Arc<Script>> =
            self.scripts.into_iter().map(|(name, script)| (name, Arc::new(script))).collect();
        let parts = Parts {
            settings,
            data_dir,
            store,
            tokens: Vec::new(),
            approvals,
            guard: PathBuf::new(),
            safe_env: Vec::new(),
        };
        let known = scripts.clone();
        let open = move |spec: highwater_upstream::ServerSpec, _, _| {
            let script = Arc::clone(&known[spec.id.as_str()]);
            Box::new(ScriptedServer::new(spec, script)) as Box<dyn highwater_upstream::Perform>
        };
        let gateway = Gateway::start_with(parts, Box::new(open)).unwrap();
        Stage { gateway, memory, scripts, folder }
    }
}

// === impl Stage ===

impl Stage {
    /// What a server was told to do, and what it heard.
    fn server(&self, name: &str) -> &Script {
        &self.scripts[name]
    }

    /// From now on the store fails like this.
    fn store_fails(&self, fault: Option<Fault>) {
        self.memory.set_fault(fault);
    }

    /// A client of 2026-07-28 with these capabilities.
    fn modern(&self, capabilities: Value) -> Agent {
        let caller = self.gateway.passing_caller(
            Arc::clone(&self.gateway.tokens.agent),
            VirtualServerId::new("default"),
            None,
            None,
        );
        self.agent(AgentClient::Modern { caller, capabilities })
    }

    /// A client of 2025-11-25 with these capabilities, in a session of its own.
    fn legacy(&self, capabilities: &Value) -> Agent {
        let caller = self.gateway.passing_caller(
            Arc::clone(&self.gateway.tokens.agent),
            VirtualServerId::new("default"),
            None,
            None,
        );
        let said =
            Said { capabilities: capabilities.to_string(), speaks_approval: false, name: "test".to_owned() };
        let out = (Box::new(|_: Bytes| ()) as _, Box::new(|| ()) as _);
        let session = LegacySession::new("s1".into(), caller, "2025-11-25", said, out);
        self.agent(AgentClient::Legacy(session))
    }

    fn agent(&self, client: AgentClient) -> Agent {
        Agent { gateway: Arc::clone(&self.gateway), client, next: AtomicU64::new(1) }
    }

    /// What is on record, in order.
    fn audit(&self) -> Vec<Value> {
        self.gateway.audit.flush().unwrap();
        let folder = self.folder.path().join("data").join("audit");
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What is on record of one decision.
    fn audit_of(&self, decision: &str) -> Vec<Value> {
        self.audit().into_iter().filter(|record| record["decision"] == decision).collect()
    }
}

// === impl Agent ===

impl Agent {
    /// Calls a tool and waits for the answer.
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.send("tools/call", json!({ "name": tool, "arguments": arguments })).await.answer
    }

    /// Sends a request and waits for the answer. Questions are left unanswered.
    async fn send(&self, method: &str, params: Value) -> Outcome {
        self.send_answering(method, params, |_, _| None).await
    }

    /// The same, answering what is asked on the way: method and parameters to a result.
    async fn send_answering(
        &self,
        method: &str,
        mut params: Value,
        answering: impl Fn(&str, &Value) -> Option<Value>,
    ) -> Outcome {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let client = match &self.client {
            AgentClient::Legacy(session) => Client::Legacy(Arc::clone(session)),
            AgentClient::Modern { caller, capabilities } => {
                params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
                params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
                Client::Modern(Arc::new(ModernClient {
                    caller: caller.clone(),
                    capabilities: capabilities.to_string(),
                    speaks_approval: false,
                    log_level: None,
                }))
            }
        };
        let frame = frame(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let (outlet, mut heard) = mpsc::channel(64);
        let arrival = Arrival {
            session: client.caller().session.clone(),
            client,
            method: Method::parse(method),
            frame,
            outlet,
            attended: true,
            variant: None,
            world: self.gateway.world.load_full(),
        };
        let (listening, mut before) = mpsc::unbounded_channel();
        let answers = async {
            while let Some(message) = heard.recv().await {
                let message: Value = serde_json::from_slice(&message).unwrap();
                if let (Some(number), Some(method)) = (message.get("id"), message["method"].as_str())
                    && let Some(result) = answering(method, &message["params"])
                    && let AgentClient::Legacy(session) = &self.client
                {
                    session.answered(frame_of_answer(number, &result));
                }
                listening.send(message).unwrap();
            }
        };
        let answer = tokio::select! {
            biased;
            answer = self.gateway.act(&arrival) => answer,
            () = answers => unreachable!("the outlet is open"),
        };
        while let Ok(message) = heard.try_recv() {
            listening.send(serde_json::from_slice(&message).unwrap()).unwrap();
        }
        let mut came = Vec::new();
        while let Ok(message) = before.try_recv() {
            came.push(message);
        }
        Outcome { answer: serde_json::from_slice(&answer.bytes).unwrap(), before: came }
    }
}

fn frame(message: &Value) -> Frame {
    Frame::parse(Bytes::from(message.to_string()), &ScanRules::FROM_CLIENT).unwrap()
}

fn frame_of_answer(number: &Value, result: &Value) -> Frame {
    frame(&json!({ "jsonrpc": "2.0", "id": number, "result": result }))
}
