//! HTTP/1.1 as both sides of the gateway speak it, over the parser `httparse`: clients' requests are read and answered,
//! servers are asked and their responses read. A message whose end two readers could see at two places is refused.
//!
//! A [`conn::Conn`] holds no memory while nothing comes. Nothing here knows what the messages are about.

pub mod body;
pub mod chunked;
pub mod conn;
pub mod framing;
pub mod headers;
pub mod outgoing;
pub mod request_head;
pub mod response_head;

/// How many headers a message may have, and how many trailers.
pub const MAX_HEADERS: usize = 96;
/// How many bytes the head of a message may have.
pub const MAX_HEAD: usize = 64 << 10;
