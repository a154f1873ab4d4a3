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
    let mut look = pin!(tokio::time::sleep(LOOK_EVERY));
    let (mut begun, mut silent) = (0, 0);
    let served = loop {
        tokio::select! {
            served = serving.as_mut() => break served,
            () = stopped(&mut stop) => {
                serving.as_mut().graceful_shutdown();
                break serving.await;
            }
            () = look.as_mut() => {
                let now = doing.begun.load(Ordering::Relaxed);
                // We hold it, and the service does.
                let idle = Arc::strong_count(&doing) == 2 && now == begun;
                silent = if idle { silent + 1 } else { 0 };
                begun = now;
                if silent == SILENT_LOOKS {
                    return tracing::debug!(%peer, "a silent connection is closed");
                }
                look.as_mut().reset(tokio::time::Instant::now() + LOOK_EVERY);
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

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
