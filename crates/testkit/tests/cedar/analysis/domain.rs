//! Every action of the small domain, judged by Cedar, and what follows from the verdicts in plain sets.

use std::collections::BTreeSet;

use cedar_policy::{Authorizer, Entities};
use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Authority, Claim, Claims, Contract, DataClass, Outcome, Possible};
use highwater_core::decide::FlowMode;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Effect, FACTS, Facts, FlowViolations, Phase, Phases};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::{Arguments, Parameters, Words};
use highwater_rules::{ConditionSource, RuleSource};

use super::super::{context, policy};
use super::Found;
use super::draw::{Drawn, rule};

const QUERY: &str = "query";
/// Before the names of rules as they are after the change.
const NEW: &str = "new-";

/// What an action is to the flow rules, and which of the conditions Cedar finds in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scene {
    /// Those that may hold, and those that certainly do.
    pub(super) may: BTreeSet<String>,
    pub(super) must: BTreeSet<String>,
    private: bool,
    untrusted: bool,
    acts: bool,
    irreversible: bool,
}

/// What the rules of the domain do not see of an action.
#[derive(Clone, Copy)]
struct Unseen {
    /// Its arguments go to the public.
    public: bool,
    /// It runs files in doubt.
    doubted: bool,
}

/// What one policy finds in a scene: each finding with its effect, waivers counted.
type Findings = Vec<(String, Effect)>;

const ARGUMENTS: [&str; 9] = [
    "{}",
    r#"{"a":"x"}"#,
    r#"{"a":"y"}"#,
    r#"{"a":"z"}"#,
    r#"{"a":5}"#,
    r#"{"a":50}"#,
    r#"{"a":true}"#,
    r#"{"a":false}"#,
    r#"{"a":null}"#,
];

// === the verdicts ===

/// The phases in which a rule is judged before the action: those that it names or that all its facts are known in.
fn phases(rule: &RuleSource) -> Phases {
    let known = |path: &str| {
        let fact = FACTS.iter().find(|fact| fact.path == path);
        fact.map_or(Phases::of(&[Phase::Call, Phase::Resource, Phase::Result]), |fact| fact.phases)
    };
    let written = match &rule.phase {
        Some(phase) => Phases::of(&[Phase::ALL.into_iter().find(|one| one.as_str() == phase.value).unwrap()]),
        None => Phases::of(&[Phase::Call, Phase::Resource]),
    };
    let paths = policy::mentioned([&rule.condition]);
    paths.iter().fold(written, |phases, path| phases.and(known(path)))
}

/// Every combination of what the conditions can tell apart, without repetition, and how many verdicts Cedar gave.
pub(super) fn judged(asked: &[RuleSource]) -> (Vec<Scene>, u64) {
    let (mut scenes, mut verdicts) = (BTreeSet::new(), 0);
    let authorizer = Authorizer::new();
    for phase in [Phase::Call, Phase::Resource] {
        let rules: Vec<RuleSource> = asked.iter().filter(|rule| phases(rule).has(phase)).cloned().collect();
        let (policies, mentioned) =
            (policy::policies(&rules, phase), policy::mentioned(rules.iter().map(|rule| &rule.condition)));
        every_action(phase, |facts| {
            let request =
                context::request(facts, FlowViolations::EMPTY, phase, |path| mentioned.contains(path), None);
            let answer = authorizer.is_authorized(&request, &policies, &Entities::empty());
            assert!(answer.diagnostics().errors().next().is_none());
            let reasons: Vec<String> = answer.diagnostics().reason().map(ToString::to_string).collect();
            let ending = |end: &str| -> BTreeSet<String> {
                reasons.iter().filter_map(|id| id.strip_suffix(end).map(str::to_owned)).collect()
            };
            let outcomes = facts.contract.outcomes();
            verdicts += 1;
            scenes.insert(Scene {
                may: ending(".may"),
                must: ending(".must"),
                private: facts.session.private(),
                untrusted: facts.session.untrusted(),
                acts: !outcomes.is_only(Outcome::Benign),
                irreversible: outcomes.contains(Outcome::Irreversible),
            });
        });
    }
    (scenes.into_iter().collect(), verdicts)
}

fn every_action(phase: Phase, mut judge: impl FnMut(&Facts<'_>)) {
    let (decision, principal, virtual_server) =
        (DecisionId::new("hwd_1"), Principal::new("kim"), VirtualServerId::new("default"));
    let action =
        |kind, method, target: &str| Action::new(kind, UpstreamId::new("mail"), method, target, "{}");
    // Of a step of a task nobody knows which tool it belongs to.
    let actions = match phase {
        Phase::Resource => vec![
            action(ActionKind::ReadResource, "resources/read", "file:///x"),
            action(ActionKind::GetPrompt, "prompts/get", "p"),
        ],
        _ => ["send", "read", "else"]
            .map(|tool| action(ActionKind::CallTool, "tools/call", tool))
            .into_iter()
            .chain([action(ActionKind::TaskStep, "tasks/get", "t1")])
            .collect(),
    };
    // Asking for data changes nothing.
    let outcomes = if phase == Phase::Resource { 1..2 } else { 1..8 };
    let untrusted = Label::bottom().with_integrity(TrustLevel::None);
    let labels: Vec<Label> = [Label::bottom(), untrusted.clone(), untrusted.with_malicious()]
        .into_iter()
        .flat_map(|label| [label.clone(), label.with_class(DataClass::Confidential)])
        .collect();
    let trust = ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::None);
    // A tool or a prompt says what it takes, and need not take what a rule asks for.
    let no_parameters = Parameters::default();
    for action in &actions {
        let base = Facts::of(&decision, &principal, &virtual_server, action);
        let declares = matches!(action.kind(), ActionKind::CallTool | ActionKind::GetPrompt);
        let declared = if declares { vec![None, Some(&no_parameters)] } else { vec![base.parameters] };
        for outcomes in outcomes.clone() {
            let outcomes = Possible::of(Words::<Outcome>::from_bits(outcomes)).unwrap();
            let mut claims = Claims::default();
            claims.push(Claim::SetOutcomes(outcomes), Authority::Operator, "test");
            let contract = Contract::weigh(&claims, &trust).0;
            for label in &labels {
                for (arguments, parameters) in
                    ARGUMENTS.iter().flat_map(|text| declared.iter().map(move |declared| (text, *declared)))
                {
                    judge(&Facts {
                        contract: &contract,
                        session: label,
                        arguments: Arguments::Known(arguments),
                        parameters,
                        tool_name: (action.kind() == ActionKind::CallTool).then(|| &**action.target()),
                        ..base
                    });
                }
            }
        }
    }
}

// === what follows from them ===

/// What Cedar's verdicts say of the set, and how many there were.
pub(super) fn found(drawn: &Drawn) -> (Found, u64) {
    let (mut asked, changed) = (drawn.rules_of(false), drawn.rules_of(true));
    asked.extend(changed.iter().map(|rule| {
        let mut rule = rule.clone();
        rule.name.value.insert_str(0, NEW);
        rule
    }));
    let waivers = drawn.waivers.iter().enumerate();
    asked.extend(
        waivers.filter_map(|(number, waiver)| Some(plain(&waiver_name(number), waiver.when.as_ref()?))),
    );
    asked.push(plain(QUERY, &drawn.query));
    let (scenes, verdicts) = judged(&asked);

    let mut found = Found {
        dead: BTreeSet::new(),
        shadowed: BTreeSet::new(),
        leaks: false,
        certainly: false,
        changes: BTreeSet::new(),
    };
    let mut fired: BTreeSet<Findings> = BTreeSet::new();
    for scene in &scenes {
        // Where the arguments go, and whether files in doubt are run, is not told apart by the rules, and makes a
        // difference to the flow rules.
        for (public, doubted) in [(false, false), (true, false), (false, true), (true, true)] {
            let unseen = Unseen { public, doubted };
            let before = findings(drawn, &drawn.rules, "", scene, unseen);
            let after = findings(drawn, &changed, NEW, scene, unseen);
            let (was, is) = (strictest(&before), strictest(&after));
            if was < Effect::Confirm {
                found.leaks |= scene.may.contains(QUERY);
                found.certainly |= scene.must.contains(QUERY);
            }
            if was != is {
                found.changes.insert((was, is));
            }
            fired.insert(before);
        }
    }
    // From the last to the first: of two rules that say the same, the later one is the one too many.
    for rule in drawn.rules.iter().rev() {
        let name = &rule.name.value;
        let redacts = rule.effect.value == "redact";
        let gone = |other: &str| found.dead.contains(other) || found.shadowed.contains(other);
        let with = |findings: &&Findings| findings.iter().any(|(one, _)| one == name);
        // Redacting is done beside everything else: only another that redacts can replace it.
        let decides = |findings: &&Findings| {
            let effect = findings.iter().find(|(one, _)| one == name).map(|(_, effect)| *effect).unwrap();
            let enough = |other: Effect| if redacts { other == Effect::Redact } else { other >= effect };
            !findings.iter().any(|(other, reached)| other != name && !gone(other) && enough(*reached))
        };
        if !fired.iter().any(|findings| with(&findings)) {
            found.dead.insert(name.clone());
        } else if !fired.iter().filter(with).any(|findings| decides(&findings)) {
            found.shadowed.insert(name.clone());
        }
    }
    (found, verdicts)
}

/// A condition that Cedar is asked about like a rule.
fn plain(name: &str, condition: &ConditionSource) -> RuleSource {
    rule(name, "block", condition.clone(), None)
}

fn waiver_name(number: usize) -> String {
    format!("waiver-{number}")
}

/// What the rules and the flow rules find. `prefix` is that of the rules' names in the scene.
fn findings(drawn: &Drawn, rules: &[RuleSource], prefix: &str, scene: &Scene, unseen: Unseen) -> Findings {
    let Unseen { public, doubted } = unseen;
    let mut found: Findings = rules
        .iter()
        .filter(|rule| scene.may.contains(&format!("{prefix}{}", rule.name.value)))
        .map(|rule| (rule.name.value.clone(), Effect::of_rule_word(&rule.effect.value).unwrap()))
        .collect();
    let (write, acts) = (scene.private && public, scene.untrusted && scene.acts);
    let mut flow = |holds: bool, name: &str, effect: Effect| {
        if holds {
            found.push((name.to_owned(), effect));
        }
    };
    match drawn.mode {
        FlowMode::Observe => panic!("never drawn"),
        FlowMode::Balanced => {
            flow(write, "flow.write", if scene.untrusted { Effect::Block } else { Effect::Confirm });
            flow(acts, "flow.act", Effect::Confirm);
            flow(doubted, "flow.doubt", Effect::Confirm);
        }
        FlowMode::Strict => {
            flow(doubted, "flow.doubt", Effect::Confirm);
            flow(doubted && scene.irreversible, "flow.doubt", Effect::Passkey);
            flow(write, "flow.write", Effect::Block);
            flow(acts || scene.untrusted && public, "flow.act", Effect::Confirm);
            flow(scene.untrusted && scene.irreversible, "flow.act", Effect::Passkey);
        }
        FlowMode::Samos => flow(write, "flow.write", Effect::Block),
    }
    let waived = |name: &str| {
        let named = drawn.waivers.iter().enumerate().filter(|(_, waiver)| {
            waiver.waive.iter().any(|one| one.value == name || one.value == format!("rule.{name}"))
        });
        named.into_iter().any(|(number, _)| scene.must.contains(&waiver_name(number)))
    };
    for (name, effect) in &mut found {
        if waived(name) {
            *effect = (*effect).min(Effect::Confirm);
        }
    }
    found.sort();
    found
}

fn strictest(findings: &Findings) -> Effect {
    findings.iter().map(|(_, effect)| *effect).max().unwrap_or(Effect::Allow)
}
