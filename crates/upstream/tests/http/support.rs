//! A gateway's side of an upstream, with the fixture behind a loopback port on the other side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{PermittedAction, Verdict, decide};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy};
use highwater_mcp::era::ClientMeta;
use highwater_testkit::fixture::http::{self, Transport as Served};
use highwater_testkit::fixture::{Eras, Fixture, Options};
use highwater_testkit::port::ReservedPort;
use highwater_upstream::error::UpstreamError;
use highwater_upstream::event::{CallEvent, Notice, NoticeKind};
use highwater_upstream::{
    CallClient, EraSetting, Party, Reply, ServerSpec, Timeouts, Transport, Upstream, World,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::sync::mpsc::channel;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything here should take, on however busy a machine.
pub(crate) const LONG: Duration = highwater_testkit::wait::PATIENCE;

pub(crate) const CLIENT: CallClient<'static> = CallClient {
    party: Party::Modern,
    capabilities: r#"{"elicitation":{"form":{}}}"#,
    log_level: None,
    progress: true,
    meta: ClientMeta::Kept,
    definition_guard: None,
};

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Modern,
    Legacy,
    Both,
    Sse,
}

/// One of each transport.
pub(crate) const ALL: [Speaks; 3] = [Speaks::Modern, Speaks::Legacy, Speaks::Sse];

/// One server and all that the gateway hears from it.
pub(crate) struct Stage {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) notices: mpsc::Receiver<Notice>,
    speaks: Speaks,
    /// Its own, also while another server takes the place of the first.
    port: ReservedPort,
    serving: JoinHandle<()>,
    directory: TempDir,
}

impl Speaks {
    pub(crate) async fn set(self) -> Stage {
        let directory = tempfile::tempdir().unwrap();
        let port = ReservedPort::new().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", port.get())).await.unwrap();
        let serving = serve(self, listener, directory.path().join("journal"));
        let spec = ServerSpec {
            id: UpstreamId::new("mail"),
            transport: Transport::Http {
                url: format!("http://127.0.0.1:{}{}", port.get(), self.served().path()),
                headers: vec![("X-Key".to_owned(), "s3cret".to_owned())],
            },
            era: EraSetting::Auto,
            timeouts: Timeouts { start: LONG, probe: LONG, call: LONG, silence: LONG },
            concurrency: 64,
            max_reply: 2 << 20,
            retries: highwater_upstream::Retries::NEVER,
            ordered_writes: false,
        };
        let (sink, notices) = mpsc::channel(256);
        let world = World {
            notices: sink,
            guard: PathBuf::new(),
            safe_env: Vec::new(),
            client_info: r#"{"name":"highwater","version":"0"}"#.to_owned(),
            remember: Arc::new(|_, _| {}),
        };
        let upstream = Upstream::new(spec, Arc::new(world), None);
        Stage { upstream, notices, speaks: self, port, serving, directory }
    }

    fn served(self) -> Served {
        match self {
            Self::Modern | Self::Legacy | Self::Both => Served::Streamable,
            Self::Sse => Served::Sse,
        }
    }
}

fn serve(speaks: Speaks, listener: TcpListener, journal: PathBuf) -> JoinHandle<()> {
    let eras = match speaks {
        Speaks::Modern => Eras::Modern,
        Speaks::Both => Eras::Both,
        Speaks::Legacy | Speaks::Sse => Eras::Legacy,
    };
    let options = Options { eras, extras: true, page_size: None, journal: Some(journal) };
    let fixture = Fixture::new(options).unwrap();
    tokio::spawn(async move { http::serve(listener, fixture, speaks.served()).await.unwrap() })
}

impl Stage {
    /// Calls a tool and collects the events that come before its answer.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &str,
    ) -> (Result<Reply, UpstreamError>, Vec<CallEvent>) {
        let (sink, mut events) = channel(256);
        let reply = timeout(LONG, self.upstream.perform(call(tool, arguments), CLIENT, &sink));
        let reply = reply.await.expect("an answer");
        drop(sink);
        let mut heard = Vec::new();
        while let Some(event) = events.recv().await {
            heard.push(event);
        }
        (reply, heard)
    }

    /// The text of a tool's result.
    pub(crate) async fn text(&self, tool: &str, arguments: &str) -> String {
        text(&self.call(tool, arguments).await.0.unwrap())
    }

    /// Ends the server with all its connections and sessions, and starts another in its place.
    pub(crate) async fn restart(&mut self) {
        self.serving.abort();
        assert!((&mut self.serving).await.unwrap_err().is_cancelled());
        let listener = TcpListener::bind(("127.0.0.1", self.port.get())).await.unwrap();
        self.serving = serve(self.speaks, listener, self.directory.path().join("journal"));
    }

    /// What the server saw, message by message.
    pub(crate) fn saw(&self) -> Vec<Value> {
        let journal = std::fs::read_to_string(self.directory.path().join("journal")).unwrap_or_default();
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.saw().iter().filter(|line| line["method"] == method).count()
    }

    /// Waits until the journal has a line of which this is true. It is a file, so this polls.
    pub(crate) async fn saw_at_last(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        let found = async {
            loop {
                if let Some(line) = self.saw().into_iter().find(&is_it) {
                    return line;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, found).await.expect("the server sees it")
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

impl Drop for Stage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A permitted call of a tool.
pub(crate) fn call(tool: &str, arguments: &str) -> PermittedAction {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    permit(ActionKind::CallTool, "tools/call", tool, &params)
}

/// A permit for anything at all: the policy of these tests holds one server and admits everything.
pub(crate) fn permit(kind: ActionKind, method: &str, target: &str, params: &str) -> PermittedAction {
    let (mail, default) = (UpstreamId::new("mail"), VirtualServerId::new("default"));
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
