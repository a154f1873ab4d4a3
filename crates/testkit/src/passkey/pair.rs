//! Pairs of keys of every kind that authenticators have.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use highwater_passkey::Algorithm;

pub(super) enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

// === impl Pair ===

impl Pair {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Es256 => Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap()),
            Algorithm::EdDsa => Self::EdDsa(Ed25519KeyPair::generate().unwrap()),
            Algorithm::Rs256 => Self::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()),
        }
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Es256(_) => Algorithm::Es256,
            Self::EdDsa(_) => Algorithm::EdDsa,
            Self::Rs256(_) => Algorithm::Rs256,
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Es256(pair) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; 256];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
                signature
            }
        }
    }

    /// The public half as certificates hold it.
    pub(super) fn public_info(&self) -> Vec<u8> {
        let der = |key: &dyn AsDer<PublicKeyX509Der<'static>>| key.as_der().unwrap().as_ref().to_vec();
        match self {
            Self::Es256(pair) => der(pair.public_key()),
            Self::EdDsa(pair) => der(pair.public_key()),
            Self::Rs256(pair) => der(pair.public_key()),
        }
    }
}
