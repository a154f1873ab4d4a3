//! What every small server of the benchmark shares: a runtime of a given width, an accept loop without delays,
//! and the line that tells the starter where to find it.

use std::convert::Infallible;
use std::future::Future;
use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context as _, bail};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::LARGEST_BODY;

/// A runtime with `threads` workers; one worker is the runtime without any hand-over between threads.
pub fn runtime(threads: Option<usize>) -> anyhow::Result<Runtime> {
    let built = match threads {
        Some(1) => Builder::new_current_thread().enable_all().build(),
        Some(several) => Builder::new_multi_thread().worker_threads(several).enable_all().build(),
        None => Builder::new_multi_thread().enable_all().build(),
    };
    built.context("the runtime could not be started")
}

/// Half the machine: the two ends of a measurement share it with whatever stands in the middle.
pub fn half_of_the_cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}

/// Opens a listener; with port 0, on a port of the system's choice.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on `{address}`"))
}

/// Says where the listener is, in the one line the starter waits for.
pub fn say_where(listener: &TcpListener) -> anyhow::Result<()> {
    let address = listener.local_addr().context("the listener has no address")?;
    say(&format!("listening http://{address}/mcp"))
}

/// Waits until standard input closes. The starter holds the other end, so that whatever happens to the starter
/// no process of a benchmark outlives it.
pub async fn input_closed() {
    let mut input = tokio::io::stdin();
    let mut ignored = [0_u8; 64];
    while matches!(input.read(&mut ignored).await, Ok(1..)) {}
}

/// Runs a server until standard input closes or it fails.
pub async fn until_input_closes(
    server: impl Future<Output = anyhow::Result<Infallible>>,
) -> anyhow::Result<()> {
    tokio::select! {
        failed = server => failed.map(|never| match never {}),
        () = input_closed() => Ok(()),
    }
}

/// Writes one line to standard output at once.
pub fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("standard output is closed")
}

/// Serves every connection until accepting one fails.
pub async fn serve<S, F, B>(listener: TcpListener, answer: S) -> anyhow::Result<Infallible>
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept a connection")?;
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let reply = answer(request);
                async move { Ok::<_, Infallible>(reply.await) }
            });
            let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            // A client that goes away in mid-answer is its own business.
            drop(served);
        });
    }
}

/// Reads a body up to [`LARGEST_BODY`]; one that arrives in a single frame is not copied.
pub async fn read_body(mut body: Incoming) -> anyhow::Result<Bytes> {
    let mut first: Option<Bytes> = None;
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.context("the body broke off")?.into_data() else { continue };
        if joined.is_empty() && first.is_none() {
            // The rest, if there is any, goes behind it in a buffer of the right size.
            first = Some(data);
            continue;
        }
        if let Some(first) = first.take() {
            let rest = usize::try_from(body.size_hint().lower()).unwrap_or(LARGEST_BODY).min(LARGEST_BODY);
            joined.reserve(first.len() + data.len() + rest);
            joined.extend_from_slice(&first);
        }
        if joined.len() + data.len() > LARGEST_BODY {
            bail!("the body is larger than {LARGEST_BODY} bytes");
        }
        joined.extend_from_slice(&data);
    }
    Ok(first.unwrap_or_else(|| joined.freeze()))
}
