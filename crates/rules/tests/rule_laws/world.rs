//! Random rules that mostly load, and random actions to judge with them.
//!
//! Each is made from one number, so that a failure is named by its numbers.

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{
    ArgumentRole, Authority, Claim, Claims, Contract, DataClass, Destination, Outcome, Possible, Sensitivity,
    Source,
};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::{Label, TextSet};
use highwater_core::policy::{
    FACTS, Fact, Facts, FlowRule, FlowViolations, Kind, Phase, ResponseFacts, ServerFacts, ServerTransport,
    SightingKind, Span, ToolStatus,
};
use highwater_core::provenance::{ArgumentStanding, CallProvenance, Carries, Ground, Lack, Need, Standing};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::{Arguments, Timestamp, Word, Words};
use highwater_rules::{ConditionSource, RuleSource, Spanned, ValueSource, WaiverSource, Written, compile};

use super::dice::Dice;

// === rules ===

const NAMES: &[&str] = &["send", "read", "mail", "kim", "default", "s", "docs:a", "tools/call"];
const TEXTS: &[&str] = &["t000", "t001", "t002", "t003", "t400"];
const GLOBS: &[&str] = &["*", "s*", "*:?", "t00?", "?e*d"];
pub(super) const POINTERS: &[&str] = &["arguments.a", "arguments.b", "arguments.a/b", "arguments.c/0"];

fn spanned(text: impl Into<String>) -> Spanned<String> {
    Spanned::new(text.into(), Span::default())
}

fn value(value: Written) -> ValueSource {
    ValueSource { span: Span::default(), value }
}

fn test(path: &str, operator: &str, written: Written) -> ConditionSource {
    ConditionSource::Test { fact: spanned(path), operator: spanned(operator), value: value(written) }
}

fn scalar(kind: Kind, dice: &mut Dice) -> Written {
    let text = |word: &str| Written::Text(word.to_owned());
    match kind {
        Kind::Bool => Written::Bool(dice.one_in(2)),
        Kind::Int(least, most) => {
            Written::Int(least + i64::try_from(dice.below(101)).unwrap() % (most - least + 1))
        }
        Kind::Str => text(dice.of(NAMES)),
        Kind::Open { .. } => text(dice.of(TEXTS)),
        Kind::Enum { words, .. } | Kind::Set(words) | Kind::OneOf(words) => text(dice.of(words)),
    }
}

/// An operator with a value that fits the kind.
fn asked(kind: Kind, dice: &mut Dice) -> (&'static str, Written) {
    let mut operators = vec!["equals", "equals", "in"];
    match kind {
        Kind::Int(..) | Kind::Enum { ordered: true, .. } => operators.extend(["greaterThan", "lessThan"]),
        Kind::Str => operators.push("matches"),
        Kind::Open { .. } => operators.extend(["matches", "exists", "contains"]),
        Kind::Set(_) | Kind::OneOf(_) => operators.push("contains"),
        Kind::Bool | Kind::Enum { .. } => {}
    }
    let operator = dice.of(&operators);
    let written = match operator {
        "in" => Written::List((0..=dice.below(3)).map(|_| value(scalar(kind, dice))).collect()),
        "matches" => Written::Text(dice.of(GLOBS).to_owned()),
        "exists" => Written::Bool(dice.one_in(2)),
        _ => scalar(kind, dice),
    };
    (operator, written)
}

fn leaf(phase: Phase, facts: &[&'static Fact], dice: &mut Dice) -> ConditionSource {
    if phase != Phase::List && dice.one_in(5) {
        let kind = dice.of(&[Kind::Str, Kind::Bool, Kind::Int(0, 9)]);
        let (operator, written) =
            if dice.one_in(4) { ("exists", Written::Bool(dice.one_in(2))) } else { asked(kind, dice) };
        return test(dice.of(POINTERS), operator, written);
    }
    let fact = dice.of(facts);
    let (operator, written) = asked(fact.kind, dice);
    test(fact.path, operator, written)
}

fn grow(phase: Phase, facts: &[&'static Fact], depth: usize, dice: &mut Dice) -> ConditionSource {
    let (span, many) = (Span::default(), 1 + dice.below(3));
    match dice.below(if depth == 0 { 1 } else { 5 }) {
        3 => ConditionSource::All {
            span,
            of: (0..many).map(|_| grow(phase, facts, depth - 1, dice)).collect(),
        },
        2 => ConditionSource::Any {
            span,
            of: (0..many).map(|_| grow(phase, facts, depth - 1, dice)).collect(),
        },
        1 => ConditionSource::Not { span, of: Box::new(grow(phase, facts, depth - 1, dice)) },
        _ => leaf(phase, facts, dice),
    }
}

/// A rule over the facts that are produced, that the phase knows and that the filter lets pass.
pub(super) fn rule(phase: Phase, non_monotone: bool, keep: fn(&Fact) -> bool, dice: &mut Dice) -> RuleSource {
    let facts: Vec<&'static Fact> = FACTS
        .iter()
        .filter(|fact| fact.missing().is_none() && fact.phases.has(phase) && keep(fact))
        .collect();
    RuleSource {
        name: spanned("r"),
        effect: spanned(dice.of(&["redact", "confirm", "passkey", "block"])),
        condition: grow(phase, &facts, 3, dice),
        message: None,
        phase: Some(spanned(phase.as_str())),
        non_monotone,
        dry_run: false,
    }
}

/// As many rules as there are seeds, except those that do not load, each with a name of its own.
pub(super) fn rules(
    seeds: &[u64],
    phase: Phase,
    non_monotone: bool,
    keep: fn(&Fact) -> bool,
) -> Vec<RuleSource> {
    let made = seeds.iter().map(|seed| rule(phase, non_monotone, keep, &mut Dice::new(*seed)));
    let mut rules: Vec<RuleSource> =
        made.filter(|rule| compile(std::slice::from_ref(rule), &[]).is_ok()).collect();
    for (number, rule) in rules.iter_mut().enumerate() {
        rule.name.value = format!("r{number}");
    }
    rules
}

/// Facts that are either known or unknown. What a contract is worth as a whole (hints, classes of call) is a
/// worst reading, and moves when the contract is narrowed.
pub(super) fn narrows(fact: &Fact) -> bool {
    !fact.path.ends_with("Hint")
        && !matches!(
            fact.path,
            "tool.readConfidentiality"
                | "tool.writeConfidentiality"
                | "tool.callWith"
                | "tool.destructive"
                | "tool.undeclared"
        )
}

/// Waivers of these rules that load.
pub(super) fn waivers(seeds: &[u64], phase: Phase, rules: &[RuleSource]) -> Vec<WaiverSource> {
    let waiver = |seed: &u64| {
        let dice = &mut Dice::new(*seed);
        WaiverSource {
            span: Span::default(),
            waive: (0..=dice.below(2))
                .map(|_| spanned(format!("rule.r{}", dice.below(rules.len()))))
                .collect(),
            when: Some(rule(phase, true, |_| true, dice).condition),
            until: Some(spanned(if dice.one_in(5) { "1970-01-01" } else { "2999-01-01" })),
            reason: Some(spanned("because")),
        }
    };
    seeds.iter().map(waiver).filter(|waiver| compile(rules, std::slice::from_ref(waiver)).is_ok()).collect()
}

/// Anything that can be written, sensible or not.
pub(super) fn nonsense(dice: &mut Dice) -> RuleSource {
    fn word(dice: &mut Dice) -> String {
        const WORDS: &[&str] = &[
            "equals",
            "in",
            "exists",
            "matches",
            "block",
            "call",
            "arguments.",
            "arguments.a//~1",
            "",
            "ü\u{0}*?",
        ];
        if dice.one_in(2) {
            FACTS[dice.below(FACTS.len())].path.to_owned()
        } else {
            dice.of(WORDS).to_owned()
        }
    }
    fn written(dice: &mut Dice) -> Written {
        match dice.below(5) {
            0 => Written::Bool(dice.one_in(2)),
            1 => Written::Int(dice.of(&[i64::MIN, -1, 0, 1, 100, i64::MAX])),
            2 => Written::Other("nothing"),
            3 => Written::List((0..dice.below(3)).map(|_| value(written(dice))).collect()),
            _ => Written::Text(word(dice)),
        }
    }
    fn grow(depth: usize, dice: &mut Dice) -> ConditionSource {
        let span = Span::new(dice.below(9), 0);
        let many = dice.below(3);
        match dice.below(if depth == 0 { 1 } else { 4 }) {
            3 => ConditionSource::All { span, of: (0..many).map(|_| grow(depth - 1, dice)).collect() },
            2 => ConditionSource::Any { span, of: (0..many).map(|_| grow(depth - 1, dice)).collect() },
            1 => ConditionSource::Not { span, of: Box::new(grow(depth - 1, dice)) },
            _ => test(&word(dice), &word(dice), written(dice)),
        }
    }
    RuleSource {
        name: spanned(word(dice)),
        effect: spanned(word(dice)),
        condition: grow(20, dice),
        message: None,
        phase: dice.one_in(2).then(|| spanned(word(dice))),
        non_monotone: dice.one_in(2),
        dry_run: dice.one_in(2),
    }
}

// === actions ===

/// One action and everything known of it.
#[derive(Clone, Debug)]
pub(super) struct World {
    action: Arc<Action>,
    named: bool,
    pub(super) session: Label,
    pub(super) flow: FlowViolations,
    terms: Terms,
    contract: Contract,
    server: ServerFacts,
    arguments: Option<String>,
    status: ToolStatus,
    response: Option<ResponseFacts>,
    sightings: Option<Words<SightingKind>>,
    pub(super) provenance: Option<CallProvenance>,
    decision: DecisionId,
    principal: Principal,
    virtual_server: VirtualServerId,
}

/// What the operator says of a tool; `None` where nothing.
#[derive(Clone, Debug)]
struct Terms {
    destination: Option<Words<Destination>>,
    outcomes: Option<Words<Outcome>>,
    source: Option<Words<Source>>,
    returns: Option<(Words<DataClass>, bool)>,
    accepts: Option<Words<DataClass>>,
}

fn text_set(dice: &mut Dice) -> TextSet {
    let set = TextSet::of((0..dice.below(3)).map(|_| dice.of(TEXTS)));
    if dice.one_in(10) { set.opened() } else { set }
}

pub(super) fn label(dice: &mut Dice) -> Label {
    let names = if dice.one_in(3) { text_set(dice) } else { TextSet::EMPTY };
    let mut label = Label::bottom()
        .with_names(&names)
        .with_classes((0..dice.below(3)).map(|_| dice.of(DataClass::ALL)).collect())
        .with_integrity(dice.of(TrustLevel::ALL))
        .with_sources((0..dice.below(3)).map(|_| dice.of(Source::ALL)).collect())
        .with_scopes(&text_set(dice))
        .with_origins(&text_set(dice));
    if dice.one_in(4) {
        label = label.with_open_world();
    }
    if dice.one_in(6) {
        label = label.with_malicious();
    }
    if dice.one_in(3) { label.with_wrote_externally() } else { label }
}

pub(super) fn flow(dice: &mut Dice) -> FlowViolations {
    (0..dice.below(3)).map(|_| dice.of(FlowRule::ALL)).collect()
}

fn arguments(dice: &mut Dice) -> String {
    const VALUES: &[&str] =
        &[r#""send""#, r#""t000""#, "5", "5.5", "true", "false", "null", "[]", r#"["s"]"#, r#"{"b":3}"#];
    let members: Vec<String> = ["a", "b", "c"]
        .into_iter()
        .filter_map(|key| dice.maybe(|dice| format!("\"{key}\":{}", dice.of(VALUES))))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn response(dice: &mut Dice) -> ResponseFacts {
    ResponseFacts {
        open_world: dice.one_in(2),
        malicious: dice.one_in(3),
        attribution: text_set(dice),
        source: dice.maybe(Dice::words).and_then(Possible::of),
        sensitivity: dice.maybe(|dice| Sensitivity::of(dice.words::<DataClass>().iter())),
        sightings: dice.maybe(Dice::words),
        ask: None,
    }
}

fn lacks(dice: &mut Dice) -> Vec<Lack> {
    let few = if dice.one_in(2) { 0 } else { dice.below(3) };
    (0..few)
        .map(|_| Lack { need: dice.of(Need::ALL), pointer: dice.maybe(|dice| dice.of(&["/a", "/b"]).into()) })
        .collect()
}

pub(super) fn provenance(dice: &mut Dice) -> CallProvenance {
    let arguments = (0..dice.below(3)).map(|_| ArgumentStanding {
        pointer: dice.of(&["/a", "/b"]).into(),
        role: dice.of(ArgumentRole::ALL),
        standing: dice.of(Standing::ALL),
        ground: dice.of(Ground::ALL),
        source: None,
    });
    let arguments = arguments.collect();
    let lacks = lacks(dice);
    CallProvenance {
        has_words: !dice.one_in(3),
        arguments,
        // What lacks something is no better where only what is wanted counts.
        lacks_strictly: [lacks.clone(), self::lacks(dice)].concat(),
        lacks,
        audience_wanted: dice.one_in(2),
        carries: match dice.below(3) {
            0 => Carries::Anything,
            1 => Carries::Things(dice.words()),
            _ => Carries::Nothing,
        },
    }
}

pub(super) fn world(dice: &mut Dice) -> World {
    const KINDS: &[ActionKind] = &[
        ActionKind::CallTool,
        ActionKind::CallTool,
        ActionKind::CallTool,
        ActionKind::TaskStep,
        ActionKind::ReadResource,
        ActionKind::GetPrompt,
        ActionKind::ExtraMethod,
    ];
    let action = Action::new(dice.of(KINDS), UpstreamId::new("mail"), "tools/call", dice.of(NAMES), "{}");
    let trust =
        ServerTrust::new(Some(dice.of(TrustLevel::ALL)), dice.of(TrustLevel::ALL), Some(dice.one_in(2)));
    World {
        action: Arc::new(action),
        named: !dice.one_in(4),
        session: label(dice),
        flow: flow(dice),
        terms: Terms {
            destination: dice.maybe(Dice::words),
            outcomes: dice.maybe(Dice::words),
            source: dice.maybe(Dice::words),
            returns: dice.maybe(|dice| (dice.words(), dice.one_in(2))),
            accepts: dice.maybe(Dice::words),
        },
        contract: Contract::unknown(),
        server: ServerFacts {
            trust,
            transport: dice.maybe(|dice| dice.of(ServerTransport::ALL)),
            sandboxed: dice.one_in(2),
            ..ServerFacts::default()
        },
        arguments: dice.maybe(arguments),
        status: dice.of(ToolStatus::ALL),
        response: dice.maybe(response),
        sightings: dice.maybe(Dice::words),
        provenance: dice.maybe(provenance),
        decision: DecisionId::new("hwd_1"),
        principal: Principal::new("kim"),
        virtual_server: VirtualServerId::new("default"),
    }
    .settled()
}

impl World {
    fn settled(mut self) -> Self {
        self.contract = Contract::weigh(&self.terms.claims(), &self.server.trust).0;
        self
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            tool_id: self.named.then_some("mail__send"),
            tool_name: self.named.then(|| &**self.action.target()),
            tool_status: self.status,
            contract: &self.contract,
            server: &self.server,
            session: &self.session,
            arguments: self.arguments.as_deref().map_or(Arguments::Unknown, Arguments::Known),
            // Nothing is known of what the action takes, so it may take anything.
            parameters: None,
            argument_sightings: self.sightings,
            provenance: self.provenance.as_ref(),
            response: self.response.as_ref(),
            now: Timestamp(1_800_000_000_000),
            grant: Grant::everything(),
            ..Facts::of(&self.decision, &self.principal, &self.virtual_server, &self.action)
        }
    }

    pub(super) fn flow_with(&self, more: FlowViolations) -> FlowViolations {
        self.flow.union(more)
    }

    /// The same with nothing unknown, one way or another.
    pub(super) fn completed(&self, dice: &mut Dice) -> Self {
        let mut complete = self.clone();
        complete.named = self.named || self.action.kind() == ActionKind::CallTool;
        complete.arguments = Some(self.arguments.clone().unwrap_or_else(|| arguments(dice)));
        complete.session.join(&label(dice));
        complete.terms = self.terms.narrowed(dice);
        complete.sightings = self.sightings.or_else(|| Some(dice.words()));
        complete.provenance = Some(self.provenance.clone().unwrap_or_else(|| provenance(dice)));
        complete.server.transport = self.server.transport.or_else(|| Some(dice.of(ServerTransport::ALL)));
        if let Some(response) = &mut complete.response {
            response.sightings = response.sightings.or_else(|| Some(dice.words()));
        }
        complete.settled()
    }
}

impl Terms {
    fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        let mut say = |claim: Option<Claim>| {
            if let Some(claim) = claim {
                claims.push(claim, Authority::Operator, "test");
            }
        };
        say(self.destination.and_then(Possible::of).map(Claim::SetDestination));
        say(self.outcomes.and_then(Possible::of).map(Claim::SetOutcomes));
        say(self.source.and_then(Possible::of).map(Claim::SetSource));
        let sensitivity = |classes: Words<DataClass>, none: bool| {
            let some = Sensitivity::of(classes.iter());
            if none { some.or(&Sensitivity::none()) } else { some }
        };
        say(self.returns.map(|(classes, none)| Claim::SetReturns(sensitivity(classes, none))));
        say(self.accepts.map(|classes| Claim::SetAccepts(sensitivity(classes, false))));
        claims
    }

    /// Some part of what is possible.
    fn narrowed(&self, dice: &mut Dice) -> Self {
        fn part<T: Word>(of: Option<Words<T>>, dice: &mut Dice) -> Option<Words<T>> {
            let all = of.unwrap_or_else(Words::all);
            let some = all.intersection(dice.words());
            Some(if some.is_empty() { all } else { some })
        }
        let (classes, none) = self.returns.unwrap_or((Words::all(), true));
        let classes = if classes.contains(DataClass::Unclassified) { Words::all() } else { classes };
        let narrower = part(Some(classes), dice).unwrap_or(classes);
        Self {
            destination: part(self.destination, dice),
            outcomes: part(self.outcomes, dice),
            source: part(self.source, dice),
            returns: Some((narrower, none && dice.one_in(2))),
            accepts: self.accepts.or_else(|| Some(dice.words())),
        }
    }
}
