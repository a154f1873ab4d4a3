//! What a connection to a server runs over: TCP, or TLS on it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// A stream as the connector makes it.
pub(super) type Connected = MaybeHttpsStream<TokioIo<TcpStream>>;

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TokioIo<Connected>>),
}

// === impl Stream ===

impl Stream {
    /// Whether it is known without asking the system that nothing has come since it was read last.
    pub(super) fn is_known_silent(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.try_io(Interest::READABLE, || Ok(())).is_err(),
            Self::Tls(_) => false,
        }
    }

    /// Has the system tell the server at once that everything so far has come. One that sends the end of a stream by itself,
    /// small as it is, waits for that up to 40 ms; meanwhile the connection is no use to anybody, and others are opened.
    pub(super) fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        if let Err(error) = self.tcp().map_or(Ok(()), |stream| stream.set_quickack(true)) {
            tracing::trace!(%error, "what came is acknowledged later");
        }
    }

    #[cfg(target_os = "linux")]
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Plain(stream) => Some(stream),
            Self::Tls(stream) => match stream.inner() {
                MaybeHttpsStream::Http(stream) => Some(stream.inner()),
                MaybeHttpsStream::Https(stream) => Some(stream.inner().get_ref().0.inner().inner()),
            },
        }
    }
}

impl From<Connected> for Stream {
    fn from(connected: Connected) -> Self {
        match connected {
            MaybeHttpsStream::Http(stream) => Self::Plain(stream.into_inner()),
            tls @ MaybeHttpsStream::Https(_) => Self::Tls(Box::new(TokioIo::new(tls))),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
