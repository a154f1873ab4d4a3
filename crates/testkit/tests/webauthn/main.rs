//! Foreign opinions on passkeys and canonical JSON: what we make is judged by `@simplewebauthn/server`, what the crate
//! `passkey` makes is judged by us and by it, and where something is wrong all refuse.
//!
//! `cargo xtask test --only webauthn` installs the foreign parts first.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod canonical;
mod judge;
mod ours;
mod theirs;

use highwater_core::approval::{Credential, CredentialStanding};
use highwater_core::id::UserId;
use highwater_passkey::{
    Assertion, AttestationDemand, CredentialId, Fault, PublicKey, Registration, RelyingParty, ServerId,
    Transports, verify_assertion, verify_registration,
};
use highwater_testkit::passkey::{ORIGIN, RP_ID};
use serde_json::Value;

/// The 64 bytes that we ask for: a nonce and a hash.
fn challenge(of: u8) -> Vec<u8> {
    [[of; 32], [!of; 32]].concat()
}

fn party() -> RelyingParty {
    RelyingParty::new(RP_ID, [ORIGIN], ServerId::new("3f1c1f2e-9d0a-4d53-8a6e-6f0f6b7e0001").unwrap())
}

/// Our word on a registration.
fn registration(response: &Value, challenge: &[u8]) -> Result<Registration, Fault> {
    verify_registration(&response.to_string(), challenge, &party(), AttestationDemand::Nothing)
}

/// The credential that came of a registration.
fn enrolled(registration: &Registration, user_handle: &[u8]) -> Credential {
    Credential {
        id: CredentialId::new(registration.id.as_bytes().to_vec()).unwrap(),
        user: UserId::new("ada"),
        user_handle: user_handle.into(),
        key: PublicKey::from_cose(registration.key.as_cose()).unwrap(),
        counter: registration.counter,
        transports: Transports::new(vec!["usb".to_owned()]).unwrap(),
        backup_eligible: registration.backup_eligible,
        standing: CredentialStanding::Active,
    }
}

/// Our word on an assertion.
fn assertion(response: &Value, challenge: &[u8], credential: &Credential) -> Result<Assertion, Fault> {
    verify_assertion(&response.to_string(), challenge, credential.enrolled(), &party())
}
