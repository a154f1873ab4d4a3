//! One connection of a client, from its first byte to its last.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;

use super::response::ResponseBody;
use super::seldom::Seldom;
use super::{HttpFront, stopped};

/// A connection on which nothing was asked in so many looks, and nothing is being answered, is closed: whoever sends a
/// head byte by byte has no more than that to finish it.
const SILENT_LOOKS: u32 = 2;
/// How often to look. One timer for the whole connection: one for each head would cost every request its setting and
/// clearing.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// What a connection is doing. Every request under way holds it, and so does its answer until it is sent.
#[derive(Default)]
struct Doing {
    begun: AtomicU64,
}

/// Why a connection is closed from our side.
enum Reason {
    Stopping,
    Silence,
}

/// An answer that counts as under way until it is sent.
struct Answering {
    body: ResponseBody,
    _doing: Arc<Doing>,
}

/// Serves a connection to its end.
pub(super) async fn serve(
    front: Arc<HttpFront>,
    stream: std::net::TcpStream,
    peer: SocketAddr,
    mut stop: watch::Receiver<bool>,
) {
    let stream = match tokio::net::TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, %peer, "a connection could not be taken over"),
    };
    let doing = Arc::new(Doing::default());
    let held = Arc::clone(&doing);
    let service = service_fn(move |request| {
        let (front, doing) = (Arc::clone(&front), Arc::clone(&held));
        doing.begun.fetch_add(1, Ordering::Relaxed);
        async move {
            let answer = front.handle(request).await;
            Ok::<_, Infallible>(answer.map(|body| Answering { body, _doing: doing }))
        }
    });
    let mut serving = pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    let reason = Seldom::new(Box::pin(async move {
        tokio::select! {
            () = stopped(&mut stop) => Reason::Stopping,
            () = doing.silence() => Reason::Silence,
        }
    }));
    let served = tokio::select! {
        biased;
        served = serving.as_mut() => served,
        reason = reason => match reason {
            Reason::Stopping => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
            Reason::Silence => return tracing::debug!(%peer, "a silent connection is closed"),
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

// === impl Doing ===

impl Doing {
    /// Waits until nothing has been asked for long, and nothing is being answered.
    async fn silence(self: &Arc<Self>) {
        let (mut begun, mut silent) = (0, 0);
        while silent < SILENT_LOOKS {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.begun.load(Ordering::Relaxed);
            // We hold it, and the service does.
            let idle = Arc::strong_count(self) == 2 && now == begun;
            silent = if idle { silent + 1 } else { 0 };
            begun = now;
        }
    }
}

// === impl Answering ===

impl Body for Answering {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
