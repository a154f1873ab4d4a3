//! TLS to servers: whose certificates are trusted, and what is said of one that is not.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore};

use crate::error::NoConnection;

/// Authorities that are trusted beside the public ones: those of a company whose proxy looks into TLS, most likely.
static MORE: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

/// Trusts the authorities of a file in PEM beside the public ones, for every connection of this process that is set up
/// from here on. Returns how many there are. It can be done once.
pub fn trust_also(file: &Path) -> Result<usize, String> {
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let count = certificates.len();
    if count == 0 {
        return Err("it holds no certificate".to_owned());
    }
    MORE.set(certificates).map_err(|_| "other authorities are trusted already".to_owned())?;
    Ok(count)
}

/// How connections are protected.
pub(super) fn config() -> ClientConfig {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(more) = MORE.get() {
        roots.add_parsable_certificates(more.iter().cloned());
    }
    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

/// Why a handshake failed. What the other side wrote is left out.
pub(super) fn reason(error: &io::Error) -> NoConnection {
    let inner = error.get_ref();
    if let Some(inner) = inner.and_then(|inner| inner.downcast_ref::<io::Error>()) {
        return reason(inner);
    }
    match inner.and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(why)) => NoConnection::Certificate(fault(why)),
        Some(_) | None => NoConnection::Tls,
    }
}

/// What is wrong with a certificate, in a word that people can look for.
fn fault(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::UnknownIssuer => "UnknownIssuer",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "Expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "NotValidYet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "NotValidForName"
        }
        CertificateError::Revoked => "Revoked",
        _ => "Invalid",
    }
}
