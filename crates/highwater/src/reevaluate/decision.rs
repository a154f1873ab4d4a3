//! One recorded decision, judged once more.

use std::sync::Arc;

use highwater_audit::{RecordedDecision, contract_of, is_as_recorded};
use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::Contract;
use highwater_core::decide::{Effect, Finding, FindingId, FlowMode, judge};
use highwater_core::grant::Grant;
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::policy::{Facts, ServerFacts, ToolStatus};
use highwater_core::profile::LocalAct;
use highwater_core::session::Doubt;
use highwater_notation::Timestamp;

use super::configuration::LoadedConfiguration;

/// A recorded decision that is understood: judged again under the configuration of today, it finds what it found then.
pub(crate) struct Rejudged<'a> {
    decision: &'a RecordedDecision,
    id: DecisionId,
    time: Timestamp,
    action: Action,
    /// The enforcing mode in which it is judged.
    mode: FlowMode,
    /// What followed in this mode, before a person was asked.
    effect: Effect,
    /// The contract on record; `None` where the definition of the tool has the same, and another one under another
    /// configuration.
    contract: Option<Contract>,
    /// Rules that may hold as far as the record tells, and did not: they looked at what is not on record.
    silent: Vec<FindingId>,
}

/// What followed from each finding in one mode.
type Effects = Vec<(FindingId, Effect)>;

/// What `balanced` did, or would have done; `None` where the record does not say: another mode was enforced.
pub(crate) fn balanced_effect(decision: &RecordedDecision) -> Option<Effect> {
    match decision.mode {
        FlowMode::Observe | FlowMode::Balanced => Some(strictest(&recorded(decision, FlowMode::Balanced))),
        FlowMode::Strict | FlowMode::Samos => None,
    }
}

// === impl Rejudged ===

impl<'a> Rejudged<'a> {
    /// Judges a decision again. In `observe` as in the mildest mode that would have stopped it. `None` if that does not
    /// find what is on record: the configuration or the tool has changed since, or it hung on what is not recorded.
    pub(crate) fn of(
        now: &LoadedConfiguration,
        decision: &'a RecordedDecision,
        time: Timestamp,
    ) -> Option<Self> {
        let mode = match decision.mode {
            FlowMode::Observe if balanced_effect(decision) == Some(Effect::Allow) => FlowMode::Strict,
            FlowMode::Observe => FlowMode::Balanced,
            enforced => enforced,
        };
        Self::in_mode(now, decision, time, mode)
    }

    /// The same, in a mode whose effect is on record: the mode that was enforced, or any where it was `observe`.
    pub(crate) fn in_mode(
        now: &LoadedConfiguration,
        decision: &'a RecordedDecision,
        time: Timestamp,
        mode: FlowMode,
    ) -> Option<Self> {
        let found = recorded(decision, mode);
        let defined = contract_of_call(now, decision);
        let is_defined = decision.kind == ActionKind::CallTool
            && defined.is_some_and(|contract| is_as_recorded(&contract, &decision.contract));
        let trust = now.contracts.server(&decision.upstream).trust;
        let contract = match is_defined {
            true => None,
            false => Some(contract_of(&decision.contract, trust)?),
        };
        let action = Action::new(
            decision.kind,
            decision.upstream.clone(),
            decision.method.as_str(),
            decision.target.as_str(),
            "{}",
        );
        let effect = strictest(&found);
        let mut this = Self {
            decision,
            id: DecisionId::new("hwd_again"),
            time,
            action,
            mode,
            effect,
            contract,
            silent: Vec::new(),
        };
        let again = this.judged(now, &decision.label.label());
        for (id, effect) in &again {
            let was = of(&found, id);
            match id {
                FindingId::Rule(_) if was == Effect::Allow => this.silent.push(id.clone()),
                _ if was != *effect => return None,
                _ => {}
            }
        }
        let is_found = |id: &FindingId| !is_judged_again(id) || again.iter().any(|(known, _)| known == id);
        found.iter().all(|(id, _)| is_found(id)).then_some(this)
    }

    /// The mode in which it is judged.
    pub(crate) fn mode(&self) -> FlowMode {
        self.mode
    }

    /// What followed in this mode, before a person was asked.
    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether what is said of its tool in the configuration changes its contract.
    pub(crate) fn is_by_definition(&self) -> bool {
        self.contract.is_none()
    }

    /// What would follow under this configuration, in a session with this label.
    pub(crate) fn effect_under(&self, configuration: &LoadedConfiguration, label: &Label) -> Effect {
        self.effect_without(configuration, label, &|_| false)
    }

    /// The same, if some findings were not there.
    pub(crate) fn effect_without(
        &self,
        configuration: &LoadedConfiguration,
        label: &Label,
        gone: &dyn Fn(&FindingId) -> bool,
    ) -> Effect {
        let again = self.judged(configuration, label);
        let again = again.into_iter().filter(|(id, _)| !self.silent.contains(id));
        let kept = recorded(self.decision, self.mode).into_iter().filter(|(id, _)| !is_judged_again(id));
        let all = again.chain(kept).filter(|(id, _)| !gone(id));
        all.map(|(_, effect)| effect).max().unwrap_or(Effect::Allow)
    }

    /// What the gates find that can be asked again.
    fn judged(&self, configuration: &LoadedConfiguration, label: &Label) -> Effects {
        let decision = self.decision;
        let defined = || contract_of_call(configuration, decision);
        let contract = self.contract.clone().or_else(defined).unwrap_or_else(Contract::unknown);
        let profile = configuration.contracts.profile(&decision.upstream);
        let shape = configuration.contracts.shape(&decision.upstream, &decision.target);
        let local_act = shape
            .map_or(LocalAct::No, |shape| LocalAct::judge(profile, shape.acts(), &contract, decision.named));
        let server =
            ServerFacts { trust: contract.server(), ..configuration.contracts.server(&decision.upstream) };
        let doubts: Vec<Doubt> = decision
            .findings
            .iter()
            .flat_map(|finding| &finding.about)
            .map(|id| Doubt { id: Arc::clone(id), name: None })
            .collect();
        let judges_values = configuration
            .settings
            .virtual_server(decision.virtual_server.as_str())
            .is_some_and(|virtual_server| virtual_server.provenance);
        let facts = Facts {
            provenance: decision.standings.as_ref().filter(|_| judges_values),
            // What a token grants is not on record; what it did not grant is, as a finding.
            grant: Grant::everything(),
            tool_id: decision.tool.as_deref(),
            tool_status: ToolStatus::Approved,
            contract: &contract,
            server: &server,
            session: label,
            local_act,
            named: decision.named,
            reads_by_sql: decision.reads_by_sql,
            doubts: &doubts,
            now: self.time,
            ..Facts::of(&self.id, &decision.principal, &decision.virtual_server, &self.action)
        };
        let judgement = judge(configuration.policy(self.mode), &facts);
        let findings = judgement.findings().iter().filter(|finding| !finding.dry_run);
        let effects = findings.map(|finding| (finding.id.clone(), finding.effect));
        effects.filter(|(id, effect)| is_judged_again(id) && *effect > Effect::Allow).collect()
    }
}

/// The contract of a recorded call by the definition of its tool, where the operator says nothing of single calls.
fn contract_of_call(configuration: &LoadedConfiguration, decision: &RecordedDecision) -> Option<Contract> {
    let contract = configuration.contracts.tool(&decision.upstream, &decision.target)?;
    let profile = configuration.contracts.profile(&decision.upstream);
    let said = contract.said_of_reading_sql(profile).filter(|_| decision.reads_by_sql);
    Some(said.map_or_else(|| contract.clone(), |said| contract.narrowed(&said).0))
}

/// Whether a gate can be asked again. The others look at tokens, pins, proofs and the like, which the record does not hold.
fn is_judged_again(id: &FindingId) -> bool {
    match id {
        FindingId::Flow(_)
        | FindingId::Rule(_)
        | FindingId::Grant
        | FindingId::AllowList
        | FindingId::Method
        | FindingId::Approval => true,
        FindingId::Token
        | FindingId::Cap
        | FindingId::Intent
        | FindingId::Quarantine
        | FindingId::FlowPolicy
        | FindingId::OwnFiles
        | FindingId::Conversation
        | FindingId::Unapproved
        | FindingId::Ask
        | FindingId::Reply => false,
    }
}

/// What followed from each finding on record in this mode. That nobody said yes is no finding about the call.
fn recorded(decision: &RecordedDecision, mode: FlowMode) -> Effects {
    let in_mode = |finding: &Finding| match (decision.mode, finding.would) {
        (FlowMode::Observe, Some(would)) => would.get(mode),
        _ => finding.effect,
    };
    let findings = decision.findings.iter();
    let counted = findings.filter(|finding| !finding.dry_run && finding.id != FindingId::Unapproved);
    let effects = counted.map(|finding| (finding.id.clone(), in_mode(finding)));
    effects.filter(|(_, effect)| *effect > Effect::Allow).collect()
}

fn of(effects: &Effects, id: &FindingId) -> Effect {
    effects.iter().filter(|(known, _)| known == id).map(|(_, effect)| *effect).max().unwrap_or(Effect::Allow)
}

fn strictest(effects: &Effects) -> Effect {
    effects.iter().map(|(_, effect)| *effect).max().unwrap_or(Effect::Allow)
}
