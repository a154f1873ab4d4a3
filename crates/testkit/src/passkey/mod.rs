//! A passkey made of software, which can also do what no passkey does: everything wrong.
//!
//! [`Passkey::create`] and [`Passkey::get`] answer options as a browser would. [`Passkey::register`] and
//! [`Passkey::assert`] answer a bare challenge, after the test had its way with what is signed.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod cbor;
mod certificate;
mod pair;

pub use certificate::{Batch, COUNTRY, CertificateDraft, Certified, Extension, NAME, UNIT, VENDOR, der, pem};

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use aws_lc_rs::signature::KeyPair as _;
use highwater_notation::{decode_base64url, encode_base64url};
use highwater_passkey::Algorithm;
use serde_json::{Value, json};

use cbor::{bytes, text};
use pair::Pair;

/// The relying party unless a test says otherwise.
pub const RP_ID: &str = "localhost";
/// The origin of the page unless a test says otherwise.
pub const ORIGIN: &str = "http://localhost:7412";

/// A person was there.
pub const UP: u8 = 0x01;
/// The authenticator knows who.
pub const UV: u8 = 0x04;
/// The key may be copied to other devices.
pub const BE: u8 = 0x08;
/// It was.
pub const BS: u8 = 0x10;
/// Attested credential data follows.
pub const AT: u8 = 0x40;
/// Extensions follow.
pub const ED: u8 = 0x80;

/// A credential and its private key.
pub struct Passkey {
    /// The id of the credential.
    pub id: Vec<u8>,
    /// Whose it is, as the relying party said at enrollment.
    pub user_handle: Vec<u8>,
    /// What the client names as its transports.
    pub transports: Vec<&'static str>,
    /// The relying party it was made for.
    pub rp_id: String,
    /// The page on which it is used.
    pub origin: String,
    /// Flags beyond the person's presence and verification, such as [`BE`].
    pub flags: u8,
    /// The make of the authenticator it is in.
    pub aaguid: [u8; 16],
    /// Who vouches for that authenticator to whoever asks.
    pub batch: Option<Arc<Batch>>,
    counter: AtomicU32,
    pair: Pair,
}

/// A ceremony before it is signed. Whoever tests may change anything.
pub struct Draft {
    /// `webauthn.create` or `webauthn.get`.
    pub r#type: &'static str,
    /// What is answered.
    pub challenge: Vec<u8>,
    /// The page that asked, according to the browser.
    pub origin: String,
    /// Further members of the client data, each with a comma in front.
    pub more: String,
    /// Whose hash the authenticator data begins with.
    pub rp_id: String,
    /// The flags of the authenticator data.
    pub flags: u8,
    /// How often the credential was used.
    pub counter: u32,
    /// What follows the counter.
    pub behind: Vec<u8>,
}

/// What an attestation object consists of, format, statement and authenticator data.
pub fn attestation_object(format: &str, statement: &[u8], data: &[u8]) -> Vec<u8> {
    [&[0xa3][..], &text("fmt"), &text(format), &text("attStmt"), statement, &text("authData"), &bytes(data)]
        .concat()
}

/// The statement of a key that vouches for itself.
pub fn self_attestation(algorithm: Algorithm, signature: &[u8]) -> Vec<u8> {
    [&[0xa2][..], &text("alg"), &number_of(algorithm), &text("sig"), &bytes(signature)].concat()
}

/// The statement of somebody whose certificates are shown.
pub fn packed_attestation(algorithm: Algorithm, signature: &[u8], chain: &[&[u8]]) -> Vec<u8> {
    let count = 0x80 | u8::try_from(chain.len()).unwrap();
    let chain: Vec<u8> = chain.iter().flat_map(|der| bytes(der)).collect();
    let vouching = self_attestation(algorithm, signature);
    [&[0xa3], &vouching[1..], &text("x5c"), &[count], &chain].concat()
}

fn number_of(algorithm: Algorithm) -> Vec<u8> {
    match algorithm {
        Algorithm::Es256 => vec![0x26],
        Algorithm::EdDsa => vec![0x27],
        Algorithm::Rs256 => vec![0x39, 0x01, 0x00],
    }
}

// === impl Passkey ===

impl Passkey {
    /// One whose id is always the same, for the usual relying party.
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            id: vec![0xc0, 0xff, 0xee],
            user_handle: b"handle".to_vec(),
            transports: vec!["usb"],
            rp_id: RP_ID.to_owned(),
            origin: ORIGIN.to_owned(),
            flags: UP | UV,
            aaguid: [0xaa; 16],
            batch: None,
            counter: AtomicU32::new(1),
            pair: Pair::new(algorithm),
        }
    }

    /// One with an id of its own, which is used on this page.
    pub fn fresh(algorithm: Algorithm, origin: &str) -> Self {
        let mut id = vec![0; 32];
        SystemRandom::new().fill(&mut id).unwrap();
        Self { id, origin: origin.to_owned(), ..Self::new(algorithm) }
    }

    /// Sets how often it was used, as a copy made earlier would have it.
    pub fn set_counter(&self, counter: u32) {
        self.counter.store(counter, Ordering::Relaxed);
    }

    /// Answers creation options as they are on the wire, unless it is enrolled already.
    pub fn create(&mut self, options: &Value) -> Option<Value> {
        let ids = &options["excludeCredentials"];
        if self.is_named(ids) {
            return None;
        }
        self.user_handle = decoded(&options["user"]["id"]);
        options["rp"]["id"].as_str()?.clone_into(&mut self.rp_id);
        let challenge = decoded(&options["challenge"]);
        Some(match &self.batch {
            Some(batch) if options["attestation"] == "direct" => self.register_from(batch, &challenge),
            _ => self.register(&challenge, |_| ()),
        })
    }

    /// Answers request options as they are on the wire, if they name this credential or none at all.
    pub fn get(&self, options: &Value) -> Option<Value> {
        let ids = &options["allowCredentials"];
        let any = ids.as_array().is_none_or(Vec::is_empty);
        (any || self.is_named(ids)).then(|| self.assert(&decoded(&options["challenge"]), |_| ()))
    }

    fn is_named(&self, credentials: &Value) -> bool {
        let id = encode_base64url(&self.id);
        credentials.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == *id))
    }

    fn draft(&self, r#type: &'static str, challenge: &[u8], counter: u32) -> Draft {
        Draft {
            r#type,
            challenge: challenge.to_vec(),
            origin: self.origin.clone(),
            more: String::new(),
            rp_id: self.rp_id.clone(),
            flags: self.flags,
            counter,
            behind: Vec::new(),
        }
    }

    /// The public key as authenticators write it.
    pub fn cose(&self) -> Vec<u8> {
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

    /// Signs whatever it is given.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message)
    }

    /// Answers a challenge, after `change` had its way with what is signed.
    pub fn assert(&self, challenge: &[u8], change: impl FnOnce(&mut Draft)) -> Value {
        let counter = self.counter.fetch_add(1, Ordering::Relaxed) + 1;
        let mut draft = self.draft("webauthn.get", challenge, counter);
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
    pub fn attested(&self) -> Vec<u8> {
        let length = u16::try_from(self.id.len()).unwrap();
        [&self.aaguid[..], &length.to_be_bytes(), &self.id, &self.cose()].concat()
    }

    /// Answers the challenge of an enrollment with attestation `none`.
    pub fn register(&self, challenge: &[u8], change: impl FnOnce(&mut Draft)) -> Value {
        self.register_with(challenge, change, |_, data| attestation_object("none", &[0xa0], data))
    }

    /// Answers it as an authenticator of a batch that somebody vouches for.
    pub fn register_from(&self, batch: &Batch, challenge: &[u8]) -> Value {
        self.register_with(
            challenge,
            |_| (),
            |signed, data| attestation_object("packed", &batch.statement(&batch.leaf.sign(signed)), data),
        )
    }

    /// Answers it with an attestation of one's own making, from what would be signed and the authenticator data.
    pub fn register_with(
        &self,
        challenge: &[u8],
        change: impl FnOnce(&mut Draft),
        attest: impl FnOnce(&[u8], &[u8]) -> Vec<u8>,
    ) -> Value {
        let counter = self.counter.load(Ordering::Relaxed);
        let mut draft = self.draft("webauthn.create", challenge, counter);
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

fn decoded(text: &Value) -> Vec<u8> {
    decode_base64url(text.as_str().unwrap()).unwrap()
}

fn signed(client: &str, data: &[u8]) -> Vec<u8> {
    [data, digest(&SHA256, client.as_bytes()).as_ref()].concat()
}

// === impl Draft ===

impl Draft {
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
