//! What both transports share: arrivals are noted, and questions are answered.

use std::sync::{Mutex, PoisonError};

use serde_json::json;
use tokio::sync::mpsc;

use super::inbox::{Inbox, Stream};
use super::message::Message;
use super::question::{Handler, Question, Reply};

pub(super) struct Core {
    pub(super) inbox: Inbox,
    handler: Handler,
    asked: Mutex<Vec<Question>>,
    /// Answers on their way out.
    replies: mpsc::UnboundedSender<String>,
}

// === impl Core ===

impl Core {
    pub(super) fn new(handler: Handler) -> (Self, mpsc::UnboundedReceiver<String>) {
        let (replies, outgoing) = mpsc::unbounded_channel();
        (Self { inbox: Inbox::new(), handler, asked: Mutex::default(), replies }, outgoing)
    }

    /// Takes in one message. A question is answered on the spot.
    pub(super) fn arrived(&self, message: Message, stream: Stream) {
        let question = match (message.is_question(), message.id(), message.method()) {
            (true, Some(id), Some(method)) => {
                let params = message.params().unwrap_or("{}").to_owned();
                Some((id.to_owned(), Question { method: method.to_owned(), params }))
            }
            _ => None,
        };
        self.inbox.arrived(message, stream);
        let Some((id, question)) = question else { return };
        let body = match self.answer(&question) {
            Reply::Result(result) => format!(r#""result":{result}"#),
            Reply::Raw(result) => format!(r#""result":{result}"#),
            Reply::Error(code, message) => {
                format!(r#""error":{}"#, json!({ "code": code, "message": message }))
            }
            Reply::Silence => return,
        };
        // Nobody sends any more: the client is going away.
        self.replies.send(format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#)).ok();
    }

    /// The client's answer; the question is remembered.
    pub(super) fn answer(&self, question: &Question) -> Reply {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question.clone());
        (self.handler)(question)
    }

    pub(super) fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
