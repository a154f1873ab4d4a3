//! Names that nobody can guess.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::StoreError;

/// A new name of 128 random bits behind a prefix that says what it is.
pub(crate) fn random_id(prefix: &str) -> Result<String, StoreError> {
    Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random_bytes::<16>()?)))
}

/// Bytes that nobody can guess.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(filled) if filled == bytes.len() => Ok(bytes),
        Ok(_) | Err(_) => {
            Err(StoreError::Failed { doing: "make a name", why: "the system gives no random numbers".into() })
        }
    }
}

/// A new UUID of version 4.
pub(crate) fn random_uuid() -> Result<String, StoreError> {
    let drawn = u128::from_be_bytes(random_bytes()?);
    let marked = (drawn & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{marked:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default());
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_form_and_is_new_each_time() {
        let (one, other) = (random_uuid().unwrap(), random_uuid().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(one.chars().nth(14), Some('4'));
        assert!(one.chars().nth(19).is_some_and(|variant| "89ab".contains(variant)), "{one}");
    }
}
