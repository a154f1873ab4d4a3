//! What goes on record: one event per decision, outcome, question, answer, notice and declassification. `store`
//! writes them as JSON lines; `Record` reads them back.
//!
//! Two of them are written for every call, so they are written by hand and say only what an explanation needs: the
//! label and the contract as words, the findings with all they saw, and the origins only where something was found or
//! came in. The arguments are never on record; their digest is, unless the call's receipt is sealed.

mod contract;
mod label_words;
mod line;
mod provenance;
mod record;
mod write;

pub use contract::{contract_of, is_as_recorded};
pub use label_words::{label_of_words, label_words};
pub use provenance::Provenance;
pub use record::{
    Record, Recorded, RecordedContract, RecordedDecision, RecordedLabel, RecordedMark, RecordedOutcome,
    RecordedProvenance, RecordedQuestion, RecordedTrust,
};

use std::sync::Arc;

use highwater_core::annotation::Notice;
use highwater_core::decide::{Answer, AskKind, Finding, Judgement, QuestionDigest};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_core::label::Label;
use highwater_core::pin::PinDigest;
use highwater_core::policy::{Facts, Policy};
use highwater_marks::Mark;
use highwater_notation::Timestamp;
use serde::{Deserialize, Serialize};

/// The version of the record's shape; it changes when a field changes its meaning.
pub const RECORD_VERSION: u32 = 2;

/// One line of the audit log.
#[derive(Debug)]
pub struct AuditEvent<'a> {
    /// When it was written.
    pub time: Timestamp,
    /// What it belongs to: the decision's name, the same on everything that happens in the course of one call.
    pub id: Option<&'a DecisionId>,
    /// What happened.
    pub happened: Happened<'a>,
}

/// The things that can happen.
#[derive(Debug)]
pub enum Happened<'a> {
    /// An action was judged. Written before anything is sent.
    Decision(Decision<'a>),
    /// An allowed action came to an end. Written before its reply is released.
    Outcome(Ended<'a>),
    /// The connection failed and an allowed action is sent once more. Written before it is.
    Retried {
        /// Which attempt it is; the first was 1.
        attempt: u32,
        /// Why the last one failed, in our words.
        why: &'a str,
        /// Whether an attempt before it may have reached the server.
        sent: bool,
    },
    /// An upstream asked something back.
    Question(Question<'a>),
    /// A person is asked about an action or a reply.
    Asked {
        /// What is asked; nothing where nothing may be found by trying.
        question: Option<QuestionDigest>,
        /// By which way, such as `form`.
        how: &'a str,
    },
    /// A person answered, or did not.
    Answered {
        /// What was asked; nothing where nothing may be found by trying.
        question: Option<QuestionDigest>,
        /// What they said.
        answer: Answer,
        /// Who, as far as that is known.
        by: &'a str,
    },
    /// A waiver lowered a finding.
    Waived(&'a Finding),
    /// Something about an annotation that the operator should hear of.
    Notice {
        /// Whose annotation.
        upstream: &'a UpstreamId,
        /// Of which tool, resource or prompt.
        target: &'a str,
        /// What there is to say.
        notice: &'a Notice,
    },
    /// Something about a session that the operator should hear of.
    Remark {
        /// Which.
        session: &'a SessionKey,
        /// What, as a word.
        what: &'a str,
        /// What, for people.
        detail: &'a str,
    },
    /// A person lowered a session's label.
    Declassification(Declassification<'a>),
    /// A person took marks off what was written.
    MarksCleared {
        /// As they were.
        marks: &'a [Mark],
        /// Who.
        by: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A person made, changed or ended a token.
    Token {
        /// `created`, `rotated` or `revoked`.
        act: &'a str,
        /// Which.
        name: &'a str,
        /// Who.
        by: &'a str,
        /// What it grants, if it is new and its maker said so.
        grant: Option<&'a Grant>,
        /// Whose agent it is, if its maker said so.
        user: Option<&'a str>,
    },
    /// A person approved or refused what a server says of itself.
    Review(Review<'a>),
    /// Something about asking people: requests, passkeys, mandates, what is remembered.
    Approval(ApprovalNote<'a>),
    /// Somebody came, was turned away, or looked at what there is.
    Access(Access<'a>),
    /// Something about the log itself.
    Log {
        /// What, as a word: `reopened`, `missing`, `resumed`, `removed` or `unknown-sessions`.
        act: &'a str,
        /// What, for people.
        detail: &'a str,
    },
}

/// What is recorded of somebody who came, was turned away, or looked at what there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access<'a> {
    /// What happened, as a word: `signed-in`, `signed-out`, `wrong-token`, `session`, `unknown-tool`, `search`, `list` or
    /// `log-level`.
    pub act: &'a str,
    /// Who, if that is known.
    pub principal: Option<&'a str>,
    /// From which address, or by which way.
    pub from: Option<&'a str>,
    /// In which agent session.
    pub session: Option<&'a str>,
    /// Of what: the method, the name of a tool, the page.
    pub what: Option<&'a str>,
    /// How often, where several are one record.
    pub count: Option<u64>,
}

/// What is recorded of a person's part in an approval. No arguments and no hash of them: short ones could be found by
/// trying.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApprovalNote<'a> {
    /// What happened, as a word such as `asked`, `signed` or `enrolled`.
    pub act: &'a str,
    /// Who did it.
    pub by: &'a str,
    /// For which person.
    pub user: Option<&'a str>,
    /// Which request.
    pub request: Option<&'a str>,
    /// Which tool.
    pub tool: Option<&'a str>,
    /// Which passkey.
    pub credential: Option<&'a str>,
    /// Which receipt tells of it.
    pub receipt: Option<&'a str>,
    /// The digest of that receipt, which anchors its chain in this log.
    pub receipt_digest: Option<&'a str>,
    /// What else there is to say.
    pub detail: Option<&'a str>,
}

/// What is recorded of a person's decision about a server's definitions.
#[derive(Debug)]
pub struct Review<'a> {
    /// Of which server.
    pub upstream: &'a UpstreamId,
    /// What was decided, as a word.
    pub what: &'a str,
    /// By whom.
    pub by: &'a str,
    /// Why, in their words.
    pub reason: &'a str,
    /// The digest of all that was decided about.
    pub digest: PinDigest,
    /// What was decided about, each with its own digest; nothing where it was the whole server.
    pub items: &'a [String],
}

/// What is recorded of a judged action.
#[derive(Debug)]
pub struct Decision<'a> {
    /// In which agent session.
    pub session: &'a SessionKey,
    /// In which epoch of it.
    pub epoch: u64,
    /// Under which policy.
    pub policy: &'a Policy,
    /// What was known.
    pub facts: &'a Facts<'a>,
    /// What was judged.
    pub judgement: &'a Judgement,
    /// What followed.
    pub ruling: Ruling,
    /// Whether its receipt is sealed: then no digest of it is on record, since short arguments could be found by trying.
    pub sealed: bool,
    /// The receipts of those who signed.
    pub receipts: &'a [String],
}

/// What followed from a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// The action goes ahead.
    Allowed,
    /// The action goes ahead because a person said so.
    Approved,
    /// A person is asked.
    Asked,
    /// The action does not happen.
    Blocked,
    /// The action does not happen now: the gateway's own store is away, and the same action may be tried again.
    Unavailable,
}

/// What is recorded of the end of an allowed action.
#[derive(Debug)]
pub struct Ended<'a> {
    /// How it ended.
    pub outcome: Outcome,
    /// How many bytes came back.
    pub bytes: u64,
    /// How long the upstream took, in milliseconds.
    pub millis: u64,
    /// What went wrong, in our words.
    pub detail: Option<&'a str>,
    /// What was judged of the reply, if there is one.
    pub judgement: Option<&'a Judgement>,
    /// The label of the reply, if there is one.
    pub label: Option<&'a Label>,
    /// Whether the session's label rose with it.
    pub raised: bool,
    /// Where what came back comes from, if anything did.
    pub provenance: Option<Provenance<'a>>,
    /// The marks that it bears: what was written there before, and by whom.
    pub marks: &'a [Arc<Mark>],
}

/// How an allowed action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// What is recorded of a question of an upstream.
#[derive(Debug)]
pub struct Question<'a> {
    /// Who asked.
    pub upstream: &'a UpstreamId,
    /// What.
    pub kind: AskKind,
    /// What was judged.
    pub judgement: &'a Judgement,
    /// Whether it was put to the client.
    pub put: bool,
    /// The label of the question, if it was put.
    pub label: Option<&'a Label>,
    /// Whether the session's label rose with it.
    pub raised: bool,
    /// Where it comes from, if that is known.
    pub provenance: Option<Provenance<'a>>,
}

/// What is recorded when a person lowers a session's label.
#[derive(Debug)]
pub struct Declassification<'a> {
    /// Which session.
    pub session: &'a SessionKey,
    /// Who.
    pub by: &'a str,
    /// As whom the session's agent is known.
    pub principal: &'a Principal,
    /// Why.
    pub reason: &'a str,
    /// The epoch that begins with it.
    pub epoch: u64,
    /// The label until then.
    pub before: &'a Label,
    /// The label from then on.
    pub after: &'a Label,
}

#[cfg(test)]
mod tests;
