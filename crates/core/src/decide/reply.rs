//! The judgement of a reply. Core never opens it: it judges `ReplyFacts` and carries the reply unopened, and
//! the only way to get the reply out again is through a `Pass`.

use super::{Denial, Finding, FindingId, Judgement, Reason};
use crate::id::DecisionId;

/// What a reply says it is. Absent means complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// The call is done.
    Complete,
    /// The upstream asks back before it goes on.
    InputRequired,
    /// The call goes on as a task.
    Task,
    /// None of those.
    Unknown,
}

/// What is known of a reply without opening it.
#[derive(Clone, Copy, Debug)]
pub struct ReplyFacts {
    /// What the reply says it is.
    pub result_type: ResultType,
}

/// A reply as it came, with what is known of it.
#[derive(Debug)]
pub struct Received<R> {
    reply: R,
    facts: ReplyFacts,
}

/// The answer to a reply.
#[derive(Debug)]
pub enum ReplyVerdict<R> {
    /// It may be delivered.
    Pass(Pass<R>),
    /// It is not delivered. The call has run.
    Withhold(Denial),
}

/// Proof that a reply may be delivered, with the reply inside.
///
/// ```compile_fail
/// use highwater_core::decide::Pass;
/// let forged = Pass { reply: "text" };
/// ```
#[derive(Debug)]
pub struct Pass<R> {
    reply: R,
}

// === impl Received ===

impl<R> Received<R> {
    /// Seals a reply in until it has been judged.
    pub fn new(reply: R, facts: ReplyFacts) -> Self {
        Self { reply, facts }
    }
}

// === impl Pass ===

impl<R> Pass<R> {
    /// Opens the reply.
    pub fn into_reply(self) -> R {
        self.reply
    }
}

/// Judges a reply to the action that `decision` allowed.
pub fn decide_reply<R>(decision: &DecisionId, received: Received<R>) -> ReplyVerdict<R> {
    let mut findings = Vec::new();
    if received.facts.result_type == ResultType::Unknown {
        findings.push(Finding::block(FindingId::Reply, Reason::UnknownResultType));
    }
    if findings.is_empty() {
        ReplyVerdict::Pass(Pass { reply: received.reply })
    } else {
        ReplyVerdict::Withhold(Denial::new(decision.clone(), Judgement::of(findings)))
    }
}
