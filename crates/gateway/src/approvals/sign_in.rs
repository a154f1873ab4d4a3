//! Signing in to the page with a passkey. It shows arguments to who may see them; it approves nothing, so its challenge has
//! another length than one that does.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use highwater_core::approval::{
    ApprovalReason, CHALLENGE_LIFETIME_MS, CredentialId, CredentialStanding, Nonce, Rejection,
    encode_base64url, to_iso, verify_assertion,
};
use highwater_core::audit::ApprovalNote;
use highwater_core::id::{Timestamp, UserId};
use highwater_mcp::text::string_member;
use tokio::time::Instant;

use super::options::{ChallengeEnvelope, Descriptor, RequestOptions};
use super::{Desk, DeskFault, nonce, random_id};
use crate::gateway::now;

/// How many may be under way at once.
const MOST: usize = 1024;

/// Challenges that were given out and not answered.
#[derive(Default)]
pub(super) struct SignIns(Mutex<HashMap<String, (Nonce, Instant)>>);

// === impl SignIns ===

impl SignIns {
    fn put(&self, id: &str, nonce: Nonce) -> Result<(), DeskFault> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lifetime = Duration::from_millis(CHALLENGE_LIFETIME_MS);
        open.retain(|_, (_, made)| made.elapsed() < lifetime);
        if open.len() >= MOST {
            return Err(DeskFault::TooMany);
        }
        open.insert(id.to_owned(), (nonce, Instant::now()));
        Ok(())
    }

    /// Takes a challenge: it is answered once.
    fn take(&self, id: &str) -> Option<Nonce> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (nonce, made) = open.remove(id)?;
        (made.elapsed() < Duration::from_millis(CHALLENGE_LIFETIME_MS)).then_some(nonce)
    }
}

// === impl Desk ===

impl Desk {
    /// A challenge for signing in to the page. It approves nothing.
    pub async fn sign_in_challenge(&self) -> Result<ChallengeEnvelope, DeskFault> {
        let (id, nonce) = (random_id()?, nonce()?);
        self.sign_ins.put(&id, nonce)?;
        let known = self.store.credentials(None).await?;
        let active = known.iter().map(|stored| &stored.credential);
        let active = active.filter(|credential| credential.standing == CredentialStanding::Active);
        Ok(ChallengeEnvelope {
            challenge_id: id,
            display_text: "Sign in to look at requests".to_owned(),
            expires_at: to_iso(Timestamp(now().0.saturating_add(CHALLENGE_LIFETIME_MS))),
            request_options: RequestOptions {
                challenge: encode_base64url(&nonce.0),
                rp_id: self.rp_id().to_owned(),
                user_verification: "required",
                timeout: CHALLENGE_LIFETIME_MS,
                allow_credentials: active.map(Descriptor::of).collect(),
            },
        })
    }

    /// Takes the signature over it and says who signed.
    pub async fn sign_in(&self, challenge: &str, response: &str) -> Result<UserId, DeskFault> {
        let nonce = self.sign_ins.take(challenge).ok_or(ApprovalReason::ChallengeUnknown)?;
        let id = string_member(response, "id").and_then(|id| CredentialId::parse(&id));
        let known = self.store.credentials(None).await?;
        let credential = known
            .into_iter()
            .map(|stored| stored.credential)
            .find(|known| Some(&known.id) == id.as_ref() && known.standing == CredentialStanding::Active)
            .ok_or(ApprovalReason::UnknownCredential)?;
        let assertion = verify_assertion(response, &nonce.0, &credential, &self.party).map_err(|fault| {
            Rejection { reason: ApprovalReason::SignatureVerificationFailed, fault: Some(fault) }
        })?;
        if !credential.counter_may_become(assertion.counter) {
            return Err(ApprovalReason::SignatureCounterRegression.into());
        }
        let id = credential.id.to_string();
        let note = ApprovalNote {
            act: "signed-in",
            by: credential.user.as_str(),
            user: Some(credential.user.as_str()),
            credential: Some(&id),
            ..ApprovalNote::default()
        };
        self.record(None, note)?;
        Ok(credential.user)
    }
}
