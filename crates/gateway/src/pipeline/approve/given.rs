//! A yes that was found for a call and is not used up.

use highwater_core::approval::{Evidence, ResumedRound};
use highwater_core::decide::{Effect, Escalation, QuestionDigest};
use highwater_store::ApprovalRequest;

use super::super::proposed::Proposed;
use super::channel::call_in_form;
use super::page_request::granted;
use crate::approvals::{Offer, RememberScope};

/// A yes, by where it comes from, with what is needed to use it up.
pub(super) enum SpendableApproval {
    Round(Box<ResumedRound>),
    /// With the challenge of the server that verifies approvals itself.
    Challenge,
    /// A permit of the operator's file, by name.
    Permit(QuestionDigest, String),
    /// A signature that the call brings along.
    Evidence(Box<Evidence>),
    /// An answer that is remembered, by its id and whose it is.
    Remembered(QuestionDigest, String),
    Mandate(QuestionDigest),
    Form(QuestionDigest, Option<Kept>),
    Grant(Box<ApprovalRequest>),
}

/// What a person wants to be kept of a yes, and for how long.
pub(super) type Kept = (Box<Offer>, RememberScope);

// === impl SpendableApproval ===

impl SpendableApproval {
    /// Whether it answers what is asked of the call now. What was said to one question is no answer to another.
    pub(super) fn covers(&self, proposed: &Proposed, escalation: &Escalation) -> bool {
        let is_question = |question: &QuestionDigest| *question == escalation.question();
        match self {
            Self::Round(round) => escalation.goes_on_with(round),
            Self::Challenge => {
                proposed.relayed.as_ref().is_some_and(|relayed| escalation.is_agreed_with(relayed))
            }
            Self::Permit(question, _) | Self::Remembered(question, _) | Self::Mandate(question) => {
                is_question(question)
            }
            Self::Evidence(_) => escalation.grade() <= Effect::Passkey,
            // What was asked by a form may have become more than a form may ask.
            Self::Form(question, _) => {
                is_question(question)
                    && escalation.grade() <= Effect::Confirm
                    && call_in_form(proposed, escalation).is_some()
            }
            Self::Grant(request) => escalation.is_answered_by(&granted(request)),
        }
    }
}
