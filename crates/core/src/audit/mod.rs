//! What goes on record: one event per decision, outcome, question and refused message. `store` writes them
//! as JSON lines.

use serde::Serialize;

use crate::action::{ActionDigest, ActionKind};
use crate::decide::{AskKind, Effect, Finding};
use crate::id::{DecisionId, Principal, SessionKey, Timestamp, UpstreamId, VirtualServerId};

/// The version of the record's shape; it changes when a field changes its meaning.
pub const RECORD_VERSION: u32 = 1;

/// One line of the audit log.
#[derive(Debug, Serialize)]
pub struct AuditEvent<'a> {
    /// See `RECORD_VERSION`.
    pub v: u32,
    /// When it was written.
    pub time: Timestamp,
    /// What it belongs to: the decision's name, the same on decision, question and outcome.
    pub id: &'a DecisionId,
    /// What happened.
    #[serde(flatten)]
    pub happened: Happened<'a>,
}

/// The things that can happen.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Happened<'a> {
    /// An action was judged. Written before anything is sent.
    Decision {
        /// Who asked.
        principal: &'a Principal,
        /// In which agent session.
        session: &'a SessionKey,
        /// Through which virtual server.
        virtual_server: &'a VirtualServerId,
        /// Where it goes.
        upstream: &'a UpstreamId,
        /// What kind of action.
        kind: ActionKind,
        /// As which method.
        method: &'a str,
        /// The upstream's own name of what is acted on.
        target: &'a str,
        /// The digest of the exact action. Arguments themselves are not recorded.
        digest: ActionDigest,
        /// The effect of the whole.
        effect: Effect,
        /// Every finding.
        findings: &'a [Finding],
    },
    /// An allowed action came to an end. Written before its reply is released.
    Outcome {
        /// How it ended.
        outcome: Outcome,
        /// How many bytes came back.
        bytes: u64,
        /// How long the upstream took, in milliseconds.
        millis: u64,
        /// What went wrong, in our words.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
        /// Findings against the reply, if it was withheld.
        #[serde(skip_serializing_if = "<[Finding]>::is_empty")]
        findings: &'a [Finding],
    },
    /// An upstream asked something back.
    Question {
        /// Who asked.
        upstream: &'a UpstreamId,
        /// What.
        kind: AskKind,
        /// Whether it was put to the client.
        effect: Effect,
        /// Every finding.
        findings: &'a [Finding],
    },
}

/// How an allowed action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A result was released.
    Delivered,
    /// The upstream answered with an error, and that was released.
    UpstreamError,
    /// The upstream could not be reached, died or broke the protocol. The side effect may have happened.
    Failed,
    /// The upstream did not answer in time. The side effect may have happened.
    TimedOut,
    /// The caller gave up before the answer came. The side effect may have happened.
    Cancelled,
    /// The reply was not released.
    Withheld,
}
