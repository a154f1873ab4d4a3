//! The headers of a message, left where they came.

use std::ops::Range;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The headers of a message, in their order. There are few, so that a look at each costs less than a table of them.
pub struct Headers {
    /// The whole head.
    pub(crate) text: Bytes,
    /// Where in it each name and its value are.
    pub(crate) places: Vec<(Range<usize>, Range<usize>)>,
}

// === impl Headers ===

impl Headers {
    /// The value of the first header of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// The first value, if it is plain text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(plain)
    }

    /// The values of all headers of this name.
    pub fn get_all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.places.iter().filter_map(move |(at, value)| {
            let same = at.len() == name.len()
                && self.text.get(at.clone()).is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()));
            if same { self.text.get(value.clone()) } else { None }
        })
    }

    /// All of them in a table, where more than a few are looked at. Nothing if one has no place in such a table.
    pub fn to_map(&self) -> Option<HeaderMap> {
        let mut map = HeaderMap::with_capacity(self.places.len());
        for (name, value) in &self.places {
            let name = HeaderName::from_bytes(self.text.get(name.clone())?).ok()?;
            map.append(name, HeaderValue::from_bytes(self.text.get(value.clone())?).ok()?);
        }
        Some(map)
    }

    /// Whether there is a header of this name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// A value as text, if it holds nothing but letters, signs, blanks and tabs of ASCII.
pub fn plain(value: &[u8]) -> Option<&str> {
    let plain = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    std::str::from_utf8(value).ok().filter(|_| plain)
}

/// Writes a header, whose value holds no line break.
pub(crate) fn push_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Where in `whole` a part of it is.
pub(crate) fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start + part.len()
}
