//! Virtual authenticators: security keys, platform keys and phones that exist in the browser alone.

use anyhow::Context;
use serde_json::{Value, json};

use super::Browser;

/// What kind of authenticator a browser is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticator {
    transport: &'static str,
    synced: bool,
    resident: bool,
}

/// An authenticator that a browser has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatorId(String);

// === impl Authenticator ===

impl Authenticator {
    /// A security key.
    pub fn usb() -> Self {
        Self { transport: "usb", synced: false, resident: true }
    }

    /// One that is built into the machine.
    pub fn internal() -> Self {
        Self { transport: "internal", synced: false, resident: true }
    }

    /// A phone, whose passkeys are copied to other devices.
    pub fn hybrid() -> Self {
        Self { transport: "hybrid", synced: true, resident: true }
    }

    fn options(&self) -> Value {
        json!({
            "protocol": "ctap2",
            "transport": self.transport,
            "hasResidentKey": self.resident,
            "hasUserVerification": true,
            "isUserConsenting": true,
            "isUserVerified": true,
            "defaultBackupEligibility": self.synced,
            "defaultBackupState": self.synced,
        })
    }
}

// === impl Browser ===

impl Browser {
    /// Plugs one in.
    pub async fn add(&self, authenticator: &Authenticator) -> anyhow::Result<AuthenticatorId> {
        let id = self.driver.post("webauthn/authenticator", &authenticator.options()).await?;
        Ok(AuthenticatorId(id.as_str().context("the browser names no authenticator")?.to_owned()))
    }

    /// Unplugs it.
    pub async fn remove(&self, id: &AuthenticatorId) -> anyhow::Result<()> {
        self.driver.delete(&format!("webauthn/authenticator/{}", id.0)).await.map(|_| ())
    }

    /// Whether the person can show that it is them.
    pub async fn verify_user(&self, id: &AuthenticatorId, verified: bool) -> anyhow::Result<()> {
        let body = json!({ "isUserVerified": verified });
        self.driver.post(&format!("webauthn/authenticator/{}/uv", id.0), &body).await.map(|_| ())
    }

    /// The passkeys that are on it, with their private keys.
    pub async fn credentials(&self, id: &AuthenticatorId) -> anyhow::Result<Vec<Value>> {
        match self.driver.get(&format!("webauthn/authenticator/{}/credentials", id.0)).await? {
            Value::Array(credentials) => Ok(credentials),
            other => anyhow::bail!("these are no credentials: {other}"),
        }
    }

    /// Puts a passkey on it, such as one that was read from another and changed.
    pub async fn put_credential(&self, id: &AuthenticatorId, credential: &Value) -> anyhow::Result<()> {
        let path = format!("webauthn/authenticator/{}/credential", id.0);
        self.driver.post(&path, credential).await.map(|_| ())
    }

    /// Takes a passkey off it.
    pub async fn take_credential(&self, id: &AuthenticatorId, credential: &str) -> anyhow::Result<()> {
        let path = format!("webauthn/authenticator/{}/credentials/{credential}", id.0);
        self.driver.delete(&path).await.map(|_| ())
    }
}
