//! The stdio front: one message a line, both eras in one stream. Used for our own standard streams and for clients that
//! join through the data directory's socket.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use highwater_core::id::VirtualServerId;
use highwater_mcp::error_code::{self, INVALID_REQUEST, REFUSED};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::scan::ScanRules;
use highwater_store::TokenDigest;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::{LISTEN, Serving, busy_response, client_rules};
use crate::client::{Caller, Client, LegacySession, Outlet};
use crate::gateway::{Gateway, fresh_id, now};
use crate::handshake::{is_modern, modern_client};
use crate::session::{Place, client_session_id, left};
use crate::tokens::{Closed, Slot, Token};
use crate::world::DEFAULT_VIRTUAL_SERVER;

/// How many messages may wait for a client that does not read.
const OUTBOUND_BUFFER: usize = 64;

/// How much is read at once.
const READ_CHUNK: usize = 16 * 1024;

/// What a client of this front came in with.
pub struct StdioToken {
    token: Arc<Token>,
    /// Of the secret that it showed; nothing for the user whose data directory it is.
    shown: Option<TokenDigest>,
}

/// Why a client may not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdmitted {
    /// The secret opens nothing.
    Token,
    /// The token does not open this virtual server.
    VirtualServer,
    /// The tokens could not be read for a while.
    Stale,
}

/// Lets a client of this user in: with everything, or with what the token grants whose secret it shows.
pub fn admit(
    gateway: &Gateway,
    secret: Option<&str>,
    virtual_server: Option<&str>,
) -> Result<StdioToken, NotAdmitted> {
    let Some(secret) = secret else {
        return Ok(StdioToken { token: Arc::clone(&gateway.tokens.local), shown: None });
    };
    let shown = TokenDigest::of(secret.as_bytes());
    let virtual_server = VirtualServerId::new(virtual_server.unwrap_or(DEFAULT_VIRTUAL_SERVER));
    let token = opened(gateway, &shown, &virtual_server)?;
    Ok(StdioToken { token, shown: Some(shown) })
}

/// What a secret opens at this moment.
fn opened(
    gateway: &Gateway,
    shown: &TokenDigest,
    virtual_server: &VirtualServerId,
) -> Result<Arc<Token>, NotAdmitted> {
    let now = now();
    let token = gateway.tokens.find_again(shown, now).map_err(|closed| match closed {
        Closed::Unknown => NotAdmitted::Token,
        Closed::Stale => NotAdmitted::Stale,
    })?;
    if !token.enters(virtual_server) {
        return Err(NotAdmitted::VirtualServer);
    }
    if token.is_use_news(now) {
        gateway.store.note_token_use(token.principal.as_str(), now);
    }
    Ok(token)
}

type Reader = Box<dyn AsyncRead + Unpin + Send>;
type Writer = Box<dyn AsyncWrite + Unpin + Send>;

/// Serves one client until it has left. Requests still running when it closes its side get `limits.drain` to finish.
pub fn serve(
    gateway: Arc<Gateway>,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    virtual_server: Option<String>,
    token: StdioToken,
) -> Serving {
    Box::pin(serve_one(gateway, Box::new(reader), Box::new(writer), virtual_server, token))
}

async fn serve_one(
    gateway: Arc<Gateway>,
    reader: Reader,
    writer: Writer,
    virtual_server: Option<String>,
    token: StdioToken,
) {
    let StdioToken { token, shown } = token;
    let (outlet, messages) = mpsc::channel(OUTBOUND_BUFFER);
    let written = tokio::spawn(write_all(writer, messages));
    let id: Arc<str> = format!("stdio-{}", fresh_id()).into();
    let virtual_server = VirtualServerId::new(virtual_server.as_deref().unwrap_or(DEFAULT_VIRTUAL_SERVER));
    let caller = gateway.caller(token, virtual_server, None, Place::Connection(&id), None);
    let connection = Arc::new(Connection { caller, shown, gateway, id, outlet, state: Mutex::default() });
    connection.read(reader).await;
    connection.leave().await;
    drop(connection);
    // The writer ends when the last request has let go of the outlet.
    if written.await.is_err() {
        tracing::debug!("the writer of a stdio client ended early");
    }
}

// === impl NotAdmitted ===

impl NotAdmitted {
    /// For a client that is connected already.
    fn words(self) -> &'static str {
        match self {
            Self::Token => "the token that you came with opens nothing any more; it may be revoked or over",
            Self::VirtualServer => "the token that you came with does not open this virtual server any more",
            Self::Stale => "the tokens could not be read for a while; try again later",
        }
    }
}

struct Connection {
    gateway: Arc<Gateway>,
    caller: Caller,
    /// What must open the gateway still, with every request.
    shown: Option<TokenDigest>,
    id: Arc<str>,
    outlet: Outlet,
    state: Mutex<ConnectionState>,
}

#[derive(Default)]
struct ConnectionState {
    session: Option<Arc<LegacySession>>,
    /// Running requests by the exact text of their id.
    running: HashMap<Box<str>, Running>,
}

struct Running {
    task: AbortHandle,
    /// An open subscription never ends by itself and is not waited for.
    endless: bool,
}

// === impl Connection ===

impl Connection {
    async fn read(self: &Arc<Self>, mut reader: Reader) {
        let rules = client_rules(&self.gateway.settings.load());
        let mut buffer = BytesMut::with_capacity(READ_CHUNK);
        let mut searched = 0;
        // Set while the rest of a line that was too long goes by.
        let mut skipping = false;
        loop {
            let unread = buffer.get(searched..).unwrap_or_default();
            if let Some(end) = memchr::memchr(b'\n', unread) {
                let mut line = buffer.split_to(searched + end + 1).freeze();
                searched = 0;
                if std::mem::take(&mut skipping) {
                    continue;
                }
                line.truncate(line.len() - 1);
                if line.last() == Some(&b'\r') {
                    line.truncate(line.len() - 1);
                }
                self.line(line, &rules).await;
                continue;
            }
            searched = buffer.len();
            if buffer.len() > rules.max_bytes {
                if !skipping {
                    // One scan names the violation in the same words as everywhere else.
                    self.line(buffer.split().freeze(), &rules).await;
                }
                skipping = true;
                buffer.clear();
                searched = 0;
            }
            buffer.reserve(READ_CHUNK);
            match reader.read_buf(&mut buffer).await {
                Ok(0) => {
                    if !skipping && !buffer.is_empty() {
                        self.line(buffer.split().freeze(), &rules).await;
                    }
                    return;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a stdio client can no longer be read");
                    return;
                }
            }
        }
    }

    async fn line(self: &Arc<Self>, line: Bytes, rules: &ScanRules) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match Frame::parse(line, rules) {
            Ok(frame) => self.frame(frame).await,
            Err(error) => {
                tracing::warn!(%error, client = %self.id, "refused a message");
                self.send(error.response()).await;
            }
        }
    }

    async fn frame(self: &Arc<Self>, frame: Frame) {
        match frame.kind() {
            FrameKind::Request => self.request(frame).await,
            FrameKind::Notification => self.notification(&frame),
            FrameKind::Response | FrameKind::Error => match self.session() {
                Some(session) => session.answered(frame),
                None => tracing::debug!(client = %self.id, "an answer came, but nothing was asked"),
            },
        }
    }

    async fn request(self: &Arc<Self>, frame: Frame) {
        if let Some(shown) = &self.shown
            && let Err(why) = opened(&self.gateway, shown, &self.caller.virtual_server)
        {
            let refused = error_code::error_response(frame.id(), REFUSED, why.words(), None);
            return self.send(refused).await;
        }
        let slot = match self.caller.token.admit() {
            Ok(slot) => slot,
            Err(busy) => return self.send(busy_response(frame.id(), &busy)).await,
        };
        let client = if is_modern(&frame) || frame.method() == Some("server/discover") {
            match modern_client(&frame, self.caller.clone()) {
                Ok(client) => Client::Modern(Arc::new(client)),
                Err(unmet) => return self.send(unmet.response(frame.id())).await,
            }
        } else if frame.method() == Some("initialize") {
            return self.initialize(frame).await;
        } else {
            match self.session() {
                Some(session) => Client::Legacy(session),
                None => {
                    return self
                        .refuse(&frame, "send `initialize` first, or say your version in `_meta`")
                        .await;
                }
            }
        };
        self.start(client, frame, slot).await;
    }

    /// Meets the client without making it wait for anything else: servers may take a while to start.
    async fn initialize(self: &Arc<Self>, frame: Frame) {
        if self.session().is_some() {
            return self.refuse(&frame, "`initialize` was sent already").await;
        }
        let outlet = self.outlet.clone();
        // Whoever belongs to no request has the same way out as everything else.
        let aside = Box::new(move |message| {
            if outlet.try_send(message).is_err() {
                tracing::debug!("a stdio client does not read; a notification is dropped");
            }
        });
        match self
            .gateway
            .initialize(&frame, self.caller.clone(), Arc::clone(&self.id), (aside, Box::new(|| {})))
            .await
        {
            Ok((session, response)) => {
                self.state().session = Some(session);
                self.send(response).await;
            }
            Err(unmet) => self.send(unmet.response(frame.id())).await,
        }
    }

    async fn start(self: &Arc<Self>, client: Client, frame: Frame, slot: Slot) {
        let id: Box<str> = frame.id().unwrap_or("null").into();
        if self.state().running.contains_key(&id) {
            return self.refuse(&frame, "a request with this id is running already").await;
        }
        let connection = Arc::clone(self);
        let ended = id.clone();
        let endless = frame.method() == Some(LISTEN);
        // An open ear takes no place: it would be taken for ever.
        let slot = Some(slot).filter(|_| !endless);
        let work = async move {
            let _slot = slot;
            let gateway = Arc::clone(&connection.gateway);
            let part =
                client_session_id(None, &frame).and_then(|id| gateway.split(client.caller(), Some(&id)));
            let answer = gateway.serve(client, part, frame, connection.outlet.clone()).await;
            connection.send(answer.bytes).await;
            connection.state().running.remove(&ended);
        };
        // Tasks begin in any order. Where order counts, the next request is not looked at before this one has its place.
        let ordered = self.gateway.world.load().ordered_writes;
        let began = {
            // The lock is held while the task is made, so that it cannot end before it is noted.
            let mut state = self.state();
            let (task, began) = if ordered {
                let (work, began) = begun(work);
                (tokio::spawn(work), Some(began))
            } else {
                (tokio::spawn(work), None)
            };
            state.running.insert(id, Running { task: task.abort_handle(), endless });
            began
        };
        if let Some(began) = began {
            // An error says the same: it is over before it waited for anything.
            began.await.unwrap_or_default();
        }
    }

    fn notification(&self, frame: &Frame) {
        // The reason is the client's free text and goes nowhere.
        if frame.method() == Some("notifications/cancelled")
            && let Some(id) = frame.param("requestId")
        {
            let running = self.state().running.remove(id);
            if let Some(running) = running {
                running.task.abort();
            }
        }
        if let Some(session) = self.state().session.clone() {
            self.gateway.note_legacy(&session, frame);
        }
    }

    async fn leave(&self) {
        let drain = self.gateway.settings.load().limits.drain;
        let idle = async {
            while self.state().running.values().any(|running| !running.endless) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(drain, idle).await.is_err() {
            tracing::debug!(client = %self.id, "left with requests still running");
        }
        let running: Vec<_> = self.state().running.drain().collect();
        for (_, running) in running {
            running.task.abort();
        }
        let session = self.state().session.take();
        if let Some(session) = session {
            self.gateway.end_session(&session);
        }
        left(&self.caller.session);
    }

    async fn refuse(&self, frame: &Frame, message: &str) {
        self.send(error_code::error_response(frame.id(), INVALID_REQUEST, message, None)).await;
    }

    async fn send(&self, message: impl Into<Bytes>) {
        if self.outlet.send(message.into()).await.is_err() {
            tracing::debug!(client = %self.id, "the client no longer reads");
        }
    }

    fn session(&self) -> Option<Arc<LegacySession>> {
        self.state().session.clone()
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same work, and word of when it has been begun: it has done all that it can do without waiting.
fn begun(work: impl Future<Output = ()>) -> (impl Future<Output = ()>, oneshot::Receiver<()>) {
    let (tell, began) = oneshot::channel();
    let work = async move {
        let (mut work, mut tell) = (pin!(work), Some(tell));
        poll_fn(|context| {
            let outcome = work.as_mut().poll(context);
            drop(tell.take());
            outcome
        })
        .await
    };
    (work, began)
}

/// Writes messages, one a line. A message with line breaks in it, which JSON allows between its parts, is put on one.
async fn write_all(mut writer: Writer, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(bytes) = messages.recv().await {
        let mut line = Vec::with_capacity(bytes.len() + 1);
        // A scanned message has line breaks only between its tokens, so each can become a space.
        line.extend(bytes.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        line.push(b'\n');
        let sent = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if let Err(error) = sent.await {
            tracing::debug!(%error, "a stdio client can no longer be written to");
            // Draining lets the running requests end instead of waiting for room.
            while messages.recv().await.is_some() {}
            return;
        }
    }
}
