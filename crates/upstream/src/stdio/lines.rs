//! Lines of a pipe, never more of one than allowed.

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much of each end of a line that is too long is kept, to see whose it was.
const KEPT: usize = 1 << 10;
/// Room for the next read, before and after a line has shown that it is a long one.
const READ: usize = 8 << 10;
const READ_LONG: usize = 64 << 10;
/// A buffer that grew beyond this for one line is not kept for the next.
const KEEP_BUFFER: usize = 256 << 10;

/// The lines of one pipe.
pub(super) struct Lines<R> {
    source: R,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no newline.
    searched: usize,
    limit: usize,
    ended: bool,
}

/// One line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All of it.
    Whole(Bytes),
    /// The last one, without its newline. It may be all of it.
    Last(Bytes),
    /// It was longer than allowed; its ends.
    TooLong {
        /// The first bytes.
        head: Bytes,
        /// The last bytes.
        tail: Bytes,
    },
}

// === impl Lines ===

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R, limit: usize) -> Self {
        Self { source, buffer: BytesMut::new(), searched: 0, limit, ended: false }
    }

    /// The next line, or nothing at the end. A pipe that breaks has ended.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(end) = self.find_newline() {
                return Some(self.take(end, true));
            }
            if self.buffer.len() > self.limit {
                return Some(self.skip().await);
            }
            if !self.fill().await {
                return (!self.buffer.is_empty()).then(|| match self.take(self.buffer.len(), false) {
                    Line::Whole(line) => Line::Last(line),
                    other => other,
                });
            }
        }
    }

    fn find_newline(&mut self) -> Option<usize> {
        let found = memchr(b'\n', self.buffer.get(self.searched..)?).map(|at| self.searched + at);
        self.searched = if found.is_some() { 0 } else { self.buffer.len() };
        found
    }

    /// Takes the first `end` bytes, and the newline behind them if there is one.
    fn take(&mut self, end: usize, newline: bool) -> Line {
        self.searched = 0;
        let mut line = self.buffer.split_to(end).freeze();
        if newline {
            drop(self.buffer.split_to(1));
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > KEEP_BUFFER {
            // Otherwise the whole room of the long line would stay with the few bytes after it.
            self.buffer = BytesMut::from(self.buffer.as_ref());
        }
        if line.len() > self.limit {
            return Line::TooLong { head: head(&line), tail: tail(&line) };
        }
        Line::Whole(line)
    }

    /// Reads on to the end of a line that is too long, keeping its ends.
    async fn skip(&mut self) -> Line {
        let head = head(&self.buffer);
        let mut last = BytesMut::from(tail(&self.buffer).as_ref());
        self.buffer = BytesMut::new();
        self.searched = 0;
        loop {
            if !self.fill().await {
                break;
            }
            let end = self.find_newline();
            let part = self.buffer.split_to(end.unwrap_or(self.buffer.len()));
            self.searched = 0;
            last.extend_from_slice(&tail(&part));
            if last.len() > KEPT {
                last = last.split_off(last.len() - KEPT);
            }
            if end.is_some() {
                drop(self.buffer.split_to(1));
                break;
            }
        }
        if last.last() == Some(&b'\r') {
            last.truncate(last.len() - 1);
        }
        Line::TooLong { head, tail: last.freeze() }
    }

    async fn fill(&mut self) -> bool {
        if self.ended {
            return false;
        }
        self.buffer.reserve(if self.buffer.len() < READ { READ } else { READ_LONG });
        match self.source.read_buf(&mut self.buffer).await {
            Ok(1..) => true,
            Ok(0) => {
                self.ended = true;
                false
            }
            Err(error) => {
                tracing::debug!(%error, "a pipe broke");
                self.ended = true;
                false
            }
        }
    }
}

fn head(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes.get(..KEPT).unwrap_or(bytes))
}

fn tail(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes.get(bytes.len().saturating_sub(KEPT)..).unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await {
            found.push(line);
        }
        found
    }

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[tokio::test]
    async fn lines_end_at_newlines_and_at_the_end() {
        let last = Line::Last(Bytes::from_static(b"d"));
        assert_eq!(lines(b"a\r\n\nbc\nd", 10).await, [whole("a"), whole(""), whole("bc"), last]);
        assert_eq!(lines(b"", 10).await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_shows_its_ends_and_costs_nothing_else() {
        let mut text = b"head".to_vec();
        text.resize(3 << 20, b'x');
        text.extend_from_slice(b"tail\nnext\n");
        let found = lines(&text, 1 << 20).await;
        let [Line::TooLong { head, tail }, next] = found.as_slice() else { panic!("two lines") };
        assert!(head.starts_with(b"head") && head.len() == KEPT);
        assert!(tail.ends_with(b"tail") && tail.len() == KEPT);
        assert_eq!(*next, whole("next"));
        assert!(
            matches!(lines(b"abcdef\n", 5).await.as_slice(), [Line::TooLong { head, tail }] if head == tail)
        );
        assert_eq!(lines(b"abcde\n", 5).await, [whole("abcde")]);
    }
}
