//! Public keys as authenticators give them (COSE), and the three algorithms that are accepted.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

use super::cbor::{self, Item};
use super::fault::Fault;

/// The algorithms, in the order in which they are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSA with PKCS#1 v1.5 and SHA-256.
    Rs256,
}

/// A public key that is known to be usable, with the bytes it came in: they go into receipts.
#[derive(Clone, Debug)]
pub struct PublicKey {
    cose: Box<[u8]>,
    algorithm: Algorithm,
    parsed: ParsedPublicKey,
}

/// How long a modulus may be. The library accepts 1024 bits where it only parses.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

// === impl Algorithm ===

impl Algorithm {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Rs256];

    /// The number that COSE has for it.
    pub const fn cose(self) -> i32 {
        match self {
            Self::Es256 => -7,
            Self::EdDsa => -8,
            Self::Rs256 => -257,
        }
    }

    pub(super) fn of_cose(number: i128) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| i128::from(algorithm.cose()) == number)
    }
}

// === impl PublicKey ===

impl PublicKey {
    /// Reads a key. With attestation `none` nothing else shows that it can be used, so what cannot is refused here.
    pub fn from_cose(cose: &[u8]) -> Result<Self, Fault> {
        let key = cbor::read_all(cose).ok_or(Fault::Malformed("publicKey"))?;
        let number = |label| key.at(label).and_then(Item::whole);
        let bytes = |label| key.at(label).and_then(Item::bytes).ok_or(Fault::Algorithm);
        let algorithm = number(3).and_then(Algorithm::of_cose).ok_or(Fault::Algorithm)?;
        let parsed = match (algorithm, number(1), number(-1)) {
            (Algorithm::Es256, Some(2), Some(1)) => {
                let (x, y) = (bytes(-2)?, bytes(-3)?);
                if x.len() != 32 || y.len() != 32 {
                    return Err(Fault::Algorithm);
                }
                parse(&ECDSA_P256_SHA256_ASN1, &[&[4], x, y].concat())?
            }
            (Algorithm::EdDsa, Some(1), Some(6)) => parse(&ED25519, bytes(-2)?)?,
            (Algorithm::Rs256, Some(3), None) => {
                let (n, e) = (bytes(-1)?, bytes(-2)?);
                // The highest bit of the first byte: 2048 bits are 2048 bits.
                let full = n.first().is_some_and(|first| *first >= 0x80);
                if !RSA_BYTES.contains(&n.len()) || !(full || n.len() > *RSA_BYTES.start()) {
                    return Err(Fault::Algorithm);
                }
                if [n, e].iter().any(|part| part.first().is_none_or(|first| *first == 0)) {
                    return Err(Fault::Algorithm);
                }
                RsaPublicKeyComponents { n, e }
                    .to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256)
                    .map_err(|_| Fault::Algorithm)?
            }
            (Algorithm::Es256 | Algorithm::EdDsa | Algorithm::Rs256, _, _) => return Err(Fault::Algorithm),
        };
        Ok(Self { cose: cose.into(), algorithm, parsed })
    }

    /// The bytes it came in.
    pub fn as_cose(&self) -> &[u8] {
        &self.cose
    }

    /// Its algorithm. It is the key's own; no response ever chooses it.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Whether the signature over this message is of this key.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Fault> {
        self.parsed.verify_sig(message, signature).map_err(|_| Fault::Signature)
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.cose == other.cose
    }
}

impl Eq for PublicKey {}

fn parse(algorithm: &'static dyn VerificationAlgorithm, bytes: &[u8]) -> Result<ParsedPublicKey, Fault> {
    UnparsedPublicKey::new(algorithm, bytes).parse().map_err(|_| Fault::Algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rsa(n: &[u8]) -> Vec<u8> {
        let length = u16::try_from(n.len()).unwrap().to_be_bytes();
        let head = [0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59];
        [&head[..], &length, n, &[0x21, 0x43, 0x01, 0x00, 0x01]].concat()
    }

    fn odd(length: usize, first: u8) -> Vec<u8> {
        let mut n = vec![0xff; length];
        n[0] = first;
        n
    }

    #[test]
    fn only_moduli_of_2048_to_8192_bits_are_keys() {
        assert!(PublicKey::from_cose(&rsa(&odd(256, 0x80))).is_ok());
        assert!(PublicKey::from_cose(&rsa(&odd(257, 0x01))).is_ok());
        for n in [odd(128, 0xff), odd(256, 0x7f), odd(257, 0x00), odd(1025, 0xff)] {
            assert_eq!(PublicKey::from_cose(&rsa(&n)), Err(Fault::Algorithm), "{} bytes", n.len());
        }
    }

    #[test]
    fn a_point_off_the_curve_and_a_short_key_are_no_keys() {
        let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
        let off = [&head[..], &[1; 32], &[0x22, 0x58, 0x20], &[1; 32]].concat();
        assert_eq!(PublicKey::from_cose(&off), Err(Fault::Algorithm));
        let short = [&[0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x41][..], &[1]].concat();
        assert_eq!(PublicKey::from_cose(&short), Err(Fault::Algorithm));
        assert_eq!(PublicKey::from_cose(&[0xa0, 0x00]), Err(Fault::Malformed("publicKey")));
    }
}
