//! Signing in to the page with a passkey. It shows arguments to who may see them; it approves nothing, so its challenge has
//! another length than one that does.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use aws_lc_rs::hmac;
use highwater_audit::ApprovalNote;
use highwater_core::approval::{ApprovalReason, CHALLENGE_LIFETIME_MS, CredentialStanding, Rejection};
use highwater_core::id::UserId;
use highwater_mcp::text::string_member;
use highwater_notation::{Timestamp, encode_base64url, to_iso};
use highwater_passkey::{CredentialId, Nonce, verify_assertion};

use super::options::{ChallengeEnvelope, Descriptor, RequestOptions};
use super::{ApprovalFault, ApprovalService, nonce, random_id};
use crate::gateway::now;

/// How many answers are kept within the lifetime of a challenge. Each took a passkey.
const MOST: usize = 1024;

/// Challenges are made of a key and of their ids, and kept nowhere: whoever asks for many uses up nothing.
#[derive(Default)]
pub(super) struct SignIns {
    key: OnceLock<hmac::Key>,
    /// Those that somebody has signed with a passkey that counts.
    used: Mutex<HashMap<String, Timestamp>>,
}

// === impl SignIns ===

impl SignIns {
    /// A new challenge: its id, which begins with its time, and its bytes.
    fn make(&self, now: Timestamp) -> Result<(String, Nonce), ApprovalFault> {
        let id = format!("{}.{}", now.0, random_id()?);
        let nonce = self.nonce_of(&id)?;
        Ok((id, nonce))
    }

    /// The bytes of a challenge that was given out within its lifetime.
    fn given_out(&self, id: &str, now: Timestamp) -> Result<Nonce, ApprovalFault> {
        let made = id.split_once('.').and_then(|(made, _)| made.parse::<u64>().ok());
        let lives = |made: u64| made <= now.0 && now.0 - made < CHALLENGE_LIFETIME_MS;
        if !made.is_some_and(lives) {
            return Err(ApprovalReason::ChallengeUnknown.into());
        }
        self.nonce_of(id)
    }

    /// Uses a challenge up, once somebody has signed it.
    fn spend(&self, id: &str, now: Timestamp) -> Result<(), ApprovalFault> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, at| now.0.saturating_sub(at.0) < CHALLENGE_LIFETIME_MS);
        if used.len() >= MOST {
            return Err(ApprovalFault::TooMany);
        }
        match used.insert(id.to_owned(), now) {
            None => Ok(()),
            Some(_) => Err(ApprovalReason::ChallengeUnknown.into()),
        }
    }

    fn nonce_of(&self, id: &str) -> Result<Nonce, ApprovalFault> {
        let key = match self.key.get() {
            Some(key) => key,
            None => {
                let made = hmac::Key::new(hmac::HMAC_SHA256, &nonce()?.0);
                self.key.get_or_init(|| made)
            }
        };
        let tag = hmac::sign(key, id.as_bytes());
        let bytes = tag.as_ref().try_into().map_err(|_| ApprovalFault::NoEntropy)?;
        Ok(Nonce(bytes))
    }
}

// === impl ApprovalService ===

impl ApprovalService {
    /// A challenge for signing in to the page. It approves nothing.
    pub async fn sign_in_challenge(&self) -> Result<ChallengeEnvelope, ApprovalFault> {
        let (id, nonce) = self.sign_ins.make(now())?;
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
    pub async fn sign_in(&self, challenge: &str, response: &str) -> Result<UserId, ApprovalFault> {
        let nonce = self.sign_ins.given_out(challenge, now())?;
        let id = string_member(response, "id").and_then(|id| CredentialId::parse(&id));
        let known = self.store.credentials(None).await?;
        let credential = known
            .into_iter()
            .map(|stored| stored.credential)
            .find(|known| Some(&known.id) == id.as_ref() && known.standing == CredentialStanding::Active)
            .ok_or(ApprovalReason::UnknownCredential)?;
        let assertion =
            verify_assertion(response, &nonce.0, credential.enrolled(), &self.party).map_err(|fault| {
                Rejection { reason: ApprovalReason::SignatureVerificationFailed, fault: Some(fault) }
            })?;
        if !credential.counter_may_become(assertion.counter) {
            return Err(ApprovalReason::SignatureCounterRegression.into());
        }
        self.sign_ins.spend(challenge, now())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_signed_once_within_its_minute_and_many_use_up_nothing() {
        let sign_ins = SignIns::default();
        let (at, later) = (Timestamp(1_000_000), Timestamp(1_000_000 + CHALLENGE_LIFETIME_MS));
        let (id, made) = sign_ins.make(at).unwrap();
        for _ in 0..10_000 {
            sign_ins.make(at).unwrap();
        }
        assert_eq!(sign_ins.given_out(&id, at).unwrap().0, made.0);
        assert!(sign_ins.given_out(&id, later).is_err());
        for wrong in ["", "x", "1000000.", "1000001.AAAA", "99999999999999999999.x"] {
            assert!(sign_ins.given_out(wrong, at).map_or(true, |nonce| nonce.0 != made.0), "{wrong}");
        }
        assert!(
            SignIns::default().given_out(&id, at).unwrap().0 != made.0,
            "another gateway has another key"
        );
        sign_ins.spend(&id, at).unwrap();
        assert!(sign_ins.spend(&id, at).is_err());
    }
}
