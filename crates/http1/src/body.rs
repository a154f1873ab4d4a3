//! The body of a message: what is left of it, and what was read of it.

use bytes::{Bytes, BytesMut};

use crate::chunked::ChunkedDecoder;
use crate::framing::FramingError;

/// Reads a body; knows what is left of it.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyDecoder {
    /// This many bytes.
    Length(u64),
    /// Chunks.
    Chunked(ChunkedDecoder),
    /// What comes until the connection is closed.
    UntilClose,
    /// Nothing.
    Done,
}

/// A body that is being read whole.
#[derive(Default)]
pub struct BodyBuffer {
    /// All of it so far, if it came in one piece.
    pub(crate) first: Bytes,
    /// All of it so far otherwise.
    pub(crate) whole: Vec<u8>,
}

// === impl BodyDecoder ===

impl BodyDecoder {
    /// A body of this many bytes.
    pub fn of_length(length: u64) -> Self {
        if length == 0 { Self::Done } else { Self::Length(length) }
    }

    /// A body in chunks, before the first.
    pub fn chunked() -> Self {
        Self::Chunked(ChunkedDecoder::new())
    }

    /// Whether nothing more belongs to the body.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Takes the next bytes of the body out of `buffered`. Nothing if more has to come first, or nothing will.
    pub fn decode(&mut self, buffered: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        match self {
            Self::Done => Ok(None),
            Self::UntilClose => Ok((!buffered.is_empty()).then(|| std::mem::take(buffered).freeze())),
            Self::Length(left) => {
                let bytes = take_up_to(buffered, left);
                if *left == 0 {
                    *self = Self::Done;
                }
                Ok(bytes)
            }
            Self::Chunked(chunked) => {
                let bytes = chunked.decode(buffered)?;
                if chunked.is_done() {
                    *self = Self::Done;
                }
                Ok(bytes)
            }
        }
    }
}

// === impl BodyBuffer ===

impl BodyBuffer {
    /// How many bytes have come.
    pub fn len(&self) -> usize {
        self.first.len() + self.whole.len()
    }

    /// Whether nothing has come.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves a body that came in one piece to where there is room for more.
    pub(crate) fn spread(&mut self) {
        if !self.first.is_empty() {
            self.whole = Vec::from(std::mem::take(&mut self.first));
        }
    }

    /// The whole body.
    pub(crate) fn take(&mut self) -> Bytes {
        match self.whole.is_empty() {
            true => std::mem::take(&mut self.first),
            false => std::mem::take(&mut self.whole).into(),
        }
    }
}

/// The first bytes. If they are all that has come, their memory goes with them.
pub(crate) fn split_to(buffered: &mut BytesMut, length: usize) -> BytesMut {
    if length == buffered.len() { std::mem::take(buffered) } else { buffered.split_to(length) }
}

/// Up to `left` bytes, if there are any.
pub(crate) fn take_up_to(buffered: &mut BytesMut, left: &mut u64) -> Option<Bytes> {
    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(buffered.len());
    *left = left.saturating_sub(here as u64);
    (here > 0).then(|| split_to(buffered, here).freeze())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a body that comes in these pieces; with what is left over behind it.
    pub(crate) fn read(
        mut body: BodyDecoder,
        pieces: &[&[u8]],
    ) -> Result<(Vec<u8>, bool, Vec<u8>), FramingError> {
        let (mut buffered, mut read) = (BytesMut::new(), Vec::new());
        for piece in pieces {
            buffered.extend_from_slice(piece);
            while let Some(bytes) = body.decode(&mut buffered)? {
                assert!(!bytes.is_empty(), "an empty piece would read as the end");
                read.extend_from_slice(&bytes);
            }
        }
        Ok((read, body.is_done(), buffered.to_vec()))
    }

    #[test]
    fn a_body_of_known_length_ends_with_its_last_byte() {
        assert_eq!(read(BodyDecoder::of_length(3), &[b"abcd"]), Ok((b"abc".to_vec(), true, b"d".to_vec())));
        assert_eq!(read(BodyDecoder::of_length(3), &[b"ab"]), Ok((b"ab".to_vec(), false, Vec::new())));
        assert!(BodyDecoder::of_length(0).is_done());
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for body in [BodyDecoder::chunked(), BodyDecoder::of_length(50), BodyDecoder::UntilClose] {
                if let Ok((body, _, left)) = read(body, &[&bytes]) {
                    prop_assert!(body.len() + left.len() <= bytes.len());
                }
            }
        }
    }
}
