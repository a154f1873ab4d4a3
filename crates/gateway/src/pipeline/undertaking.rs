//! An action with everything that is known of it. It is judged with that, and so is whatever comes back.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::Contract;
use highwater_core::approval::{Consented, RelayedApproval};
use highwater_core::audit::Provenance;
use highwater_core::decide::Agreement;
use highwater_core::grant::{CallVariant, Grant};
use highwater_core::id::{DecisionId, Timestamp};
use highwater_core::label::Label;
use highwater_core::policy::{Arguments, Facts, Policy, RequestFacts, ServerFacts};
use highwater_store::{SessionHandle, SessionState};

use super::arrival::ToolName;
use super::layout::Layout;
use crate::catalog::Known;
use crate::client::Caller;
use crate::gateway::now;
use crate::tokens::Standing;

/// What is about to be done, or has been.
pub(super) struct Undertaking {
    /// The operator's word of the moment it is judged in.
    pub(super) policy: Arc<Policy>,
    pub(super) decision: DecisionId,
    pub(super) action: Arc<Action>,
    pub(super) caller: Caller,
    /// What the caller may, at the moment it is judged in.
    pub(super) standing: Arc<Standing>,
    /// The variant through which the tool is called, if through one.
    pub(super) variant: Option<CallVariant>,
    /// The session as it was when the action arrived, or the most that it may have taken in.
    pub(super) before: Arc<SessionState>,
    /// What the action itself is judged by.
    pub(super) judged: Held,
    /// What everything that comes back is labelled by.
    pub(super) told: Held,
    /// What is known of the tool, with the operator's cases.
    pub(super) known: Arc<Known>,
    pub(super) server: ServerFacts,
    pub(super) request: RequestFacts,
    /// The tool, if there is one.
    pub(super) tool: Option<ToolName>,
    /// The marks of what it reads as they were before it set its own, where it sets any.
    pub(super) met: Option<Label>,
    /// Evidence that goes to the server, which verifies it itself.
    pub(super) relayed: Option<RelayedApproval>,
    /// What it is on record as that a person agreed to this, once they have.
    pub(super) agreed: Option<Box<str>>,
    /// What they agreed to, once it is permitted.
    pub(super) consented: Option<Arc<Consented>>,
    /// What the session has taken in of its server since it was permitted, where that is asked after.
    pub(super) said: Mutex<Label>,
    /// What a person agreed to, where it is a challenge that is asked for.
    pub(super) agreement: Option<Agreement>,
    /// What the client says of its context could not be stored, so the session counts as having taken in anything.
    pub(super) unstored: bool,
    /// Whether no digest of it goes on record, because its receipt is for the auditor alone.
    pub(super) sealed: bool,
    /// The receipts of those who signed it.
    pub(super) receipts: Vec<String>,
    /// Where the parts of its parameters are.
    pub(super) layout: Layout,
    pub(super) now: Timestamp,
}

/// A contract: as it was weighed when the tool was listed, or narrowed for one call.
#[derive(Clone)]
pub(super) enum Held {
    Listed(Arc<Known>),
    Narrowed(Arc<Contract>),
}

// === impl Undertaking ===

impl Undertaking {
    /// What is known of the action before it is sent.
    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            tool_id: self.tool.as_ref().map(|tool| &*tool.shown),
            tool_name: self.tool.as_ref().map(|tool| &*tool.own),
            tool_status: self.known.status,
            hold: self.known.hold,
            grant: &self.standing.grant,
            variant: self.variant,
            class: Some(self.told.variant()),
            contract: &self.judged,
            server: &self.server,
            session: &self.before.label,
            request: &self.request,
            arguments: Arguments::Known(self.arguments()),
            relayed: self.relayed.as_ref(),
            now: self.now,
            ..Facts::of(&self.decision, &self.caller.principal, &self.caller.virtual_server, &self.action)
        }
    }

    /// The same once something has come back, under the session's label of that moment,
    /// and by what the caller may then: whoever is granted nothing any more is given nothing any more.
    pub(super) fn facts_of_reply<'a>(&'a self, session: &'a Label, grant: &'a Grant) -> Facts<'a> {
        Facts { contract: &self.told, grant, now: now(), ..self.facts().under(session) }
    }

    /// Where what it brings comes from.
    pub(super) fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&self.policy, &self.facts())
    }

    /// The arguments as JSON text.
    pub(super) fn arguments(&self) -> &str {
        self.action
            .params()
            .get(self.layout.arguments.clone())
            .filter(|text| !text.is_empty())
            .unwrap_or("{}")
    }

    /// What the client knows it by.
    pub(super) fn name(&self) -> &str {
        self.tool.as_ref().map_or_else(|| &**self.action.method(), |tool| &tool.shown)
    }

    pub(super) fn session(&self) -> &SessionHandle {
        &self.caller.session
    }

    /// Notes what its server has said, once that is in the session's label.
    pub(super) fn note_said(&self, label: &Label) {
        // What a person agreed to may go on, and so may what brings it answers.
        if self.consented.is_some() || self.action.kind() == ActionKind::Answer {
            self.said.lock().unwrap_or_else(PoisonError::into_inner).join(label);
        }
    }

    /// What the session has taken in of its server.
    pub(super) fn said(&self) -> Label {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the operator verified the server.
    pub(super) fn vouched(&self) -> bool {
        self.server.trust.verified()
    }
}

// === impl Held ===

impl Deref for Held {
    type Target = Contract;

    fn deref(&self) -> &Contract {
        match self {
            Self::Listed(known) => &known.contract,
            Self::Narrowed(contract) => contract,
        }
    }
}
