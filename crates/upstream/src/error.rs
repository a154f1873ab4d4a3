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
    /// There is no such program.
    #[error("could not be started: `{command}` was not found{}{hint}", place(searched.as_deref()))]
    NoProgram {
        /// The command as the operator wrote it.
        command: String,
        /// The search path on which it was looked for; nothing if the command is a path itself.
        searched: Option<String>,
        /// Where such a program comes from, if that is known.
        hint: &'static str,
    },
    /// The process ended, or the connection closed, before the answer.
    #[error("ended before it answered ({0})")]
    Gone(String),
    /// The server did not answer the greeting in time.
    #[error("did not answer its greeting within {0:?}")]
    SilentStart(Duration),
    /// No answer in time.
    #[error("did not answer within {0:?}")]
    TimedOut(Duration),
    /// It answers neither calls nor pings, and is given no further calls as long as that lasts.
    #[error(
        "has answered neither calls nor pings for {0:?}; if it stays silent it is started anew: try again later"
    )]
    Silent(Duration),
    /// It answered neither calls nor pings, and was ended.
    #[error("answered neither calls nor pings for {0:?} and was ended; it is started anew")]
    Wedged(Duration),
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
    /// HTTP status 401, and the server names the OAuth metadata of what it protects.
    #[error("answered with HTTP status 401: it wants OAuth")]
    WantsOauth,
    /// A page for people.
    #[error("answered with a web page in place of a message")]
    WebPage,
    /// It is not asked at all.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The connection could not be made.
    #[error("cannot be reached: {0}")]
    NoConnection(NoConnection),
    /// It is not what it was when the call was judged.
    #[error("changed after the call was judged")]
    Changed,
    /// Its connections broke before anything was sent: whoever answers there may be another.
    #[error("was disconnected before the request was sent")]
    Disconnected,
    /// The gateway is shutting down.
    #[error("is being shut down")]
    ShuttingDown,
}

/// Why a connection could not be made, in words that hold nothing the other side wrote: a certificate's text, for one,
/// would be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoConnection {
    /// Its host has no address.
    #[error("its host name cannot be resolved")]
    NoName,
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// Nobody answered in time.
    #[error("timed out")]
    TimedOut,
    /// The gateway has as many open files as it may have.
    #[error("too many open files: raise the limit of open files of the gateway (`ulimit -n`)")]
    NoDescriptor,
    /// The certificate is not one that is trusted.
    #[error("the TLS handshake failed: its certificate is not trusted ({0})")]
    Certificate(&'static str),
    /// Something else went wrong with TLS.
    #[error("the TLS handshake failed")]
    Tls,
    /// Something else, in the operating system's words.
    #[error("{0}")]
    Other(String),
}

/// Where a program was looked for, without the path itself, which may be long and is no business of a model.
fn place(searched: Option<&str>) -> &'static str {
    match searched {
        None => "",
        Some("") => "; its environment has no PATH",
        Some(_) => " on its PATH",
    }
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
