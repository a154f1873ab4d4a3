//! An action that may happen: judged, marked, on record. What comes back is judged with it.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use highwater_core::action::ActionKind;
use highwater_core::approval::{Consented, Undisturbed};
use highwater_core::decide::{Agreement, Obligations, Permit};
use highwater_core::label::Label;
use highwater_marks::Mark;
use highwater_store::{BeforeOwn, Marked};

use super::arrival::CallUnderWay;
use super::proposed::Proposed;

/// A permit, and what it rests on.
pub(super) struct Granted {
    pub(super) permit: Permit,
    pub(super) basis: Basis,
}

/// What a permit rests on where a person agreed; empty where nobody was asked.
#[derive(Default)]
pub(super) struct Basis {
    /// The reference of the approval in the audit log.
    pub(super) reference: Option<Box<str>>,
    /// The receipts of those who signed.
    pub(super) receipts: Vec<String>,
    /// Whether the person saw exactly what is sent.
    pub(super) seen: bool,
    /// Who said yes, to this very question.
    pub(super) person: Option<Box<str>>,
}

/// What has been permitted.
pub(super) struct Permitted {
    proposed: Proposed,
    /// What the decision left to be done with the reply.
    pub(super) obligations: Obligations,
    /// The reference of the approval in the audit log, where there was one.
    pub(super) reference: Option<Box<str>>,
    /// What a person agreed to, where one did.
    pub(super) consented: Option<Arc<Consented>>,
    /// The same for whoever brings the signature later, where it is a challenge that is asked for.
    pub(super) agreement: Option<Agreement>,
    /// The marks that it left on what it writes.
    marked: Mutex<Marked>,
    /// What the session has taken in of its server since.
    heard: Mutex<Label>,
}

// === impl Basis ===

impl Basis {
    /// An approval that is on record under this reference.
    pub(super) fn on_record(reference: impl Into<Box<str>>) -> Self {
        Self { reference: Some(reference.into()), ..Self::default() }
    }

    /// The same of a person who saw exactly what is sent.
    pub(super) fn seen(self) -> Self {
        Self { seen: true, ..self }
    }

    /// The same of somebody who was asked this very question.
    pub(super) fn said_by(self, person: &str) -> Self {
        Self { person: Some(person.into()), ..self }
    }

    /// The same with the receipts of those who signed.
    pub(super) fn with_receipts(self, receipts: Vec<String>) -> Self {
        Self { receipts, ..self }
    }
}

// === impl Granted ===

impl From<Permit> for Granted {
    /// Nobody had to be asked.
    fn from(permit: Permit) -> Self {
        Self { permit, basis: Basis::default() }
    }
}

// === impl Permitted ===

impl Permitted {
    pub(super) fn new(proposed: Proposed, granted: &Granted, marked: Marked) -> Self {
        let permit = &granted.permit;
        let is_challenge = proposed.action.kind() == ActionKind::CreateChallenge;
        Self {
            obligations: permit.obligations(),
            reference: granted.basis.reference.clone(),
            consented: permit.consented().cloned(),
            agreement: permit.agreement().filter(|_| is_challenge).cloned(),
            marked: Mutex::new(marked),
            heard: Mutex::default(),
            proposed,
        }
    }

    /// Whether a person agreed to it, or to the call that it is a part of.
    pub(super) fn is_agreed(&self) -> bool {
        self.consented.is_some() || self.continues_agreed
    }

    /// The call as what is brought to it is judged.
    pub(super) fn under_way(&self) -> CallUnderWay {
        CallUnderWay {
            contract: self.contract.clone(),
            reply_contract: self.reply_contract.clone(),
            local: self.local,
            origins: self.origins.clone(),
            agreed: self.is_agreed(),
            consented: self.consented.clone(),
            heard: self.undisturbed().with(&self.heard()),
        }
    }

    /// The session in which it was permitted, for as long as nobody is heard.
    pub(super) fn undisturbed(&self) -> Undisturbed {
        match &self.consented {
            Some(consented) => consented.heard().clone(),
            None => Undisturbed::since(&self.before.label),
        }
    }

    /// Whether a mark says nothing that was not there before this very call: the mark that was, if there was one.
    pub(super) fn before_own(&self, mark: &Mark) -> BeforeOwn {
        self.marked.lock().unwrap_or_else(PoisonError::into_inner).before(&mark.id)
    }

    /// The marks that it left, to be taken back because nothing was written.
    pub(super) fn take_marked(&self) -> Marked {
        std::mem::take(&mut self.marked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes what its server has said, once that is in the session's label.
    pub(super) fn note_heard(&self, label: &Label) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).join(label);
    }

    /// What the session has taken in of its server.
    pub(super) fn heard(&self) -> Label {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Deref for Permitted {
    type Target = Proposed;

    fn deref(&self) -> &Proposed {
        &self.proposed
    }
}
