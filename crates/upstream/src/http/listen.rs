//! The one listen stream of a modern server: changes of its lists, and the resources subscribed to. Opened
//! anew when it ends or when other resources are wanted.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::text::{is_true, member, quote_into};
use tokio::sync::watch;
use tokio::time::Instant;

use super::answer::Opened;
use super::body::{Events, message, scan};
use super::modern::Endpoint;
use super::task::{Backoff, Task};
use crate::error::{Cause, UpstreamError};
use crate::event::NoticeKind;
use crate::greeting::{code, own_modern_params};
use crate::link::{Greeting, Outbound};
use crate::notification::ServerNotification;

/// How long a stream is heard after another has taken its place.
const LINGER: Duration = Duration::from_secs(1);

const LISTEN: &str = "subscriptions/listen";

/// The listen stream, as the link sees it.
pub(super) struct Listening {
    wanted: watch::Sender<Wanted>,
    settled: watch::Receiver<Settled>,
    task: Task,
    patience: Duration,
}

/// Which lists of a server are reported on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

#[derive(Clone, Debug, Default)]
struct Wanted {
    generation: u64,
    uris: Vec<String>,
}

/// How the last wish ended.
#[derive(Clone, Debug)]
struct Settled {
    generation: u64,
    outcome: Result<(), Cause>,
}

struct Listener {
    endpoint: Arc<Endpoint>,
    changes: Changes,
    patience: Duration,
    wanted: watch::Receiver<Wanted>,
    settled: watch::Sender<Settled>,
    backoff: Backoff,
    /// Whether something may have changed while nobody listened.
    gap: bool,
}

// === impl Listening ===

impl Listening {
    pub(super) fn start(endpoint: Arc<Endpoint>, greeting: &Greeting, patience: Duration) -> Self {
        let (wanted, wishes) = watch::channel(Wanted { generation: 1, uris: Vec::new() });
        let (settle, settled) = watch::channel(Settled { generation: 0, outcome: Ok(()) });
        let listener = Listener {
            endpoint,
            changes: Changes::declared_by(greeting),
            patience,
            wanted: wishes,
            settled: settle,
            backoff: Backoff::default(),
            gap: false,
        };
        Self { wanted, settled, task: Task::spawn(listener.run()), patience }
    }

    /// Waits until the first stream is open, or is known not to open, but not long: a list that is asked for
    /// afterwards then cannot change unheard.
    pub(super) async fn settle(&self, longest: Duration) {
        let mut settled = self.settled.clone();
        let first = settled.wait_for(|settled| settled.generation >= 1);
        if tokio::time::timeout(longest, first).await.is_err() {
            tracing::debug!("a listen stream takes its time");
        }
    }

    /// Asks for reports on these resources, and waits for the server's word on it.
    pub(super) async fn want(&self, uris: &[String]) -> Result<(), Cause> {
        let mut generation = 0;
        self.wanted.send_if_modified(|wanted| {
            let other = wanted.uris != uris || self.settled.borrow().outcome.is_err();
            if other {
                wanted.generation += 1;
                wanted.uris = uris.to_vec();
            }
            generation = wanted.generation;
            other
        });
        let mut settled = self.settled.clone();
        let ours = settled.wait_for(|settled| settled.generation >= generation);
        match tokio::time::timeout(self.patience, ours).await {
            Ok(Ok(settled)) => settled.outcome.clone(),
            Ok(Err(_)) => Err(Cause::Gone("the connection is closed".to_owned())),
            Err(_) => Err(Cause::TimedOut(self.patience)),
        }
    }

    pub(super) fn stop(&self) {
        self.task.stop();
    }
}

// === impl Changes ===

impl Changes {
    /// The lists whose changes the server says it reports.
    pub(super) fn declared_by(greeting: &Greeting) -> Self {
        let capabilities = std::str::from_utf8(&greeting.capabilities).unwrap_or("{}");
        let reports = |list: &str| {
            member(capabilities, list).and_then(|list| member(list, "listChanged")).is_some_and(is_true)
        };
        Self { tools: reports("tools"), prompts: reports("prompts"), resources: reports("resources") }
    }

    /// What to tell the gateway when some of these may have changed unheard.
    pub(super) fn notices(self) -> impl Iterator<Item = NoticeKind> {
        let kinds = [
            (self.tools, NoticeKind::ToolsChanged),
            (self.prompts, NoticeKind::PromptsChanged),
            (self.resources, NoticeKind::ResourcesChanged),
        ];
        kinds.into_iter().filter_map(|(declared, kind)| declared.then_some(kind))
    }
}

// === impl Listener ===

impl Listener {
    async fn run(mut self) {
        let mut current: Option<Events> = None;
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            if wanted.uris.is_empty() && self.changes == Changes::default() {
                current = None;
                self.settle(&wanted, Ok(()));
                if self.wanted.changed().await.is_err() {
                    return;
                }
                continue;
            }
            match self.open_beside(&wanted, &mut current).await {
                Ok(events) => {
                    if let Some(former) = current.replace(events) {
                        tokio::spawn(linger(Arc::clone(&self.endpoint), former));
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "no listen stream");
                    self.settle(&wanted, Err(error.cause.clone()));
                    let final_word = matches!(
                        error.cause,
                        Cause::Malformed(_) | Cause::WebPage | Cause::Status(400 | 404 | 405 | 501)
                    );
                    if final_word {
                        current = None;
                    }
                    if !self.pause(final_word).await {
                        return;
                    }
                    continue;
                }
            }
            self.settle(&wanted, Ok(()));
            if std::mem::take(&mut self.gap) {
                self.changes.notices().for_each(|kind| self.endpoint.world().notice(kind));
            }
            if !self.listen(&mut current).await {
                return;
            }
        }
    }

    /// Opens a stream while the one before is still listened to, so that nothing is missed in between.
    async fn open_beside(
        &self,
        wanted: &Wanted,
        current: &mut Option<Events>,
    ) -> Result<Events, UpstreamError> {
        let mut opening = pin!(tokio::time::timeout(self.patience, self.open(wanted)));
        loop {
            tokio::select! {
                opened = &mut opening => {
                    let late = |_| self.endpoint.world().fail(Cause::TimedOut(self.patience), true);
                    return opened.map_err(late)?;
                }
                heard = self.next(current) => self.hear(heard),
            }
        }
    }

    async fn open(&self, wanted: &Wanted) -> Result<Events, UpstreamError> {
        let world = self.endpoint.world();
        let number = world.next_number();
        let id = number.to_string();
        let filter = filter(self.changes, &wanted.uris);
        let params = own_modern_params(Some(&filter), &world.client_info);
        let outbound = Outbound {
            number,
            method: LISTEN,
            params: Some(&params),
            target: None,
            param_headers: &[],
            events: None,
        };
        let (_, opened) = self.endpoint.request(&id, &outbound).await?;
        let mut events = match opened {
            Opened::Answer(frame) => return Err(world.fail(refused(&frame), true)),
            Opened::Stream(events) => *events,
        };
        let limit = self.endpoint.limit();
        loop {
            let event = events.next(limit).await.map_err(|cause| world.fail(cause, true))?;
            let Some(event) = event else {
                return Err(world.fail(Cause::Gone("the listen stream ended at once".to_owned()), true));
            };
            let Some(data) = message(event) else { continue };
            let frame = scan(data, limit).map_err(|cause| world.fail(cause, true))?;
            match frame.kind() {
                FrameKind::Notification => match ServerNotification::of(&frame) {
                    ServerNotification::Acknowledged(_) => return Ok(events),
                    _ => self.hear(Some(frame)),
                },
                FrameKind::Response | FrameKind::Error => return Err(world.fail(refused(&frame), true)),
                FrameKind::Request => {}
            }
        }
    }

    /// Listens until the stream ends or something else is wanted; false if nobody wants anything any more.
    async fn listen(&mut self, current: &mut Option<Events>) -> bool {
        let mut wanted = self.wanted.clone();
        let opened = Instant::now();
        let mut said_anything = false;
        while current.is_some() {
            let heard = tokio::select! {
                changed = wanted.changed() => return changed.is_ok(),
                heard = self.next(current) => heard,
            };
            said_anything |= heard.is_some();
            self.hear(heard);
        }
        self.backoff.note_stream(opened, said_anything);
        self.pause(false).await
    }

    /// The next message of the stream. When the stream ends there is none any more; without a stream it waits
    /// forever.
    async fn next(&self, current: &mut Option<Events>) -> Option<Frame> {
        let Some(events) = current else { return std::future::pending().await };
        let limit = self.endpoint.limit();
        match events.next(limit).await {
            Ok(Some(event)) => match scan(message(event)?, limit) {
                Ok(frame) if matches!(frame.kind(), FrameKind::Response | FrameKind::Error) => {
                    *current = None
                }
                Ok(frame) => return Some(frame),
                Err(cause) => tracing::debug!(%cause, "a message on a listen stream was dropped"),
            },
            Ok(None) => *current = None,
            Err(cause) => {
                tracing::debug!(%cause, "a listen stream broke");
                self.endpoint.world().note_break();
                *current = None;
            }
        }
        None
    }

    fn hear(&self, frame: Option<Frame>) {
        let Some(frame) = frame else { return };
        let world = self.endpoint.world();
        match ServerNotification::of(&frame) {
            ServerNotification::Notice(kind) => world.notice(kind),
            ServerNotification::Log => world.notice(NoticeKind::Log(frame)),
            _ => tracing::debug!(upstream = %world.upstream, "a notification on a listen stream was dropped"),
        }
    }

    /// Waits before the next attempt, or until something else is wanted; false if nobody wants anything any
    /// more.
    async fn pause(&mut self, for_good: bool) -> bool {
        self.gap = true;
        let wait = self.backoff.next(None);
        let mut wanted = self.wanted.clone();
        tokio::select! {
            changed = wanted.changed() => changed.is_ok(),
            () = tokio::time::sleep(wait), if !for_good => true,
        }
    }

    fn settle(&self, wanted: &Wanted, outcome: Result<(), Cause>) {
        self.settled.send_replace(Settled { generation: wanted.generation, outcome });
    }
}

/// Hears a stream out that another has taken the place of. Two connections have no order between them: what was said on
/// the former may arrive after the acknowledgement of the next. Whatever is heard twice says only "look again".
async fn linger(endpoint: Arc<Endpoint>, mut former: Events) {
    let limit = endpoint.limit();
    let hearing = async {
        while let Ok(Some(event)) = former.next(limit).await {
            let Some(frame) = message(event).and_then(|data| scan(data, limit).ok()) else { continue };
            if let ServerNotification::Notice(kind) = ServerNotification::of(&frame) {
                endpoint.world().notice(kind);
            }
        }
    };
    if tokio::time::timeout(LINGER, hearing).await.is_err() {
        tracing::trace!("a former listen stream is closed");
    }
}

fn refused(frame: &Frame) -> Cause {
    match code(frame) {
        Some(code) => Cause::Malformed(format!("it refused `{LISTEN}` with error {code}")),
        None => Cause::Gone("the listen stream ended at once".to_owned()),
    }
}

fn filter(changes: Changes, uris: &[String]) -> String {
    let mut out = String::from(r#"{"notifications":{"#);
    let lists = [
        (changes.tools, r#""toolsListChanged":true"#),
        (changes.prompts, r#""promptsListChanged":true"#),
        (changes.resources, r#""resourcesListChanged":true"#),
    ];
    let mut separator = "";
    for (_, text) in lists.iter().filter(|(declared, _)| *declared) {
        out.push_str(separator);
        out.push_str(text);
        separator = ",";
    }
    if !uris.is_empty() {
        out.push_str(separator);
        out.push_str(r#""resourceSubscriptions":["#);
        for (at, uri) in uris.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            quote_into(&mut out, uri);
        }
        out.push(']');
    }
    out.push_str("}}");
    out
}
