//! A small reader of CBOR, for what authenticators write: definite lengths, no tags, no key twice, bounded.
//!
//! CTAP2 rules out the rest; what it rules out is refused, because a second reader might read it otherwise.

/// How deep items may nest. Attestation objects nest three deep.
const MAX_DEPTH: usize = 8;

/// How many items there may be. The longest attestation has a few dozen.
const MAX_ITEMS: usize = 1024;

/// One item, borrowed from what was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item<'a> {
    /// A whole number, positive or negative.
    Whole(i128),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Item<'a>>),
    Map(Vec<(Item<'a>, Item<'a>)>),
    /// `false`, `true`, `null`, `undefined` by their number; nobody here asks for them.
    Simple(u8),
    /// The bits of a float and how many they are.
    Float(u64),
}

/// Reads one item and returns it with what follows it.
pub(super) fn read(bytes: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let mut reader = Reader { rest: bytes, items: 0 };
    let item = reader.item(0)?;
    Some((item, reader.rest))
}

/// Reads exactly one item.
pub(super) fn read_all(bytes: &[u8]) -> Option<Item<'_>> {
    read(bytes).filter(|(_, rest)| rest.is_empty()).map(|(item, _)| item)
}

struct Reader<'a> {
    rest: &'a [u8],
    items: usize,
}

// === impl Item ===

impl<'a> Item<'a> {
    /// The member of a map with this number as its key.
    pub(super) fn at(&self, key: i128) -> Option<&Item<'a>> {
        self.member(&Item::Whole(key))
    }

    /// The member of a map with this text as its key.
    pub(super) fn named(&self, key: &str) -> Option<&Item<'a>> {
        self.member(&Item::Text(key))
    }

    fn member(&self, key: &Item<'_>) -> Option<&Item<'a>> {
        match self {
            Self::Map(members) => members.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn whole(&self) -> Option<i128> {
        match self {
            Self::Whole(number) => Some(*number),
            _ => None,
        }
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// The number that an item begins with, from its low five bits or the bytes behind them.
    fn argument(&mut self, low: u8) -> Option<u64> {
        let width = match low {
            0..=23 => return Some(u64::from(low)),
            24 => 1,
            25 => 2,
            26 => 4,
            27 => 8,
            // Reserved, or of an indefinite length.
            _ => return None,
        };
        Some(self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn item(&mut self, depth: usize) -> Option<Item<'a>> {
        self.items += 1;
        if depth > MAX_DEPTH || self.items > MAX_ITEMS {
            return None;
        }
        let first = *self.take(1)?.first()?;
        let (major, low) = (first >> 5, first & 31);
        let argument = self.argument(low)?;
        let length = || usize::try_from(argument).ok();
        Some(match major {
            0 => Item::Whole(i128::from(argument)),
            1 => Item::Whole(-1 - i128::from(argument)),
            2 => Item::Bytes(self.take(length()?)?),
            3 => Item::Text(std::str::from_utf8(self.take(length()?)?).ok()?),
            4 => {
                let mut items = Vec::new();
                for _ in 0..length()? {
                    items.push(self.item(depth + 1)?);
                }
                Item::Array(items)
            }
            5 => {
                let mut members: Vec<(Item<'a>, Item<'a>)> = Vec::new();
                for _ in 0..length()? {
                    let key = self.item(depth + 1)?;
                    if members.iter().any(|(known, _)| *known == key) {
                        return None;
                    }
                    let value = self.item(depth + 1)?;
                    members.push((key, value));
                }
                Item::Map(members)
            }
            7 if low < 24 => Item::Simple(low),
            7 if low > 24 => Item::Float(argument),
            // Tags, and simple values that nobody defined.
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_as_the_examples_of_rfc_8949_have_them() {
        assert_eq!(read_all(&[0x00]), Some(Item::Whole(0)));
        assert_eq!(read_all(&[0x18, 0x64]), Some(Item::Whole(100)));
        assert_eq!(read_all(&[0x39, 0x03, 0xe7]), Some(Item::Whole(-1000)));
        assert_eq!(
            read_all(&[0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Some(Item::Whole(-18_446_744_073_709_551_616))
        );
        assert_eq!(read_all(&[0x44, 1, 2, 3, 4]), Some(Item::Bytes(&[1, 2, 3, 4])));
        assert_eq!(read_all(b"\x64IETF"), Some(Item::Text("IETF")));
        assert_eq!(read_all(&[0x82, 0x01, 0xf5]), Some(Item::Array(vec![Item::Whole(1), Item::Simple(21)])));
        let map = read_all(&[0xa2, 0x61, b'a', 0x01, 0x20, 0x41, 0xff]).unwrap();
        assert_eq!(map.named("a").unwrap().whole(), Some(1));
        assert_eq!(map.at(-1).unwrap().bytes(), Some([0xff].as_slice()));
        assert_eq!(map.at(1), None);
        assert_eq!(read(&[0x00, 0x01]), Some((Item::Whole(0), [0x01].as_slice())));
    }

    #[test]
    fn what_authenticators_do_not_write_is_refused() {
        for (bytes, what) in [
            (&[][..], "nothing"),
            (&[0x18], "half a number"),
            (&[0x42, 0x01], "too few bytes"),
            (&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "more bytes than there can be"),
            (&[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "more items than there can be"),
            (&[0x62, 0xff, 0xff], "no UTF-8"),
            (&[0x5f, 0x41, 0x00, 0xff], "indefinite bytes"),
            (&[0x9f, 0xff], "an indefinite array"),
            (&[0xbf, 0xff], "an indefinite map"),
            (&[0xc0, 0x00], "a tag"),
            (&[0xf8, 0x18], "an unknown simple value"),
            (&[0xa2, 0x01, 0x02, 0x01, 0x03], "a key twice"),
            (&[0xa2, 0x01, 0x02, 0x18, 0x01, 0x03], "a key twice, in two spellings"),
            (&[0x00, 0x00], "two items"),
        ] {
            assert_eq!(read_all(bytes), None, "{what}");
        }
        let nested = |depth: usize| [vec![0x81; depth], vec![0x00]].concat();
        assert!(read_all(&nested(MAX_DEPTH)).is_some());
        assert_eq!(read_all(&nested(MAX_DEPTH + 1)), None);
        let wide = |count: u16| [&[0x99][..], &count.to_be_bytes(), &vec![0; usize::from(count)]].concat();
        assert!(read_all(&wide(1023)).is_some());
        assert_eq!(read_all(&wide(1024)), None);
    }
}
