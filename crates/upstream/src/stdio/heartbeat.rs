//! When a child last said anything, byte by byte: a long message is a sign of life before it is whole.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Duration, Instant};

/// When a child last said anything.
pub(super) struct Heartbeat {
    started: Instant,
    /// Microseconds since then.
    last: AtomicU64,
}

/// A child's output. What is read of it is a sign of life.
pub(super) struct WatchedOutput<R> {
    source: R,
    heartbeat: Arc<Heartbeat>,
}

// === impl Heartbeat ===

impl Default for Heartbeat {
    fn default() -> Self {
        Self { started: Instant::now(), last: AtomicU64::new(0) }
    }
}

impl Heartbeat {
    /// When the last byte came; when the child was started, if none has.
    pub(super) fn last(&self) -> Instant {
        self.started + Duration::from_micros(self.last.load(Ordering::Relaxed))
    }

    fn beat(&self) {
        let since = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last.store(since, Ordering::Relaxed);
    }
}

// === impl WatchedOutput ===

impl<R> WatchedOutput<R> {
    pub(super) fn new(source: R, heartbeat: Arc<Heartbeat>) -> Self {
        Self { source, heartbeat }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for WatchedOutput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let read = Pin::new(&mut self.source).poll_read(context, buffer);
        if read.is_ready() {
            self.heartbeat.beat();
        }
        read
    }
}
