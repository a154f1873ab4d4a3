//! The responses of authenticators as browsers hand them on: JSON objects whose parts are bytes.

use highwater_notation::decode_base64url;
use serde::Deserialize;

use super::fault::Fault;

/// Reads an object. The library would take an array for one as well.
pub fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    let is_object = text.bytes().find(|byte| !byte.is_ascii_whitespace()) == Some(b'{');
    is_object.then(|| serde_json::from_str(text).ok()).flatten()
}

/// The bytes of one part, at most so many.
pub(super) fn bytes_of(text: &str, longest: usize, name: &'static str) -> Result<Vec<u8>, Fault> {
    // Four letters are three bytes, and there may be padding.
    if text.len() > longest / 3 * 4 + 8 {
        return Err(Fault::Malformed(name));
    }
    decode_base64url(text).filter(|bytes| bytes.len() <= longest).ok_or(Fault::Malformed(name))
}
