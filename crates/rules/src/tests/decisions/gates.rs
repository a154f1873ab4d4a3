//! The gates, one story each.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::Claims;
use highwater_core::decide::*;
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::pin::Hold;
use highwater_core::policy::{Admission, Facts, Policy};

static NOTHING_READ: Label = Label::bottom();

fn policy(allowed_tools: Option<&[&str]>, extra_methods: &[&str]) -> Policy {
    let admission = Admission {
        allowed_tools: allowed_tools.map(|names| names.iter().map(|name| name.to_string()).collect()),
        extra_methods: extra_methods.iter().map(|name| name.to_string()).collect(),
    };
    let mail = UpstreamId::new("mail");
    Policy::new(
        BTreeMap::from([(mail.clone(), admission)]),
        BTreeMap::from([(VirtualServerId::new("default"), BTreeSet::from([mail]))]),
    )
}

fn reasons(policy: &Policy, virtual_server: &str, action: &Action) -> Vec<Reason> {
    let (decision, principal, virtual_server) =
        (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new(virtual_server));
    let facts = granted(Facts::of(&decision, &principal, &virtual_server, action));
    judge(policy, &facts).findings().iter().flat_map(|finding| finding.reasons.clone()).collect()
}

fn granted(facts: Facts<'_>) -> Facts<'_> {
    Facts { grant: Grant::everything(), ..facts.under(&NOTHING_READ) }
}

fn call(upstream: &str, tool: &str) -> Action {
    Action::new(ActionKind::CallTool, UpstreamId::new(upstream), "tools/call", tool, "{}")
}

#[test]
fn a_tool_of_a_held_server_is_allowed() {
    assert_eq!(reasons(&policy(None, &[]), "default", &call("mail", "send")), []);
}

#[test]
fn an_empty_allow_list_admits_nothing_and_a_missing_one_everything() {
    assert_eq!(reasons(&policy(Some(&[]), &[]), "default", &call("mail", "send")), [Reason::ToolNotAllowed]);
    assert_eq!(
        reasons(&policy(Some(&["read"]), &[]), "default", &call("mail", "send")),
        [Reason::ToolNotAllowed]
    );
    assert_eq!(reasons(&policy(Some(&["send"]), &[]), "default", &call("mail", "send")), []);
}

#[test]
fn a_server_outside_the_virtual_server_is_blocked() {
    assert_eq!(reasons(&policy(None, &[]), "other", &call("mail", "send")), [Reason::UpstreamNotHeld]);
}

#[test]
fn every_gate_speaks_even_when_another_already_blocked() {
    let found = reasons(&policy(Some(&[]), &[]), "other", &call("mail", "send"));
    assert_eq!(found, [Reason::UpstreamNotHeld, Reason::ToolNotAllowed]);
}

#[test]
fn an_unlisted_method_is_blocked_and_a_listed_one_is_not() {
    let action =
        |method: &str| Action::new(ActionKind::ExtraMethod, UpstreamId::new("mail"), method, method, "{}");
    assert_eq!(reasons(&policy(None, &["x/y"]), "default", &action("x/y")), []);
    assert_eq!(reasons(&policy(None, &["x/y"]), "default", &action("x/z")), [Reason::MethodNotListed]);
}

#[test]
fn what_is_held_is_blocked_in_every_mode_and_says_why() {
    let action = call("mail", "send");
    let (decision, principal, virtual_server) =
        (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new("default"));
    for (index, hold) in Hold::ALL.iter().enumerate() {
        for mode in [FlowMode::Observe, FlowMode::Balanced, FlowMode::Strict, FlowMode::Samos] {
            let flow = FlowPolicy { mode, ..FlowPolicy::default() };
            let policy = policy(None, &[]).with_flows([(virtual_server.clone(), flow)].into());
            let facts =
                Facts { hold: Some(*hold), ..Facts::of(&decision, &principal, &virtual_server, &action) };
            let facts = facts.under(&NOTHING_READ);
            let Verdict::Block(denial) = decide(&policy, &facts) else { panic!("{hold} in {mode:?}") };
            let found = denial.findings().iter().find(|finding| finding.id == FindingId::Quarantine).unwrap();
            assert_eq!(demands(&policy, &facts).effect, Effect::Block);
            // Every hold has a reason of its own.
            let others = Hold::ALL.iter().enumerate().filter(|(other, _)| *other != index);
            for (_, other) in others {
                let facts = Facts { hold: Some(*other), ..facts };
                assert_ne!(
                    judge(&policy, &facts).findings().first().map(|it| &it.reasons),
                    Some(&found.reasons)
                );
            }
        }
    }
}

#[test]
fn a_permit_opens_only_its_own_action() {
    let allowed = call("mail", "send");
    let (decision, principal, virtual_server) =
        (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new("default"));
    let facts = granted(Facts::of(&decision, &principal, &virtual_server, &allowed));
    let Verdict::Allow(permit) = decide(&policy(None, &[]), &facts) else { panic!("should be allowed") };
    assert!(PermittedAction::bind(call("mail", "delete"), permit).is_err());
    let Verdict::Allow(permit) = decide(&policy(None, &[]), &facts) else { panic!("should be allowed") };
    assert!(PermittedAction::bind(allowed, permit).is_ok());
}

#[test]
fn a_reply_of_an_unknown_type_is_withheld() {
    let (decision, principal, virtual_server) =
        (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new("default"));
    let (policy, action) = (policy(None, &[]), call("mail", "send"));
    let facts = granted(Facts::of(&decision, &principal, &virtual_server, &action));
    let judged = |result_type| {
        let received = Received::new("text", ReplyFacts::new(result_type));
        decide_reply(&policy, &facts, Obligations::default(), label_reply(&policy, &facts, received))
    };
    assert!(matches!(judged(ResultType::Complete), ReplyVerdict::Pass(_)));
    assert!(matches!(judged(ResultType::Unknown), ReplyVerdict::Withhold(_)));
}

#[test]
fn a_question_needs_a_call_and_a_declared_capability() {
    let (decision, principal, virtual_server) =
        (DecisionId::new("hwd_1"), Principal::new("agent"), VirtualServerId::new("default"));
    let (policy, action, upstream) = (policy(None, &[]), call("mail", "send"), UpstreamId::new("mail"));
    let facts = granted(Facts::of(&decision, &principal, &virtual_server, &action));
    let claims = Claims::new();
    let judged = |during, declared| {
        let kind = AskKind::Roots;
        let asked =
            AskFacts { during, upstream: &upstream, kind, declared, refused_page: false, claims: &claims };
        decide_ask(&policy, &decision, &asked)
    };
    assert!(matches!(judged(Some(&facts), true), AskVerdict::Put(_)));
    assert!(matches!(judged(None, true), AskVerdict::Refuse(_)));
    assert!(matches!(judged(Some(&facts), false), AskVerdict::Refuse(_)));
}
