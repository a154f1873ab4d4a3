//! An action with everything that is known of it, before anybody has said yes. It never changes: what is learned later
//! makes another.

use std::ops::Deref;
use std::sync::Arc;

use highwater_audit::Provenance;
use highwater_core::action::Action;
use highwater_core::annotation::{Claims, Contract};
use highwater_core::approval::RelayedApproval;
use highwater_core::decide::{Effect, FlowFloor, FlowMode, Judgement, judge};
use highwater_core::grant::{CallVariant, Grant};
use highwater_core::id::{DecisionId, SessionKey};
use highwater_core::label::Label;
use highwater_core::policy::{Facts, Policy, RequestFacts, ServerFacts};
use highwater_notation::{Arguments, Timestamp};
use highwater_store::{SessionHandle, SessionState};

use super::arrival::{Excuse, Route};
use super::files::Files;
use super::layout::Layout;
use super::local::{LocalFacts, ReadFrom, said_by_places};
use super::value_origins::ValueOrigins;
use crate::catalog::Known;
use crate::client::Caller;
use crate::gateway::now;
use crate::hosts::Bound;
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
    /// The conversation of a host that it belongs to, if hooks tell of one.
    pub(super) host: Option<Arc<Bound>>,
    /// What the caller may, at the moment it is judged in.
    pub(super) standing: Arc<Standing>,
    /// The variant through which the tool is called, if through one.
    pub(super) variant: Option<CallVariant>,
    /// The session as it was when the action arrived, or the most that it may have taken in.
    pub(super) before: Arc<SessionState>,
    /// What becomes of what was read before a silence.
    pub(super) earlier: Earlier,
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
    /// What its arguments name and run on this machine.
    pub(super) local: LocalFacts,
    /// The files that it names and makes act.
    pub(super) files: Files,
    /// It brings something to a call that a person agreed to.
    pub(super) continues_agreed: bool,
    /// Where its values come from, as far as that matters.
    pub(super) origins: ValueOrigins,
    /// What of the call that it belongs to is no new question.
    pub(super) excuse: Excuse,
    /// Whether no digest of it goes on record, because its receipt is for the auditor alone.
    pub(super) sealed: bool,
    pub(super) now: Timestamp,
}

/// What was read before a silence, as far as it matters to an action: nobody has said whether the agent still has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// Nothing is pending, or the action is judged the same without it.
    Indifferent,
    /// With it a person is asked, or is asked more: the action is judged under this label.
    Asks(Label),
    /// With it the action is blocked: whether this is a new conversation is asked first.
    Blocks,
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
            session: self.label(),
            unsettled: self.earlier == Earlier::Blocks,
            request: &self.request,
            arguments: Arguments::Known(self.arguments()),
            local_act: self.local.act,
            named: self.local.named,
            reads_by_sql: self.local.reads_by_sql,
            doubts: &self.files.doubts,
            provenance: self.origins.under(&self.policy, self, self.label()),
            caps: self.known().cases.as_ref().map_or(base.caps, |label| label.caps()),
            parameters: self.known().parameters.as_ref().or(base.parameters),
            relayed: self.relayed.as_ref(),
            now: self.now,
            ..base
        }
    }

    /// The same under another label.
    pub(super) fn facts_under<'a>(&'a self, label: &'a Label) -> Facts<'a> {
        let provenance = self.origins.under(&self.policy, self, label);
        Facts { provenance, ..self.facts().under(label) }
    }

    /// The same, if the session had taken in anything at all besides.
    pub(super) fn facts_at_worst(&self) -> Facts<'_> {
        Facts { provenance: self.origins.at_worst(), ..self.facts().at_worst() }
    }

    /// The same once something has come back, under the session's label of that moment, and by what the caller may then:
    /// a caller who is granted nothing any more is given nothing any more.
    pub(super) fn facts_of_reply<'a>(&'a self, session: &'a Label, grant: &'a Grant) -> Facts<'a> {
        Facts {
            contract: &self.reply_contract,
            grant,
            unsettled: false,
            now: now(),
            ..self.facts_under(session)
        }
    }

    /// Whether what comes back may be refused for what it holds itself.
    pub(super) fn judges_replies(&self) -> bool {
        self.policy.flow_for(&self.facts()).judges_replies()
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

    /// The label that the action is judged under.
    pub(super) fn label(&self) -> &Label {
        match &self.earlier {
            Earlier::Asks(possible) => possible,
            Earlier::Indifferent | Earlier::Blocks => &self.before.label,
        }
    }

    pub(super) fn session(&self) -> &SessionHandle {
        &self.caller.session
    }

    /// What an answer is kept for that holds until the conversation ends.
    pub(super) fn scope(&self) -> SessionKey {
        let session = self.session();
        match session.way() {
            // The key of a presumed conversation stays when the next one begins.
            Some(_) => SessionKey::new(format!("{}#{}", session.key(), self.before.epoch)),
            None => session.key().clone(),
        }
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
        Self { before, earlier: Earlier::Indifferent, ..self }
    }

    /// The same with what was read before a silence, as far as that matters to it.
    pub(super) fn weighing_earlier(self) -> Self {
        let earlier =
            if self.before.pending.is_some() { self.earlier_matters() } else { Earlier::Indifferent };
        Self { earlier, ..self }
    }

    fn earlier_matters(&self) -> Earlier {
        let possible = self.before.possible();
        let judged = |label| judge(&self.policy, &Facts { unsettled: false, ..self.facts_under(label) });
        let (own, with) = (judged(&self.before.label), judged(&possible));
        let asks = |judgement: &Judgement| {
            let asking = judgement.findings().iter().filter(|finding| finding.effect >= Effect::Confirm);
            asking
                .map(|finding| (finding.id.clone(), finding.effect, finding.reasons.clone()))
                .collect::<Vec<_>>()
        };
        match with.effect() {
            Effect::Allow | Effect::Redact => Earlier::Indifferent,
            _ if asks(&own) == asks(&with) => Earlier::Indifferent,
            Effect::Confirm | Effect::Passkey => Earlier::Asks(possible),
            Effect::Block if own.effect() == Effect::Block => Earlier::Indifferent,
            Effect::Block => Earlier::Blocks,
        }
    }

    /// The same under what the caller may now.
    pub(super) fn at(self, now: Timestamp) -> Self {
        Self { standing: self.caller.standing(), now, ..self }
    }

    /// The same with where its values come from.
    pub(super) fn with_origins(self, origins: ValueOrigins) -> Self {
        Self { origins, ..self }
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

    /// The same with what the paths that it names tell of its reply.
    pub(super) fn reading_from(self, read_from: ReadFrom) -> Self {
        let proposed = match said_by_places(read_from, None) {
            Some(said) => {
                let (reply, _) = self.reply_contract.narrowed(&said);
                let (contract, _) = self.contract.narrowed(&said);
                let narrowed = |contract| EffectiveContract::Narrowed(Arc::new(contract));
                Self { contract: narrowed(contract), reply_contract: narrowed(reply), ..self }
            }
            None => self,
        };
        let local = LocalFacts { read_from, ..proposed.local };
        Self { local, ..proposed }
    }

    /// What the operator says of a call with these arguments.
    pub(super) fn said_by_cases(&self, arguments: Arguments<'_>) -> Option<Claims> {
        let cases = self.known().cases.as_ref().filter(|label| !label.cases().is_empty())?;
        Some(cases.for_call(arguments)).filter(|said| !said.is_empty())
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
