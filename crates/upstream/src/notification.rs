//! What a server says without having been asked, by what is done with it, and the words with which its
//! questions are answered. Shared by every transport on which messages of all calls meet.

use highwater_mcp::era::meta_key;
use highwater_mcp::error_code::{INTERNAL_ERROR, METHOD_NOT_FOUND, error_response};
use highwater_mcp::frame::Frame;

use crate::event::{Answer, NoticeKind};

/// A notification.
#[derive(Debug)]
pub(crate) enum ServerNotification {
    /// Progress on the call of this number; nothing if the token is none of ours.
    Progress(Option<u64>),
    /// A log line.
    Log,
    /// For the gateway, whatever stream it came on.
    Notice(NoticeKind),
    /// The server takes back one of its own questions, or ends a listen stream: the id, as JSON text.
    Withdrawn(String),
    /// The first word on the listen stream of this number.
    Acknowledged(Option<u64>),
    /// A page that a person was sent to has been dealt with.
    Completed,
    /// Something of a later version.
    Other,
}

/// A request of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Whether we are there.
    Ping,
    /// A question for the client.
    Question,
    /// Something nobody serves.
    Unknown,
}

// === impl ServerNotification ===

impl ServerNotification {
    pub(crate) fn of(frame: &Frame) -> Self {
        match frame.method().unwrap_or_default() {
            "notifications/progress" => Self::Progress(number(frame.param(meta_key::PROGRESS_TOKEN))),
            "notifications/message" => Self::Log,
            "notifications/tools/list_changed" => Self::Notice(NoticeKind::ToolsChanged),
            "notifications/prompts/list_changed" => Self::Notice(NoticeKind::PromptsChanged),
            "notifications/resources/list_changed" => Self::Notice(NoticeKind::ResourcesChanged),
            "notifications/resources/updated" => Self::Notice(NoticeKind::ResourceUpdated(frame.clone())),
            "notifications/subscriptions/acknowledged" => {
                Self::Acknowledged(number(frame.meta(meta_key::SUBSCRIPTION_ID)))
            }
            "notifications/cancelled" => {
                Self::Withdrawn(frame.param("requestId").unwrap_or_default().to_owned())
            }
            "notifications/elicitation/complete" => Self::Completed,
            _ => Self::Other,
        }
    }
}

// === impl Request ===

impl Request {
    pub(crate) fn of(frame: &Frame) -> Self {
        match frame.method().unwrap_or_default() {
            "ping" => Self::Ping,
            "elicitation/create" | "sampling/createMessage" | "roots/list" => Self::Question,
            _ => Self::Unknown,
        }
    }
}

/// Our word to a request that cannot be put to anybody. Never an answer: nobody speaks in a user's name.
pub(crate) fn refusal(id: &str) -> Vec<u8> {
    error_response(Some(id), METHOD_NOT_FOUND, "this cannot be asked now", None)
}

/// Our word to a question that nobody answered.
pub(crate) fn unanswered(id: &str) -> Vec<u8> {
    error_response(Some(id), INTERNAL_ERROR, "the question was not answered", None)
}

/// An answer as the message that carries it.
pub(crate) fn words(id: &str, answer: &Answer) -> Vec<u8> {
    match answer {
        Answer::Given(permitted) => {
            let action = permitted.action();
            let member = if &**action.method() == "error" { "error" } else { "result" };
            format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{}}}"#, action.params()).into_bytes()
        }
        Answer::Refused { code, message } => error_response(Some(id), *code, message, None),
    }
}

fn number(raw: Option<&str>) -> Option<u64> {
    raw?.parse().ok()
}
