//! An action with everything that is known of it, before anybody has said yes. It never changes: what is learned later
//! makes another.

use std::ops::Deref;
use std::sync::Arc;

use highwater_core::action::Action;
use highwater_core::annotation::{Authority, Axis, Claim, Claims, Contract, Destination, Outcome, Possible};
use highwater_core::approval::RelayedApproval;
use highwater_core::audit::Provenance;
use highwater_core::decide::{FlowFloor, FlowMode};
use highwater_core::grant::{CallVariant, Grant};
use highwater_core::id::{DecisionId, Timestamp};
use highwater_core::label::Label;
use highwater_core::policy::{Arguments, Facts, Policy, RequestFacts, ServerFacts};
use highwater_core::profile::{Engine, LocalAct, Profile, sql};
use highwater_store::{SessionHandle, SessionState};

use super::arrival::Route;
use super::layout::Layout;
use super::local::text_at;
use crate::catalog::Known;
use crate::client::Caller;
use crate::gateway::now;
use crate::session::SetBy;
use crate::tokens::Standing;

/// What is about to be done.
pub(super) struct Proposed {
    pub(super) route: Route,
    pub(super) action: Arc<Action>,
    /// Where the parts of its parameters are.
    pub(super) layout: Layout,
    /// The operator's word of the moment it is judged in.
    pub(super) policy: Arc<Policy>,
    pub(super) decision: DecisionId,
    pub(super) caller: Caller,
    /// What the caller may, at the moment it is judged in.
    pub(super) standing: Arc<Standing>,
    /// The variant through which the tool is called, if through one.
    pub(super) variant: Option<CallVariant>,
    /// The session as it was when the action arrived, or the most that it may have taken in.
    pub(super) before: Arc<SessionState>,
    /// What the action itself is judged by.
    pub(super) contract: EffectiveContract,
    /// What everything that comes back is labelled by.
    pub(super) reply_contract: EffectiveContract,
    pub(super) server: ServerFacts,
    pub(super) request: RequestFacts,
    /// Evidence that goes to the server, which verifies it itself.
    pub(super) relayed: Option<RelayedApproval>,
    /// What the client says of its context could not be stored, so the session counts as having taken in anything.
    pub(super) unstored: bool,
    /// Whether what it changes stays on this machine and can be undone.
    pub(super) local_act: LocalAct,
    /// It brings answers to a call that a person agreed to.
    pub(super) continues_agreed: bool,
    /// Whether no digest of it goes on record, because its receipt is for the auditor alone.
    pub(super) sealed: bool,
    pub(super) now: Timestamp,
}

/// A contract: as it was weighed when the tool was listed, or narrowed for one call.
#[derive(Clone)]
pub(super) enum EffectiveContract {
    Listed(Arc<Known>),
    Narrowed(Arc<Contract>),
}

// === impl Proposed ===

impl Proposed {
    /// What is known of the action before it is sent.
    pub(super) fn facts(&self) -> Facts<'_> {
        let tool = self.route.tool.as_ref();
        let base =
            Facts::of(&self.decision, &self.caller.principal, &self.caller.virtual_server, &self.action);
        Facts {
            tool_id: tool.map(|tool| &*tool.shown),
            tool_name: tool.map(|tool| &*tool.own),
            tool_status: self.known().status,
            hold: self.known().hold,
            grant: &self.standing.grant,
            variant: self.variant,
            class: Some(self.reply_contract.variant()),
            contract: &self.contract,
            server: &self.server,
            session: &self.before.label,
            request: &self.request,
            arguments: Arguments::Known(self.arguments()),
            local_act: self.local_act,
            parameters: self.known().parameters.as_ref().or(base.parameters),
            relayed: self.relayed.as_ref(),
            now: self.now,
            ..base
        }
    }

    /// The same once something has come back, under the session's label of that moment, and by what the caller may then:
    /// a caller who is granted nothing any more is given nothing any more.
    pub(super) fn facts_of_reply<'a>(&'a self, session: &'a Label, grant: &'a Grant) -> Facts<'a> {
        Facts { contract: &self.reply_contract, grant, now: now(), ..self.facts().under(session) }
    }

    /// How the flow rules are enforced on it.
    pub(super) fn flow_mode(&self) -> FlowMode {
        let flow = self.policy.flow(&self.caller.virtual_server);
        match self.standing.grant.flow {
            Some(floor) if flow.mode != FlowMode::Samos => flow.mode.max(floor.mode()),
            Some(FlowFloor::Strict) => FlowMode::Strict,
            _ => flow.mode,
        }
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

    /// What is known of the tool, with the operator's cases.
    pub(super) fn known(&self) -> &Arc<Known> {
        &self.route.known
    }

    /// What the client knows it by.
    pub(super) fn name(&self) -> &str {
        self.route.tool.as_ref().map_or_else(|| &**self.action.method(), |tool| &tool.shown)
    }

    pub(super) fn session(&self) -> &SessionHandle {
        &self.caller.session
    }

    /// Whether the operator verified the server.
    pub(super) fn is_verified(&self) -> bool {
        self.server.trust.verified()
    }

    /// The call, for people who ask what set a leg.
    pub(super) fn set_by(&self) -> SetBy {
        SetBy {
            id: self.decision.clone(),
            time: self.now,
            what: self.name().to_owned(),
            server: self.action.upstream().as_str().to_owned(),
        }
    }

    /// The same action under another state of its session.
    pub(super) fn under(self, before: Arc<SessionState>) -> Self {
        Self { before, ..self }
    }

    /// The same under what the caller may now.
    pub(super) fn at(self, now: Timestamp) -> Self {
        Self { standing: self.caller.standing(), now, ..self }
    }

    /// The same by another policy.
    pub(super) fn by(self, policy: Arc<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// The same in other words.
    pub(super) fn saying(self, action: Arc<Action>) -> Self {
        Self { layout: Layout::of(&action), action, ..self }
    }

    /// The same with evidence for its server.
    pub(super) fn with_evidence(self, relayed: RelayedApproval) -> Self {
        Self { relayed: Some(relayed), ..self }
    }

    /// The same, of which nothing stays behind but what an auditor can open, if it is so.
    pub(super) fn sealed_if(self, sealed: bool) -> Self {
        Self { sealed, ..self }
    }

    /// The same judged by another contract.
    pub(super) fn judged_by(self, contract: EffectiveContract) -> Self {
        Self { contract, ..self }
    }

    /// The same with both readings of the contract narrowed by what is said of this one call.
    pub(super) fn narrowed(self, said: &Claims, by: &str) -> Self {
        let (contract, notices) = self.contract.narrowed(said);
        for notice in &notices {
            tracing::info!(decision = %self.decision, ?notice, "noted about {by}");
        }
        let contract = EffectiveContract::Narrowed(Arc::new(contract));
        Self { contract: contract.clone(), reply_contract: contract, ..self }
    }

    /// What the SQL that a call runs says of it, where the operator's one word for the server leaves that open: a text
    /// that certainly only reads changes nothing and sends nothing away.
    pub(super) fn said_by_sql(&self) -> Option<Claims> {
        let known = self.known();
        let Some(Engine::Sql { argument }) = known.shape.runs() else { return None };
        let destination = match known.profile {
            Profile::Local | Profile::Private => Destination::User,
            Profile::Public | Profile::Unknown => return None,
        };
        let open = |axis| self.contract.basis(axis) == Authority::Profile;
        let text = text_at(self.arguments(), argument)?;
        if !open(Axis::Outcomes) || !open(Axis::Destination) || !sql::reads_only(&text) {
            return None;
        }
        let mut said = Claims::new();
        let from = "profile";
        said.push(Claim::SetOutcomes(Possible::only(Outcome::Benign)), Authority::Profile, from);
        said.push(Claim::SetDestination(Possible::only(destination)), Authority::Profile, from);
        Some(said)
    }

    /// What the operator says of a call with these arguments.
    pub(super) fn said_by_cases(&self, arguments: &str) -> Option<Claims> {
        let cases = self.known().cases.as_ref().filter(|label| !label.cases().is_empty())?;
        Some(cases.for_call(Arguments::Known(arguments))).filter(|said| !said.is_empty())
    }
}

// === impl EffectiveContract ===

impl Deref for EffectiveContract {
    type Target = Contract;

    fn deref(&self) -> &Contract {
        match self {
            Self::Listed(known) => &known.contract,
            Self::Narrowed(contract) => contract,
        }
    }
}
