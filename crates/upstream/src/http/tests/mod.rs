//! Links against scripted servers: what the server saw decides whether something was sent.

mod bounds;
mod legacy;
mod line;
mod modern;
mod negotiate;
mod server;
mod shared_stream;
mod sse;

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
use tokio::sync::mpsc;

use self::server::Server;
use super::HttpLink;
use crate::call_events::CallEvents;
use crate::error::UpstreamError;
use crate::event::{CallEvent, Notice};
use crate::link::{LinkWorld, Outbound};
use crate::spec::{EraSetting, RememberedEra, ServerSpec, Timeouts, Transport};
use crate::upstream::World;
use tokio::sync::mpsc::{Receiver, channel};

/// Long enough for anything that does happen.
const SOON: Duration = Duration::from_secs(60);

/// An upstream's surroundings, and what it tells the gateway.
struct Gateway {
    world: LinkWorld,
    notices: mpsc::Receiver<Notice>,
}

impl Gateway {
    fn new() -> Self {
        let (sender, notices) = mpsc::channel(64);
        let world = World {
            notices: sender,
            guard: PathBuf::new(),
            safe_env: Vec::new(),
            client_info: r#"{"name":"highwater","version":"0"}"#.to_owned(),
            remember: Arc::new(|_, _| {}),
        };
        Self { world: LinkWorld::new(UpstreamId::new("mail"), Arc::new(world)), notices }
    }

    /// The same surroundings for a server at whatever address.
    fn elsewhere(&self) -> LinkWorld {
        let mut world = self.world.clone();
        world.endpoint = Arc::default();
        world
    }

    async fn connect(&self, spec: &ServerSpec) -> Result<(HttpLink, RememberedEra), UpstreamError> {
        HttpLink::connect(spec, &self.elsewhere(), None).await
    }

    async fn notice(&mut self) -> String {
        let notice = tokio::time::timeout(SOON, self.notices.recv()).await.unwrap().unwrap();
        format!("{:?}", notice.kind)
    }
}

fn spec(server: &Server, era: EraSetting) -> ServerSpec {
    ServerSpec {
        id: UpstreamId::new("mail"),
        transport: Transport::Http {
            url: server.url(),
            headers: vec![("Authorization".to_owned(), "Bearer s3cret".to_owned())],
        },
        era,
        timeouts: Timeouts { start: SOON, probe: SOON, call: SOON, silence: SOON },
        concurrency: 8,
        max_reply: 1 << 20,
        retries: crate::spec::Retries::NEVER,
        ordered_writes: false,
    }
}

/// A call and the events that come before its answer.
struct Call {
    events: CallEvents,
    heard: Receiver<CallEvent>,
}

impl Call {
    fn new() -> Self {
        let (sink, heard) = channel(32);
        Self { events: CallEvents::new(&sink, tokio::time::Instant::now()), heard }
    }

    /// The next event.
    async fn event(&mut self) -> CallEvent {
        tokio::time::timeout(SOON, self.heard.recv()).await.unwrap().unwrap()
    }
}

/// `tools/call` as the door for actions would write it.
fn tools_call<'a>(number: u64, params: &'a str, events: Option<&'a CallEvents>) -> Outbound<'a> {
    Outbound { number, method: "tools/call", params: Some(params), target: None, param_headers: &[], events }
}

/// A client's answer that passed the decision.
fn permitted(method: &str, params: &str) -> PermittedAction {
    let (mail, default) = (UpstreamId::new("mail"), VirtualServerId::new("default"));
    let policy = Policy::new(
        BTreeMap::from([(mail.clone(), Admission::default())]),
        BTreeMap::from([(default.clone(), BTreeSet::from([mail.clone()]))]),
    );
    let action = Action::new(ActionKind::Answer, mail, method, "question", params);
    let (decision, principal) = (DecisionId::new("hwd_1"), Principal::new("agent"));
    let nothing_read = Label::bottom();
    let facts = Facts {
        grant: Grant::everything(),
        ..Facts::of(&decision, &principal, &default, &action).under(&nothing_read)
    };
    let Verdict::Allow(permit) = decide(&policy, &facts) else { panic!("the policy allows everything") };
    PermittedAction::bind(action, permit).unwrap()
}
