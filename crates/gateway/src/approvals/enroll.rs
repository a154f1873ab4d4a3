//! Passkeys: who may register one, and what makes it count. Whoever speaks the protocol can get a passkey stored, inside
//! a time that a person opened; only a person can make it count, by the code that was printed for them or by a passkey
//! they have already.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use highwater_audit::ApprovalNote;
use highwater_core::approval::{
    ApprovalReason, CredentialStanding, ENROLLMENT_LIFETIME_MS, PendingEnrollment, Rejection, finish,
};
use highwater_core::id::{ChallengeId, Principal, UserId};
use highwater_mcp::text::quote;
use highwater_notation::{CanonicalArguments, encode_base64url};
use highwater_passkey::{
    Algorithm, AttestationDemand, CredentialId, ReservedAction, verify_stored_attestation,
};
use highwater_store::{Added, CodeTried, StoredCredential};

use super::options::{
    AuthenticatorSelection, ChallengeEnvelope, CreationOptions, Descriptor, KeyParameter, RpEntity,
    UserEntity,
};
use super::view::{CredentialView, WindowOpened};
use super::{ApprovalFault, ApprovalService, EnrollFrom, nonce, random};
use crate::gateway::now;

/// What people call us, in the dialog of an authenticator.
const OUR_NAME: &str = "Highwater";

/// The letters of a code: none that is read as another.
const CODE_LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// How many letters a code has: 60 bits, and five attempts.
const CODE_LENGTH: usize = 12;

/// How many letters stand together.
const CODE_GROUP: usize = 4;

// === impl ApprovalService ===

impl ApprovalService {
    /// Opens an enrollment for a person and says how it is confirmed: by a code, which is printed for whoever opens it,
    /// or by a passkey that the person has already.
    pub async fn open_window(&self, user: &UserId, by: &str) -> Result<WindowOpened, ApprovalFault> {
        if !is_user_name(user.as_str()) {
            return Err(ApprovalFault::Unknown);
        }
        let passkeys = self.active_of(user).await?.len();
        let code = (passkeys == 0).then(new_code).transpose()?;
        self.record(None, enrollment("window-opened", by, user))?;
        let window = self.store.open_window(user, code.as_deref().map(code_hash), by, now()).await?;
        let url = format!("{}/enroll?user={user}", self.origin());
        Ok(WindowOpened { user: user.clone(), code, url, opens: None, expires: window.expires, passkeys })
    }

    /// Begins the registration of a passkey. Over the protocol it is for the user of the principal.
    pub async fn enroll_begin(
        &self,
        user: Option<&UserId>,
        from: EnrollFrom<'_>,
    ) -> Result<CreationOptions, ApprovalFault> {
        let user = user.ok_or(ApprovalReason::NoPendingEnrollment)?;
        let may = match from {
            EnrollFrom::Page { signed_in: true, .. } => true,
            EnrollFrom::Page { signed_in: false, .. } | EnrollFrom::Mcp(_) => {
                self.store.window(user, now()).await?.is_some()
            }
        };
        if !may {
            // The SEP has no reason for this; the nearest (G20).
            return Err(match from {
                EnrollFrom::Mcp(_) => ApprovalReason::NoPendingEnrollment.into(),
                EnrollFrom::Page { .. } => ApprovalFault::NoWindow,
            });
        }
        let handle = self.store.user_handle(user).await?;
        // A new challenge every time (S10), remembered for the matching finish (S11).
        let challenge = nonce()?;
        let pending =
            PendingEnrollment::begin(from.principal(), user.clone(), handle.as_slice(), challenge, now());
        self.store.put_enrollment(&pending).await?;
        let known = self.store.credentials(Some(user)).await?;
        Ok(CreationOptions {
            rp: RpEntity { id: self.rp_id().to_owned(), name: OUR_NAME },
            user: UserEntity {
                id: encode_base64url(&handle),
                name: user.to_string(),
                display_name: user.to_string(),
            },
            challenge: encode_base64url(&challenge.0),
            pub_key_cred_params: [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256]
                .map(|algorithm| KeyParameter { r#type: "public-key", alg: algorithm.cose() })
                .to_vec(),
            timeout: ENROLLMENT_LIFETIME_MS,
            // What nobody will look at is not asked for.
            attestation: if self.settings().authenticators.is_some() { "direct" } else { "none" },
            exclude_credentials: known
                .iter()
                .filter(|stored| stored.credential.standing != CredentialStanding::Revoked)
                .map(|stored| Descriptor::of(&stored.credential))
                .collect(),
            authenticator_selection: AuthenticatorSelection {
                resident_key: "preferred",
                user_verification: "required",
            },
        })
    }

    /// Finishes it. The passkey is dormant: it approves nothing until a person has confirmed it.
    pub async fn enroll_finish(
        &self,
        from: EnrollFrom<'_>,
        response: &str,
    ) -> Result<CredentialView, ApprovalFault> {
        let principal = from.principal();
        // Taken, and so used up, whatever comes of it (G9).
        let pending = self.store.take_enrollment(&principal).await?;
        let known = self.store.credentials(None).await?;
        let enrolled = |id: &CredentialId| known.iter().any(|stored| stored.credential.id == *id);
        let by = principal.to_string();
        let finished = {
            let settings = self.settings();
            let listed = settings.authenticators.as_ref();
            finish(pending.as_ref(), &principal, response, &self.party, listed, enrolled, now())
        };
        let new = match finished {
            Ok(new) => new,
            Err(rejection) => {
                self.note_refused(&by, pending.as_ref(), rejection)?;
                return Err(rejection.into());
            }
        };
        if self.store.add_credential(&new, &by, CredentialStanding::Dormant, now()).await?
            == Added::AlreadyEnrolled
        {
            return Err(ApprovalReason::CredentialAlreadyEnrolled.into());
        }
        let id = new.registration.id.to_string();
        let attested = new.registration.attested_by.as_ref().map(|by| format!("attested by {by}"));
        let note = ApprovalNote {
            credential: Some(&id),
            detail: attested.as_deref(),
            ..enrollment("enrolled", &by, &new.user)
        };
        self.record(None, note)?;
        let stored = self.credential(&id).await?;
        Ok(CredentialView::of(&stored))
    }

    /// Confirms a person's first passkey with the code that was printed for whoever opened the enrollment.
    pub async fn confirm_by_code(
        &self,
        credential: &str,
        code: &str,
    ) -> Result<CredentialView, ApprovalFault> {
        let stored = self.dormant(credential).await?;
        let user = stored.credential.user.clone();
        // Further ones are for a passkey to confirm, whatever somebody read on a terminal.
        if self.has_active(&user).await? {
            return Err(ApprovalFault::NeedsPasskey);
        }
        match self.store.try_code(&user, code_hash(code), now()).await? {
            CodeTried::Right => {}
            CodeTried::Wrong { left } => {
                self.record(None, enrollment("wrong-code", "page", &user))?;
                return Err(ApprovalFault::WrongCode { left });
            }
            CodeTried::Closed => return Err(ApprovalFault::NoWindow),
        }
        let confirmed = self.confirmed(&stored, "code", None).await?;
        self.store.close_window(&user).await?;
        Ok(confirmed)
    }

    /// A challenge by which an existing passkey of the same person confirms a new one.
    pub async fn confirm_challenge(&self, credential: &str) -> Result<ChallengeEnvelope, ApprovalFault> {
        let stored = self.dormant(credential).await?;
        let arguments = enrolled_as(&stored)?;
        self.issue_own(ReservedAction::Enroll, &stored.credential.user, &arguments).await
    }

    /// Takes the signature over it.
    pub async fn confirm_assertion(
        &self,
        credential: &str,
        challenge: &ChallengeId,
        response: &str,
    ) -> Result<CredentialView, ApprovalFault> {
        let stored = self.dormant(credential).await?;
        let act = self.sign_own(ReservedAction::Enroll, challenge, response).await?;
        // The signature is over the id and the key of the new one, and must be of the same person.
        if act.arguments != enrolled_as(&stored)? || act.user != stored.credential.user {
            return Err(ApprovalReason::ArgumentHashMismatch.into());
        }
        self.confirmed(&stored, act.user.as_str(), Some(&act.receipt.receipt().id)).await
    }

    /// Takes a passkey back.
    pub async fn revoke_credential(
        &self,
        credential: &str,
        by: &str,
        reason: &str,
    ) -> Result<bool, ApprovalFault> {
        let stored = self.credential(credential).await?;
        let note = ApprovalNote {
            credential: Some(credential),
            detail: Some(reason),
            ..enrollment("revoked", by, &stored.credential.user)
        };
        self.record(None, note)?;
        Ok(self.store.revoke_credential(&stored.credential.id, by, reason, now()).await?)
    }

    /// Every passkey, with its enrollment record.
    pub async fn credentials(&self) -> Result<Vec<CredentialView>, ApprovalFault> {
        Ok(self.store.credentials(None).await?.iter().map(CredentialView::of).collect())
    }

    pub(super) async fn credential(&self, id: &str) -> Result<StoredCredential, ApprovalFault> {
        let id = CredentialId::parse(id).ok_or(ApprovalFault::Unknown)?;
        let all = self.store.credentials(None).await?;
        all.into_iter().find(|stored| stored.credential.id == id).ok_or(ApprovalFault::Unknown)
    }

    async fn dormant(&self, id: &str) -> Result<StoredCredential, ApprovalFault> {
        let stored = self.credential(id).await?;
        match stored.credential.standing {
            CredentialStanding::Dormant => self.still_let_in(&stored).map(|()| stored),
            CredentialStanding::Active | CredentialStanding::Revoked => Err(ApprovalFault::Unknown),
        }
    }

    pub(super) async fn has_active(&self, user: &UserId) -> Result<bool, ApprovalFault> {
        Ok(!self.active_of(user).await?.is_empty())
    }

    async fn active_of(&self, user: &UserId) -> Result<Vec<CredentialId>, ApprovalFault> {
        let theirs = self.store.credentials(Some(user)).await?.into_iter().map(|stored| stored.credential);
        let active = theirs.filter(|credential| credential.standing == CredentialStanding::Active);
        Ok(active.map(|credential| credential.id).collect())
    }

    /// Everybody who has one passkey that counts and no other: if it is lost, so is their say, until a reset.
    pub async fn with_one_passkey(&self) -> Result<Vec<UserId>, ApprovalFault> {
        Ok(with_one(&self.credentials().await?))
    }

    /// Takes down that a person knows what it means to have one passkey alone, and wants no second.
    pub async fn accept_one_passkey(&self, user: &UserId) -> Result<(), ApprovalFault> {
        let [only] = &*self.active_of(user).await? else { return Err(ApprovalFault::Unknown) };
        let id = only.to_string();
        let base = enrollment("accepted-one-passkey", user.as_str(), user);
        self.record(None, ApprovalNote { credential: Some(&id), ..base })
    }

    /// A registration that does not hold is worth knowing of, with what exactly was wrong.
    fn note_refused(
        &self,
        by: &str,
        pending: Option<&PendingEnrollment>,
        rejection: Rejection,
    ) -> Result<(), ApprovalFault> {
        match (pending, rejection.fault) {
            (Some(pending), Some(fault)) => {
                let words = fault.to_string();
                let base = enrollment("refused-passkey", by, &pending.user);
                self.record(None, ApprovalNote { detail: Some(&words), ..base })
            }
            _ => Ok(()),
        }
    }

    /// A passkey that was registered while everything was let in does not slip through a list made since.
    fn still_let_in(&self, stored: &StoredCredential) -> Result<(), ApprovalFault> {
        let settings = self.settings();
        let Some(list) = &settings.authenticators else { return Ok(()) };
        let demand = AttestationDemand::Listed(list, now());
        verify_stored_attestation(&stored.attestation, &stored.client_data, demand).map_err(|fault| {
            Rejection { reason: ApprovalReason::VerificationFailed, fault: Some(fault) }.into()
        })
    }

    async fn confirmed(
        &self,
        stored: &StoredCredential,
        by: &str,
        receipt: Option<&str>,
    ) -> Result<CredentialView, ApprovalFault> {
        let id = stored.credential.id.to_string();
        let base = enrollment("confirmed-passkey", by, &stored.credential.user);
        self.record(None, ApprovalNote { credential: Some(&id), receipt, ..base })?;
        if !self.store.confirm_credential(&stored.credential.id, by, now()).await? {
            return Err(ApprovalFault::Unknown);
        }
        Ok(CredentialView::of(&self.credential(&id).await?))
    }
}

// === impl EnrollFrom ===

impl EnrollFrom<'_> {
    /// Under whose name an enrollment is kept. No token has a name with a slash.
    fn principal(self) -> Principal {
        match self {
            Self::Page { session, .. } => Principal::new(format!("highwater/page/{session}")),
            Self::Mcp(principal) => principal.clone(),
        }
    }
}

/// Those of whom exactly one passkey counts.
pub(crate) fn with_one(credentials: &[CredentialView]) -> Vec<UserId> {
    let mut counted: BTreeMap<&UserId, usize> = BTreeMap::new();
    for credential in credentials.iter().filter(|credential| credential.counts()) {
        *counted.entry(&credential.user).or_default() += 1;
    }
    counted.into_iter().filter(|(_, count)| *count == 1).map(|(user, _)| user.clone()).collect()
}

/// What a passkey signs to confirm another.
fn enrolled_as(stored: &StoredCredential) -> Result<CanonicalArguments, ApprovalFault> {
    let (id, key) = (stored.credential.id.to_string(), encode_base64url(stored.credential.key.as_cose()));
    let text = format!(
        r#"{{"credentialId":{},"publicKey":{},"user":{}}}"#,
        quote(&id),
        quote(&key),
        quote(stored.credential.user.as_str())
    );
    CanonicalArguments::read(Some(&text)).map_err(|_| ApprovalFault::Unknown)
}

pub(super) fn enrollment<'a>(act: &'a str, by: &'a str, user: &'a UserId) -> ApprovalNote<'a> {
    ApprovalNote { act, by, user: Some(user.as_str()), ..ApprovalNote::default() }
}

/// A name that can stand in an address and in a log.
fn is_user_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@');
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

/// A code for the terminal, in groups of four.
fn new_code() -> Result<String, ApprovalFault> {
    let bytes: [u8; CODE_LENGTH] = random()?;
    let mut code = String::with_capacity(CODE_LENGTH + CODE_LENGTH / CODE_GROUP);
    for (index, byte) in bytes.into_iter().enumerate() {
        if index > 0 && index % CODE_GROUP == 0 {
            code.push('-');
        }
        let letter = CODE_LETTERS.get(usize::from(byte % 32)).copied().unwrap_or(b'X');
        code.push(char::from(letter));
    }
    Ok(code)
}

/// What is kept of a code: as people type it, without its dashes and in either case.
fn code_hash(code: &str) -> [u8; 32] {
    let plain: String =
        code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, plain.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_typed_in_either_case_and_with_or_without_its_dashes() {
        let code = new_code().unwrap();
        assert_eq!(code.len(), 14, "{code}");
        assert_ne!(code, new_code().unwrap());
        assert_eq!(code_hash(&code), code_hash(&code.to_lowercase().replace('-', " ")));
        assert_ne!(code_hash("AAAA-BBBB-CCCC"), code_hash("AAAA-BBBB-CCCD"));
    }

    #[test]
    fn a_user_has_a_plain_name() {
        assert!(is_user_name("owner") && is_user_name("ada@example.org"));
        for bad in ["", "a b", "a/b", "a?b", "a\n"] {
            assert!(!is_user_name(bad), "{bad}");
        }
    }
}
