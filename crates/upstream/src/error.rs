//! What can go wrong with a server, whose fault it is, and whether the request can have had an effect.

use std::time::Duration;

use highwater_core::id::UpstreamId;
use highwater_mcp::scan::{ScanError, Violation};
use thiserror::Error;

/// A failure to get an answer. What the server itself answers, errors included, is a reply and not this.
#[derive(Debug, Error)]
#[error("server `{upstream}` {cause}")]
pub struct UpstreamError {
    /// Which server.
    pub upstream: UpstreamId,
    /// What happened.
    pub cause: Cause,
    /// Whether the request may have reached the server. If not, nothing can have been executed.
    pub sent: bool,
}

/// What happened. The text is ours and names no upstream text, so that it can be shown to a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// The program could not be started; the reason is the operating system's.
    #[error("could not be started: {0}")]
    NotStarted(String),
    /// The process ended, or the connection closed, before the answer.
    #[error("ended before it answered ({0})")]
    Gone(String),
    /// The server did not answer the greeting in time.
    #[error("did not answer its greeting within {0:?}")]
    SilentStart(Duration),
    /// No answer in time.
    #[error("did not answer within {0:?}")]
    TimedOut(Duration),
    /// It failed a moment ago and is left alone for a while.
    #[error("failed a moment ago and is tried again in {0:?}")]
    BackingOff(Duration),
    /// The answer is larger than allowed.
    #[error("sent more than the {limit} bytes that are allowed")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
    /// The answer breaks the protocol or the strict scan.
    #[error("sent a message that breaks the protocol: {0}")]
    Malformed(String),
    /// An HTTP status that is no answer.
    #[error("answered with HTTP status {0}")]
    Status(u16),
    /// The connection could not be made.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// It is not what it was when the call was judged.
    #[error("changed after the call was judged")]
    Changed,
    /// The gateway is shutting down.
    #[error("is being shut down")]
    ShuttingDown,
}

// === impl Cause ===

/// What the strict scan objected to, without the place: keys are the server's words and stay in the log.
impl From<&ScanError> for Cause {
    fn from(error: &ScanError) -> Self {
        let what = match &error.violation {
            Violation::TooLarge { limit, .. } => return Self::TooLarge { limit: *limit },
            Violation::NotUtf8 => "it is not UTF-8",
            Violation::ByteOrderMark => "it opens with a byte-order mark",
            Violation::Syntax(_) | Violation::TrailingBytes => "it is not JSON",
            Violation::TooDeep { .. } => "it is nested too deeply",
            Violation::TooManyValues { .. } => "it holds too many values",
            Violation::DuplicateKey => "it holds a key twice",
            Violation::ReservedKey => "it holds a key that is reserved",
            Violation::LoneSurrogate => "it holds half a character",
            Violation::KeyCase { .. } => "it misspells a key",
            Violation::Batch => "it is a batch",
            Violation::NotAnEnvelope(what) => what,
            Violation::ParamsNotObject => "its parameters are no object",
            Violation::ControlInName => "it has a control character in a name",
        };
        Self::Malformed(what.to_owned())
    }
}
