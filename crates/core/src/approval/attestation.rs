//! What an authenticator says of the key it made. None is asked for; a key that vouches for itself is checked (G8).

use super::cbor::Item;
use super::cose::{Algorithm, PublicKey};
use super::fault::Fault;

/// Checks the statement of an attestation. `signed` is what it would be over.
pub(super) fn check(format: &str, statement: &Item<'_>, key: &PublicKey, signed: &[u8]) -> Result<(), Fault> {
    let Item::Map(members) = statement else { return Err(Fault::Malformed("attStmt")) };
    match format {
        "none" if members.is_empty() => Ok(()),
        // With a chain of certificates it would be somebody else's word, and nobody here knows whose.
        "packed" if statement.named("x5c").is_none() && statement.named("ecdaaKeyId").is_none() => {
            let algorithm = statement.named("alg").and_then(Item::whole).and_then(Algorithm::of_cose);
            let signature = statement.named("sig").and_then(Item::bytes).ok_or(Fault::Attestation)?;
            if algorithm != Some(key.algorithm()) {
                return Err(Fault::Attestation);
            }
            key.verify(signed, signature).map_err(|_| Fault::Attestation)
        }
        _ => Err(Fault::Attestation),
    }
}
