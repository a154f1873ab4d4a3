//! Questions that were put to a person by ending a request, until the retry brings the answer. Each is answered once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use highwater_core::action::Action;
use highwater_core::decide::{HeldReply, QuestionDigest};
use highwater_core::id::{ApprovalId, Principal};
use highwater_core::pin::PinDigest;

use super::super::gather::Answered;
use super::super::sent::Sent;
use super::super::suspended::SUSPENSION;
use super::form::FormView;
use crate::approvals::Offer;

/// How many questions may be open in all, and for one principal.
const MAX_PENDING: usize = 1024;
const MAX_PENDING_EACH: usize = 64;

/// The questions that wait for an answer.
#[derive(Default)]
pub(crate) struct PendingQuestions(Mutex<HashMap<String, Pending>>);

/// One question.
pub(super) struct Pending {
    pub(super) principal: Principal,
    pub(super) subject: Subject,
    /// What the person is asked.
    pub(super) shown: FormView,
}

/// Exactly what is asked about.
pub(super) enum Subject {
    /// A call that has not been made.
    Call {
        action: Arc<Action>,
        question: QuestionDigest,
        /// The definition of the tool as it was when it was asked (G16).
        definition: Option<PinDigest>,
        /// What may be kept of a yes.
        offer: Option<Box<Offer>>,
    },
    /// The reply to one that has.
    Reply(Box<WaitingReply>),
    /// The same where they answer on the page.
    ReplyAtPage(Box<WaitingReply>, ApprovalId),
}

/// A reply that a person must see first, with the call it belongs to.
pub(in crate::pipeline) struct WaitingReply {
    pub(in crate::pipeline) sent: Sent,
    pub(in crate::pipeline) held: HeldReply<Answered>,
}

/// Too many questions wait already.
pub(super) struct TooMany;

// === impl PendingQuestions ===

impl PendingQuestions {
    /// Keeps a question until it is answered or its time is over.
    pub(super) fn put(&self, all: &Arc<Self>, id: String, pending: Pending) -> Result<(), TooMany> {
        {
            let mut open = self.open();
            let theirs = open.values().filter(|other| other.principal == pending.principal).count();
            if open.len() >= MAX_PENDING || theirs >= MAX_PENDING_EACH {
                return Err(TooMany);
            }
            open.insert(id.clone(), pending);
        }
        let all: Weak<Self> = Arc::downgrade(all);
        tokio::spawn(async move {
            tokio::time::sleep(SUSPENSION).await;
            if let Some(all) = all.upgrade() {
                all.take(&id);
            }
        });
        Ok(())
    }

    /// Gives everything up.
    pub(crate) fn clear(&self) {
        let open = std::mem::take(&mut *self.open());
        drop(open);
    }

    /// Takes a question: nobody can answer it a second time.
    pub(super) fn take(&self, id: &str) -> Option<Pending> {
        self.open().remove(id)
    }

    /// What a question says, if it is still open.
    pub(super) fn shown(&self, id: &str) -> Option<FormView> {
        self.open().get(id).map(|pending| pending.shown.clone())
    }

    /// The request at the approval service that answers this question, where it is answered there.
    pub(in crate::pipeline) fn at_page(&self, id: &str) -> Option<ApprovalId> {
        match &self.open().get(id)?.subject {
            Subject::ReplyAtPage(_, request) => Some(request.clone()),
            Subject::Call { .. } | Subject::Reply(_) => None,
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Pending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
