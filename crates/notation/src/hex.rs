//! Bytes in lower-case hexadecimal, and digests read back from it.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Bytes in hexadecimal.
pub fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(HEX.get(usize::from(nibble)).map(|digit| char::from(*digit)));
        }
    }
    text
}

/// Reads 32 bytes in lower-case hexadecimal; no other spelling, so that two that differ differ.
pub fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut digits = text.bytes().map(|digit| HEX.iter().position(|known| *known == digit));
    for byte in &mut bytes {
        let (high, low) = (digits.next()??, digits.next()??);
        *byte = u8::try_from(high << 4 | low).ok()?;
    }
    digits.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_spelling() {
        let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 7).unwrap());
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(from_hex(&to_hex(&bytes).to_uppercase()), None);
        assert_eq!(from_hex(&to_hex(&bytes[1..])), None);
    }
}
