//! The ways out of a finding, for people: what the person in front of the agent can do, and what the operator can
//! write. Each follows from the finding and the contract on record, so that it can be told later, too.

use std::fmt;
use std::sync::Arc;

use highwater_notation::Words;

use super::finding::{Finding, FindingId, Reason};
use crate::annotation::Axis;
use crate::policy::{Because, Effect};

/// Something that can be done about a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// Say yes when asked.
    Approve,
    /// Use a client that can put questions to its user.
    AskableClient,
    /// Begin a new conversation.
    NewSession,
    /// Read private data before anything from strangers.
    ReadFirst,
    /// Look at the files, and take their marks off.
    ClearMarks,
    /// Lower the session's label, having made sure that the agent has forgotten.
    Reset,
    /// Say, under `labels`, what is true of the tool on this axis.
    Label(Axis),
    /// Let the class go to the destination, under `clearance`.
    Clear,
    /// Write a waiver, which turns a refusal into a question.
    Waive(FindingId),
    /// Change the rule.
    ChangeRule(Arc<str>),
    /// Call it with the arguments that the rule looks at.
    GiveArguments,
    /// Put the tool on the server's allow-list.
    AllowTool,
    /// Put the server into the virtual server.
    HoldServer,
    /// Let the token grant it, or use one that does.
    Grant,
    /// Call the tool through the variant of its class.
    OtherVariant,
    /// Look at what the server says of itself, and approve it.
    Review,
    /// List the method for the server.
    ListMethod,
    /// Sign with a passkey when asked.
    Sign,
    /// Let larger numbers pass, under the tool's `caps`.
    RaiseCap,
    /// Do it without the agent.
    DoItYourself,
}

// === impl WayOut ===

impl WayOut {
    /// What can be done about a finding. `undeclared` are the axes of the contract that nobody spoke of.
    pub fn of(finding: &Finding, undeclared: Words<Axis>) -> Vec<Self> {
        let mut ways = Vec::new();
        let because = |reason| finding.reasons.contains(&reason);
        match finding.effect {
            Effect::Confirm => ways.push(Self::Approve),
            Effect::Passkey => ways.push(Self::Sign),
            Effect::Allow | Effect::Redact | Effect::Block => {}
        }
        match &finding.id {
            FindingId::Grant => ways.push(Self::HoldServer),
            FindingId::Token => ways.push(Self::Grant),
            FindingId::Intent => ways.push(Self::OtherVariant),
            FindingId::AllowList => ways.push(Self::AllowTool),
            FindingId::Quarantine => ways.push(Self::Review),
            FindingId::Method => ways.push(Self::ListMethod),
            // The server itself wants it: nothing that the operator writes makes it less.
            FindingId::Approval if because(Reason::VerifiedApprovalRequired) => {}
            FindingId::Approval => ways.push(Self::Label(Axis::Approval)),
            FindingId::Cap => ways.push(Self::RaiseCap),
            FindingId::FlowPolicy => ways.push(Self::NewSession),
            FindingId::OwnFiles => ways.push(Self::DoItYourself),
            FindingId::Conversation => ways.push(Self::NewSession),
            FindingId::Unapproved if because(Reason::NobodyToAsk) => ways.push(Self::AskableClient),
            FindingId::Unapproved | FindingId::Ask | FindingId::Reply => {}
            FindingId::Flow(rule) => {
                let gate = rule.gate();
                ways.extend_from_slice(gate.ways);
                ways.extend(undeclared.contains(gate.axis).then_some(Self::Label(gate.axis)));
                if because(Reason::NotAccepted) {
                    ways.push(Self::Label(Axis::Accepts));
                }
                if because(Reason::NotCleared) {
                    ways.push(Self::Clear);
                }
            }
            FindingId::Rule(name) => {
                ways.extend(finding.saw.iter().filter_map(|saw| Self::of_unknown(&saw.fact, saw.because)));
                ways.dedup();
                ways.push(Self::ChangeRule(Arc::clone(name)));
            }
        }
        if finding.effect > Effect::Confirm && !finding.id.is_structural() {
            ways.push(Self::Waive(finding.id.clone()));
        }
        ways
    }

    /// What makes a fact known that a rule did not know.
    fn of_unknown(fact: &str, because: Option<Because>) -> Option<Self> {
        match because? {
            Because::Undeclared | Because::SeveralPossible => {
                let axis = Axis::ALL.iter().find(|axis| fact.ends_with(axis.as_str()));
                axis.map(|axis| Self::Label(*axis))
            }
            Because::ArgumentMissing | Because::ArgumentOfOtherType => Some(Self::GiveArguments),
            Because::Truncated | Because::LabelMayRise => Some(Self::NewSession),
            Because::ArgumentsUnknown
            | Because::SpelledOtherwise
            | Because::NotInspected
            | Because::OtherPhase => None,
        }
    }
}

impl fmt::Display for WayOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approve => f.write_str("say yes when you are asked about exactly this call"),
            Self::AskableClient => f.write_str("use a client that can put questions to you (elicitation)"),
            Self::NewSession => f.write_str("begin a new conversation, which has read nothing yet"),
            Self::ReadFirst => {
                f.write_str("begin a new conversation and read what is private before what strangers wrote")
            }
            Self::ClearMarks => f.write_str(
                "look at the files; if they are in order, say yes when you are asked, or take the marks off: `highwater marks \
                 clear`",
            ),
            Self::Reset => f.write_str(
                "if the agent has really forgotten what it read, reset the session: `highwater session reset`",
            ),
            Self::Label(axis) => {
                write!(f, "if you know better, say so under the server's `labels`: `{}` of this tool", axis.as_str())
            }
            Self::Clear => f.write_str("let this class of data go to this destination, under `clearance`"),
            Self::Waive(id) => write!(f, "write a waiver for `{id}`; it turns the refusal into a question"),
            Self::ChangeRule(name) => write!(f, "change the rule `{name}`"),
            Self::GiveArguments => f.write_str("call it with the arguments that the rule looks at"),
            Self::AllowTool => f.write_str("put the tool on the server's `allowed_tools`"),
            Self::HoldServer => f.write_str("put the server into the virtual server"),
            Self::Grant => f.write_str(
                "use a token that grants this; `highwater token list` shows what each does",
            ),
            Self::OtherVariant => f.write_str("call the tool through the variant that its class needs"),
            Self::Review => f.write_str(
                "look at what the server says of itself with `highwater servers diff`, then approve or reject it",
            ),
            Self::ListMethod => f.write_str("list the method under the server's `extra_methods`"),
            Self::DoItYourself => f.write_str("change this file yourself, without the agent"),
            Self::RaiseCap => f.write_str("let larger numbers pass, under the tool's `caps`"),
            Self::Sign => f.write_str("sign exactly this call with your passkey when you are asked"),
        }
    }
}
