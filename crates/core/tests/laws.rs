//! Laws of the decision, over random policies and actions: it agrees with a model of four lines, more grants never make it
//! stricter, and a permit opens its own action and no other.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{Effect, PermittedAction, Verdict, decide, judge};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy};
use proptest::prelude::*;

/// How often each law is tried.
const CASES: u32 = 100_000;

const NAMES: [&str; 4] = ["a", "b", "a__b", ""];

#[derive(Clone, Debug)]
struct Asked {
    kind: ActionKind,
    upstream: &'static str,
    method: &'static str,
    target: &'static str,
    params: &'static str,
}

#[derive(Clone, Debug)]
struct Granted {
    admissions: BTreeMap<&'static str, Admission>,
    held: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

impl Asked {
    fn action(&self) -> Action {
        Action::new(self.kind, UpstreamId::new(self.upstream), self.method, self.target, self.params)
    }
}

impl Granted {
    fn policy(&self) -> Policy {
        let admissions =
            self.admissions.iter().map(|(name, admission)| (UpstreamId::new(*name), admission.clone()));
        let held = self.held.iter().map(|(server, names)| {
            (VirtualServerId::new(*server), names.iter().map(|name| UpstreamId::new(*name)).collect())
        });
        Policy::new(admissions.collect(), held.collect())
    }

    /// The model: granted means named, held, on the allow-list, and listed if it is outside MCP.
    fn allows(&self, asked: &Asked, server: &str) -> bool {
        let Some(admission) = self.admissions.get(asked.upstream) else { return false };
        let held = self.held.get(server).is_some_and(|names| names.contains(asked.upstream));
        let is_tool = matches!(asked.kind, ActionKind::CallTool | ActionKind::ResolveTool);
        let admitted = admission.allowed_tools.as_ref().is_none_or(|tools| tools.contains(asked.target));
        let listed = admission.extra_methods.contains(asked.method);
        held && (!is_tool || admitted) && (asked.kind != ActionKind::ExtraMethod || listed)
    }
}

fn effect(granted: &Granted, asked: &Asked, server: &str) -> Effect {
    let (decision, principal, virtual_server, action) =
        (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new(server), asked.action());
    let nothing_read = Label::bottom();
    let facts = Facts {
        grant: Grant::everything(),
        ..Facts::of(&decision, &principal, &virtual_server, &action).under(&nothing_read)
    };
    judge(&granted.policy(), &facts).effect()
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(NAMES.to_vec())
}

fn names() -> impl Strategy<Value = BTreeSet<&'static str>> {
    prop::collection::btree_set(name(), 0..4)
}

fn asked() -> impl Strategy<Value = Asked> {
    use ActionKind::{
        Answer, CallTool, Complete, ExtraMethod, GetPrompt, ReadResource, ResolveTool, Subscribe, TaskStep,
    };
    let kinds = vec![
        CallTool,
        ResolveTool,
        ReadResource,
        GetPrompt,
        Complete,
        Subscribe,
        TaskStep,
        Answer,
        ExtraMethod,
    ];
    let params = prop::sample::select(vec!["{}", r#"{"n":1}"#, r#"{"n": 1}"#]);
    (prop::sample::select(kinds), name(), name(), name(), params)
        .prop_map(|(kind, upstream, method, target, params)| Asked { kind, upstream, method, target, params })
}

fn granted() -> impl Strategy<Value = Granted> {
    let owned = |set: BTreeSet<&str>| set.into_iter().map(str::to_owned).collect();
    let admission = (prop::option::of(names()), names()).prop_map(move |(tools, methods)| Admission {
        allowed_tools: tools.map(owned),
        extra_methods: owned(methods),
    });
    (prop::collection::btree_map(name(), admission, 0..4), prop::collection::btree_map(name(), names(), 0..4))
        .prop_map(|(admissions, held)| Granted { admissions, held })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn the_decision_agrees_with_its_model(granted in granted(), asked in asked(), server in name()) {
        let allowed = effect(&granted, &asked, server) == Effect::Allow;
        prop_assert_eq!(allowed, granted.allows(&asked, server));
    }

    #[test]
    fn a_shorter_allow_list_never_opens_anything(granted in granted(), asked in asked(), server in name(), gone in name()) {
        let mut less = granted.clone();
        for admission in less.admissions.values_mut() {
            admission.extra_methods.remove(gone);
            match &mut admission.allowed_tools {
                Some(tools) => { tools.remove(gone); }
                None => admission.allowed_tools = Some(BTreeSet::new()),
            }
        }
        prop_assert!(effect(&less, &asked, server) >= effect(&granted, &asked, server));
    }

    #[test]
    fn a_permit_opens_its_own_action_and_no_other(mut granted in granted(), first in asked(), second in asked()) {
        // Everything is granted, so that there is a permit to try.
        let all: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        granted.admissions.insert(first.upstream, Admission { allowed_tools: None, extra_methods: all });
        granted.held.entry("a").or_default().insert(first.upstream);
        let action = first.action();
        let (decision, principal, virtual_server) = (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new("a"));
        let nothing_read = Label::bottom();
    let facts = Facts { grant: Grant::everything(), ..Facts::of(&decision, &principal, &virtual_server, &action).under(&nothing_read) };
        let Verdict::Allow(permit) = decide(&granted.policy(), &facts) else {
            return Err(TestCaseError::fail("should be allowed"));
        };
        let same = format!("{first:?}") == format!("{second:?}");
        prop_assert_eq!(PermittedAction::bind(second.action(), permit).is_ok(), same);
    }
}
