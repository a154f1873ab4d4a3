//! A key to sign manifests with, and its file: a JWK that only its owner can read.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use aws_lc_rs::rand;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_pins::{Envelope, Manifest, ManifestKey, signature_header, signing_input};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// A private key.
pub(super) struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    public: ManifestKey,
}

/// The file's form (RFC 8037).
#[derive(Serialize, Deserialize)]
struct Jwk {
    kty: String,
    crv: String,
    kid: String,
    x: String,
    d: String,
}

// === impl SigningKey ===

impl SigningKey {
    pub(super) fn generate() -> Result<Self, Failure> {
        let mut seed = [0; 32];
        rand::fill(&mut seed).map_err(|_| Failure::failed("the system gives no random numbers"))?;
        Self::of(seed)
    }

    fn of(seed: [u8; 32]) -> Result<Self, Failure> {
        let pair =
            Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| Failure::failed("this is no key"))?;
        let public: [u8; 32] =
            pair.public_key().as_ref().try_into().context("a public key of another length")?;
        Ok(Self { seed, pair, public: ManifestKey::new(public) })
    }

    pub(super) fn public(&self) -> &ManifestKey {
        &self.public
    }

    /// Writes the key to a file that does not exist yet.
    pub(super) fn write(&self, file: &Path) -> Result<(), Failure> {
        let jwk = Jwk {
            kty: "OKP".to_owned(),
            crv: "Ed25519".to_owned(),
            kid: self.public.id(),
            x: self.public.as_text(),
            d: URL_SAFE_NO_PAD.encode(self.seed),
        };
        let text = serde_json::to_string_pretty(&jwk).context("cannot write a key")?;
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
        opened
            .and_then(|mut opened| {
                opened.write_all(format!("{text}\n").as_bytes()).and_then(|()| opened.sync_all())
            })
            .map_err(|error| Failure::failed(format_args!("cannot write `{}`: {error}", file.display())))
    }

    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text = super::read(file)?;
        let wrong = || {
            Failure::usage(format_args!("`{}` is no key to sign with", file.display()))
                .help("make one with `highwater manifest keygen`")
        };
        let jwk: Jwk = serde_json::from_str(&text).map_err(|_| wrong())?;
        let seed =
            URL_SAFE_NO_PAD.decode(&jwk.d).ok().and_then(|seed| seed.try_into().ok()).ok_or_else(wrong)?;
        let key = Self::of(seed)?;
        // A file whose halves do not belong together was damaged, or made to mislead.
        if jwk.kty != "OKP" || jwk.crv != "Ed25519" || key.public.as_text() != jwk.x {
            return Err(wrong());
        }
        Ok(key)
    }

    /// The manifest with its signature, as JSON text.
    pub(super) fn sign(&self, manifest: &Manifest) -> String {
        let header = signature_header(&self.public);
        let signature = self.pair.sign(signing_input(&header, &manifest.to_json().to_string()).as_bytes());
        Envelope::write(manifest, &format!("{header}..{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// What tells one manifest from any other.
pub(super) fn nonce() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).map_err(|_| Failure::failed("the system gives no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
