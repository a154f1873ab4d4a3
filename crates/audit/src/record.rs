//! Events as they are read back from the log, for whoever explains them.

use highwater_core::action::ActionKind;
use highwater_core::annotation::{self, CallVariant, DataClass, Destination, Source};
use highwater_core::decide::{AskKind, Finding, FlowMode, PerMode, WhatIf};
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId, VirtualServerId};
use highwater_core::label::{Label, TextSet};
use highwater_core::policy::{Effect, SightingKind};
use highwater_core::profile::Named;
use highwater_core::provenance::CallProvenance;
use highwater_notation::Timestamp;
use serde::{Deserialize, Serialize};

use super::label_words::label_of_words;
use super::{Outcome, Ruling};

/// One line of the log.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// The version of its shape.
    pub v: u32,
    /// When it was written.
    pub time: Timestamp,
    /// What it belongs to.
    #[serde(default)]
    pub id: Option<DecisionId>,
    /// What happened.
    #[serde(flatten)]
    pub happened: Recorded,
}

/// The things that are on record.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Recorded {
    /// An action was judged.
    Decision(Box<RecordedDecision>),
    /// An allowed action came to an end.
    Outcome(Box<RecordedOutcome>),
    /// An upstream asked something back.
    Question(Box<RecordedQuestion>),
    /// An allowed action was sent once more.
    Retried {
        /// Which attempt it was; the first was 1.
        attempt: u32,
        /// Why the last one failed.
        why: String,
        /// Whether an attempt before it may have reached the server.
        sent: bool,
    },
    /// A person was asked.
    Asked {
        /// What, as a digest; nothing where its receipt is sealed.
        #[serde(default)]
        question: Option<String>,
        /// By which way.
        how: String,
    },
    /// A person answered, or did not.
    Answered {
        /// What was asked, as a digest; nothing where its receipt is sealed.
        #[serde(default)]
        question: Option<String>,
        /// `approve`, or one of the ways not to.
        answer: String,
        /// Who.
        by: String,
    },
    /// A waiver lowered a finding.
    Waived {
        /// Which, with the waiver.
        finding: Finding,
    },
    /// Something about an annotation.
    Notice {
        /// Whose.
        upstream: UpstreamId,
        /// Of which tool, resource or prompt.
        target: String,
        /// What there is to say.
        notice: String,
        /// Of which axis.
        #[serde(default)]
        axis: Option<String>,
        /// In which vocabulary.
        from: String,
        /// The word or key in question.
        detail: String,
    },
    /// Something about a session.
    Remark {
        /// Which.
        session: SessionKey,
        /// What, as a word.
        what: String,
        /// What, for people.
        detail: String,
    },
    /// A person lowered a session's label.
    Declassification {
        /// Which session.
        session: SessionKey,
        /// As whom its agent is known.
        principal: Principal,
        /// Who.
        by: String,
        /// Why.
        reason: String,
        /// The epoch that begins with it.
        epoch: u64,
        /// The label until then.
        before: RecordedLabel,
        /// The label from then on.
        after: RecordedLabel,
    },
    /// A person took marks off what was written.
    MarksCleared {
        /// As they were.
        marks: Vec<RecordedMark>,
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Something about asking people.
    Approval {
        /// What happened, as a word.
        act: String,
        /// Who did it.
        by: String,
        /// For which person.
        #[serde(default)]
        user: Option<String>,
        /// Which request.
        #[serde(default)]
        request: Option<String>,
        /// Which tool.
        #[serde(default)]
        tool: Option<String>,
        /// Which passkey.
        #[serde(default)]
        credential: Option<String>,
        /// Which receipt.
        #[serde(default)]
        receipt: Option<String>,
        /// Its digest.
        #[serde(default)]
        receipt_digest: Option<String>,
        /// What else there is to say.
        #[serde(default)]
        detail: Option<String>,
    },
    /// A person made, changed or ended a token.
    Token {
        /// `created`, `rotated` or `revoked`.
        act: String,
        /// Which.
        name: String,
        /// Who.
        by: String,
        /// What it grants, if it is new and its maker said so.
        #[serde(default)]
        grant: Option<serde_json::Value>,
        /// Whose agent it is, if its maker said so.
        #[serde(default)]
        user: Option<String>,
    },
    /// A person approved or refused what a server says of itself.
    Review {
        /// Of which server.
        upstream: UpstreamId,
        /// What was decided.
        what: String,
        /// Who.
        by: String,
        /// Why.
        reason: String,
        /// The digest of all that was decided about.
        digest: String,
        /// What, each with its own digest; nothing where it was the whole server.
        items: Vec<String>,
    },
    /// Somebody came, was turned away, or looked at what there is.
    Access {
        /// What happened, as a word.
        act: String,
        /// Who, if that is known.
        #[serde(default)]
        principal: Option<String>,
        /// From which address, or by which way.
        #[serde(default)]
        from: Option<String>,
        /// In which agent session.
        #[serde(default)]
        session: Option<String>,
        /// Of what.
        #[serde(default)]
        what: Option<String>,
        /// How often, where several are one record.
        #[serde(default)]
        count: Option<u64>,
    },
    /// Something about the log itself.
    Log {
        /// What, as a word.
        act: String,
        /// What, for people.
        detail: String,
    },
    /// Something that a later version writes.
    #[serde(other)]
    Unknown,
}

/// Where content comes from and what it is worth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RecordedProvenance {
    /// What whoever it comes from is worth.
    #[serde(default)]
    pub trust: Option<RecordedTrust>,
    /// The server, and what of it was used.
    #[serde(default)]
    pub metadata: std::collections::BTreeMap<String, String>,
}

/// What an origin is worth.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RecordedTrust {
    /// The level, in capitals.
    pub level: String,
    /// `mcp:` or `mcp_resource:`, the server, and the name of what was used.
    pub source: String,
    /// What the operator calls the server, if anything.
    #[serde(default)]
    pub label: Option<String>,
}

/// A judged action.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedDecision {
    /// Who asked.
    pub principal: Principal,
    /// In which agent session.
    pub session: SessionKey,
    /// In which epoch of it.
    #[serde(default)]
    pub epoch: u64,
    /// Through which virtual server.
    pub virtual_server: VirtualServerId,
    /// Where it was to go.
    pub upstream: UpstreamId,
    /// What kind of action.
    pub kind: ActionKind,
    /// As which method.
    pub method: String,
    /// The upstream's own name of what was acted on.
    pub target: String,
    /// The tool as the client calls it.
    #[serde(default)]
    pub tool: Option<String>,
    /// The variant through which it was called, where it was called through one.
    #[serde(default)]
    pub variant: Option<CallVariant>,
    /// The digest of the exact action; nothing where its receipt is sealed.
    #[serde(default)]
    pub digest: Option<String>,
    /// The receipts of those who signed.
    #[serde(default)]
    pub receipts: Vec<String>,
    /// How strictly the flow rules were enforced.
    pub mode: FlowMode,
    /// The effect of the whole.
    pub effect: Effect,
    /// What followed.
    pub ruling: Ruling,
    /// The digest of the policy.
    #[serde(default)]
    pub policy: Option<String>,
    /// What it named, as far as that decides whether its act is free.
    #[serde(default)]
    pub named: Named,
    /// Whether it ran an SQL text that certainly only reads.
    #[serde(default)]
    pub reads_by_sql: bool,
    /// Where its arguments came from, in a conversation that told the user's words.
    #[serde(default)]
    pub standings: Option<CallProvenance>,
    /// Where what it brings comes from.
    #[serde(flatten)]
    pub provenance: RecordedProvenance,
    /// The label of the session before it. Its sets are there where something was found.
    #[serde(flatten)]
    pub label: RecordedLabel,
    /// The contract.
    pub contract: RecordedContract,
    /// Which flow rules were violated, enforced or not.
    #[serde(default)]
    pub violations: Vec<String>,
    /// The kinds of sighting that must be removed from the reply.
    #[serde(default)]
    pub redactions: Vec<SightingKind>,
    /// Every finding.
    pub findings: Vec<Finding>,
    /// What would have made the decision milder.
    #[serde(default)]
    pub what_if: Vec<WhatIf>,
    /// In `observe`: what each mode would have done.
    #[serde(default)]
    pub would: Option<PerMode>,
}

/// A label on record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RecordedLabel {
    /// Everything but the sets.
    #[serde(default)]
    pub label: Vec<String>,
    /// Who contributed.
    #[serde(default)]
    pub origins: Vec<String>,
    /// The scopes of regulated data.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The classes of the operator's own.
    #[serde(default)]
    pub names: Vec<String>,
}

/// A contract on record. What is not there was not needed: nothing was found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RecordedContract {
    /// Where arguments may end up.
    pub destination: Vec<Destination>,
    /// What a call may do.
    pub outcomes: Vec<annotation::Outcome>,
    /// Where replies come from.
    pub source: Vec<Source>,
    /// Which classes replies may hold.
    pub returns: Vec<DataClass>,
    /// Which classes the tool is built to receive, as published; `unknown` or `any`.
    #[serde(default)]
    pub accepts: Option<serde_json::Value>,
    /// What a reply is worth at most.
    #[serde(default)]
    pub integrity: Option<String>,
    /// The least a person has to do.
    #[serde(default)]
    pub approval: Option<String>,
    /// Who established each axis.
    #[serde(default)]
    pub basis: std::collections::BTreeMap<String, String>,
}

/// The end of an allowed action.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedOutcome {
    /// How it ended.
    pub outcome: Outcome,
    /// How many bytes came back.
    pub bytes: u64,
    /// How long the upstream took, in milliseconds.
    pub millis: u64,
    /// What went wrong.
    #[serde(default)]
    pub detail: Option<String>,
    /// Where what came back comes from.
    #[serde(flatten)]
    pub provenance: RecordedProvenance,
    /// The label of the reply.
    #[serde(flatten)]
    pub label: RecordedLabel,
    /// Whether the session's label rose with it.
    #[serde(default)]
    pub raised: bool,
    /// The marks that it bears.
    #[serde(default)]
    pub marks: Vec<RecordedMark>,
    /// Findings about the reply.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// In `observe`: what each mode would have done.
    #[serde(default)]
    pub would: Option<PerMode>,
}

/// A mark on something that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedMark {
    /// What people call it.
    pub id: String,
    /// The server that keeps the thing.
    pub upstream: UpstreamId,
    /// What it is on, as a word.
    pub kind: String,
    /// What it is on, for people.
    pub on: String,
    /// With which tool it was written.
    pub tool: String,
    /// In which call.
    pub decision: DecisionId,
    /// In which conversation.
    pub session: SessionKey,
    /// For whom.
    pub agent: Principal,
}

/// A question of an upstream.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedQuestion {
    /// Who asked.
    pub upstream: UpstreamId,
    /// What.
    pub kind: AskKind,
    /// Whether it was put to the client.
    pub effect: Effect,
    /// The label of the question.
    #[serde(flatten)]
    pub label: RecordedLabel,
    /// Whether the session's label rose with it.
    #[serde(default)]
    pub raised: bool,
    /// Every finding.
    pub findings: Vec<Finding>,
}

// === impl Record ===

impl Record {
    /// Reads one line.
    pub fn read(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}

// === impl RecordedLabel ===

impl RecordedLabel {
    /// The label itself.
    pub fn label(&self) -> Label {
        let set = |texts: &[String]| TextSet::of(texts.iter().map(String::as_str));
        let words = self.label.iter().map(String::as_str);
        label_of_words(words, set(&self.scopes), set(&self.names), set(&self.origins))
    }
}
