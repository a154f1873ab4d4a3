//! Sealing what only an auditor may read: X25519 to the auditor's key, AES-256-GCM under what both sides derive. Whoever
//! seals draws a secret that is used once and kept by nobody, so that the gateway itself cannot open what it sealed.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::hkdf;
use highwater_notation::{decode_array, decode_exact, encode_base64url};

/// The public key of an auditor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuditorKey([u8; 32]);

/// The private key of an auditor.
#[derive(Clone)]
pub struct AuditorSecret([u8; 32]);

/// The version of the form, in front of everything sealed.
const VERSION: u8 = 1;

/// Texts are filled up to a multiple of this: their length says little of them.
const ROOM: usize = 256;

/// What stands in front of an auditor's private key in its file, so that no other key is taken for one.
const SECRET: &str = "highwater-auditor-secret:";

/// A text that was sealed for one place of one receipt.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) receipt: &'a str,
    pub(super) field: &'static str,
}

// === impl AuditorKey ===

impl AuditorKey {
    /// The key of these bytes; `None` for the few with which everybody could open everything.
    pub fn new(bytes: [u8; 32]) -> Option<Self> {
        let key = Self(bytes);
        // Such keys agree with nobody, whatever the other side is.
        key.seal(&[1; 32], Place { receipt: "", field: "" }, "").map(|_| key)
    }

    /// Reads base64url, 43 characters.
    pub fn parse(text: &str) -> Option<Self> {
        Self::new(decode_array(text)?)
    }

    /// Seals a text. `once` is random, used once, and forgotten.
    pub(super) fn seal(&self, once: &[u8; 32], place: Place<'_>, text: &str) -> Option<String> {
        let own = PrivateKey::from_private_key(&X25519, once).ok()?;
        let ours = public(&own)?;
        let key = shared(&own, &self.0, &ours, &self.0, place)?;
        let mut sealed = padded(text);
        key.seal_in_place_append_tag(only_nonce(), Aad::empty(), &mut sealed).ok()?;
        Some(encode_base64url(&[&[VERSION][..], &ours, &sealed].concat()))
    }
}

impl fmt::Display for AuditorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_base64url(&self.0))
    }
}

impl fmt::Debug for AuditorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditorKey({self})")
    }
}

// === impl AuditorSecret ===

impl AuditorSecret {
    /// The key that 32 random bytes make.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads what [`Self::to_text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        decode_array(text.trim().strip_prefix(SECRET)?).map(Self)
    }

    /// Its one line, for a file that nobody else reads.
    pub fn to_text(&self) -> String {
        format!("{SECRET}{}", encode_base64url(&self.0))
    }

    /// The public half, which everybody may have.
    pub fn public(&self) -> Option<AuditorKey> {
        let own = PrivateKey::from_private_key(&X25519, &self.0).ok()?;
        AuditorKey::new(public(&own)?)
    }

    /// Opens what was sealed for this key and this place.
    pub(super) fn open(&self, place: Place<'_>, sealed: &str) -> Option<String> {
        let bytes = decode_exact(sealed)?;
        let (version, rest) = bytes.split_first()?;
        let (theirs, content) = rest.split_first_chunk::<32>()?;
        if *version != VERSION {
            return None;
        }
        let own = PrivateKey::from_private_key(&X25519, &self.0).ok()?;
        let key = shared(&own, theirs, theirs, &public(&own)?, place)?;
        let mut content = content.to_vec();
        let text = key.open_in_place(only_nonce(), Aad::empty(), &mut content).ok()?;
        unpadded(text)
    }
}

impl fmt::Debug for AuditorSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditorSecret(…)")
    }
}

// === keys ===

/// Every key seals one text, so there is no second nonce.
fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn public(own: &PrivateKey) -> Option<[u8; 32]> {
    own.compute_public_key().ok()?.as_ref().try_into().ok()
}

/// The key that two halves make for one place: both public halves and the place are part of it.
fn shared(
    own: &PrivateKey,
    other: &[u8; 32],
    sealer: &[u8; 32],
    auditor: &[u8; 32],
    place: Place<'_>,
) -> Option<LessSafeKey> {
    agree(own, UnparsedPublicKey::new(&X25519, other), (), |secret| {
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, b"highwater sealed receipt 1").extract(secret);
        let info = [&sealer[..], auditor, place.receipt.as_bytes(), b"\0", place.field.as_bytes()];
        let mut key = [0; 32];
        derived.expand(&info, &AES_256_GCM).and_then(|derived| derived.fill(&mut key)).map_err(|_| ())?;
        UnboundKey::new(&AES_256_GCM, &key).map(LessSafeKey::new).map_err(|_| ())
    })
    .ok()
}

// === room ===

fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0x80);
    bytes.resize(bytes.len().next_multiple_of(ROOM), 0);
    bytes
}

fn unpadded(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().rposition(|byte| *byte != 0)?;
    let text = bytes.get(..end).filter(|_| bytes.get(end) == Some(&0x80))?;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place { receipt: "rcp_1", field: "nonce" };

    #[test]
    fn what_was_sealed_opens_with_the_key_at_its_place_and_nowhere_else() {
        let secret = AuditorSecret::new([7; 32]);
        let key = secret.public().unwrap();
        for text in ["", "x", &"ä".repeat(200), &"x".repeat(70_000)] {
            let sealed = key.seal(&[9; 32], PLACE, text).unwrap();
            assert_eq!(secret.open(PLACE, &sealed).as_deref(), Some(text));
            assert!(secret.open(Place { receipt: "rcp_2", ..PLACE }, &sealed).is_none());
            assert!(secret.open(Place { field: "displayText", ..PLACE }, &sealed).is_none());
            assert!(AuditorSecret::new([8; 32]).open(PLACE, &sealed).is_none());
            // Who sealed it cannot open it.
            assert!(AuditorSecret::new([9; 32]).open(PLACE, &sealed).is_none());
        }
    }

    #[test]
    fn no_changed_byte_opens() {
        let secret = AuditorSecret::new([7; 32]);
        let sealed = secret.public().unwrap().seal(&[9; 32], PLACE, "secret").unwrap();
        let bytes = decode_exact(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(secret.open(PLACE, &encode_base64url(&changed)).is_none(), "{at}");
        }
        for cut in 0..bytes.len() {
            assert!(secret.open(PLACE, &encode_base64url(&bytes[..cut])).is_none(), "{cut}");
        }
        assert!(secret.open(PLACE, &format!("{sealed}=")).is_none());
    }

    #[test]
    fn short_texts_have_one_length() {
        let key = AuditorSecret::new([7; 32]).public().unwrap();
        let length = |text: &str| key.seal(&[9; 32], PLACE, text).unwrap().len();
        assert_eq!(length(""), length(&"x".repeat(255)));
        assert_ne!(length(""), length(&"x".repeat(256)));
    }

    #[test]
    fn keys_have_one_spelling_and_some_are_none() {
        let secret = AuditorSecret::new([7; 32]);
        let key = secret.public().unwrap();
        assert_eq!(AuditorKey::parse(&key.to_string()), Some(key));
        assert_eq!(AuditorSecret::parse(&secret.to_text()).unwrap().public(), Some(key));
        assert!(AuditorSecret::parse(&format!("{}\n", secret.to_text())).is_some());
        for none in [
            "",
            "abc",
            &encode_base64url(&[0; 32]),
            &encode_base64url(&[1; 31]),
            &format!("{key}="),
            &secret.to_text(),
        ] {
            assert!(AuditorKey::parse(none).is_none(), "{none}");
        }
        // A public key is no private one.
        assert!(AuditorSecret::parse(&key.to_string()).is_none());
        assert!(!format!("{secret:?}").contains(&encode_base64url(&[7; 32])));
    }
}
