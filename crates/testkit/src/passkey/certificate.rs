//! Certificates of vendors and of their authenticators, and ones that are wrong in a single way.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use highwater_passkey::Algorithm;

use super::packed_attestation;
use super::pair::Pair;

/// Whoever has a certificate and its key.
pub struct Certified {
    /// The certificate.
    pub der: Vec<u8>,
    name: Vec<u8>,
    pair: Pair,
}

/// A certificate before it is signed. Whoever tests may change anything.
pub struct CertificateDraft {
    /// 1 to 3.
    pub version: u8,
    /// Attributes by the last number of their identifier below 2.5.4, each with its text.
    pub subject: Vec<(u8, String)>,
    /// From when on, as `YYYYMMDDHHMMSSZ`.
    pub from: &'static str,
    /// Until when.
    pub until: &'static str,
    /// Its extensions.
    pub extensions: Vec<Extension>,
    /// The key it is of.
    pub algorithm: Algorithm,
}

/// One extension of a certificate.
pub struct Extension {
    /// Its identifier.
    pub id: Vec<u8>,
    /// Whether whoever does not know it must refuse the certificate.
    pub critical: bool,
    /// What it says.
    pub value: Vec<u8>,
}

/// Authenticators of one make: the key they all sign with, and who vouches for it.
pub struct Batch {
    /// The certificate of the batch.
    pub leaf: Certified,
    /// The certificates behind it, the last but the root.
    pub between: Vec<Vec<u8>>,
}

/// The country, the vendor, the unit and the name.
pub const COUNTRY: u8 = 6;
pub const VENDOR: u8 = 10;
pub const UNIT: u8 = 11;
pub const NAME: u8 = 3;

const SEQUENCE: u8 = 0x30;
const OCTETS: u8 = 0x04;

/// A value in DER.
pub fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = match content.len() {
        short @ 0..=0x7f => vec![u8::try_from(short).unwrap()],
        long @ 0x80..=0xff => vec![0x81, u8::try_from(long).unwrap()],
        longer => [&[0x82], &u16::try_from(longer).unwrap().to_be_bytes()[..]].concat(),
    };
    [&[tag], &length[..], &content].concat()
}

// === impl Certified ===

impl Certified {
    /// A root, which vouches for itself.
    pub fn root(draft: &CertificateDraft) -> Self {
        let pair = Pair::new(draft.algorithm);
        let name = draft.name();
        let der = draft.signed(&name, &pair, &pair);
        Self { der, name, pair }
    }

    /// Vouches for somebody.
    pub fn issue(&self, draft: &CertificateDraft) -> Self {
        let pair = Pair::new(draft.algorithm);
        let der = draft.signed(&self.name, &self.pair, &pair);
        Self { der, name: draft.name(), pair }
    }

    /// Signs whatever it is given.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message)
    }

    /// The algorithm of its key.
    pub fn algorithm(&self) -> Algorithm {
        self.pair.algorithm()
    }

    /// The certificate as operators have it.
    pub fn pem(&self) -> String {
        pem(&self.der)
    }
}

/// A certificate as operators have it.
pub fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

// === impl Batch ===

impl Batch {
    /// Authenticators of this make, vouched for by the root, with nobody in between.
    pub fn of(root: &Certified, aaguid: [u8; 16]) -> Self {
        Self { leaf: root.issue(&CertificateDraft::authenticator(aaguid)), between: Vec::new() }
    }

    /// What such an authenticator says of a key, with this signature of the batch.
    pub fn statement(&self, signature: &[u8]) -> Vec<u8> {
        let chain: Vec<&[u8]> =
            std::iter::once(self.leaf.der.as_slice()).chain(self.between.iter().map(Vec::as_slice)).collect();
        packed_attestation(self.leaf.algorithm(), signature, &chain)
    }
}

// === impl Extension ===

impl Extension {
    /// Whether the certificate may issue others, and how many may come in between.
    pub fn constraints(ca: bool, between: Option<u8>) -> Self {
        let flag: &[u8] = if ca { &[1, 1, 0xff] } else { &[] };
        let between = between.map(|most| vec![2, 1, most]).unwrap_or_default();
        Self { id: vec![0x55, 29, 19], critical: true, value: der(SEQUENCE, &[flag, &between]) }
    }

    /// The make that it is for.
    pub fn aaguid(aaguid: [u8; 16]) -> Self {
        let id = vec![0x2b, 6, 1, 4, 1, 0x82, 0xe5, 0x1c, 1, 1, 4];
        Self { id, critical: false, value: der(OCTETS, &[&aaguid]) }
    }

    fn der(&self) -> Vec<u8> {
        let critical: &[u8] = if self.critical { &[1, 1, 0xff] } else { &[] };
        der(SEQUENCE, &[&der(6, &[&self.id]), critical, &der(OCTETS, &[&self.value])])
    }
}

// === impl CertificateDraft ===

impl CertificateDraft {
    /// Of somebody who vouches for others.
    pub fn authority(name: &str) -> Self {
        Self {
            version: 3,
            subject: vec![(VENDOR, "Example Keys".to_owned()), (NAME, name.to_owned())],
            from: "20200101000000Z",
            until: "20991231235959Z",
            extensions: vec![Extension::constraints(true, None)],
            algorithm: Algorithm::Es256,
        }
    }

    /// Of a batch of authenticators.
    pub fn authenticator(aaguid: [u8; 16]) -> Self {
        let texts = [
            (COUNTRY, "SE"),
            (VENDOR, "Example Keys"),
            (UNIT, "Authenticator Attestation"),
            (NAME, "Example Batch 7"),
        ];
        Self {
            subject: texts.map(|(attribute, text)| (attribute, text.to_owned())).to_vec(),
            extensions: vec![Extension::constraints(false, None), Extension::aaguid(aaguid)],
            ..Self::authority("")
        }
    }

    /// The same after a change.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn name(&self) -> Vec<u8> {
        let parts: Vec<u8> = self
            .subject
            .iter()
            .flat_map(|(attribute, text)| {
                let id = der(6, &[&[0x55, 4, *attribute]]);
                der(0x31, &[&der(SEQUENCE, &[&id, &der(0x0c, &[text.as_bytes()])])])
            })
            .collect();
        der(SEQUENCE, &[&parts])
    }

    fn signed(&self, issuer: &[u8], by: &Pair, of: &Pair) -> Vec<u8> {
        let algorithm = match by.algorithm() {
            Algorithm::Es256 => der(SEQUENCE, &[&[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]]),
            Algorithm::EdDsa => der(SEQUENCE, &[&[6, 3, 0x2b, 0x65, 0x70]]),
            Algorithm::Rs256 => {
                der(SEQUENCE, &[&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 0x0b], &[5, 0]])
            }
        };
        let version = match self.version {
            1 => Vec::new(),
            other => der(0xa0, &[&[2, 1, other - 1]]),
        };
        let time = |text: &str| der(0x18, &[text.as_bytes()]);
        let validity = der(SEQUENCE, &[&time(self.from), &time(self.until)]);
        let extensions: Vec<u8> = self.extensions.iter().flat_map(Extension::der).collect();
        let extensions = match self.version {
            3 => der(0xa3, &[&der(SEQUENCE, &[&extensions])]),
            _ => Vec::new(),
        };
        let body = der(
            SEQUENCE,
            &[
                &version,
                &[2, 1, 7],
                &algorithm,
                issuer,
                &validity,
                &self.name(),
                &of.public_info(),
                &extensions,
            ],
        );
        der(SEQUENCE, &[&body, &algorithm, &der(3, &[&[0], &by.sign(&body)])])
    }
}
