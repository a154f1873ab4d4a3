//! What the headers of a message say about where it ends: RFC 9112 §6 and §9.3, read strictly.

use thiserror::Error;

use crate::headers::plain;

/// No body is longer. Other readers keep the greatest lengths for meanings of their own.
const MAX_LENGTH: u64 = i64::MAX as u64;

/// What the headers of a message say of its body and its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// The announced length of the body.
    pub length: Option<u64>,
    /// Whether the body comes in chunks.
    pub chunked: bool,
    close: bool,
    keep_alive: bool,
}

/// Why the end of a message is not clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FramingError {
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

// === impl Framing ===

impl Framing {
    /// Takes one header into account.
    pub fn note(&mut self, name: &str, value: &[u8]) -> Result<(), FramingError> {
        // Told apart by their lengths first: hardly any header is one of these.
        match name.len() {
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = digits(value.trim_ascii(), 10).filter(|length| *length <= MAX_LENGTH);
                let length = length.ok_or(FramingError::Length)?;
                if self.length.replace(length).is_some_and(|before| before != length) {
                    return Err(FramingError::Length);
                }
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(FramingError::Coding);
                }
                self.chunked = true;
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                // Other readers make nothing of such a list: no connection stays open by one.
                self.close |= plain(value).is_none();
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
    pub fn keeps_alive(&self, minor: u8) -> bool {
        !self.close && (minor > 0 || self.keep_alive)
    }
}

/// Refuses a head in which a line ends with LF alone. `httparse` takes it, RFC 9112 §2.2 allows it, and a reader that
/// does neither sees other headers.
pub fn check_line_ends(head: &[u8]) -> Result<(), FramingError> {
    let mut line_feeds = memchr::memchr_iter(b'\n', head);
    let ended = |at: usize| at.checked_sub(1).and_then(|before| head.get(before)) == Some(&b'\r');
    if line_feeds.all(ended) { Ok(()) } else { Err(FramingError::LineEnd) }
}

/// Digits alone: a sign or a list is no number.
pub(crate) fn digits(text: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.chars().all(|digit| digit.is_digit(radix)).then(|| u64::from_str_radix(text, radix).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(headers: &[(&str, &str)]) -> Result<Framing, FramingError> {
        let mut framing = Framing::default();
        headers.iter().try_for_each(|(name, value)| framing.note(name, value.as_bytes()))?;
        Ok(framing)
    }

    #[test]
    fn a_length_is_one_number() {
        assert_eq!(framing(&[("Content-Length", " 5 ")]).unwrap().length, Some(5));
        assert_eq!(framing(&[("content-length", "5"), ("Content-Length", "5")]).unwrap().length, Some(5));
        for value in ["", "+5", "-5", "5, 5", "5 5", "0x5", "٥", "99999999999999999999"] {
            assert_eq!(framing(&[("content-length", value)]), Err(FramingError::Length), "{value}");
        }
        assert_eq!(framing(&[("content-length", "5"), ("content-length", "6")]), Err(FramingError::Length));
    }

    #[test]
    fn a_length_beyond_every_body_is_none() {
        let most = MAX_LENGTH.to_string();
        assert_eq!(framing(&[("content-length", &most)]).unwrap().length, Some(MAX_LENGTH));
        for value in ["9223372036854775808", "18446744073709551614", "18446744073709551615"] {
            assert_eq!(framing(&[("content-length", value)]), Err(FramingError::Length), "{value}");
        }
    }

    #[test]
    fn only_chunks_are_understood() {
        assert!(framing(&[("Transfer-Encoding", "Chunked")]).unwrap().chunked);
        for value in ["gzip, chunked", "chunked, chunked", "identity", "", "xchunked"] {
            assert_eq!(framing(&[("transfer-encoding", value)]), Err(FramingError::Coding), "{value}");
        }
        let twice = [("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")];
        assert_eq!(framing(&twice), Err(FramingError::Coding));
    }

    #[test]
    fn a_connection_goes_on_unless_somebody_says_otherwise() {
        let keeps = |minor, value| framing(&[("connection", value)]).unwrap().keeps_alive(minor);
        assert!(Framing::default().keeps_alive(1) && keeps(1, "keep-alive") && keeps(0, "Keep-Alive"));
        assert!(!Framing::default().keeps_alive(0) && !keeps(1, "Close") && !keeps(1, "upgrade, close"));
        assert!(!keeps(0, "keep-alive, close"));
    }

    #[test]
    fn a_connection_stays_open_by_no_list_that_is_not_plain_text() {
        let keeps = |minor, value| framing(&[("connection", value)]).unwrap().keeps_alive(minor);
        assert!(!keeps(0, "keep-alive, \u{e9}") && !keeps(1, "\u{e9}"));
    }
}
