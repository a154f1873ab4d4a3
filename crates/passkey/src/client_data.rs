//! What the browser says of the ceremony, in its own bytes: of which kind, over which challenge, on which page.

use aws_lc_rs::digest::{SHA256, digest};
use highwater_notation::decode_base64url;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::fault::Fault;
use super::relying_party::RelyingParty;

/// The longest `clientDataJSON`.
pub(super) const MAX_CLIENT_DATA: usize = 8 * 1024;

/// Which ceremony.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceremony {
    /// A credential is made.
    Create,
    /// A credential signs.
    Get,
}

/// What is read of it. Browsers add keys at random so that nobody compares against a template; they are passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    #[serde(default, deserialize_with = "present")]
    top_origin: bool,
}

/// Whatever the value is, the key is there.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(from).map(|_| true)
}

/// Checks the bytes against what was asked, and returns the origin and the hash that is part of what is signed.
pub fn check(
    bytes: &[u8],
    ceremony: Ceremony,
    challenge: &[u8],
    party: &RelyingParty,
) -> Result<(String, [u8; 32]), Fault> {
    let malformed = Fault::Malformed("clientDataJSON");
    if bytes.len() > MAX_CLIENT_DATA || bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(malformed);
    }
    let shape: Shape = serde_json::from_slice(bytes).map_err(|_| malformed)?;
    let expected = match ceremony {
        Ceremony::Create => "webauthn.create",
        Ceremony::Get => "webauthn.get",
    };
    if shape.r#type != expected {
        return Err(Fault::Type);
    }
    if decode_base64url(&shape.challenge).as_deref() != Some(challenge) {
        return Err(Fault::Challenge);
    }
    if !party.knows_origin(&shape.origin) {
        return Err(Fault::Origin);
    }
    if shape.cross_origin || shape.top_origin {
        return Err(Fault::CrossOrigin);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    Ok((shape.origin, hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signed::ServerId;

    fn judged(text: &str) -> Result<(), Fault> {
        let party = RelyingParty::new("localhost", ["http://localhost:7412"], ServerId::new("s").unwrap());
        check(text.as_bytes(), Ceremony::Get, b"\x01\x02", &party).map(|_| ())
    }

    fn with(more: &str) -> String {
        format!(r#"{{"type":"webauthn.get","challenge":"AQI","origin":"http://localhost:7412"{more}}}"#)
    }

    #[test]
    fn g03_kind_challenge_and_page_are_those_that_were_asked() {
        assert_eq!(judged(&with("")), Ok(()));
        assert_eq!(judged(&with(r#","crossOrigin":false,"other_keys_can_be_added_here":[{}]"#)), Ok(()));
        assert_eq!(judged(&with("").replace("AQI", "AQI=")), Ok(()));
        for (text, fault) in [
            (with("").replace("webauthn.get", "webauthn.create"), Fault::Type),
            (with("").replace("AQI", "AQM"), Fault::Challenge),
            (with("").replace("AQI", "AQID"), Fault::Challenge),
            (with("").replace(":7412", ":7413"), Fault::Origin),
            (with("").replace(":7412", ""), Fault::Origin),
            (with("").replace("http:", "https:"), Fault::Origin),
            (with("").replace(":7412", ":7412/"), Fault::Origin),
            (with(r#","crossOrigin":true"#), Fault::CrossOrigin),
            (with(r#","topOrigin":"http://localhost:7412""#), Fault::CrossOrigin),
            (with(r#","topOrigin":null"#), Fault::CrossOrigin),
            (with(r#","crossOrigin":null"#), Fault::Malformed("clientDataJSON")),
            (with(r#","type":"webauthn.get""#), Fault::Malformed("clientDataJSON")),
            (with("") + " x", Fault::Malformed("clientDataJSON")),
            (
                r#"["webauthn.get","AQI","http://localhost:7412"]"#.to_owned(),
                Fault::Malformed("clientDataJSON"),
            ),
            (
                with(&format!(",\"x\":\"{}\"", "x".repeat(MAX_CLIENT_DATA))),
                Fault::Malformed("clientDataJSON"),
            ),
        ] {
            assert_eq!(judged(&text), Err(fault), "{text}");
        }
    }
}
