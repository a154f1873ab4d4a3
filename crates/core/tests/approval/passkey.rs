//! A passkey made of software, which can also do what no passkey does: everything wrong.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use highwater_core::approval::{Algorithm, encode_base64url};
use serde_json::{Value, json};

pub(crate) const RP_ID: &str = "localhost";
pub(crate) const ORIGIN: &str = "http://localhost:7412";

pub(crate) const UP: u8 = 0x01;
pub(crate) const UV: u8 = 0x04;
pub(crate) const BE: u8 = 0x08;
pub(crate) const BS: u8 = 0x10;
pub(crate) const AT: u8 = 0x40;
pub(crate) const ED: u8 = 0x80;

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

/// A credential and its private key.
pub(crate) struct Passkey {
    pub(crate) id: Vec<u8>,
    pub(crate) user_handle: Vec<u8>,
    pub(crate) transports: Vec<&'static str>,
    pair: Pair,
}

/// A ceremony before it is signed. Whoever tests may change anything.
pub(crate) struct Draft {
    pub(crate) r#type: &'static str,
    pub(crate) challenge: Vec<u8>,
    pub(crate) origin: String,
    /// Further members of the client data, each with a comma in front.
    pub(crate) more: String,
    pub(crate) rp_id: String,
    pub(crate) flags: u8,
    pub(crate) counter: u32,
    /// What follows the counter.
    pub(crate) behind: Vec<u8>,
}

fn bytes(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    match u8::try_from(length) {
        Ok(length) if length < 24 => [&[0x40 | length], bytes].concat(),
        Ok(length) => [&[0x58, length], bytes].concat(),
        Err(_) => [&[0x59], &length.to_be_bytes()[..], bytes].concat(),
    }
}

fn text(text: &str) -> Vec<u8> {
    let mut written = bytes(text.as_bytes());
    written[0] |= 0x20;
    written
}

/// What an attestation object consists of, format, statement and authenticator data.
pub(crate) fn attestation_object(format: &str, statement: &[u8], data: &[u8]) -> Vec<u8> {
    [&[0xa3][..], &text("fmt"), &text(format), &text("attStmt"), statement, &text("authData"), &bytes(data)]
        .concat()
}

/// The statement of a key that vouches for itself.
pub(crate) fn self_attestation(algorithm: Algorithm, signature: &[u8]) -> Vec<u8> {
    let alg: Vec<u8> = match algorithm {
        Algorithm::Es256 => vec![0x26],
        Algorithm::EdDsa => vec![0x27],
        Algorithm::Rs256 => vec![0x39, 0x01, 0x00],
    };
    [&[0xa2][..], &text("alg"), &alg, &text("sig"), &bytes(signature)].concat()
}

impl Passkey {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        let pair = match algorithm {
            Algorithm::Es256 => Pair::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap()),
            Algorithm::EdDsa => Pair::EdDsa(Ed25519KeyPair::generate().unwrap()),
            Algorithm::Rs256 => Pair::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()),
        };
        Self { id: vec![0xc0, 0xff, 0xee], user_handle: b"handle".to_vec(), transports: vec!["usb"], pair }
    }

    pub(crate) fn cose(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Es256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                [&[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21][..], &bytes(x), &[0x22], &bytes(y)]
                    .concat()
            }
            Pair::EdDsa(pair) => {
                let x = pair.public_key().as_ref();
                [&[0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21][..], &bytes(x)].concat()
            }
            Pair::Rs256(pair) => {
                // RSAPublicKey in DER: two lengths and a zero in front of the modulus, then the exponent 65537.
                let der = pair.public_key().as_ref();
                let (n, e) = (&der[9..265], &der[267..270]);
                assert_eq!(e, [1, 0, 1]);
                [&[0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20][..], &bytes(n), &[0x21], &bytes(e)]
                    .concat()
            }
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &self.pair {
            Pair::Es256(pair) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Pair::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; 256];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
                signature
            }
        }
    }

    /// Answers a challenge, after `change` had its way with what is signed.
    pub(crate) fn assert(&self, challenge: &[u8], change: impl FnOnce(&mut Draft)) -> Value {
        let mut draft = Draft::new("webauthn.get", challenge);
        draft.counter = 2;
        change(&mut draft);
        let (client, data) = (draft.client_data(), draft.authenticator_data());
        let signature = self.sign(&signed(&client, &data));
        json!({
            "id": encode_base64url(&self.id),
            "rawId": encode_base64url(&self.id),
            "type": "public-key",
            "response": {
                "clientDataJSON": encode_base64url(client.as_bytes()),
                "authenticatorData": encode_base64url(&data),
                "signature": encode_base64url(&signature),
                "userHandle": encode_base64url(&self.user_handle),
            },
            "authenticatorAttachment": "cross-platform",
            "clientExtensionResults": {},
        })
    }

    /// The attested credential data of a registration.
    pub(crate) fn attested(&self) -> Vec<u8> {
        let length = u16::try_from(self.id.len()).unwrap();
        [&[0xaa; 16][..], &length.to_be_bytes(), &self.id, &self.cose()].concat()
    }

    /// Answers the challenge of an enrollment with attestation `none`.
    pub(crate) fn register(&self, challenge: &[u8], change: impl FnOnce(&mut Draft)) -> Value {
        self.register_with(challenge, change, |_, data| attestation_object("none", &[0xa0], data))
    }

    /// Answers it with an attestation of one's own making, from what would be signed and the authenticator data.
    pub(crate) fn register_with(
        &self,
        challenge: &[u8],
        change: impl FnOnce(&mut Draft),
        attest: impl FnOnce(&[u8], &[u8]) -> Vec<u8>,
    ) -> Value {
        let mut draft = Draft::new("webauthn.create", challenge);
        draft.flags |= AT;
        draft.behind = self.attested();
        change(&mut draft);
        let (client, data) = (draft.client_data(), draft.authenticator_data());
        json!({
            "id": encode_base64url(&self.id),
            "rawId": encode_base64url(&self.id),
            "type": "public-key",
            "response": {
                "clientDataJSON": encode_base64url(client.as_bytes()),
                "attestationObject": encode_base64url(&attest(&signed(&client, &data), &data)),
                "transports": self.transports,
            },
            "clientExtensionResults": {},
        })
    }
}

fn signed(client: &str, data: &[u8]) -> Vec<u8> {
    [data, digest(&SHA256, client.as_bytes()).as_ref()].concat()
}

impl Draft {
    fn new(r#type: &'static str, challenge: &[u8]) -> Self {
        Self {
            r#type,
            challenge: challenge.to_vec(),
            origin: ORIGIN.to_owned(),
            more: String::new(),
            rp_id: RP_ID.to_owned(),
            flags: UP | UV,
            counter: 1,
            behind: Vec::new(),
        }
    }

    fn client_data(&self) -> String {
        format!(
            r#"{{"type":"{}","challenge":"{}","origin":"{}","crossOrigin":false{}}}"#,
            self.r#type,
            encode_base64url(&self.challenge),
            self.origin,
            self.more
        )
    }

    fn authenticator_data(&self) -> Vec<u8> {
        let party = digest(&SHA256, self.rp_id.as_bytes());
        [party.as_ref(), &[self.flags], &self.counter.to_be_bytes(), &self.behind].concat()
    }
}
