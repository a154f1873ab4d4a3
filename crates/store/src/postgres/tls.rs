//! TLS to PostgreSQL, with the stack that everything else uses.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How to protect connections; nothing where they are not.
#[derive(Clone)]
pub(super) struct Tls(Option<Arc<ClientConfig>>);

/// One connection about to be protected.
pub(super) struct Connect {
    config: Option<Arc<ClientConfig>>,
    name: ServerName<'static>,
}

/// A protected connection.
pub(super) struct Stream<S>(tokio_rustls::client::TlsStream<S>);

type Failure = Box<dyn std::error::Error + Sync + Send>;

// === impl Tls ===

impl Tls {
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Trusts one authority, or all public ones.
    pub(super) fn new(authority: Option<&str>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match authority {
            Some(file) => {
                let failed = |why: &dyn std::fmt::Display| format!("`sslrootcert` names `{file}`: {why}");
                let certificates = CertificateDer::pem_file_iter(file).map_err(|error| failed(&error))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| failed(&error))?;
                    roots.add(certificate).map_err(|error| failed(&error))?;
                }
                if roots.is_empty() {
                    return Err(failed(&"it holds no certificate"));
                }
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Some(Arc::new(config))))
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Tls" } else { "no Tls" })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Connect;
    type Error = Failure;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connect, Failure> {
        // A socket file has no name, and needs none.
        let name = if domain.is_empty() { "localhost" } else { domain };
        Ok(Connect { config: self.0.clone(), name: ServerName::try_from(name.to_owned())? })
    }
}

// === impl Connect ===

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Stream<S>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Stream<S>, Failure>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or("the connection was not to be encrypted")?;
            Ok(Stream(TlsConnector::from(config).connect(self.name, stream).await?))
        })
    }
}

// === impl Stream ===

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    /// The certificate is checked; binding the password to it as well would need its exact hash.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
