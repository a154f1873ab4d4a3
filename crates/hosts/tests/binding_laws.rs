//! The binding against a model that forgets nothing, over random orders of events and calls.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use highwater_hosts::binding::{
    Binding, CallBinding, Carrier, ConnectionId, ConversationKey, Effect, FirstLabel, HostProcess, Node,
    Unannounced,
};
use highwater_hosts::call_meta::read_meta;
use highwater_hosts::event::{CallId, HostEvent};
use highwater_hosts::host::Host;
use highwater_hosts::table::read_value;
use proptest::prelude::*;
use serde_json::{Value, json};

const TOOLS: [&str; 2] = ["echo", "send"];
const SOURCES: [&str; 6] = ["startup", "resume", "clear", "compact", "fork", "other"];

#[derive(Clone, Debug)]
enum Step {
    Hear { event: Event, conversation: u8, agent: Option<u8>, carrier: Way },
    Call { connection: u8, call: u8, tool: usize, goes_on: bool },
    CallWithoutId { connection: u8 },
    Close { connection: u8 },
}

#[derive(Clone, Debug)]
enum Event {
    Start(usize),
    Prompt(u8),
    Before { call: u8, tool: usize, input: u8 },
    SubagentStop,
    End,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Tool(u8),
    Command(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let event = prop_oneof![
        1 => (0..SOURCES.len()).prop_map(Event::Start),
        1 => (0..3_u8).prop_map(Event::Prompt),
        4 => (0..8_u8, 0..2_usize, 0..4_u8).prop_map(|(call, tool, input)| Event::Before {
            call,
            tool,
            // Contradictions should be met, and not everywhere.
            input: input / 3,
        }),
        1 => Just(Event::SubagentStop),
        1 => Just(Event::End),
    ];
    let way = prop_oneof![(0..3_u8).prop_map(Way::Tool), (0..3_u8).prop_map(Way::Command)];
    let agent = proptest::option::weighted(0.3, 0..2_u8);
    prop_oneof![
        4 => (event, 0..3_u8, agent, way).prop_map(|(event, conversation, agent, carrier)| {
            let agent = if matches!(event, Event::SubagentStop) { agent.or(Some(0)) } else { agent };
            Step::Hear { event, conversation, agent, carrier }
        }),
        4 => (0..3_u8, 0..8_u8, 0..2_usize, prop::bool::weighted(0.2))
            .prop_map(|(connection, call, tool, goes_on)| Step::Call { connection, call, tool, goes_on }),
        1 => (0..3_u8).prop_map(|connection| Step::CallWithoutId { connection }),
        1 => (0..3_u8).prop_map(|connection| Step::Close { connection }),
    ]
}

fn payload(event: &Event, conversation: u8, agent: Option<u8>) -> HostEvent {
    let (name, more) = match event {
        Event::Start(source) => ("SessionStart", json!({ "source": SOURCES[*source] })),
        Event::Prompt(turn) => {
            ("UserPromptSubmit", json!({ "prompt": "go", "prompt_id": format!("t{turn}") }))
        }
        Event::Before { call, tool, input } => (
            "PreToolUse",
            json!({ "tool_name": format!("mcp__highwater__{}", TOOLS[*tool]), "tool_use_id": format!("c{call}"),
                "tool_input": { "x": input }, "prompt_id": "t0" }),
        ),
        Event::SubagentStop => ("SubagentStop", json!({})),
        Event::End => ("SessionEnd", json!({})),
    };
    let mut payload = json!({ "hook_event_name": name, "session_id": format!("s{conversation}") });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    if let Some(agent) = agent {
        payload["agent_id"] = json!(format!("a{agent}"));
    }
    read_value(Host::ClaudeCode, &payload).unwrap()
}

/// What is announced of a call: conversation, sub-agent, tool, input.
type Content = (u8, Option<u8>, usize, u8);

#[derive(Default)]
struct Model {
    /// The first content of each call, whether another one followed, and whether it was used.
    announced: BTreeMap<u8, (Content, bool, bool)>,
    /// The conversations of each connection, and whether surely.
    ties: BTreeMap<u8, BTreeMap<u8, bool>>,
    alive: BTreeMap<u8, bool>,
    process: BTreeMap<u8, Option<u8>>,
    begun: BTreeSet<Node>,
}

impl Model {
    fn tie(&mut self, connection: u8, conversation: u8, surely: bool) {
        let ties = self.ties.entry(connection).or_default();
        let first = ties.is_empty();
        let tie = ties.entry(conversation).or_default();
        *tie = *tie || surely || first;
    }

    fn hear(&mut self, event: &Event, conversation: u8, agent: Option<u8>, carrier: Way) {
        if let Event::Start(_) = event {
            let process = match carrier {
                Way::Command(process) => Some(process),
                Way::Tool(_) => None,
            };
            // A process has one conversation at a time.
            for (other, found) in &self.process {
                if process.is_some() && *other != conversation && *found == process {
                    self.alive.insert(*other, false);
                }
            }
            if process.is_some() || !self.process.contains_key(&conversation) {
                self.process.insert(conversation, process);
            }
        } else {
            let process = match carrier {
                Way::Command(process) => Some(process),
                Way::Tool(_) => None,
            };
            self.process.entry(conversation).or_insert(process);
        }
        if let Way::Tool(connection) = carrier {
            self.tie(connection, conversation, true);
        }
        self.alive.insert(conversation, !matches!(event, Event::End));
        if let Event::Before { call, tool, input } = event {
            let content = (conversation, agent, *tool, *input);
            let known = self.announced.entry(*call).or_insert((content, false, false));
            known.1 |= known.0 != content;
        }
    }
}

fn key(conversation: u8) -> ConversationKey {
    let event = payload(&Event::End, conversation, None);
    ConversationKey { host: event.host, id: event.conversation }
}

fn root(conversation: u8) -> Node {
    Node { conversation: key(conversation), agent: None }
}

fn way(carrier: Way) -> Carrier {
    match carrier {
        Way::Tool(connection) => Carrier::Tool(ConnectionId(connection.into())),
        Way::Command(id) => Carrier::Command(Some(HostProcess { id: id.into(), started: 0 })),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_call_is_tied_exactly_as_the_model_says(steps in proptest::collection::vec(step(), 1..60)) {
        let mut binding = Binding::new(vec!["highwater".into()], 1_000);
        let mut model = Model::default();
        for (now, step) in steps.iter().enumerate() {
            match step {
                Step::Hear { event, conversation, agent, carrier } => {
                    let known = model.begun.contains(&root(*conversation));
                    let heard = payload(event, *conversation, *agent);
                    let effects = binding.hear(&heard, way(*carrier), now as u64, &|_| false);
                    model.hear(event, *conversation, *agent, *carrier);
                    for effect in effects {
                        if let Effect::Begin(node, label) = effect {
                            prop_assert!(node.agent.is_some() || !known, "{node:?} began again");
                            let fresh_start = matches!(event, Event::Start(source) if ["startup", "clear"].contains(&SOURCES[*source]));
                            prop_assert_eq!(label == FirstLabel::Fresh, fresh_start && node.agent.is_none());
                            prop_assert!(model.begun.insert(node), "a node began twice");
                        }
                    }
                    prop_assert!(model.begun.contains(&root(*conversation)));
                }
                Step::Call { connection, call, tool, goes_on } => {
                    let meta = read_meta(&json!({ "claudecode/toolUseId": format!("c{call}") })).unwrap();
                    let at = ConnectionId((*connection).into());
                    let bound = binding.bind_call(at, meta.as_ref(), TOOLS[*tool], *goes_on, now as u64);
                    let expected = match model.announced.get(call) {
                        None => Err(Unannounced::NeverHeard),
                        Some((_, true, _)) => Err(Unannounced::Contradictory),
                        Some((content, _, _)) if content.2 != *tool => Err(Unannounced::OtherCall),
                        Some((_, _, used)) if *used && !*goes_on => Err(Unannounced::UsedBefore),
                        Some((_, _, used)) if !*used && *goes_on => Err(Unannounced::OtherCall),
                        Some((content, _, _)) => Ok(*content),
                    };
                    match (bound, expected) {
                        (CallBinding::Announced { node, beside, turn }, Ok((conversation, agent, _, _))) => {
                            let announced = payload(&Event::End, conversation, agent);
                            prop_assert_eq!(&node.conversation, &key(conversation));
                            prop_assert_eq!(&node.agent, &announced.agent.map(|agent| agent.id));
                            model.announced.get_mut(call).unwrap().2 = true;
                            model.tie(*connection, conversation, false);
                            let ties = &model.ties[connection];
                            let others = ties.keys().filter(|other| **other != conversation && model.alive[*other]);
                            let is_sure = ties[&conversation];
                            let others: Vec<u8> = others.copied().collect();
                            for other in &others {
                                prop_assert_eq!(beside.contains(&root(*other)), !is_sure);
                            }
                            prop_assert!(beside.is_empty() || turn.is_none());
                        }
                        (CallBinding::Unannounced { nodes, why }, Err(expected)) => {
                            prop_assert_eq!(why, expected);
                            check_widest(&model, *connection, &nodes)?;
                        }
                        (CallBinding::Unbound, Err(Unannounced::NeverHeard)) => {
                            prop_assert!(model.ties.get(connection).is_none_or(BTreeMap::is_empty));
                        }
                        (bound, expected) => prop_assert!(false, "{bound:?} and not {expected:?}"),
                    }
                }
                Step::CallWithoutId { connection } => {
                    let at = ConnectionId((*connection).into());
                    match binding.bind_call(at, None, "echo", false, now as u64) {
                        CallBinding::Unannounced { nodes, why } => {
                            prop_assert_eq!(why, Unannounced::NoCallId);
                            check_widest(&model, *connection, &nodes)?;
                            prop_assert_eq!(nodes, binding.nodes_of(at));
                        }
                        CallBinding::Unbound => prop_assert!(!model.ties.contains_key(connection)),
                        CallBinding::Announced { .. } => prop_assert!(false, "nobody announced it"),
                    }
                }
                Step::Close { connection } => {
                    binding.close(ConnectionId((*connection).into()));
                    model.ties.remove(connection);
                }
            }
        }
    }

    /// What is judged beside a conversation can only grow by what else was heard before it began.
    #[test]
    fn a_conversation_is_confirmed_only_where_no_other_could_have_opened_it(
        steps in proptest::collection::vec(step(), 0..30),
        dirty in 0..3_u8,
        source in 0..SOURCES.len(),
        quiet in 0..40_u64,
    ) {
        let mut binding = Binding::new(vec!["highwater".into()], quiet);
        let is_dirty = |node: &Node| node.conversation == key(dirty);
        for (now, step) in steps.iter().enumerate() {
            if let Step::Hear { event, conversation, agent, carrier } = step {
                binding.hear(&payload(event, *conversation, *agent), way(*carrier), now as u64, &is_dirty);
            }
        }
        // The untrusted conversation runs a command, and then another one begins elsewhere.
        let now = steps.len() as u64;
        let shell = json!({ "hook_event_name": "PreToolUse", "session_id": format!("s{dirty}"),
            "tool_name": "Bash", "tool_use_id": "shell", "tool_input": {} });
        let shell = read_value(Host::ClaudeCode, &shell).unwrap();
        binding.hear(&shell, Carrier::Command(Some(HostProcess { id: 50, started: 0 })), now, &is_dirty);
        let elsewhere = Carrier::Command(Some(HostProcess { id: 99, started: 0 }));
        let started = payload(&Event::Start(source), 9, None);
        let effects = binding.hear(&started, elsewhere, now + 1, &is_dirty);
        prop_assert_eq!(binding.is_confirmed(&key(9)), quiet <= 1);
        let beside = FirstLabel::FreshBeside(vec![root(dirty)]);
        let is_fresh = effects.contains(&Effect::Begin(root(9), FirstLabel::Fresh));
        prop_assert!(!is_fresh || quiet <= 1);
        if quiet > 1 && SOURCES[source] == "startup" {
            let Some(Effect::Begin(_, FirstLabel::FreshBeside(nodes))) = effects.first() else {
                return Err(TestCaseError::fail(format!("{effects:?} and not {beside:?}")));
            };
            prop_assert!(nodes.contains(&root(dirty)));
        }
    }
}

/// An unannounced call takes everything that is alive on its connection.
fn check_widest(model: &Model, connection: u8, nodes: &[Node]) -> Result<(), TestCaseError> {
    let ties = model.ties.get(&connection);
    for (conversation, _) in ties.into_iter().flatten() {
        if model.alive[conversation] {
            prop_assert!(nodes.contains(&root(*conversation)), "s{conversation} is missing");
        }
    }
    prop_assert!(!nodes.is_empty());
    Ok(())
}

#[test]
fn answers_are_noted_for_calls_that_nobody_knows() {
    let mut binding = Binding::new(Vec::new(), 0);
    binding.note_answer(Host::Codex, &CallId::new("x").unwrap());
    let meta = read_meta(&Value::Null).unwrap();
    assert_eq!(binding.bind_call(ConnectionId(0), meta.as_ref(), "t", false, 0), CallBinding::Unbound);
}
