//! Chunked bodies (RFC 9112 §7.1), read strictly, and written.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::MAX_HEADERS;
use crate::body::take_up_to;
use crate::framing::{FramingError, digits};

/// How long the line before a chunk may be, all that stands behind sizes together, and all the trailers together.
const MAX_LINE: usize = 8 << 10;
const LINE_BREAK: usize = 2;

/// Reads a chunked body.
#[derive(Debug, PartialEq, Eq)]
pub struct ChunkedDecoder {
    place: Place,
    /// How many bytes may still stand behind the sizes of chunks.
    extensions: usize,
    /// How many trailers may still come.
    trailers: usize,
}

/// Where in the body we are.
#[derive(Debug, PartialEq, Eq)]
enum Place {
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
    /// Before the first chunk.
    pub(crate) fn new() -> Self {
        Self { place: Place::Size, extensions: MAX_LINE, trailers: MAX_HEADERS }
    }

    /// Whether nothing more belongs to the body.
    pub(crate) fn is_done(&self) -> bool {
        self.place == Place::End
    }

    /// Takes what has come of the body out of `buffered`. It goes on past what it takes as far as it can: the end of the
    /// body mostly comes with its last bytes.
    pub(crate) fn decode(&mut self, buffered: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        let mut taken = None;
        loop {
            match &mut self.place {
                Place::Size => {
                    let Some(line) = take_line(buffered, MAX_LINE)? else { return Ok(taken) };
                    let (size, extension) = size(&line)?;
                    self.extensions = self.extensions.checked_sub(extension).ok_or(FramingError::Chunk)?;
                    self.place = if size == 0 { Place::Trailers(MAX_LINE) } else { Place::Data(size) };
                }
                Place::Data(_) if taken.is_some() => return Ok(taken),
                Place::Data(left) => {
                    taken = take_up_to(buffered, left);
                    if *left > 0 {
                        return Ok(taken);
                    }
                    self.place = Place::Break;
                }
                Place::Break => match take_line(buffered, 0)? {
                    Some(_) => self.place = Place::Size,
                    None => return Ok(taken),
                },
                Place::Trailers(left) => {
                    // What they say is not needed, only that they are fields: another reader might see a request.
                    let Some(line) = take_line(buffered, *left)? else { return Ok(taken) };
                    if line.is_empty() {
                        self.place = Place::End;
                        return Ok(taken);
                    }
                    let left = left.checked_sub(line.len() + LINE_BREAK).filter(|_| is_field(&line));
                    self.place = Place::Trailers(left.ok_or(FramingError::Chunk)?);
                    self.trailers = self.trailers.checked_sub(1).ok_or(FramingError::Chunk)?;
                }
                Place::End => return Ok(taken),
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

/// The size of a chunk, and how long is what follows it on its line, which says nothing to us.
fn size(line: &[u8]) -> Result<(u64, usize), FramingError> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (size, extension) = line.split_at_checked(end).ok_or(FramingError::Chunk)?;
    let extended = extension.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    let size = digits(size, 16).filter(|_| matches!(extended, None | Some(b';')));
    Ok((size.ok_or(FramingError::Chunk)?, extension.len()))
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

    #[test]
    fn what_stands_behind_sizes_is_bounded_for_all_chunks_together() {
        let chunks = |many: usize, behind: &str| format!("1{behind}\r\nx\r\n").repeat(many) + "0\r\n\r\n";
        let within = read(BodyDecoder::chunked(), &[chunks(MAX_LINE / 4, ";abc").as_bytes()]);
        assert!(within.is_ok_and(|(body, done, _)| done && body.len() == MAX_LINE / 4));
        for behind in [";abc", "    "] {
            let beyond = read(BodyDecoder::chunked(), &[chunks(MAX_LINE / 4 + 1, behind).as_bytes()]);
            assert_eq!(beyond, Err(FramingError::Chunk), "{behind}");
        }
    }

    #[test]
    fn a_body_has_no_more_trailers_than_a_head_has_headers() {
        let trailers = |many: usize| format!("0\r\n{}\r\n", "a:\r\n".repeat(many));
        let within = read(BodyDecoder::chunked(), &[trailers(MAX_HEADERS).as_bytes()]);
        assert_eq!(within, Ok((Vec::new(), true, Vec::new())));
        let beyond = read(BodyDecoder::chunked(), &[trailers(MAX_HEADERS + 1).as_bytes()]);
        assert_eq!(beyond, Err(FramingError::Chunk));
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
