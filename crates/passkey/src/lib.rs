//! Passkeys: what an authenticator signed, over which action, on which page, under which key; and who vouches for the
//! authenticator.
//!
//! It lies below the judgement and knows of no person, no call and no policy. It says whether a signature holds; what
//! may rest on it the core decides, which takes [`Assertion`] and [`Registration`] and asks its other checks itself.
//!
//! Rules are cited by their numbers: S for the server's in SEP-2672, G for rulings where the text is silent.

mod assertion;
mod attestation;
mod authenticator_data;
mod authenticators;
mod cbor;
mod certificate;
pub mod client_data;
mod cose;
mod credential_id;
mod der;
mod fault;
mod registration;
mod relying_party;
mod response;
mod signed;
mod transports;
mod trust;

pub use assertion::{Assertion, Enrolled, verify_assertion};
pub use attestation::{AttestationDemand, attested_by};
pub use authenticator_data::{Attested, AuthenticatorData};
pub use authenticators::{Aaguid, AuthenticatorList, AuthenticatorMake, NoRoot, RootCertificate};
pub use cose::{Algorithm, PublicKey};
pub use credential_id::CredentialId;
pub use fault::Fault;
pub use registration::{Registration, verify_registration, verify_stored_attestation};
pub use relying_party::RelyingParty;
pub use response::object;
pub use signed::{ActionHash, Nonce, ReservedAction, ServerId, ToolName, Unnameable, WireChallenge};
pub use transports::Transports;
pub use trust::Unattested;
