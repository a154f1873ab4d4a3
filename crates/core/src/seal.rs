//! Seals what is handed to clients and taken back later: request states, task ids, and executions that their servers left
//! open. What does not open was not made here, and is never acted on.
//!
//! It is a function of its key and of what is sealed, since there is no randomness here: the nonce is a keyed digest of
//! the purpose and the content. AES-256-GCM-SIV stays safe even if two of them should ever share one.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{hkdf, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What the sealed text is for. It stands in front of the text and is part of what is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A `requestState`.
    RequestState,
    /// A task id.
    TaskId,
    /// An approved execution that its server left open. Never seen by itself: it travels inside a `requestState`.
    Round,
}

/// The keys.
pub struct Seal {
    sealing: LessSafeKey,
    nonces: hmac::Key,
}

// === impl Purpose ===

impl Purpose {
    /// What a sealed text begins with. No prefix is the beginning of another, so a digest over prefix and content is of
    /// no other two.
    fn prefix(self) -> &'static str {
        match self {
            Self::RequestState => "hw2.",
            Self::TaskId => "hwt2.",
            Self::Round => "hwr2.",
        }
    }

    /// What it began with in the form before this one, which is not opened any more.
    fn former_prefix(self) -> &'static str {
        match self {
            Self::RequestState => "hw1.",
            Self::TaskId => "hwt1.",
            Self::Round => "hwr1.",
        }
    }

    /// Whether a text claims to be ours. One of a former form does, so that it is refused and reaches no server.
    pub fn claims(self, text: &str) -> bool {
        text.starts_with(self.prefix()) || text.starts_with(self.former_prefix())
    }
}

// === impl Seal ===

impl Seal {
    /// Derives the keys from one that is kept.
    pub fn new(key: &[u8; 32]) -> Option<Self> {
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, b"highwater").extract(key);
        // Each cipher has keys of its own.
        let mut sealing = [0; 32];
        derived.expand(&[b"seal 2"], &AES_256_GCM_SIV).ok()?.fill(&mut sealing).ok()?;
        let mut nonces = [0; 32];
        derived.expand(&[b"nonce 2"], hkdf::HKDF_SHA256).ok()?.fill(&mut nonces).ok()?;
        Some(Self {
            sealing: LessSafeKey::new(UnboundKey::new(&AES_256_GCM_SIV, &sealing).ok()?),
            nonces: hmac::Key::new(hmac::HMAC_SHA256, &nonces),
        })
    }

    /// Seals a value. The same value for the same purpose gives the same text, so that a task keeps its id.
    pub fn close(&self, purpose: Purpose, value: &impl Serialize) -> Option<String> {
        let mut content = serde_json::to_vec(value).ok()?;
        let mut digest = hmac::Context::with_key(&self.nonces);
        digest.update(purpose.prefix().as_bytes());
        digest.update(&content);
        let digest = digest.sign();
        let nonce = digest.as_ref().get(..NONCE_LEN)?;
        let mut sealed = nonce.to_vec();
        let aad = Aad::from(purpose.prefix().as_bytes());
        self.sealing
            .seal_in_place_append_tag(Nonce::try_assume_unique_for_key(nonce).ok()?, aad, &mut content)
            .ok()?;
        sealed.append(&mut content);
        Some(format!("{}{}", purpose.prefix(), URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// Opens a sealed text.
    pub fn open<T: DeserializeOwned>(&self, purpose: Purpose, text: &str) -> Option<T> {
        let mut sealed = URL_SAFE_NO_PAD.decode(text.strip_prefix(purpose.prefix())?).ok()?;
        let (nonce, content) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened =
            self.sealing.open_in_place(nonce, Aad::from(purpose.prefix().as_bytes()), content).ok()?;
        // Our own writing, authenticated a line above.
        serde_json::from_slice(opened).ok()
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_closed_opens_and_nothing_else_does() {
        let seal = Seal::new(&[7; 32]).unwrap();
        let text = seal.close(Purpose::TaskId, &("mail", "t1")).unwrap();
        assert_eq!(seal.close(Purpose::TaskId, &("mail", "t1")).unwrap(), text);
        assert_eq!(seal.open::<(String, String)>(Purpose::TaskId, &text), Some(("mail".into(), "t1".into())));
        assert_eq!(seal.open::<(String, String)>(Purpose::RequestState, &text), None);
        let mut forged = text.clone();
        let last = if forged.ends_with('A') { 'B' } else { 'A' };
        forged.pop();
        forged.push(last);
        assert_eq!(seal.open::<(String, String)>(Purpose::TaskId, &forged), None);
        assert_eq!(Seal::new(&[8; 32]).unwrap().open::<(String, String)>(Purpose::TaskId, &text), None);
    }

    const ALL: [Purpose; 3] = [Purpose::RequestState, Purpose::TaskId, Purpose::Round];

    /// Nonce, ciphertext and tag.
    fn parts(purpose: Purpose, text: &str) -> (Vec<u8>, Vec<u8>) {
        let mut bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(purpose.prefix()).unwrap()).unwrap();
        let rest = bytes.split_off(NONCE_LEN);
        (bytes, rest)
    }

    #[test]
    fn one_content_for_two_purposes_shares_neither_nonce_nor_ciphertext() {
        let seal = Seal::new(&[7; 32]).unwrap();
        for one in ALL {
            for other in ALL.into_iter().filter(|other| *other != one) {
                let closed = |purpose| parts(purpose, &seal.close(purpose, &"the same").unwrap());
                let ((nonce, rest), (another, different)) = (closed(one), closed(other));
                assert_ne!(nonce, another, "{one:?} {other:?}");
                assert!(rest.iter().zip(&different).filter(|(a, b)| a == b).count() < rest.len() / 2);
                assert!(!other.prefix().starts_with(one.prefix()), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_text_of_a_former_form_claims_to_be_ours_and_opens_nothing() {
        let seal = Seal::new(&[7; 32]).unwrap();
        // `("mail", "t1")`, sealed with the same key in the form before this one.
        let text = "hwt1.y_CuSOayfDxisLILGPQKOUFDqxfr936HiBJxFYPRqK_hVj-bP41-BZ4";
        assert!(Purpose::TaskId.claims(text));
        assert_eq!(seal.open::<(String, String)>(Purpose::TaskId, text), None);
        let renamed = text.replace("hwt1.", "hwt2.");
        assert_eq!(seal.open::<(String, String)>(Purpose::TaskId, &renamed), None);
        assert!(!Purpose::RequestState.claims(text) && !Purpose::TaskId.claims("task-1"));
    }
}
