//! The decision, one story each, at a desk where everything is granted and one call is judged.

mod approval;
mod attempt;
mod doubt;
mod flow;
mod flow_policy;
mod gates;
mod observe;
mod provenance;
mod relay;
mod reply;
mod rules;
mod said;
mod token;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{
    Authority, CallVariant, Claim, Claims, Contract, DataClass, Destination, Outcome, Possible, Sensitivity,
    Source,
};
use highwater_core::decide::*;
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy, Span};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::{Arguments, Timestamp};

use crate::compile_early;
use crate::source::{ConditionSource, RuleSource, Spanned, ValueSource, WaiverSource, Written};

/// One call and everything round it.
struct Desk {
    policy: Policy,
    flow: FlowPolicy,
    decision: DecisionId,
    principal: Principal,
    virtual_server: VirtualServerId,
    grant: Grant,
    variant: Option<CallVariant>,
    action: Action,
    contract: Contract,
    session: Label,
}

impl Desk {
    /// A trusted session that has read nothing, and a tool that looks at something of the system's.
    fn new(mode: FlowMode) -> Self {
        let mail = UpstreamId::new("mail");
        let virtual_server = VirtualServerId::new("default");
        let policy = Policy::new(
            [(mail.clone(), Admission::default())].into(),
            [(virtual_server.clone(), [mail.clone()].into())].into(),
        );
        Self {
            policy,
            flow: FlowPolicy { mode, ..FlowPolicy::default() },
            decision: DecisionId::new("hwd_1"),
            principal: Principal::new("agent"),
            virtual_server,
            grant: Grant::everything().clone(),
            variant: None,
            action: Action::new(ActionKind::CallTool, mail, "tools/call", "send", "{}"),
            contract: tool(Destination::Ephemeral, Outcome::Benign, &[]),
            session: Label::bottom(),
        }
        .settled()
    }

    fn settled(mut self) -> Self {
        self.policy = self.policy.with_flows([(self.virtual_server.clone(), self.flow.clone())].into());
        self
    }

    fn calling(self, contract: Contract) -> Self {
        Self { contract, ..self }
    }

    fn having_read(mut self, classes: &[DataClass]) -> Self {
        self.session = self.session.with_classes(classes.iter().copied().collect());
        self
    }

    fn having_read_strangers(mut self) -> Self {
        self.session = self.session.with_open_world();
        self
    }

    fn with_rules(mut self, rules: &[RuleSource], waivers: &[WaiverSource]) -> Self {
        // They may ask for what nothing produces yet.
        self.policy = self.policy.with_rules(compile_early(rules, waivers).unwrap());
        self
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            grant: &self.grant,
            variant: self.variant,
            contract: &self.contract,
            session: &self.session,
            tool_id: Some("mail__send"),
            arguments: Arguments::Known(self.action.params()),
            now: Timestamp(1_800_000_000_000),
            ..Facts::of(&self.decision, &self.principal, &self.virtual_server, &self.action)
        }
    }

    fn judge(&self) -> Judgement {
        let judgement = judge(&self.policy, &self.facts());
        assert_eq!(demands(&self.policy, &self.facts()), judgement.demands(), "both say the same");
        judgement
    }

    fn effect(&self) -> Effect {
        self.judge().effect()
    }

    /// The findings as `id effect`.
    fn found(&self) -> Vec<String> {
        found(&self.judge())
    }

    fn decide(&self) -> Verdict {
        decide(&self.policy, &self.facts())
    }

    fn escalation(&self) -> Escalation {
        match self.decide() {
            Verdict::Escalate(escalation) => escalation,
            other => panic!("{other:?} is no question"),
        }
    }

    fn approval(&self) -> Approval {
        let escalation = self.escalation();
        let question = escalation.question();
        escalation.answered(question, Answer::Approve).unwrap()
    }
}

fn found(judgement: &Judgement) -> Vec<String> {
    judgement.findings().iter().map(|found| format!("{} {}", found.id, found.effect.as_str())).collect()
}

/// A verified server's tool that accepts every class and returns these from the system.
fn tool(destination: Destination, outcome: Outcome, returns: &[DataClass]) -> Contract {
    told(&[
        Claim::SetDestination(Possible::only(destination)),
        Claim::AcceptsAny,
        Claim::SetOutcomes(Possible::only(outcome)),
        Claim::SetSource(Possible::only(Source::System)),
        Claim::SetReturns(classes(returns)),
    ])
}

fn classes(classes: &[DataClass]) -> Sensitivity {
    if classes.is_empty() { Sensitivity::none() } else { Sensitivity::of(classes.iter().copied()) }
}

/// The contract of a verified server's tool of which the operator says this.
fn told(claims: &[Claim]) -> Contract {
    let mut all = Claims::new();
    for claim in claims {
        all.push(claim.clone(), Authority::Operator, "test");
    }
    Contract::weigh(&all, &ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::Tool)).0
}

fn spanned(text: &str) -> Spanned<String> {
    Spanned::new(text.to_owned(), Span::default())
}

fn test(fact: &str, value: Written) -> ConditionSource {
    let value = ValueSource { span: Span::default(), value };
    ConditionSource::Test { fact: spanned(fact), operator: spanned("equals"), value }
}

fn rule(name: &str, effect: &str, condition: ConditionSource) -> RuleSource {
    RuleSource {
        name: spanned(name),
        effect: spanned(effect),
        condition,
        message: Some("for people".to_owned()),
        phase: None,
        non_monotone: false,
        dry_run: false,
    }
}

fn waiver(finding: &str, when: ConditionSource, until: &str) -> WaiverSource {
    WaiverSource {
        span: Span::default(),
        waive: vec![spanned(finding)],
        when: Some(when),
        until: Some(spanned(until)),
        reason: Some(spanned("the auditor may have it")),
    }
}

fn word(text: &str) -> Written {
    Written::Text(text.to_owned())
}
