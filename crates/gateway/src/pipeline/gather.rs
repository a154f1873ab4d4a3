//! Gathers what can be known of a reply without opening it.

use highwater_core::decide::{Received, ReplyFacts, ResultType};
use highwater_mcp::era::reply;
use highwater_upstream::Reply;

use crate::gateway::Gateway;

impl Gateway {
    /// Seals a reply in with its facts. It cannot fail: what cannot be learned is the worst case.
    pub(super) fn gather_reply(&self, reply: Reply) -> Received<Reply> {
        // An error of the upstream is a reply too, and complete.
        let result_type = match reply::type_of(&reply.frame, reply.era) {
            reply::ResultType::Complete => ResultType::Complete,
            reply::ResultType::InputRequired => ResultType::InputRequired,
            reply::ResultType::Task => ResultType::Task,
            reply::ResultType::Unknown => ResultType::Unknown,
        };
        Received::new(reply, ReplyFacts::new(result_type))
    }
}
