//! Agent tokens: what is kept of each, how its secret is made, and what of it survives. Of a secret only its SHA-256
//! survives: 256 random bits need no slow hash.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_core::grant::{AcceptedWords, Forms, Grant, Limits};
use highwater_core::id::UserId;
use highwater_notation::Timestamp;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::operation::{CreateToken, ListTokens, RevokeToken, Revoking, RotateToken, Rotating, UseToken};
use crate::{Store, StoreError, clock};

/// The most tokens there can be, revoked ones included.
pub const MOST_TOKENS: u32 = 10_000;

/// What every secret begins with.
const PREFIX: &str = "hwt_";

/// How much of a secret is shown, so that people can tell which one they hold.
const SHOWN: usize = 12;

/// The secret of a token. It is shown once and kept by nobody.
pub struct TokenSecret(String);

/// SHA-256 of a token's secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenDigest([u8; 32]);

/// What a token grants and how much of our time it may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenTerms {
    /// What it grants.
    pub grant: Grant,
    /// How much it may ask.
    #[serde(default)]
    pub limits: Limits,
    /// Whose agent it is; the owner's if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Whether what its clients answer to a form is a person's word.
    #[serde(default, skip_serializing_if = "is_never")]
    pub forms: Forms,
    /// Whose words the prompts are that its clients tell of.
    #[serde(default, skip_serializing_if = "is_owner")]
    pub words: AcceptedWords,
}

/// Who says what a token grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenBasis {
    /// Whoever made it.
    Stored(TokenTerms),
    /// The configuration, under the same name.
    Configured,
    /// Something that this program does not understand, so nothing is granted.
    Unreadable,
}

/// All that is kept of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// Its name, which is also that of its principal.
    pub name: String,
    /// The digest of its secret.
    pub digest: TokenDigest,
    /// The beginning of its secret.
    pub prefix: String,
    /// What it grants, and who says so.
    pub basis: TokenBasis,
    /// Who made it.
    pub person: String,
    /// When.
    pub created: Timestamp,
    /// When its secret was last replaced.
    pub rotated: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub used: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

/// How an attempt to make a token ended.
#[derive(Debug)]
pub enum CreatedToken {
    /// It is there, and this is its secret.
    Made(TokenRecord, TokenSecret),
    /// The name is taken, by a token that may have been revoked.
    Taken(TokenRecord),
    /// There are as many as there can be.
    TooMany,
}

/// How an attempt to change a token ended.
#[derive(Debug)]
pub enum ChangedToken<T> {
    /// It is done.
    Done(TokenRecord, T),
    /// The token was revoked before; nothing changed.
    Revoked(TokenRecord),
    /// There is none of that name.
    Unknown,
}

// === impl Store ===

impl Store {
    /// Makes a token. Its name is its principal's, so a name is given once, even if its token is revoked.
    pub async fn create_token(
        &self,
        name: &str,
        basis: TokenBasis,
        person: &str,
    ) -> Result<CreatedToken, StoreError> {
        let secret = TokenSecret::new()?;
        let record = TokenRecord {
            name: name.to_owned(),
            digest: secret.digest(),
            prefix: secret.shown().to_owned(),
            basis,
            person: person.to_owned(),
            created: clock::timestamp(),
            rotated: None,
            used: None,
            revoked: None,
        };
        let found = self.0.perform(CreateToken(record.clone())).await?;
        Ok(match found {
            Some(found) if found.digest == record.digest => CreatedToken::Made(record, secret),
            Some(found) => CreatedToken::Taken(found),
            None => CreatedToken::TooMany,
        })
    }

    /// Gives a token a new secret; the old one opens nothing from then on.
    pub async fn rotate_token(&self, name: &str) -> Result<ChangedToken<TokenSecret>, StoreError> {
        let secret = TokenSecret::new()?;
        let operation = RotateToken {
            name: name.to_owned(),
            digest: secret.digest(),
            prefix: secret.shown().to_owned(),
            now: clock::timestamp(),
        };
        Ok(match self.0.perform(operation).await? {
            Rotating::Done(record) => ChangedToken::Done(record, secret),
            Rotating::Revoked(record) => ChangedToken::Revoked(record),
            Rotating::Unknown => ChangedToken::Unknown,
        })
    }

    /// Ends a token for ever.
    pub async fn revoke_token(&self, name: &str) -> Result<ChangedToken<()>, StoreError> {
        let operation = RevokeToken { name: name.to_owned(), now: clock::timestamp() };
        Ok(match self.0.perform(operation).await? {
            Revoking::Done(record) => ChangedToken::Done(record, ()),
            Revoking::Before(record) => ChangedToken::Revoked(record),
            Revoking::Unknown => ChangedToken::Unknown,
        })
    }

    /// Every token, by name.
    pub async fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.0.perform(ListTokens).await
    }

    /// Moves when another replica says that a token has changed. A hint: whoever copies tokens looks again in any case.
    pub fn token_hints(&self) -> watch::Receiver<u64> {
        self.0.tokens_changed.subscribe()
    }

    /// Notes when a token was used. Nobody waits for it.
    pub fn note_token_use(&self, name: &str, at: Timestamp) {
        self.0.queue(UseToken { name: name.to_owned(), at });
    }
}

// === impl TokenSecret ===

impl TokenSecret {
    fn new() -> Result<Self, StoreError> {
        let mut bytes = [0; 32];
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(filled) if filled == bytes.len() => {
                Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
            }
            Ok(_) | Err(_) => {
                let why = "the system gives no random numbers".into();
                Err(StoreError::Failed { doing: "make a token", why })
            }
        }
    }

    /// The secret itself, to be shown once.
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn digest(&self) -> TokenDigest {
        TokenDigest::of(self.0.as_bytes())
    }

    fn shown(&self) -> &str {
        self.0.get(..SHOWN).unwrap_or_default()
    }
}

/// Never in a log.
impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.shown())
    }
}

// === impl TokenDigest ===

impl TokenDigest {
    /// The digest of a secret that somebody presents.
    pub fn of(secret: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, secret).as_ref());
        Self(bytes)
    }

    /// Whether both are the same, in a time that does not tell where they differ.
    pub fn is(&self, other: &Self) -> bool {
        verify_slices_are_equal(&self.0, &other.0).is_ok()
    }

    pub(crate) fn to_hex(self) -> String {
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            for nibble in [byte >> 4, byte & 15] {
                text.extend(char::from_digit(u32::from(nibble), 16));
            }
            text
        })
    }

    pub(crate) fn from_hex(text: &str) -> Result<Self, StoreError> {
        let foreign = StoreError::Foreign { what: "a token without its digest" };
        if text.len() != 64 {
            return Err(foreign);
        }
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        let digits = digits.ok_or_else(|| foreign.clone())?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else { return Err(foreign) };
            *byte = u8::try_from(high << 4 | low).map_err(|_| foreign.clone())?;
        }
        Ok(Self(bytes))
    }
}

/// Not for logs either: whoever knew it could find the token in a stolen list of secrets.
impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(…)")
    }
}

// === impl TokenBasis ===

impl TokenBasis {
    /// As it is stored.
    pub(crate) fn to_text(&self) -> Result<String, StoreError> {
        match self {
            Self::Stored(terms) => serde_json::to_string(terms).map_err(|error| StoreError::Failed {
                doing: "write a token",
                why: error.to_string().into(),
            }),
            Self::Configured => Ok(CONFIGURED.to_owned()),
            Self::Unreadable => Err(StoreError::Foreign { what: "a token's terms that nobody understands" }),
        }
    }

    /// What is not understood grants nothing: a later program may have narrowed it in a way we do not know.
    pub(crate) fn from_text(text: &str) -> Self {
        if text == CONFIGURED {
            return Self::Configured;
        }
        serde_json::from_str(text).map_or(Self::Unreadable, Self::Stored)
    }
}

/// What a token is made with unless somebody asks for more: it is not written, so that an earlier program reads the rest.
fn is_never(forms: &Forms) -> bool {
    *forms == Forms::Never
}

/// The same of words.
fn is_owner(words: &AcceptedWords) -> bool {
    *words == AcceptedWords::Owner
}

/// What stands in place of terms where the configuration has them.
const CONFIGURED: &str = "configured";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_and_known_by_its_digest() {
        let (first, second) = (TokenSecret::new().unwrap(), TokenSecret::new().unwrap());
        assert_eq!(first.expose().len(), PREFIX.len() + 43);
        assert_ne!(first.expose(), second.expose());
        assert!(TokenDigest::of(first.expose().as_bytes()).is(&first.digest()));
        assert!(!first.digest().is(&second.digest()));
        assert!(!format!("{first:?}").contains(first.expose()));
    }

    #[test]
    fn a_digest_is_written_and_read_back() {
        let digest = TokenDigest::of(b"abc");
        assert_eq!(digest.to_hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(TokenDigest::from_hex(&digest.to_hex()).unwrap(), digest);
        for bad in ["", "ba78", &"g".repeat(64), &"é".repeat(32)] {
            assert!(TokenDigest::from_hex(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn terms_of_a_later_program_grant_nothing() {
        let terms = TokenTerms {
            grant: Grant::everything().clone(),
            limits: Limits::default(),
            user: None,
            forms: Forms::Never,
            words: AcceptedWords::None,
        };
        let text = TokenBasis::Stored(terms.clone()).to_text().unwrap();
        assert_eq!(TokenBasis::from_text(&text), TokenBasis::Stored(terms));
        assert_eq!(TokenBasis::from_text("configured"), TokenBasis::Configured);
        let later = text.replacen('{', r#"{"only_on_mondays":true,"#, 1);
        assert_eq!(TokenBasis::from_text(&later), TokenBasis::Unreadable);
        assert_eq!(TokenBasis::from_text(""), TokenBasis::Unreadable);
    }
}
