//! Names that nobody can guess.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::StoreError;

/// A new name of 128 random bits behind a prefix that says what it is.
pub(crate) fn random_id(prefix: &str) -> Result<String, StoreError> {
    let mut bytes = [0; 16];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(filled) if filled == bytes.len() => Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))),
        Ok(_) | Err(_) => {
            Err(StoreError::Failed { doing: "make a name", why: "the system gives no random numbers".into() })
        }
    }
}
