//! Chunked bodies (RFC 9112 §7.1), read strictly, and written.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::body::take_up_to;
use crate::framing::{FramingError, digits};

/// How long the line before a chunk may be, and all the trailers together.
const MAX_LINE: usize = 8 << 10;
const LINE_BREAK: usize = 2;

/// Reads a chunked body; knows where in it we are.
#[derive(Debug, PartialEq, Eq)]
pub enum ChunkedDecoder {
    /// Before the line that says how long the next chunk is.
    Size,
    /// This many bytes before the end of a chunk.
    Data(u64),
    /// Before the line break that ends a chunk.
    Break,
    /// In the trailers, of which this many bytes may still come.
    Trailers(usize),
    /// Behind everything.
    End,
}

// === impl ChunkedDecoder ===

impl ChunkedDecoder {
    /// Takes what has come of the body out of `buffered`. It goes on past what it takes as far as it can: the end of the
    /// body mostly comes with its last bytes.
    pub(crate) fn decode(&mut self, buffered: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        let mut taken = None;
        loop {
            match self {
                Self::Size => {
                    let Some(line) = take_line(buffered, MAX_LINE)? else { return Ok(taken) };
                    *self = match size(&line)? {
                        0 => Self::Trailers(MAX_LINE),
                        size => Self::Data(size),
                    };
                }
                Self::Data(_) if taken.is_some() => return Ok(taken),
                Self::Data(left) => {
                    taken = take_up_to(buffered, left);
                    if *left > 0 {
                        return Ok(taken);
                    }
                    *self = Self::Break;
                }
                Self::Break => match take_line(buffered, 0)? {
                    Some(_) => *self = Self::Size,
                    None => return Ok(taken),
                },
                Self::Trailers(left) => {
                    // What they say is not needed, only that they are fields: another reader might see a request.
                    let Some(line) = take_line(buffered, *left)? else { return Ok(taken) };
                    *self = match left.checked_sub(line.len() + LINE_BREAK) {
                        _ if line.is_empty() => Self::End,
                        Some(left) if is_field(&line) => Self::Trailers(left),
                        Some(_) | None => return Err(FramingError::Chunk),
                    };
                }
                Self::End => return Ok(taken),
            }
        }
    }
}

/// Writes a chunk; the empty one is the end of its body.
pub fn push_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// A line of at most `limit` bytes without its end, if it has come whole. It holds no control character but tabs: some
/// readers end a line at a bare CR, and some a text at NUL.
fn take_line(buffered: &mut BytesMut, limit: usize) -> Result<Option<BytesMut>, FramingError> {
    match memchr::memchr(b'\n', buffered) {
        Some(end) => {
            let mut line = buffered.split_to(end);
            buffered.advance(1);
            let text = line.len().checked_sub(1).filter(|text| *text <= limit && line.last() == Some(&b'\r'));
            line.truncate(text.ok_or(FramingError::Chunk)?);
            let plain = line.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
            if plain { Ok(Some(line)) } else { Err(FramingError::Chunk) }
        }
        None if buffered.len() > limit.saturating_add(1) => Err(FramingError::Chunk),
        None => Ok(None),
    }
}

/// The size of a chunk; what may follow it on its line says nothing to us.
fn size(line: &[u8]) -> Result<u64, FramingError> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (size, extension) = line.split_at_checked(end).ok_or(FramingError::Chunk)?;
    let extended = extension.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    digits(size, 16).filter(|_| matches!(extended, None | Some(b';'))).ok_or(FramingError::Chunk)
}

/// Whether a line of trailers is a field: a token (RFC 9110 §5.6.2), a colon, and a value.
fn is_field(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().filter(|name| name.len() < line.len());
    name.is_some_and(|name| !name.is_empty() && name.iter().copied().all(is_token))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::body::BodyDecoder;
    use crate::body::tests::read;

    #[test]
    fn the_end_of_a_chunked_body_is_seen_with_its_last_bytes() {
        let (mut body, mut buffered) =
            (BodyDecoder::chunked(), BytesMut::from(&b"3;why=not\r\nabc\r\n0\r\nA: b\r\n\r\nnext"[..]));
        assert_eq!(body.decode(&mut buffered), Ok(Some(Bytes::from_static(b"abc"))));
        assert!(body.is_done());
        assert_eq!(buffered, "next");
    }

    #[test]
    fn chunks_that_two_readers_could_read_differently_are_none() {
        let many_trailers = format!("0\r\n{}", "a:\r\n".repeat(MAX_LINE));
        let long_line = format!("1;{}\r\n", "x".repeat(MAX_LINE));
        let endless = "1".repeat(MAX_LINE + 2);
        for body in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "+1\r\na\r\n",
            "0x1\r\na\r\n",
            "1\na\r\n",
            "1\r\nab\r\n",
            "1\r\na\n",
            "1 1\r\na\r\n",
            " 1\r\na\r\n",
            "11111111111111111\r\n",
            "0\r\n\n",
            "5\r\r\nhello\r\n",
            "5;a\rb\r\nhello\r\n",
            "5\r;a\r\nhello\r\n",
            "5;a\0\r\nhello\r\n",
            "5\x0b\r\nhello\r\n",
            "0\r\nbad trailer\r\n\r\n",
            "0\r\n: no name\r\n\r\n",
            "0\r\nname : x\r\n\r\n",
            "0\r\na: b\r\n folded\r\n\r\n",
            "0\r\na: b\rc: d\r\n\r\n",
            "0\r\nGET / HTTP/1.1\r\n\r\n",
            &many_trailers,
            &long_line,
            &endless,
        ] {
            let read = read(BodyDecoder::chunked(), &[body.as_bytes()]);
            assert_eq!(read, Err(FramingError::Chunk), "{body:.40}");
        }
    }

    #[test]
    fn unusual_chunks_that_every_reader_reads_alike_are_read() {
        for body in [
            "5 \r\nhello\r\n0\r\n\r\n",
            "5\t; a=\"\u{e9}\"\r\nhello\r\n000\r\n\r\n",
            "5\r\nhello\r\n0\r\nX-Sum:\r\n!#$%&'*+-.^_`|~: a: b\t\r\n\r\n",
        ] {
            assert_eq!(
                read(BodyDecoder::chunked(), &[body.as_bytes()]),
                Ok((b"hello".to_vec(), true, vec![])),
                "{body}"
            );
        }
    }

    proptest! {
        #[test]
        fn chunks_are_read_the_same_however_they_arrive(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
            cuts in proptest::collection::vec(0..400usize, 0..8),
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                push_chunk(&mut wire, chunk);
            }
            wire.extend_from_slice(b"0\r\n\r\nrest");
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < wire.len()).collect();
            cuts.extend([0, wire.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &wire[cut[0]..cut[1]]).collect();
            let read = read(BodyDecoder::chunked(), &pieces);
            prop_assert_eq!(read, Ok((chunks.concat(), true, b"rest".to_vec())));
        }
    }
}
