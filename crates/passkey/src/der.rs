//! A small reader of DER, which certificates are written in: tags of one byte, the shortest lengths, nothing left over.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BITS: u8 = 0x03;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const UTF8: u8 = 0x0c;
pub(super) const PRINTABLE: u8 = 0x13;
pub(super) const IA5: u8 = 0x16;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The tag of a member that is told apart by its number.
pub(super) const fn numbered(number: u8) -> u8 {
    0xa0 | number
}

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Der<'a>(&'a [u8]);

// === impl Der ===

impl<'a> Der<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads one value that must be all there is.
    pub(super) fn whole(bytes: &'a [u8], tag: u8) -> Option<Self> {
        let mut outer = Self(bytes);
        let inner = outer.within(tag)?;
        outer.end().map(|()| inner)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Nothing may be left over.
    pub(super) fn end(self) -> Option<()> {
        self.is_empty().then_some(())
    }

    /// The next value, of whatever kind.
    pub(super) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        // Tags of several bytes occur in no certificate.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81 => {
                rest.split_first().filter(|(length, _)| **length > 0x7f).map(|(l, r)| (usize::from(*l), r))?
            }
            0x82 => {
                let (length, rest) = rest.split_first_chunk::<2>()?;
                let length = usize::from(u16::from_be_bytes(*length));
                (length > 0xff).then_some((length, rest))?
            }
            // What is longer fits no attestation; what has no length is not DER.
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The next value, which must be of this kind.
    pub(super) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// What is in the next value.
    pub(super) fn within(&mut self, tag: u8) -> Option<Self> {
        self.take(tag).map(Self)
    }

    /// The next value if it is of this kind.
    pub(super) fn maybe(&mut self, tag: u8) -> Option<Option<&'a [u8]>> {
        if self.0.first() == Some(&tag) { self.take(tag).map(Some) } else { Some(None) }
    }

    /// The next value if it is `TRUE`; where it is left out, it is false, and only then.
    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.maybe(BOOLEAN)? {
            None => Some(false),
            Some([0xff]) => Some(true),
            Some(_) => None,
        }
    }
}

/// A whole number that is not negative, in its shortest form.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    let digits = match bytes {
        [0, rest @ ..] if rest.first().is_none_or(|next| *next > 0x7f) => rest,
        [first, ..] if *first != 0 && *first < 0x80 => bytes,
        _ => return None,
    };
    (digits.len() <= 8).then(|| digits.iter().fold(0, |sum, digit| sum << 8 | u64::from(*digit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_way_to_write_a_value() {
        let long = |head: &[u8], length: usize| [head, &vec![7; length]].concat();
        for (bytes, length) in [
            (long(&[4, 0], 0), 0),
            (long(&[4, 0x7f], 0x7f), 0x7f),
            (long(&[4, 0x81, 0x80], 0x80), 0x80),
            (long(&[4, 0x82, 1, 0], 0x100), 0x100),
        ] {
            assert_eq!(Der::new(&bytes).take(OCTETS).map(<[u8]>::len), Some(length));
        }
        for bad in [
            long(&[4], 0),
            long(&[4, 3], 2),
            long(&[4, 0x80], 2),
            long(&[4, 0x81, 0x7f], 0x7f),
            long(&[4, 0x82, 0, 0xff], 0xff),
            long(&[4, 0x83, 1, 0, 0], 0x10000),
            long(&[0x1f, 0x81, 1], 1),
        ] {
            assert!(Der::new(&bad).next().is_none(), "{:?}", bad.get(..4));
        }
        assert!(Der::whole(&[0x30, 1, 7, 7], SEQUENCE).is_none());
        assert!(Der::whole(&[0x31, 1, 7], SEQUENCE).is_none());
    }

    #[test]
    fn numbers_and_flags_have_one_form() {
        for (bytes, value) in
            [(&[0][..], Some(0)), (&[0x7f], Some(127)), (&[0, 0x80], Some(128)), (&[1, 0], Some(256))]
        {
            assert_eq!(number(bytes), value);
        }
        for bad in [&[][..], &[0, 1], &[0x80], &[0xff], &[1; 9]] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
        for (bytes, value) in
            [(&[][..], Some(false)), (&[1, 1, 0xff], Some(true)), (&[1, 1, 0], None), (&[1, 1, 1], None)]
        {
            assert_eq!(Der::new(bytes).flag(), value);
        }
    }
}
