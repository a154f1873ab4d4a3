//! How messages of HTTP/1.1 are told apart on a connection: RFC 9112 §6, §7 and §9.3, read strictly. Where two readers
//! could see two different ends of a message there is none.

use bytes::{Buf as _, Bytes, BytesMut};
use thiserror::Error;

/// How long the line before a chunk may be, and all the trailers together.
const MAX_LINE: usize = 8 << 10;
const LINE_BREAK: usize = 2;

/// What the headers of a message say of its body and its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// How long the body is said to be.
    pub length: Option<u64>,
    /// Whether it comes in chunks.
    pub chunked: bool,
    close: bool,
    keep_alive: bool,
}

/// Why the end of a message is not clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misframed {
    /// The length is no number, or two numbers.
    #[error("its length is not clear")]
    Length,
    /// Only chunks are understood.
    #[error("its transfer coding is not `chunked`")]
    Coding,
    /// A chunk does not begin or end as it should.
    #[error("a chunk of it is not valid")]
    Chunk,
    /// A line ends with LF alone.
    #[error("a line of its head does not end with CRLF")]
    LineEnd,
}

/// What is left of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Rest {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked(Chunked),
    /// What comes until the connection is closed.
    UntilClose,
    /// Nothing.
    Over,
}

/// Where in a chunked body we are.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunked {
    /// Before the line that says how long the next chunk is.
    Size,
    /// So many bytes before the end of a chunk.
    Data(u64),
    /// Before the line break that ends a chunk.
    Break,
    /// In the trailers, of which so many bytes may still come.
    Trailers(usize),
    /// Behind everything.
    End,
}

// === impl Framing ===

impl Framing {
    /// Takes one header into account.
    pub fn note(&mut self, name: &str, value: &[u8]) -> Result<(), Misframed> {
        // Told apart by their lengths first: hardly any header is one of these.
        match name.len() {
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = digits(value.trim_ascii(), 10).ok_or(Misframed::Length)?;
                if self.length.replace(length).is_some_and(|before| before != length) {
                    return Err(Misframed::Length);
                }
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(Misframed::Coding);
                }
                self.chunked = true;
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    self.close |= token.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the connection goes on after a message of this minor version of HTTP/1.
    pub fn keeps(&self, minor: u8) -> bool {
        !self.close && (minor > 0 || self.keep_alive)
    }
}

// === impl Rest ===

impl Rest {
    /// A body of so many bytes.
    pub fn of_length(length: u64) -> Self {
        if length == 0 { Self::Over } else { Self::Length(length) }
    }

    /// A body in chunks, before the first.
    pub fn chunked() -> Self {
        Self::Chunked(Chunked::Size)
    }

    /// Whether nothing more belongs to the body.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }

    /// Takes the next bytes of the body out of what has come. Nothing if more has to come first, or nothing will.
    pub fn take(&mut self, ahead: &mut BytesMut) -> Result<Option<Bytes>, Misframed> {
        match self {
            Self::Over => Ok(None),
            Self::UntilClose => Ok((!ahead.is_empty()).then(|| std::mem::take(ahead).freeze())),
            Self::Length(left) => {
                let bytes = up_to(ahead, left);
                if *left == 0 {
                    *self = Self::Over;
                }
                Ok(bytes)
            }
            Self::Chunked(at) => {
                let bytes = at.take(ahead)?;
                if *at == Chunked::End {
                    *self = Self::Over;
                }
                Ok(bytes)
            }
        }
    }
}

// === impl Chunked ===

impl Chunked {
    /// Goes on past what it takes as far as it can: the end of the body mostly comes with its last bytes.
    fn take(&mut self, ahead: &mut BytesMut) -> Result<Option<Bytes>, Misframed> {
        let mut taken = None;
        loop {
            match self {
                Self::Size => {
                    let Some(line) = take_line(ahead, MAX_LINE)? else { return Ok(taken) };
                    *self = match size(&line)? {
                        0 => Self::Trailers(MAX_LINE),
                        size => Self::Data(size),
                    };
                }
                Self::Data(_) if taken.is_some() => return Ok(taken),
                Self::Data(left) => {
                    taken = up_to(ahead, left);
                    if *left > 0 {
                        return Ok(taken);
                    }
                    *self = Self::Break;
                }
                Self::Break => match take_line(ahead, 0)? {
                    Some(_) => *self = Self::Size,
                    None => return Ok(taken),
                },
                Self::Trailers(left) => {
                    // What they say is not needed, only that they are fields: another reader might see a request.
                    let Some(line) = take_line(ahead, *left)? else { return Ok(taken) };
                    *self = match left.checked_sub(line.len() + LINE_BREAK) {
                        _ if line.is_empty() => Self::End,
                        Some(left) if is_field(&line) => Self::Trailers(left),
                        Some(_) | None => return Err(Misframed::Chunk),
                    };
                }
                Self::End => return Ok(taken),
            }
        }
    }
}

/// Refuses a head in which a line ends with LF alone. `httparse` takes it, RFC 9112 §2.2 allows it, and a reader that
/// does neither sees other headers.
pub fn check_line_ends(head: &[u8]) -> Result<(), Misframed> {
    let mut line_feeds = memchr::memchr_iter(b'\n', head);
    let ended = |at: usize| at.checked_sub(1).and_then(|before| head.get(before)) == Some(&b'\r');
    if line_feeds.all(ended) { Ok(()) } else { Err(Misframed::LineEnd) }
}

/// Writes a header, whose value holds no line break.
pub fn push_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// The first bytes. If they are all that has come, their memory goes with them.
pub fn split_to(ahead: &mut BytesMut, length: usize) -> BytesMut {
    if length == ahead.len() { std::mem::take(ahead) } else { ahead.split_to(length) }
}

/// Up to `left` bytes, if there are any.
fn up_to(ahead: &mut BytesMut, left: &mut u64) -> Option<Bytes> {
    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(ahead.len());
    *left = left.saturating_sub(here as u64);
    (here > 0).then(|| split_to(ahead, here).freeze())
}

/// A line of at most `limit` bytes without its end, if it has come whole. It holds no control character but tabs: some
/// readers end a line at a bare CR, and some a text at NUL.
fn take_line(ahead: &mut BytesMut, limit: usize) -> Result<Option<BytesMut>, Misframed> {
    match memchr::memchr(b'\n', ahead) {
        Some(end) => {
            let mut line = ahead.split_to(end);
            ahead.advance(1);
            let text = line.len().checked_sub(1).filter(|text| *text <= limit && line.last() == Some(&b'\r'));
            line.truncate(text.ok_or(Misframed::Chunk)?);
            let plain = line.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
            if plain { Ok(Some(line)) } else { Err(Misframed::Chunk) }
        }
        None if ahead.len() > limit.saturating_add(1) => Err(Misframed::Chunk),
        None => Ok(None),
    }
}

/// The size of a chunk; what may follow it on its line says nothing to us.
fn size(line: &[u8]) -> Result<u64, Misframed> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (size, extension) = line.split_at_checked(end).ok_or(Misframed::Chunk)?;
    let extended = extension.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    digits(size, 16).filter(|_| matches!(extended, None | Some(b';'))).ok_or(Misframed::Chunk)
}

/// Whether a line of trailers is a field: a token (RFC 9110 §5.6.2), a colon, and a value.
fn is_field(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().filter(|name| name.len() < line.len());
    name.is_some_and(|name| !name.is_empty() && name.iter().copied().all(is_token))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Digits alone: a sign or a list is no number.
fn digits(text: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.chars().all(|digit| digit.is_digit(radix)).then(|| u64::from_str_radix(text, radix).ok())?
}

#[cfg(test)]
mod tests;
