//! A gateway's side of an upstream, with a scripted server on the other side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{PermittedAction, Verdict, decide};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy};
use highwater_mcp::era::ClientMeta;
use highwater_upstream::error::UpstreamError;
use highwater_upstream::event::{CallEvent, Notice, NoticeKind};
use highwater_upstream::{
    CallClient, EraSetting, Party, RememberedEra, Reply, ServerSpec, Timeouts, Transport, Upstream, World,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// Longer than anything here should take, on however busy a machine.
pub(crate) const LONG: Duration = highwater_testkit::wait::PATIENCE;

pub(crate) const CLIENT: CallClient<'static> = CallClient {
    party: Party::Modern,
    capabilities: "{}",
    log_level: None,
    progress: false,
    meta: ClientMeta::Kept,
    definition_guard: None,
};

/// One server and all that the gateway hears from it.
pub(crate) struct Stage {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) notices: mpsc::Receiver<Notice>,
    pub(crate) remembered: Arc<Mutex<Vec<RememberedEra>>>,
    directory: TempDir,
}

/// What a test changes about a server.
pub(crate) struct Script {
    pub(crate) habit: &'static str,
    pub(crate) era: EraSetting,
    pub(crate) remembered: Option<RememberedEra>,
    pub(crate) timeouts: Timeouts,
    pub(crate) concurrency: usize,
    pub(crate) max_reply: usize,
    pub(crate) env: BTreeMap<String, String>,
}

pub(crate) fn script(habit: &'static str) -> Script {
    Script {
        habit,
        era: EraSetting::Auto,
        remembered: None,
        timeouts: Timeouts { start: LONG, probe: LONG, call: LONG, silence: LONG },
        concurrency: 8,
        max_reply: 8 << 20,
        env: BTreeMap::new(),
    }
}

impl Script {
    pub(crate) fn set(self) -> Stage {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("saw");
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stdio/server.py");
        let words = [server.to_str().unwrap(), self.habit, log.to_str().unwrap()];
        let spec = ServerSpec {
            id: UpstreamId::new("mail"),
            transport: Transport::Stdio {
                command: "python3".to_owned(),
                args: words.map(str::to_owned).to_vec(),
                env: self.env,
                cwd: None,
            },
            era: self.era,
            timeouts: self.timeouts,
            concurrency: self.concurrency,
            max_reply: self.max_reply,
            retries: highwater_upstream::Retries::NEVER,
            ordered_writes: false,
        };
        stage(spec, self.remembered, directory)
    }
}

pub(crate) fn stage(spec: ServerSpec, remembered: Option<RememberedEra>, directory: TempDir) -> Stage {
    let (sink, notices) = mpsc::channel(256);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let memory = Arc::clone(&kept);
    let world = World {
        notices: sink,
        guard: PathBuf::from(env!("CARGO_BIN_EXE_highwater-upstream-guard-probe")),
        safe_env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        client_info: r#"{"name":"highwater","version":"0"}"#.to_owned(),
        remember: Arc::new(move |_, era| memory.lock().unwrap().push(era)),
    };
    Stage { upstream: Upstream::new(spec, Arc::new(world), remembered), notices, remembered: kept, directory }
}

impl Stage {
    /// Calls a tool; events are dropped, and questions with them.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Result<Reply, UpstreamError> {
        let (sink, _) = channel(1);
        timeout(LONG, self.upstream.perform(call(tool, arguments), CLIENT, &sink)).await.expect("an answer")
    }

    /// The text of a tool's result.
    pub(crate) async fn text(&self, tool: &str, arguments: &str) -> String {
        text(&self.call(tool, arguments).await.unwrap())
    }

    /// What the server was sent, message by message.
    pub(crate) fn saw(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.path("saw")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The methods that the server was sent, and `answer` for answers.
    pub(crate) fn saw_methods(&self) -> Vec<String> {
        let method = |message: &Value| message["method"].as_str().unwrap_or("answer").to_owned();
        self.saw().iter().map(method).collect()
    }

    /// Waits until the server has seen a message of which this is true.
    pub(crate) async fn saw_at_last(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        self.saw_so_many(1, is_it).await.remove(0)
    }

    /// Waits until the server has seen so many of them. It writes a file, so this polls.
    pub(crate) async fn saw_so_many(&self, count: usize, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let found = async {
            loop {
                // The last line may be half written.
                let log = std::fs::read_to_string(self.path("saw")).unwrap_or_default();
                let messages = log.lines().filter_map(|line| serde_json::from_str(line).ok());
                let found: Vec<Value> = messages.filter(&is_it).collect();
                if found.len() >= count {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, found).await.expect("the server sees it")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The next notice that is not about health.
    pub(crate) async fn notice(&mut self) -> NoticeKind {
        loop {
            match timeout(LONG, self.notices.recv()).await.expect("a notice").expect("a notice").kind {
                NoticeKind::Health(_) => {}
                kind => return kind,
            }
        }
    }
}

/// A permitted call of a tool.
pub(crate) fn call(tool: &str, arguments: &str) -> PermittedAction {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    permit(ActionKind::CallTool, "tools/call", tool, &params)
}

/// A permit for anything at all: the policy of these tests holds one server and admits everything.
pub(crate) fn permit(kind: ActionKind, method: &str, target: &str, params: &str) -> PermittedAction {
    let mail = UpstreamId::new("mail");
    let default = VirtualServerId::new("default");
    let policy = Policy::new(
        BTreeMap::from([(mail.clone(), Admission::default())]),
        BTreeMap::from([(default.clone(), BTreeSet::from([mail.clone()]))]),
    );
    let action = Action::new(kind, mail, method, target, params);
    let (decision, principal) = (DecisionId::new("hwd_1"), Principal::new("agent"));
    let nothing_read = Label::bottom();
    let facts = Facts {
        grant: Grant::everything(),
        ..Facts::of(&decision, &principal, &default, &action).under(&nothing_read)
    };
    let Verdict::Allow(permit) = decide(&policy, &facts) else { panic!("the policy allows everything") };
    PermittedAction::bind(action, permit).unwrap()
}

pub(crate) fn text(reply: &Reply) -> String {
    let result: Value = serde_json::from_str(reply.frame.result().expect("a result")).unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

pub(crate) async fn event(events: &mut Receiver<CallEvent>) -> CallEvent {
    timeout(LONG, events.recv()).await.expect("an event").expect("an event")
}
