//! What an upstream says besides its answers: during a call to the caller, and at any time to the gateway.

use bytes::Bytes;
use highwater_core::decide::PermittedAction;
use highwater_core::id::UpstreamId;
use highwater_mcp::frame::Frame;
use tokio::sync::{mpsc, oneshot};

use crate::call_events::OpenQuestion;
use crate::control::ListKind;
use crate::error::{Cause, UpstreamError};
use crate::upstream::HealthState;

/// What comes before the answer to one call.
#[derive(Debug)]
pub enum CallEvent {
    /// Progress on this call. Its token is our call number, the caller maps it back.
    Progress(Frame),
    /// Any other notification that belongs to this call: log lines and what later versions may add.
    Notification(Frame),
    /// The upstream asks something back (legacy era); the call waits for the answer.
    Ask(Ask),
    /// The connection failed and the call is to be sent again, once the caller has put that on record.
    Retry(Retry),
}

/// A further attempt at a call. Dropped unanswered, there is none.
#[derive(Debug)]
pub struct Retry {
    /// Which attempt it will be; the first was 1.
    pub number: u32,
    /// Why the last one failed.
    pub why: Cause,
    /// Whether any attempt before it may have reached the server.
    pub sent: bool,
    word: oneshot::Sender<()>,
}

/// A question of a legacy upstream in the middle of a call.
#[derive(Debug)]
pub struct Ask {
    /// `elicitation/create`, `sampling/createMessage`, `roots/list`.
    pub method: String,
    /// Its parameters as JSON text.
    pub params: Option<Bytes>,
    /// Where the answer goes. Dropped unanswered, the upstream is told that nobody answered.
    pub answer: AnswerSlot,
}

/// The way back for one answer.
#[derive(Debug)]
pub struct AnswerSlot {
    sender: oneshot::Sender<Answer>,
    /// Stops the call's clock until the answer is given or dropped.
    clock: Option<OpenQuestion>,
}

/// An answer on its way to the asking upstream.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The client's word. The action's `params` are the JSON of a JSON-RPC `result`, or of an `error` if
    /// `method` is `error`.
    Given(PermittedAction),
    /// Our own refusal; holds no client text.
    Refused {
        /// JSON-RPC code.
        code: i64,
        /// Our words.
        message: &'static str,
    },
}

/// What an upstream says that belongs to no call.
#[derive(Debug)]
pub struct Notice {
    /// Who says it.
    pub upstream: UpstreamId,
    /// The number of the client's session that it says it to, where that has a connection of its own.
    pub session: Option<u64>,
    /// What.
    pub kind: NoticeKind,
}

/// The kinds of notice.
#[derive(Debug)]
pub enum NoticeKind {
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources or templates changed.
    ResourcesChanged,
    /// Its lists were read for the first time, after clients were shown lists without it or as they were in an earlier run.
    Listed,
    /// A list was read again and is another: clients are told, and nothing is read for it.
    Reread(ListKind),
    /// Names of its tools are known that were not: what other servers say may be of them.
    NewNames,
    /// A subscribed resource changed; the notification as it came.
    ResourceUpdated(Frame),
    /// A log line that belongs to no call.
    Log(Frame),
    /// A log line of one of several calls; nothing says of which.
    SomebodysLog(Frame),
    /// A page that a person was sent to has been dealt with; the notification as it came.
    ElicitationComplete(Frame),
    /// The server came up, went down, or is being left alone.
    Health(HealthState),
}

/// Where a call's events go. Bounded: a caller that does not read slows its own upstream call, nobody else's.
pub type CallSink = mpsc::Sender<CallEvent>;

/// Where notices go. A link never waits for it: a full channel means the notice is logged and dropped, so the
/// reader keeps it short.
pub type NoticeSink = mpsc::Sender<Notice>;

// === impl Retry ===

impl Retry {
    /// A further attempt after a failure, and the word that it may be made.
    pub fn new(number: u32, failure: &UpstreamError) -> (Self, oneshot::Receiver<()>) {
        let (word, given) = oneshot::channel();
        (Self { number, why: failure.cause.clone(), sent: failure.sent, word }, given)
    }

    /// It is on record and may be made.
    pub fn go(self) {
        if self.word.send(()).is_err() {
            tracing::debug!("nobody waits any more to try again");
        }
    }
}

// === impl AnswerSlot ===

impl AnswerSlot {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Answer>) {
        let (sender, receiver) = oneshot::channel();
        (Self { sender, clock: None }, receiver)
    }

    /// A slot, and the JSON text of the result that is put into it; nothing where none is.
    pub fn pair() -> (Self, impl Future<Output = Option<String>> + Send + use<>) {
        let (slot, answer) = Self::new();
        (slot, async move {
            match answer.await {
                Ok(Answer::Given(permitted)) => Some(permitted.action().params().to_owned()),
                Ok(Answer::Refused { .. }) | Err(_) => None,
            }
        })
    }

    pub(crate) fn stop_clock(&mut self, clock: OpenQuestion) {
        self.clock = Some(clock);
    }

    /// Waits until nobody wants the answer any more: the server took its question back, or the call is over.
    pub async fn withdrawn(&mut self) {
        self.sender.closed().await;
    }

    /// Sends the client's answer. Lost if the call has ended meanwhile, as it should be.
    pub fn give(self, answer: PermittedAction) {
        if self.sender.send(Answer::Given(answer)).is_err() {
            tracing::debug!("the call ended before its question was answered");
        }
    }

    /// Refuses the question in our own words.
    pub fn refuse(self, code: i64, message: &'static str) {
        if self.sender.send(Answer::Refused { code, message }).is_err() {
            tracing::debug!("the call ended before its question was refused");
        }
    }
}
