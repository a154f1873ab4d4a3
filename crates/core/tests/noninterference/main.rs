//! Noninterference on traces: whatever is called in whatever order, nothing that is permitted goes below what its
//! session has read, and no stranger's text decides an act, unless a declassification or a person's approval of
//! exactly that call comes first. Random traces, held against a model that knows nothing of the code.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

#[path = "../dice/mod.rs"]
#[expect(dead_code, reason = "the laws of rules and decisions throw more")]
mod dice;
mod model;

use std::collections::{BTreeMap, BTreeSet};

use dice::Dice;
use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{
    Authority, Claim, Claims, Contract, DataClass, Destination, Outcome, Possible, ReplyKind, Sensitivity,
    Source,
};
use highwater_core::approval::{Grant as Yes, GrantOutcome};
use highwater_core::decide::{
    Answer, Effect, Escalation, FlowMode, FlowPolicy, Obligations, Proof, Received, ReplyFacts, ReplyVerdict,
    ResultType, Unapproved, Verdict, decide, decide_approved, decide_reply, label_reply,
};
use highwater_core::grant::Grant;
use highwater_core::id::{ApprovalId, DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::Words;
use highwater_passkey::ActionHash;
use model::{CLASSES, Classes, Read, Tool};
use proptest::prelude::*;

/// How many traces are tried in each mode.
const TRACES: u32 = 100_000;
const SESSIONS: usize = 2;
const OBJECTS: usize = 2;
const TOOLS: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Call {
        session: usize,
        tool: usize,
        object: usize,
        says: Read,
        person: Person,
    },
    /// A person lowers what the session is held to have read.
    Reset {
        session: usize,
    },
}

/// What the person does when asked.
#[derive(Clone, Copy, Debug)]
enum Person {
    Approves,
    Declines,
    /// Their yes belongs to a call with other arguments.
    ApprovedAnother,
    /// Their yes was to this call, but something else is sent.
    IsBypassed,
}

// === random traces ===

/// Mostly few: a session that has read everything tells nothing.
fn classes(dice: &mut Dice) -> Classes {
    match dice.below(8) {
        0..3 => Classes::new(),
        3..7 => Classes::from([dice.of(&CLASSES)]),
        _ => some(&CLASSES, dice),
    }
}

fn some(of: &[&'static str], dice: &mut Dice) -> Classes {
    of.iter().copied().filter(|_| dice.one_in(2)).collect()
}

fn tool(dice: &mut Dice) -> Tool {
    const DESTINATIONS: [&str; 5] = ["ephemeral", "system", "user", "internal", "public"];
    let mut destinations = BTreeSet::from([dice.of(&DESTINATIONS)]);
    if dice.one_in(4) {
        destinations.insert(dice.of(&DESTINATIONS));
    }
    Tool {
        destinations,
        accepts: if dice.one_in(2) { None } else { Some(some(&CLASSES[..5], dice)) },
        outcome: dice.of(&["benign", "consequential", "irreversible"]),
        returns: classes(dice),
        by_strangers: dice.one_in(2),
        stores: dice.one_in(2),
    }
}

fn step(dice: &mut Dice) -> Step {
    let session = dice.below(SESSIONS);
    if dice.one_in(20) {
        return Step::Reset { session };
    }
    let says = if dice.one_in(5) {
        Read { classes: classes(dice), strangers: dice.one_in(2) }
    } else {
        Read::default()
    };
    let person = match dice.below(6) {
        0 => Person::Declines,
        1 => Person::ApprovedAnother,
        2 => Person::IsBypassed,
        _ => Person::Approves,
    };
    Step::Call { session, tool: dice.below(TOOLS), object: dice.below(OBJECTS), says, person }
}

fn trace(seed: u64, length: usize) -> (Vec<Tool>, Vec<Step>) {
    let dice = &mut Dice::new(seed);
    ((0..TOOLS).map(|_| tool(dice)).collect(), (0..length).map(|_| step(dice)).collect())
}

// === the code under test, driven as the gateway drives it ===

fn class(name: &str) -> DataClass {
    DataClass::parse(name).unwrap()
}

fn sensitivity(classes: &Classes) -> Sensitivity {
    if classes.is_empty() {
        Sensitivity::none()
    } else {
        Sensitivity::of(classes.iter().map(|name| class(name)))
    }
}

fn contract(tool: &Tool) -> Contract {
    let destinations: Words<Destination> =
        tool.destinations.iter().map(|name| Destination::parse(name).unwrap()).collect();
    let source = if tool.by_strangers { Source::UntrustedPublic } else { Source::System };
    let accepts = match &tool.accepts {
        None => Claim::AcceptsAny,
        Some(accepted) => Claim::SetAccepts(sensitivity(accepted)),
    };
    let mut claims = Claims::new();
    for claim in [
        Claim::SetDestination(Possible::of(destinations).unwrap()),
        accepts,
        Claim::SetOutcomes(Possible::only(Outcome::parse(tool.outcome).unwrap())),
        Claim::SetSource(Possible::only(source)),
        Claim::SetReturns(sensitivity(&tool.returns)),
    ] {
        claims.push(claim, Authority::Operator, "test");
    }
    Contract::weigh(&claims, &ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::Tool)).0
}

struct World {
    policy: Policy,
    principal: Principal,
    virtual_server: VirtualServerId,
    decision: DecisionId,
    contracts: Vec<Contract>,
    sessions: [Label; SESSIONS],
    objects: BTreeMap<usize, Label>,
}

/// What came of a call.
#[derive(Default)]
struct Came {
    /// What a person would have had to give, if one was asked.
    asked: Option<Effect>,
    /// Whether it was sent, and whether a person had said yes to exactly it.
    sent: Option<bool>,
    delivered: bool,
}

impl World {
    fn new(mode: FlowMode, tools: &[Tool]) -> Self {
        let (server, virtual_server) = (UpstreamId::new("server"), VirtualServerId::new("default"));
        let policy = Policy::new(
            BTreeMap::from([(server.clone(), Admission::default())]),
            BTreeMap::from([(virtual_server.clone(), BTreeSet::from([server]))]),
        )
        .with_flows([(virtual_server.clone(), FlowPolicy { mode, ..FlowPolicy::default() })].into());
        Self {
            policy,
            principal: Principal::new("agent"),
            virtual_server,
            decision: DecisionId::new("hwd_1"),
            contracts: tools.iter().map(contract).collect(),
            sessions: [Label::bottom(), Label::bottom()],
            objects: BTreeMap::new(),
        }
    }

    fn action(&self, tool: usize, object: usize, shade: &str) -> Action {
        let params = format!(r#"{{"object":{object},"shade":"{shade}"}}"#);
        Action::new(
            ActionKind::CallTool,
            UpstreamId::new("server"),
            "tools/call",
            format!("tool{tool}"),
            params,
        )
    }

    fn call(
        &mut self,
        session: usize,
        number: usize,
        tool: &Tool,
        object: usize,
        says: &Read,
        person: Person,
    ) -> Came {
        let action = self.action(number, object, "asked");
        let other = self.action(number, object, "other");
        let session_label = self.sessions[session].clone();
        let facts = Facts {
            contract: &self.contracts[number],
            session: &session_label,
            grant: Grant::everything(),
            ..Facts::of(&self.decision, &self.principal, &self.virtual_server, &action)
        };
        let mut asked = None;
        let (permit, approved) = match decide(&self.policy, &facts) {
            Verdict::Allow(permit) => (permit, false),
            Verdict::Block(_) => return Came { asked, ..Came::default() },
            Verdict::Escalate(escalation) => {
                asked = Some(escalation.grade());
                let question = escalation.question();
                let elsewhere = Facts { action: &other, ..facts };
                let answer = match person {
                    // Where a word is not enough, they sign.
                    Person::Approves | Person::IsBypassed if escalation.grade() == Effect::Passkey => {
                        let proof = self.signed(&escalation);
                        escalation.signed(proof, ActionHash::from([1; 32]))
                    }
                    Person::ApprovedAnother if escalation.grade() == Effect::Passkey => {
                        let proof = self.signed(&escalation);
                        escalation.signed(proof, ActionHash::from([2; 32]))
                    }
                    Person::Approves | Person::IsBypassed => escalation.answered(question, Answer::Approve),
                    Person::Declines => escalation.answered(question, Answer::Decline),
                    Person::ApprovedAnother => match decide(&self.policy, &elsewhere) {
                        Verdict::Escalate(another) => {
                            escalation.answered(another.question(), Answer::Approve)
                        }
                        Verdict::Allow(_) | Verdict::Block(_) => panic!("the same call, other arguments"),
                    },
                };
                let approval = match (answer, person) {
                    (Ok(approval), _) => approval,
                    (Err(Unapproved::Declined(_)), Person::Declines)
                    | (Err(Unapproved::AnotherQuestion(_)), Person::ApprovedAnother) => {
                        return Came { asked, ..Came::default() };
                    }
                    (Err(refused), _) => panic!("{person:?}: {refused:?}"),
                };
                let sent = if matches!(person, Person::IsBypassed) { &elsewhere } else { &facts };
                match decide_approved(&self.policy, sent, approval) {
                    Verdict::Allow(permit) => (permit, matches!(person, Person::Approves)),
                    Verdict::Escalate(_) | Verdict::Block(_) => return Came { asked, ..Came::default() },
                }
            }
        };
        let obligations = permit.obligations();
        if tool.stores {
            self.objects.entry(object).or_insert_with(Label::bottom).join(&session_label);
        }
        let delivered = self.reply(session, &facts_after(&facts), obligations, object, says);
        Came { sent: Some(approved), delivered, asked }
    }

    /// A passkey's signature over the first action, for what is asked here.
    fn signed(&self, escalation: &Escalation) -> Proof {
        let grant = Yes {
            request: ApprovalId::new("apr_1"),
            principal: self.principal.clone(),
            action: ActionHash::from([1; 32]),
            grade: Effect::Passkey,
            told: escalation.told(),
        };
        Proof::Grant(grant.spend(GrantOutcome::Consumed).unwrap())
    }

    fn reply(
        &mut self,
        session: usize,
        facts: &(Action, Contract),
        obligations: Obligations,
        object: usize,
        says: &Read,
    ) -> bool {
        let mut claims = Claims::new();
        if !says.classes.is_empty() {
            claims.push(Claim::AddReturns(sensitivity(&says.classes)), Authority::Declared, "test");
        }
        if says.strangers {
            claims.push(Claim::OpenWorld, Authority::Declared, "test");
        }
        let (action, contract) = facts;
        let before = self.sessions[session].clone();
        let facts = Facts {
            contract,
            session: &before,
            grant: Grant::everything(),
            ..Facts::of(&self.decision, &self.principal, &self.virtual_server, action)
        };
        let known = ReplyFacts {
            kind: ReplyKind::Server,
            claims,
            marks: self.objects.get(&object).cloned().unwrap_or_default(),
            ..ReplyFacts::new(ResultType::Complete)
        };
        let labelled = label_reply(&self.policy, &facts, Received::new((), known));
        match decide_reply(&self.policy, &facts, obligations, labelled) {
            ReplyVerdict::Pass(pass) => {
                self.sessions[session].join(pass.label());
                true
            }
            ReplyVerdict::Hold(_) | ReplyVerdict::Withhold(_) => false,
        }
    }
}

/// What is kept of a call until its reply comes.
fn facts_after(facts: &Facts<'_>) -> (Action, Contract) {
    let action = Action::new(
        facts.action.kind(),
        facts.action.upstream().clone(),
        facts.action.method().clone(),
        facts.action.target().clone(),
        facts.action.params(),
    );
    (action, facts.contract.clone())
}

// === the law ===

fn holds(mode: FlowMode, tools: &[Tool], steps: &[Step]) -> Result<(), TestCaseError> {
    let word = mode.as_str();
    let mut world = World::new(mode, tools);
    let mut read = vec![Read::default(); SESSIONS];
    let mut written: BTreeMap<usize, Read> = BTreeMap::new();
    for step in steps {
        let (session, number, object, says, person) = match step {
            Step::Call { session, tool, object, says, person } => (*session, *tool, *object, says, *person),
            Step::Reset { session } => {
                world.sessions[*session] = Label::bottom();
                read[*session] = Read::default();
                continue;
            }
        };
        let (tool, before) = (&tools[number], read[session].clone());
        let came = world.call(session, number, tool, object, says, person);
        let forbidden = tool.is_below(&before, word) || tool.is_steered(&before, word);
        let doubtful = match mode {
            FlowMode::Strict => before.strangers,
            // A session that has read something private is high for its lifetime.
            FlowMode::Samos => before.strangers && before.classes.is_empty(),
            FlowMode::Observe | FlowMode::Balanced => false,
        };
        let exposing = doubtful && !tool.returns.is_empty();
        let excusable = tool.may_be_approved(&before, word);
        if let Some(grade) = came.asked {
            prop_assert_eq!(grade == Effect::Passkey, tool.takes_a_passkey(&before, word), "{:?}", tool);
        }
        match came.sent {
            Some(approved) => {
                let excused = approved && excusable;
                prop_assert!(!forbidden || excused, "{mode} sent {tool:?} after {before:?}");
                prop_assert!(!exposing, "{mode} sent {tool:?} after {before:?}");
                if tool.stores {
                    written.entry(object).or_default().take_in(&before);
                }
            }
            None => {
                let excused = excusable && matches!(person, Person::Approves);
                prop_assert!(exposing || forbidden && !excused, "{mode} refused {tool:?} after {before:?}");
            }
        }
        if came.delivered {
            let mut reply = says.clone();
            reply.take_in(&Read { classes: tool.returns.clone(), strangers: tool.by_strangers });
            reply.take_in(written.get(&object).unwrap_or(&Read::default()));
            let secret = doubtful && !reply.classes.is_empty();
            prop_assert!(!secret, "{mode} told {before:?} of {reply:?}");
            read[session].take_in(&reply);
        }
        // The label holds what was delivered, all of it and nothing else.
        let label = &world.sessions[session];
        let held: Classes =
            CLASSES.into_iter().filter(|name| label.classes().contains(class(name))).collect();
        prop_assert_eq!(&read[session].classes, &held);
        prop_assert_eq!(read[session].strangers, label.untrusted());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(TRACES))]

    #[test]
    fn nothing_flows_down_in_balanced(seed: u64, length in 1..14_usize) {
        let (tools, steps) = trace(seed, length);
        holds(FlowMode::Balanced, &tools, &steps)?;
    }

    #[test]
    fn nothing_flows_down_in_strict(seed: u64, length in 1..14_usize) {
        let (tools, steps) = trace(seed, length);
        holds(FlowMode::Strict, &tools, &steps)?;
    }

    #[test]
    fn nothing_private_flows_down_in_samos(seed: u64, length in 1..14_usize) {
        let (tools, steps) = trace(seed, length);
        holds(FlowMode::Samos, &tools, &steps)?;
    }
}

/// The law says something only if the traces go where it bites.
#[test]
fn the_traces_ask_permit_and_refuse() {
    let (mut sent, mut approved, mut refused, mut withheld) = (0, 0, 0, 0);
    for seed in 0..1_000 {
        let (tools, steps) = trace(seed, 13);
        let mut world = World::new(FlowMode::Strict, &tools);
        for step in &steps {
            if let Step::Call { session, tool, object, says, person } = step {
                let came = world.call(*session, *tool, &tools[*tool], *object, says, *person);
                sent += usize::from(came.sent == Some(false));
                approved += usize::from(came.sent == Some(true));
                refused += usize::from(came.sent.is_none());
                withheld += usize::from(came.sent.is_some() && !came.delivered);
            }
        }
    }
    for count in [sent, approved, refused, withheld] {
        assert!(count > 100, "sent {sent}, approved {approved}, refused {refused}, withheld {withheld}");
    }
}
