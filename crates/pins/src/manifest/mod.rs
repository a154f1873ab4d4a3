//! Signed manifests: who a publisher says a server is, and what its definitions are, with their signature (the names of
//! SEP-3140; Ed25519 as a detached JWS over canonical JSON). A signature proves who said it, not that it is true.

mod key;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub use key::ManifestKey;

use super::definition::{PinKey, PinKind};
use highwater_notation::{Json, Text, Timestamp, parse_time, write_time};

/// The only way of signing that is known here.
const ALGORITHM: &str = "EdDSA";

/// The version of the proposal whose names are used.
const SPEC_VERSION: &str = "2026-07-28";

/// How far a publisher's clock may be ahead of ours, in milliseconds.
const SKEW: u64 = 5 * 60 * 1000;

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Whose it is: the address of the server, or the name it gives itself.
    pub server: String,
    /// Who signs, in their own words.
    pub publisher: Option<String>,
    /// From when on it counts.
    pub issued: Timestamp,
    /// Until when.
    pub expires: Timestamp,
    /// What tells it from any other.
    pub nonce: String,
    /// The hash of each definition.
    pub hashes: BTreeMap<PinKey, ContentHash>,
}

/// The SHA-256 of one definition, as `sha256-` and base64url.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentHash(String);

/// A manifest whose signature holds, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedManifest {
    /// What is signed.
    pub manifest: Manifest,
    /// Its canonical text.
    pub text: String,
}

/// A manifest with a signature that nobody has looked at.
#[derive(Clone, Debug)]
pub struct Envelope {
    manifest: Json,
    signature: String,
}

/// Why a manifest does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestFault {
    /// It is not what a manifest looks like.
    Malformed(&'static str),
    /// It is signed in a way that is not known here.
    Algorithm,
    /// No key that was named signed exactly this.
    Signature,
    /// It is another server's.
    OtherServer(String),
    /// It is from the future.
    NotYet(Timestamp),
    /// Its time is over.
    Expired(Timestamp),
    /// A newer one was seen.
    Older {
        /// When this one was issued.
        issued: Timestamp,
        /// When the one that was seen was.
        seen: Timestamp,
    },
    /// Another one was issued at the same moment.
    Twice,
}

// === impl Envelope ===

impl Envelope {
    /// Reads `{"manifest": …, "signature": …}`.
    pub fn parse(text: &str) -> Result<Self, ManifestFault> {
        let json = Json::parse(text).ok_or(ManifestFault::Malformed("it is no JSON"))?;
        let manifest = json.get("manifest").ok_or(ManifestFault::Malformed("`manifest` is missing"))?;
        let signature = json.get("signature").and_then(Json::as_text);
        let signature = signature.ok_or(ManifestFault::Malformed("`signature` is missing"))?;
        Ok(Self { manifest: manifest.clone(), signature: signature.to_owned() })
    }

    /// The text of a manifest with its signature.
    pub fn write(manifest: &Manifest, signature: &str) -> String {
        let members =
            [(Text::new("manifest"), manifest.to_json()), (Text::new("signature"), Json::text(signature))];
        Json::object(members).to_string()
    }

    /// What it says, whoever signed it: for people to look at.
    pub fn unverified(&self) -> Result<Manifest, ManifestFault> {
        Manifest::read(&self.manifest)
    }

    /// What it says, if one of these keys signed exactly this.
    pub fn signed_by(&self, keys: &[ManifestKey]) -> Result<SignedManifest, ManifestFault> {
        let mut parts = self.signature.split('.');
        let (Some(header), Some(""), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(ManifestFault::Malformed("`signature` is no detached JWS"));
        };
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let said = decoded(header).and_then(|bytes| String::from_utf8(bytes).ok());
        let said = said.and_then(|said| Json::parse(&said));
        let said = said.ok_or(ManifestFault::Malformed("the head of `signature` is no JSON"))?;
        // What a verifier must understand and does not, it must refuse (RFC 7515, 4.1.11).
        if said.get("alg").and_then(Json::as_text) != Some(ALGORITHM) || said.get("crit").is_some() {
            return Err(ManifestFault::Algorithm);
        }
        let signature = decoded(signature).ok_or(ManifestFault::Malformed("`signature` is no base64url"))?;
        let text = self.manifest.to_string();
        let signed = signing_input(header, &text);
        if !keys.iter().any(|key| key.verifies(signed.as_bytes(), &signature)) {
            return Err(ManifestFault::Signature);
        }
        Ok(SignedManifest { manifest: Manifest::read(&self.manifest)?, text })
    }
}

/// The head of a signature by this key, encoded.
pub fn signature_header(key: &ManifestKey) -> String {
    let members = [(Text::new("alg"), Json::text(ALGORITHM)), (Text::new("kid"), Json::text(&key.id()))];
    URL_SAFE_NO_PAD.encode(Json::object(members).to_string())
}

/// What is signed: the head and the manifest's canonical text, both encoded.
pub fn signing_input(header: &str, manifest: &str) -> String {
    format!("{header}.{}", URL_SAFE_NO_PAD.encode(manifest))
}

// === impl SignedManifest ===

impl SignedManifest {
    /// Whether it counts for this server, now, after the one that counted last. `servers` are the names under which the
    /// server may be meant.
    pub fn counts(
        &self,
        servers: &[&str],
        now: Timestamp,
        last: Option<&SignedManifest>,
    ) -> Result<(), ManifestFault> {
        let Manifest { server, issued, expires, .. } = &self.manifest;
        let same = |known: &&str| known.trim_end_matches('/') == server.trim_end_matches('/');
        if !servers.iter().any(same) {
            return Err(ManifestFault::OtherServer(server.clone()));
        }
        if issued.0 > now.0.saturating_add(SKEW) {
            return Err(ManifestFault::NotYet(*issued));
        }
        if *expires <= now {
            return Err(ManifestFault::Expired(*expires));
        }
        match last {
            Some(last) if last.manifest.issued > *issued => {
                Err(ManifestFault::Older { issued: *issued, seen: last.manifest.issued })
            }
            Some(last) if last.manifest.issued == *issued && last.text != self.text => {
                Err(ManifestFault::Twice)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// One that counted before, from the text that was kept of it.
    pub fn read_back(text: &str) -> Option<Self> {
        let json = Json::parse(text)?;
        Some(Self { manifest: Manifest::read(&json).ok()?, text: text.to_owned() })
    }
}

// === impl Manifest ===

impl Manifest {
    /// As JSON, under the names of the proposal.
    pub fn to_json(&self) -> Json {
        let list = |kind: PinKind, named: &str| {
            let of_kind = self.hashes.iter().filter(move |(key, _)| key.kind == kind);
            let entry = |(key, hash): (&PinKey, &ContentHash)| {
                Json::object([
                    (Text::new(named), Json::text(&key.name)),
                    (Text::new("contentHash"), Json::text(hash.as_str())),
                ])
            };
            Json::Array(of_kind.map(entry).collect())
        };
        let mut members = vec![
            (Text::new("server"), Json::text(&self.server)),
            (Text::new("specVersion"), Json::text(SPEC_VERSION)),
            (Text::new("issuedAt"), Json::text(&write_time(self.issued))),
            (Text::new("expiresAt"), Json::text(&write_time(self.expires))),
            (Text::new("nonce"), Json::text(&self.nonce)),
            (Text::new("tools"), list(PinKind::Tool, "name")),
            (Text::new("prompts"), list(PinKind::Prompt, "name")),
            (Text::new("resources"), list(PinKind::Template, "uriTemplate")),
        ];
        members.extend(self.publisher.iter().map(|it| (Text::new("publisher"), Json::text(it))));
        let instructions = self.hashes.get(&PinKey::instructions());
        members.extend(instructions.map(|it| (Text::new("instructions"), Json::text(it.as_str()))));
        Json::object(members)
    }

    fn read(json: &Json) -> Result<Self, ManifestFault> {
        let text = |key: &'static str, missing: &'static str| {
            json.get(key).and_then(Json::as_text).map(str::to_owned).ok_or(ManifestFault::Malformed(missing))
        };
        let time = |key, missing, wrong: &'static str| {
            parse_time(&text(key, missing)?).ok_or(ManifestFault::Malformed(wrong))
        };
        let mut hashes = BTreeMap::new();
        for (list, kind, named) in [
            ("tools", PinKind::Tool, "name"),
            ("prompts", PinKind::Prompt, "name"),
            ("resources", PinKind::Template, "uriTemplate"),
        ] {
            let entries = match json.get(list) {
                None => continue,
                Some(Json::Array(entries)) => entries,
                Some(_) => return Err(ManifestFault::Malformed("one of its lists is no list")),
            };
            for entry in entries {
                let name = entry.get(named).and_then(Json::as_text);
                let hash = entry.get("contentHash").and_then(Json::as_text);
                let (Some(name), Some(hash)) = (name, hash) else {
                    return Err(ManifestFault::Malformed("an entry lacks its name or its `contentHash`"));
                };
                // Two hashes for one name would leave it open which is meant.
                if hashes.insert(PinKey::new(kind, name), ContentHash(hash.to_owned())).is_some() {
                    return Err(ManifestFault::Malformed("a name is listed twice"));
                }
            }
        }
        if let Some(hash) = json.get("instructions").and_then(Json::as_text) {
            hashes.insert(PinKey::instructions(), ContentHash(hash.to_owned()));
        }
        Ok(Self {
            server: text("server", "`server` is missing")?,
            publisher: json.get("publisher").and_then(Json::as_text).map(str::to_owned),
            issued: time("issuedAt", "`issuedAt` is missing", "`issuedAt` is no time")?,
            expires: time("expiresAt", "`expiresAt` is missing", "`expiresAt` is no time")?,
            nonce: text("nonce", "`nonce` is missing")?,
            hashes,
        })
    }

    /// Whether it says something of this kind at all.
    pub fn covers(&self, key: &PinKey) -> bool {
        self.hashes.contains_key(key)
    }
}

// === impl ContentHash ===

impl ContentHash {
    /// The hash of a definition as its server lists it, without the hash that may stand in it.
    pub fn of(item: &str) -> Option<Self> {
        let text = match Json::parse(item)? {
            Json::Object(members) => {
                let rest = members.into_iter().filter(|(key, _)| key.plain() != "contentHash");
                Json::object(rest).to_string()
            }
            other => other.to_string(),
        };
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
        Some(Self(format!("sha256-{}", URL_SAFE_NO_PAD.encode(digest))))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ManifestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "it is no manifest: {why}"),
            Self::Algorithm => f.write_str("it is signed in a way that is not known here"),
            Self::Signature => f.write_str("no key that is named for it signed exactly this"),
            Self::OtherServer(server) => write!(f, "it is the manifest of another server, `{server}`"),
            Self::NotYet(issued) => write!(f, "it counts only from {} on", write_time(*issued)),
            Self::Expired(expires) => write!(f, "it expired at {}", write_time(*expires)),
            Self::Older { issued, seen } => write!(
                f,
                "it was issued at {}, and one of {} was seen: an older one is shown again",
                write_time(*issued),
                write_time(*seen)
            ),
            Self::Twice => f.write_str("another one was issued at the same moment"),
        }
    }
}

impl std::error::Error for ManifestFault {}

#[cfg(test)]
mod tests;
