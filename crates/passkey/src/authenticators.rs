//! The authenticators that an operator lets in, by their make and by who vouches for it (section 9, point 5).

use std::fmt;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use thiserror::Error;
use webpki::anchor_from_trusted_cert;

use super::certificate::Certificate;

/// The make and model of an authenticator, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aaguid(pub [u8; 16]);

/// Makes of authenticators, each with the roots that may vouch for it. Nothing else can be enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatorList(Vec<AuthenticatorMake>);

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatorMake {
    /// What the operator calls it.
    pub name: Box<str>,
    /// Its models.
    pub aaguids: Vec<Aaguid>,
    /// Who may vouch for these, and for no others.
    pub roots: Vec<RootCertificate>,
}

/// A certificate that is believed because the operator listed it.
#[derive(Clone, PartialEq, Eq)]
pub struct RootCertificate(CertificateDer<'static>);

/// Why a text holds no certificates that could be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoRoot {
    /// There is none.
    #[error("holds no certificate")]
    Nothing,
    /// It is not written as PEM.
    #[error("is not PEM")]
    Pem,
    /// It holds something else, perhaps something secret.
    #[error("holds something that is no certificate")]
    Other,
    /// One of them cannot be read.
    #[error("holds a certificate that cannot be read, number {0}")]
    Certificate(usize),
}

// === impl Aaguid ===

impl Aaguid {
    /// Reads the form that lists of them have: 32 hexadecimal digits with four hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        let hyphens: Vec<usize> = text.match_indices('-').map(|(at, _)| at).collect();
        if text.len() != 36 || hyphens != [8, 13, 18, 23] {
            return None;
        }
        let digits: Vec<u8> = text
            .chars()
            .filter(|c| *c != '-')
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()?;
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |sum, digit| sum << 4 | digit);
        }
        Some(Self(bytes))
    }

    /// Whether it names no make at all.
    pub fn is_zero(self) -> bool {
        self.0 == [0; 16]
    }
}

impl fmt::Display for Aaguid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

// === impl AuthenticatorList ===

impl AuthenticatorList {
    /// A list, unless nothing could ever be enrolled with it.
    pub fn new(makes: Vec<AuthenticatorMake>) -> Option<Self> {
        let usable = |make: &AuthenticatorMake| !make.aaguids.is_empty() && !make.roots.is_empty();
        makes.iter().any(usable).then_some(Self(makes))
    }

    /// Who may vouch for a model; `None` where it is not listed.
    pub(super) fn roots_of(&self, aaguid: Aaguid) -> Option<Vec<&RootCertificate>> {
        let makes: Vec<_> = self.0.iter().filter(|make| make.aaguids.contains(&aaguid)).collect();
        (!makes.is_empty()).then(|| makes.iter().flat_map(|make| &make.roots).collect())
    }
}

// === impl RootCertificate ===

impl RootCertificate {
    /// Every certificate of a PEM text, which must hold nothing else.
    pub fn read_pem(text: &str) -> Result<Vec<Self>, NoRoot> {
        let mut roots = Vec::new();
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(text.as_bytes()) {
            let (kind, der) = section.map_err(|_| NoRoot::Pem)?;
            if kind != SectionKind::Certificate {
                return Err(NoRoot::Other);
            }
            roots.push(Self::from_der(der).ok_or(NoRoot::Certificate(roots.len() + 1))?);
        }
        if roots.is_empty() { Err(NoRoot::Nothing) } else { Ok(roots) }
    }

    /// A certificate, if it can be read and says who it is of.
    pub fn from_der(der: Vec<u8>) -> Option<Self> {
        let der = CertificateDer::from(der);
        let readable = Certificate::read(&der).is_some() && anchor_from_trusted_cert(&der).is_ok();
        readable.then_some(Self(der))
    }

    pub(super) fn der(&self) -> &CertificateDer<'static> {
        &self.0
    }
}

impl fmt::Debug for RootCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Certificate::read(&self.0).map(|read| read.subject.words());
        write!(f, "RootCertificate({:?})", name.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_make_is_written_as_lists_have_it() {
        let text = "cb69481e-8ff7-4039-93ec-0a2729a154a8";
        let aaguid = Aaguid::parse(text).unwrap();
        assert_eq!(aaguid.0[..4], [0xcb, 0x69, 0x48, 0x1e]);
        assert_eq!(aaguid.to_string(), text);
        assert_eq!(Aaguid::parse(&text.to_uppercase()), Some(aaguid));
        for bad in [
            "",
            "cb69481e8ff7403993ec0a2729a154a8",
            "cb69481e-8ff7-4039-93ec-0a2729a154a",
            "cb69481e-8ff7-4039-93ec-0a2729a154ag",
            "cb69481-e8ff7-4039-93ec-0a2729a154a8",
            "cb69481e-8ff7-4039-93ec-0a2729a154é",
        ] {
            assert_eq!(Aaguid::parse(bad), None, "{bad}");
        }
        assert!(Aaguid([0; 16]).is_zero() && !aaguid.is_zero());
    }
}
