//! Server-sent events: an encoder, and a decoder that takes bytes as they come and keeps a bound.

use bytes::Bytes;
use memchr::memchr2;

/// One event. A priming event has an id and no data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: Bytes,
    /// Milliseconds to wait before reconnecting.
    pub retry: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is longer than {limit} bytes")]
    EventTooLong { limit: usize },
}

/// Cuts a byte stream into events. Events without data, id and retry are dropped, and so is an event that
/// the stream ends in the middle of.
#[derive(Debug)]
pub struct Decoder {
    max_event_bytes: usize,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The event that has not ended yet.
    pending: Pending,
    /// Whether the last byte was a CR: an LF after it belongs to the same line end.
    after_cr: bool,
    /// Whether nothing but the start of the stream has been seen, where a byte-order mark is skipped.
    at_start: bool,
}

#[derive(Debug, Default)]
struct Pending {
    id: Option<String>,
    event: Option<String>,
    data: Option<Data>,
    retry: Option<u64>,
    /// Bytes of the finished lines.
    bytes: usize,
}

/// Nearly all events have one data line, whose buffer then becomes the event's.
#[derive(Debug)]
enum Data {
    One(Bytes),
    Many(Vec<u8>),
}

// === impl Decoder ===

impl Decoder {
    /// `max_event_bytes` bounds all lines of one event together.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            pending: Pending::default(),
            after_cr: false,
            at_start: true,
        }
    }

    /// Takes the next bytes and appends the events they complete. After an error the stream is lost.
    pub fn feed(&mut self, chunk: &[u8], out: &mut Vec<Event>) -> Result<(), SseError> {
        let mut rest = chunk;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.check(rest.len())?;
                self.line.extend_from_slice(rest);
                return Ok(());
            };
            self.check(end)?;
            let (line, tail) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.line.extend_from_slice(line);
            self.after_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            self.end_line(line, out);
        }
        Ok(())
    }

    /// The id, event name and data that an unfinished event holds count as well as the unfinished line.
    fn check(&self, more: usize) -> Result<(), SseError> {
        let limit = self.max_event_bytes;
        let length = self.pending.bytes.saturating_add(self.line.len()).saturating_add(more);
        if length > limit { Err(SseError::EventTooLong { limit }) } else { Ok(()) }
    }

    fn end_line(&mut self, mut line: Vec<u8>, out: &mut Vec<Event>) {
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            out.extend(std::mem::take(&mut self.pending).finish());
            return;
        }
        if line.starts_with(b":") {
            // A comment is no part of an event. Its buffer serves the next line.
            line.clear();
            self.line = line;
            return;
        }
        self.pending.bytes += line.len() + 1;
        self.pending.field(line);
    }
}

// === impl Pending ===

impl Pending {
    fn field(&mut self, line: Vec<u8>) {
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let value_start = match line.get(colon + 1) {
            Some(b' ') => colon + 2,
            Some(_) => colon + 1,
            None => line.len(),
        };
        let name = line.get(..colon).unwrap_or_default();
        let text =
            |line: &[u8]| String::from_utf8_lossy(line.get(value_start..).unwrap_or_default()).into_owned();
        match name {
            b"data" => self.data_line(Bytes::from(line).slice(value_start..)),
            b"id" => {
                let id = text(&line);
                if !id.contains('\0') {
                    self.id = Some(id);
                }
            }
            b"event" => self.event = Some(text(&line)),
            b"retry" => {
                let digits = text(&line);
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.retry = digits.parse().ok();
                }
            }
            _ => {}
        }
    }

    fn data_line(&mut self, line: Bytes) {
        self.data = Some(match self.data.take() {
            None => Data::One(line),
            Some(data) => {
                let mut joined = match data {
                    Data::One(first) => Vec::from(first),
                    Data::Many(joined) => joined,
                };
                joined.push(b'\n');
                joined.extend_from_slice(&line);
                Data::Many(joined)
            }
        });
    }

    fn finish(self) -> Option<Event> {
        if self.data.is_none() && self.id.is_none() && self.retry.is_none() {
            return None;
        }
        let data = match self.data {
            None => Bytes::new(),
            Some(Data::One(data)) => data,
            Some(Data::Many(data)) => Bytes::from(data),
        };
        Some(Event { id: self.id, event: self.event, data, retry: self.retry })
    }
}

/// Appends a message event. Line breaks in the data, which in JSON text can only be whitespace, make
/// several data lines.
pub fn encode(out: &mut Vec<u8>, id: Option<&str>, data: &[u8]) {
    encode_event(out, None, id, data);
}

/// Appends an event with a name, such as the `endpoint` of HTTP+SSE.
pub fn encode_event(out: &mut Vec<u8>, event: Option<&str>, id: Option<&str>, data: &[u8]) {
    out.reserve(data.len() + 64);
    if let Some(event) = event {
        field(out, b"event: ", event);
    }
    if let Some(id) = id {
        field(out, b"id: ", id);
    }
    let mut rest = data;
    loop {
        let end = memchr2(b'\n', b'\r', rest);
        let (line, tail) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
        rest = match tail {
            [] => break,
            [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
        };
    }
    out.push(b'\n');
}

/// Appends an event that says nothing but how long to wait before reconnecting.
pub fn encode_retry(out: &mut Vec<u8>, milliseconds: u64) {
    field(out, b"retry: ", &milliseconds.to_string());
    out.push(b'\n');
}

/// Appends a comment, which keeps a quiet connection open.
pub fn encode_comment(out: &mut Vec<u8>, comment: &str) {
    field(out, b": ", comment);
    out.push(b'\n');
}

/// One line; what would end it early is left out.
fn field(out: &mut Vec<u8>, name: &[u8], value: &str) {
    out.extend_from_slice(name);
    out.extend(value.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | 0)));
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
