//! Who sits in front of the page. The cookie hides arguments from whoever finds the URL and approves nothing: every
//! server on this machine's `localhost` sees it. The secret beside it stays in the storage of our own origin.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_core::id::UserId;
use http::header::{COOKIE, HeaderMap};

use crate::gateway::random_text;

/// The name of the cookie.
pub(super) const COOKIE_NAME: &str = "highwater_page";

/// The header that carries the secret of a page session.
pub(super) const SECRET_HEADER: &str = "highwater-page-secret";

/// The header that carries the token of the document a request comes from.
pub(super) const CSRF_HEADER: &str = "highwater-csrf";

/// How long somebody stays signed in.
pub(super) const SIGNED_IN: Duration = Duration::from_secs(12 * 60 * 60);

/// How many may be signed in at once; beyond that the oldest has to sign in again.
const MOST: usize = 256;

/// Whose things the operator's token opens.
pub(super) const OWNER: &str = "owner";

/// Bytes of randomness in a cookie and in a secret.
const RANDOM: usize = 32;

/// A person who signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visitor {
    pub(super) user: UserId,
    /// Whether they showed the operator's token, which lets them see what others are asked.
    pub(super) operator: bool,
}

/// The two halves that a browser is given.
pub(super) struct Pass {
    pub(super) cookie: String,
    pub(super) secret: String,
}

struct Signed {
    visitor: Visitor,
    secret: [u8; 32],
    since: Instant,
}

/// Everybody who is signed in. What they carry is kept as hashes alone.
pub(super) struct Visitors {
    signed: Mutex<HashMap<[u8; 32], Signed>>,
    /// Ties a document to whoever it was made for.
    csrf: hmac::Key,
}

// === impl Visitors ===

impl Visitors {
    /// `None` if the system gives no random numbers.
    pub(super) fn new() -> Option<Self> {
        let key = random_text(RANDOM)?;
        Some(Self { signed: Mutex::default(), csrf: hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()) })
    }

    pub(super) fn sign_in(&self, visitor: Visitor) -> Option<Pass> {
        let pass = Pass { cookie: random_text(RANDOM)?, secret: random_text(RANDOM)? };
        let mut signed = self.signed();
        signed.retain(|_, signed| signed.since.elapsed() < SIGNED_IN);
        if signed.len() >= MOST {
            let oldest = signed.iter().min_by_key(|(_, signed)| signed.since).map(|(cookie, _)| *cookie);
            oldest.and_then(|oldest| signed.remove(&oldest));
        }
        let entry = Signed { visitor, secret: hash(&pass.secret), since: Instant::now() };
        signed.insert(hash(&pass.cookie), entry);
        Some(pass)
    }

    pub(super) fn sign_out(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            self.signed().remove(&hash(cookie));
        }
    }

    /// Who a request comes from, by its cookie: enough to be shown things, and to say no.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<Visitor> {
        let signed = self.signed();
        let signed = signed.get(&hash(cookie(headers)?))?;
        (signed.since.elapsed() < SIGNED_IN).then(|| signed.visitor.clone())
    }

    /// Whether a request comes from a page of ours, by the secret that no other port of this machine has.
    pub(super) fn is_our_page(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(SECRET_HEADER).and_then(|secret| secret.to_str().ok());
        let signed = self.signed();
        let signed = cookie(headers).and_then(|cookie| signed.get(&hash(cookie)));
        match (shown, signed) {
            (Some(shown), Some(signed)) => verify_slices_are_equal(&hash(shown), &signed.secret).is_ok(),
            _ => false,
        }
    }

    /// What a document for whoever sent these headers has to carry.
    pub(super) fn csrf(&self, headers: &HeaderMap) -> String {
        let tag = hmac::sign(&self.csrf, self.whose(headers).as_bytes());
        URL_SAFE_NO_PAD.encode(tag.as_ref())
    }

    /// Whether a request carries what its document was given.
    pub(super) fn is_from_document(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(CSRF_HEADER).map(|token| token.as_bytes()).unwrap_or_default();
        verify_slices_are_equal(shown, self.csrf(headers).as_bytes()).is_ok()
    }

    /// A cookie that nobody knows counts as none, so that a document made after a restart works.
    fn whose<'a>(&self, headers: &'a HeaderMap) -> &'a str {
        self.of(headers).and_then(|_| cookie(headers)).unwrap_or_default()
    }

    fn signed(&self) -> MutexGuard<'_, HashMap<[u8; 32], Signed>> {
        self.signed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(text: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    // SHA-256 has 32 bytes.
    hash.iter_mut().zip(digest(&SHA256, text.as_bytes()).as_ref()).for_each(|(to, from)| *to = *from);
    hash
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(name, value)| (name == COOKIE_NAME).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookie: &str, secret: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, format!("other=1; {COOKIE_NAME}={cookie}").parse().unwrap());
        if let Some(secret) = secret {
            headers.insert(SECRET_HEADER, secret.parse().unwrap());
        }
        headers
    }

    fn owner() -> Visitor {
        Visitor { user: UserId::new("owner"), operator: false }
    }

    #[test]
    fn a_cookie_shows_who_looks_and_only_the_secret_shows_that_our_page_asks() {
        let visitors = Visitors::new().unwrap();
        let pass = visitors.sign_in(owner()).unwrap();
        let other = visitors.sign_in(owner()).unwrap();
        assert_eq!(visitors.of(&headers(&pass.cookie, None)), Some(owner()));
        assert!(visitors.is_our_page(&headers(&pass.cookie, Some(&pass.secret))));
        for wrong in [
            headers(&pass.cookie, None),
            headers(&pass.cookie, Some(&pass.cookie)),
            headers(&pass.cookie, Some(&other.secret)),
            headers("nobody", Some(&pass.secret)),
        ] {
            assert!(!visitors.is_our_page(&wrong));
        }
        visitors.sign_out(&headers(&pass.cookie, None));
        assert_eq!(visitors.of(&headers(&pass.cookie, None)), None);
    }

    #[test]
    fn a_document_works_for_whom_it_was_made() {
        let visitors = Visitors::new().unwrap();
        let (one, two) = (visitors.sign_in(owner()).unwrap(), visitors.sign_in(owner()).unwrap());
        let token = visitors.csrf(&headers(&one.cookie, None));
        let with = |cookie: &str| {
            let mut headers = headers(cookie, None);
            headers.insert(CSRF_HEADER, token.parse().unwrap());
            visitors.is_from_document(&headers)
        };
        assert!(with(&one.cookie));
        assert!(!with(&two.cookie));
        assert!(!with("nobody"));
        assert!(!visitors.is_from_document(&headers(&one.cookie, None)));
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let visitors = Visitors::new().unwrap();
        let first = visitors.sign_in(owner()).unwrap();
        for _ in 0..MOST {
            visitors.sign_in(owner()).unwrap();
        }
        assert_eq!(visitors.signed().len(), MOST);
        assert_eq!(visitors.of(&headers(&first.cookie, None)), None);
    }
}
