//! The little of CBOR that authenticators write.

/// A byte string.
pub(super) fn bytes(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    match u8::try_from(length) {
        Ok(length) if length < 24 => [&[0x40 | length], bytes].concat(),
        Ok(length) => [&[0x58, length], bytes].concat(),
        Err(_) => [&[0x59], &length.to_be_bytes()[..], bytes].concat(),
    }
}

/// A text.
pub(super) fn text(text: &str) -> Vec<u8> {
    let mut written = bytes(text.as_bytes());
    written[0] |= 0x20;
    written
}
