//! base64url as WebAuthn writes it: without padding. Padding is tolerated when reading, nothing else is.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Writes bytes, without padding.
pub fn encode_base64url(bytes: &[u8]) -> String {
    TOLERANT.encode(bytes)
}

/// Reads bytes, with or without padding.
pub fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    TOLERANT.decode(text).ok()
}

/// Reads bytes in the one spelling that [`encode_base64url`] has for them.
pub fn decode_exact(text: &str) -> Option<Vec<u8>> {
    decode_base64url(text).filter(|bytes| encode_base64url(bytes) == text)
}

/// Reads exactly so many bytes, in their one spelling.
pub fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode_exact(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_tolerated_and_no_other_deviation() {
        assert_eq!(encode_base64url(b"\xfb\xff"), "-_8");
        for good in ["-_8", "-_8="] {
            assert_eq!(decode_base64url(good).as_deref(), Some(b"\xfb\xff".as_slice()), "{good}");
        }
        // Other alphabet, bits that nobody reads, blanks, too much padding, half a byte.
        for bad in ["+/8", "-_9", "-_8 ", " -_8", "-_8==", "-_8=x", "-", "-\n_8"] {
            assert_eq!(decode_base64url(bad), None, "{bad}");
        }
        assert_eq!(decode_exact("-_8="), None);
        assert_eq!(decode_array::<2>("-_8"), Some([0xfb, 0xff]));
        assert_eq!(decode_array::<3>("-_8"), None);
    }
}
