//! What a browser is given for a ceremony: the options of WebAuthn Level 3, as JSON.

use serde::Serialize;

/// A challenge for one call (section 4 of SEP-2672), or for signing in to the page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChallengeEnvelope {
    /// The challenge, to be named by its answer.
    pub challenge_id: String,
    /// What will be done.
    pub display_text: String,
    /// When it ends.
    pub expires_at: String,
    /// For `navigator.credentials.get`.
    pub request_options: RequestOptions,
}

/// `PublicKeyCredentialRequestOptionsJSON`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOptions {
    /// The bytes to sign.
    pub challenge: String,
    /// Who asks.
    pub rp_id: String,
    /// Always `required`.
    pub user_verification: &'static str,
    /// In milliseconds.
    pub timeout: u64,
    /// The passkeys that may sign.
    pub allow_credentials: Vec<Descriptor>,
}

/// `PublicKeyCredentialCreationOptionsJSON`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationOptions {
    /// Who asks.
    pub rp: RpEntity,
    /// For whom.
    pub user: UserEntity,
    /// The bytes to answer.
    pub challenge: String,
    /// Which keys are accepted.
    pub pub_key_cred_params: Vec<KeyParameter>,
    /// In milliseconds.
    pub timeout: u64,
    /// `direct` where somebody must vouch for the authenticator, else `none`.
    pub attestation: &'static str,
    /// The passkeys that are there already.
    pub exclude_credentials: Vec<Descriptor>,
    /// What is asked of the authenticator.
    pub authenticator_selection: AuthenticatorSelection,
}

/// A credential by its id.
#[derive(Clone, Debug, Serialize)]
pub struct Descriptor {
    /// Always `public-key`.
    pub r#type: &'static str,
    /// Its id, base64url.
    pub id: String,
    /// How it can be reached.
    pub transports: Vec<String>,
}

/// The relying party.
#[derive(Clone, Debug, Serialize)]
pub struct RpEntity {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: &'static str,
}

/// The person.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserEntity {
    /// Random bytes, base64url.
    pub id: String,
    /// Their name here.
    pub name: String,
    /// The same.
    pub display_name: String,
}

/// A kind of key.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KeyParameter {
    /// Always `public-key`.
    pub r#type: &'static str,
    /// The algorithm's number.
    pub alg: i32,
}

/// What is asked of an authenticator.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorSelection {
    /// `preferred`.
    pub resident_key: &'static str,
    /// Always `required`.
    pub user_verification: &'static str,
}
