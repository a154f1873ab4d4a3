//! Questions of a legacy server in the middle of a call, and how their answers find the way back.

use std::sync::Arc;

use highwater_mcp::error_code::result_response;
use highwater_mcp::frame::Frame;
use tokio::sync::oneshot;

use super::message_endpoint::MessageEndpoint;
use crate::event::{AnswerSlot, Ask};
use crate::notification::{unanswered, words};

/// How many questions of one call may be open at once.
const MAX_OPEN: usize = 16;

/// The open questions of one call. When it goes, the questions are over and the server is told.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    /// JSON text.
    id: Box<str>,
    /// Sent to: the server took the question back. Dropped: the call is over.
    end: oneshot::Sender<()>,
}

// === impl Questions ===

impl Questions {
    /// Makes a question of a server's request; a task waits for the answer and delivers it. Nothing if too
    /// many are open already.
    pub(super) fn raise(&mut self, frame: &Frame, message_endpoint: &Arc<MessageEndpoint>) -> Option<Ask> {
        self.open.retain(|open| !open.end.is_closed());
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        let id: Box<str> = frame.id()?.into();
        let (answer, mut answered) = AnswerSlot::new();
        let (end, ended) = oneshot::channel();
        let ask = Ask {
            method: frame.method()?.to_owned(),
            params: frame.params().map(|params| frame.slice(params)),
            answer,
        };
        let message_endpoint = Arc::clone(message_endpoint);
        self.open.push(Open { id: id.clone(), end });
        tokio::spawn(async move {
            let answer = tokio::select! {
                // A question that was taken back gets no answer, even if one is there already.
                biased;
                end = ended => match end {
                    Ok(()) => return,
                    Err(_) => answered.try_recv().ok(),
                },
                answer = &mut answered => answer.ok(),
            };
            let body = answer.map_or_else(|| unanswered(&id), |answer| words(&id, &answer));
            message_endpoint.deliver_or_log(body).await;
        });
        Some(ask)
    }

    /// The server took a question back.
    pub(super) fn withdraw(&mut self, id: &str) {
        let withdrawn = self.open.extract_if(.., |open| &*open.id == id);
        if withdrawn.into_iter().any(|open| open.end.send(()).is_err()) {
            tracing::trace!("a question was taken back after its answer");
        }
    }
}

/// The answer to a ping.
pub(super) fn pong(id: &str) -> Vec<u8> {
    result_response(id, "{}")
}
