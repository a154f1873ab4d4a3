//! Whether somebody who is listed vouches for an authenticator: its certificate, and the chain from there to a root.
//!
//! The chain is followed by `rustls-webpki`: it is part of the gateway anyway for TLS, is a function of its inputs, and
//! has seen more hostile certificates than a reader of ours would. It knows nothing of what WebAuthn asks of the first
//! certificate and believes the last one blindly, so that much is read here.

use std::time::Duration;

use highwater_notation::Timestamp;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use thiserror::Error;
use webpki::{
    EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeIdIter, VerifiedPath, anchor_from_trusted_cert,
    aws_lc_rs as known,
};

use super::authenticators::{Aaguid, RootCertificate};
use super::certificate::Certificate;
use super::cose::Algorithm;

/// How long a chain may be. Real ones have two or three certificates.
const MAX_CHAIN: usize = 8;

/// What the unit of every certificate of an authenticator is called (WebAuthn, section 8.2.1).
const UNIT: &str = "Authenticator Attestation";

/// The signatures that certificates may have.
const SIGNATURES: &[&dyn SignatureVerificationAlgorithm] = &[
    known::ECDSA_P256_SHA256,
    known::ECDSA_P256_SHA384,
    known::ECDSA_P384_SHA256,
    known::ECDSA_P384_SHA384,
    known::ECDSA_P521_SHA512,
    known::ED25519,
    known::RSA_PKCS1_2048_8192_SHA256,
    known::RSA_PKCS1_2048_8192_SHA384,
    known::RSA_PKCS1_2048_8192_SHA512,
];

/// Why nobody vouches for an authenticator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unattested {
    /// It sent no attestation.
    #[error("nobody vouches for this authenticator, and only listed ones can be enrolled here")]
    Nobody,
    /// It vouches for itself.
    #[error("this authenticator vouches for itself alone, and only listed ones can be enrolled here")]
    Itself,
    /// The attestation is of a form that nobody here reads.
    #[error("attestations of the format `{0}` are not accepted here, only `packed`")]
    Format(&'static str),
    /// It does not say what it is.
    #[error("the authenticator does not say of what make it is")]
    Nameless,
    /// It is none of those that are let in.
    #[error("authenticators of the make {0} are not on the list of this gateway")]
    Unlisted(Aaguid),
    /// A part of the statement is missing or not in its form.
    #[error("`{0}` of the attestation is malformed")]
    Statement(&'static str),
    /// The key of the certificate has signed something else.
    #[error("the signature of the attestation does not verify")]
    Signature,
    /// The certificate is not one of an authenticator of this make.
    #[error("the certificate of the authenticator {0}")]
    Leaf(&'static str),
    /// The certificate leads to no listed root.
    #[error("the chain of the authenticator’s certificate {0}")]
    Chain(&'static str),
}

/// What an authenticator of some make shows.
pub(super) struct Shown<'a> {
    /// Its certificates, its own first.
    pub(super) chain: &'a [&'a [u8]],
    /// With which algorithm it signed.
    pub(super) algorithm: Algorithm,
    pub(super) signature: &'a [u8],
    /// What it signed.
    pub(super) signed: &'a [u8],
    pub(super) aaguid: Aaguid,
}

/// Every purpose that a certificate may name. The roots are listed for this one alone, so there is nothing to tell apart.
struct AnyPurpose;

// === impl Shown ===

impl Shown<'_> {
    /// Whether one of these roots vouches for it now.
    pub(super) fn check(&self, roots: &[&RootCertificate], now: Timestamp) -> Result<(), Unattested> {
        let [leaf, others @ ..] = self.chain else { return Err(Unattested::Statement("x5c")) };
        if self.chain.len() > MAX_CHAIN {
            return Err(Unattested::Chain("is too long"));
        }
        let read = Certificate::read(leaf).ok_or(Unattested::Leaf("cannot be read"))?;
        self.is_of_an_authenticator(&read)?;
        let leaf = CertificateDer::from(*leaf);
        let end = EndEntityCert::try_from(&leaf).map_err(|error| Unattested::Leaf(words(&error)))?;
        let algorithm = match self.algorithm {
            Algorithm::Es256 => known::ECDSA_P256_SHA256,
            Algorithm::EdDsa => known::ED25519,
            Algorithm::Rs256 => known::RSA_PKCS1_2048_8192_SHA256,
        };
        end.verify_signature(algorithm, self.signed, self.signature).map_err(|_| Unattested::Signature)?;
        if let Some(listed) = roots.iter().find(|root| is_of_the_same(root.der(), &leaf)) {
            let listed = Certificate::read(listed.der()).ok_or(Unattested::Leaf("cannot be read"))?;
            return is_valid(&read, now).and_then(|()| is_valid(&listed, now)).map_err(Unattested::Leaf);
        }
        follow(&end, others, roots, now).map_err(Unattested::Chain)
    }

    /// What WebAuthn asks of the certificate (section 8.2.1).
    fn is_of_an_authenticator(&self, read: &Certificate<'_>) -> Result<(), Unattested> {
        let subject = &read.subject;
        let unless = |holds: bool, words| if holds { Ok(()) } else { Err(Unattested::Leaf(words)) };
        unless(read.version == 3, "is not of version 3")?;
        unless(subject.country().is_some_and(|country| country.len() == 2), "names no country")?;
        unless(subject.organization().is_some_and(|name| !name.is_empty()), "names no vendor")?;
        unless(subject.is_of_unit(UNIT), "is not of the unit `Authenticator Attestation`")?;
        unless(subject.common_name().is_some_and(|name| !name.is_empty()), "has no name")?;
        unless(read.constraints.is_some(), "does not say that it issues no others")?;
        unless(!read.constraints.is_some_and(|it| it.ca), "may issue others, which none of them may")?;
        unless(!read.insists, "has a critical extension that is not known here")?;
        if let Some((aaguid, critical)) = read.aaguid {
            unless(!critical, "says its make in a critical extension")?;
            unless(Aaguid(aaguid) == self.aaguid, "is of another make than the authenticator")?;
        }
        Ok(())
    }
}

/// Whether two certificates are of one name and one key. That of a batch can be listed by itself, and is then believed
/// for its key: nobody else can have signed, whatever a copy of the certificate says besides.
fn is_of_the_same(one: &CertificateDer<'_>, other: &CertificateDer<'_>) -> bool {
    match (anchor_from_trusted_cert(one), anchor_from_trusted_cert(other)) {
        (Ok(one), Ok(other)) => {
            one.subject == other.subject && one.subject_public_key_info == other.subject_public_key_info
        }
        _ => false,
    }
}

/// Follows the chain to one of the roots.
fn follow(
    end: &EndEntityCert<'_>,
    others: &[&[u8]],
    roots: &[&RootCertificate],
    now: Timestamp,
) -> Result<(), &'static str> {
    let others: Vec<_> = others.iter().map(|der| CertificateDer::from(*der)).collect();
    let anchors: Vec<_> = roots.iter().filter_map(|root| anchor_from_trusted_cert(root.der()).ok()).collect();
    let time = UnixTime::since_unix_epoch(Duration::from_millis(now.0));
    let path = end
        .verify_for_usage(SIGNATURES, &anchors, &others, time, AnyPurpose, None, None)
        .map_err(|error| words(&error))?;
    ends_well(&path, roots, now)
}

/// What the library leaves to whoever lists roots: that they are valid, and that whoever issued may issue.
fn ends_well(
    path: &VerifiedPath<'_>,
    roots: &[&RootCertificate],
    now: Timestamp,
) -> Result<(), &'static str> {
    let mut between = 0;
    for certificate in path.intermediate_certificates() {
        between += 1;
        let der = certificate.der();
        let read = Certificate::read(&der).ok_or("holds a certificate that cannot be read")?;
        if !read.may_issue() {
            return Err(MAY_NOT_ISSUE);
        }
    }
    // Several may have one name and one key, such as a root and its renewal: one that holds is enough.
    let same = |root: &&&RootCertificate| {
        anchor_from_trusted_cert(root.der()).is_ok_and(|anchor| {
            anchor.subject == path.anchor().subject
                && anchor.subject_public_key_info == path.anchor().subject_public_key_info
        })
    };
    let mut fault = "ends at no root that is listed for this make";
    for root in roots.iter().filter(same) {
        let Some(read) = Certificate::read(root.der()) else { continue };
        let judged = match read.constraints.and_then(|constraints| constraints.between) {
            _ if !read.may_issue() => Err(MAY_NOT_ISSUE),
            Some(most) if between > most => Err(TOO_LONG),
            Some(_) | None => is_valid(&read, now),
        };
        match judged {
            Ok(()) => return Ok(()),
            Err(words) => fault = words,
        }
    }
    Err(fault)
}

const MAY_NOT_ISSUE: &str = "passes a certificate that may not issue others";
const TOO_LONG: &str = "is longer than one of its certificates allows";
const NOT_YET: &str = "is not valid yet";
const NO_MORE: &str = "is not valid any more";

fn is_valid(read: &Certificate<'_>, now: Timestamp) -> Result<(), &'static str> {
    if now < read.not_before {
        return Err(NOT_YET);
    }
    // To the second, which is what a certificate can say.
    if now.0 / 1000 > read.not_after.0 / 1000 { Err(NO_MORE) } else { Ok(()) }
}

/// What is wrong, behind “the certificate” or “the chain”.
fn words(error: &webpki::Error) -> &'static str {
    use webpki::Error;
    match error {
        Error::UnknownIssuer => "ends at no root that is listed for this make",
        Error::CertExpired { .. } => NO_MORE,
        Error::CertNotValidYet { .. } => NOT_YET,
        Error::InvalidSignatureForPublicKey => "has a signature that does not verify",
        Error::EndEntityUsedAsCa => MAY_NOT_ISSUE,
        Error::CaUsedAsEndEntity => "begins with a certificate that issues others",
        Error::PathLenConstraintViolated => TOO_LONG,
        Error::NameConstraintViolation => "has a name that its issuer may not give",
        Error::UnsupportedCriticalExtension => "has a critical extension that is not known here",
        Error::UnsupportedSignatureAlgorithmContext(_)
        | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            "is signed with an algorithm that is not accepted"
        }
        Error::UnsupportedCertVersion => "is not of version 3",
        // The library may learn of more faults; whichever it is, nobody is believed.
        _ => "does not hold",
    }
}

// === impl AnyPurpose ===

impl ExtendedKeyUsageValidator for AnyPurpose {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        purposes.into_iter().try_for_each(|purpose| purpose.map(|_| ()))
    }
}
