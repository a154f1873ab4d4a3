//! What a token grants, as the gates see it: every kind of action, every permission set, every variant and class.

use highwater_core::annotation::Hints;
use highwater_core::grant::{Permission, Permissions, ServerScope, ToolPattern, ToolScope, required};

use super::*;

const KINDS: [ActionKind; 9] = [
    ActionKind::CallTool,
    ActionKind::ResolveTool,
    ActionKind::ReadResource,
    ActionKind::GetPrompt,
    ActionKind::Complete,
    ActionKind::Subscribe,
    ActionKind::TaskStep,
    ActionKind::Answer,
    ActionKind::ExtraMethod,
];

/// The tools of the table: unannotated, read-only, explicitly not read-only, destructive.
fn tools() -> [(Contract, CallVariant); 4] {
    let hinted =
        |read_only, destructive| told(&[Claim::Hints(Hints { read_only, destructive, ..Hints::default() })]);
    [
        (Contract::unknown(), CallVariant::Write),
        (hinted(Some(true), None), CallVariant::Read),
        (hinted(Some(false), None), CallVariant::Write),
        (hinted(None, Some(true)), CallVariant::Destructive),
    ]
}

fn every_permission_set() -> impl Iterator<Item = Permissions> {
    (0..16).map(Permissions::from_bits)
}

fn desk(kind: ActionKind) -> Desk {
    let desk = Desk::new(FlowMode::Observe);
    let action = Action::new(kind, UpstreamId::new("mail"), "x/y", "send", "{}");
    let admission = Admission { extra_methods: ["x/y".to_owned()].into(), ..Admission::default() };
    let policy = Policy::new(
        [(UpstreamId::new("mail"), admission)].into(),
        [(desk.virtual_server.clone(), [UpstreamId::new("mail")].into())].into(),
    );
    Desk { action, policy, ..desk }.settled()
}

fn reasons(desk: &Desk) -> Vec<Reason> {
    desk.judge().findings().iter().flat_map(|finding| finding.reasons.clone()).collect()
}

#[test]
fn a_call_happens_exactly_where_the_token_holds_what_variant_and_class_need() {
    let variants = [None].into_iter().chain(CallVariant::ALL.iter().copied().map(Some));
    for (kind, variant) in KINDS.into_iter().flat_map(|kind| variants.clone().map(move |of| (kind, of))) {
        // Only a call is made through a variant.
        let variant = variant.filter(|_| kind == ActionKind::CallTool);
        for (contract, class) in tools() {
            for permissions in every_permission_set() {
                let grant = Grant { permissions, ..Grant::everything().clone() };
                let desk = Desk { grant, variant, contract: contract.clone(), ..desk(kind) };
                let granted = permissions.contains(required(kind, variant, class));
                let meant = variant.is_none_or(|variant| variant >= class);
                let story = format!("{kind:?} through {variant:?} of {class} with {permissions:?}");
                assert_eq!(desk.effect() < Effect::Block, granted && meant, "{story}");
                let found = reasons(&desk);
                assert_eq!(found.contains(&Reason::PermissionNotGranted), !granted, "{story}");
                assert_eq!(found.contains(&Reason::VariantBelowClass), !meant, "{story}");
            }
        }
    }
}

#[test]
fn whoever_may_do_everything_may_still_not_call_a_tool_for_less_than_it_is() {
    for (contract, class) in tools() {
        for variant in CallVariant::ALL {
            let variant = Some(*variant);
            let desk = Desk { variant, contract: contract.clone(), ..desk(ActionKind::CallTool) };
            let expected = if variant < Some(class) { vec!["structural.intent block"] } else { vec![] };
            assert_eq!(desk.found(), expected, "{variant:?} of {class}");
        }
    }
}

#[test]
fn a_step_and_an_answer_need_what_their_call_needed() {
    for kind in [ActionKind::TaskStep, ActionKind::Answer] {
        let grant = Grant { permissions: Permissions::only(Permission::Read), ..Grant::everything().clone() };
        let desk = Desk { grant, ..desk(kind) };
        for (class, allowed) in [(CallVariant::Read, true), (CallVariant::Destructive, false)] {
            let facts = Facts { class: Some(class), ..desk.facts() };
            assert_eq!(judge(&desk.policy, &facts).effect() < Effect::Block, allowed, "{kind:?} of {class}");
        }
    }
}

#[test]
fn every_kind_of_action_stays_within_the_servers_and_the_virtual_server_of_the_token() {
    for kind in KINDS {
        let elsewhere = ServerScope::only([UpstreamId::new("files")]);
        let grant = Grant { servers: elsewhere, ..Grant::everything().clone() };
        assert_eq!(reasons(&Desk { grant, ..desk(kind) }), [Reason::ServerNotGranted], "{kind:?}");
        let other = Some(VirtualServerId::new("other"));
        let grant = Grant { virtual_server: other, ..Grant::everything().clone() };
        assert_eq!(reasons(&Desk { grant, ..desk(kind) }), [Reason::VirtualServerNotGranted], "{kind:?}");
        let grant = Grant { expires: Some(Timestamp(1)), ..Grant::everything().clone() };
        assert_eq!(reasons(&Desk { grant, ..desk(kind) }), [Reason::TokenExpired], "{kind:?}");
        let grant = Grant::nothing().clone();
        assert_eq!(Desk { grant, ..desk(kind) }.effect(), Effect::Block, "{kind:?}");
    }
}

#[test]
fn globs_over_tools_hold_for_calls_and_for_what_belongs_to_them() {
    for kind in KINDS {
        let tools = ToolScope::only([ToolPattern::new("read_*").unwrap()]);
        let grant = Grant { tools, ..Grant::everything().clone() };
        let desk = Desk { grant, ..desk(kind) };
        let facts = Facts { tool_name: Some("send"), ..desk.facts() };
        let blocked = judge(&desk.policy, &facts).effect() == Effect::Block;
        let of_a_tool = matches!(
            kind,
            ActionKind::CallTool | ActionKind::ResolveTool | ActionKind::TaskStep | ActionKind::Answer
        );
        assert_eq!(blocked, of_a_tool, "{kind:?}");
    }
}

#[test]
fn a_token_may_demand_more_than_its_virtual_server() {
    let leaking = |mode, flow| {
        let grant = Grant { flow, ..Grant::everything().clone() };
        let desk = Desk::new(mode).having_read(&[DataClass::Pii]);
        let contract = tool(Destination::Public, Outcome::Consequential, &[]);
        Desk { grant, ..desk.calling(contract) }.effect()
    };
    use FlowFloor::{Balanced, Strict};
    for (mode, floor, effect) in [
        (FlowMode::Observe, None, Effect::Allow),
        (FlowMode::Observe, Some(Balanced), Effect::Confirm),
        (FlowMode::Observe, Some(Strict), Effect::Block),
        (FlowMode::Balanced, Some(Strict), Effect::Block),
        (FlowMode::Balanced, Some(Balanced), Effect::Confirm),
        (FlowMode::Strict, Some(Balanced), Effect::Block),
        (FlowMode::Samos, Some(Balanced), Effect::Block),
    ] {
        assert_eq!(leaking(mode, floor), effect, "{mode} under {floor:?}");
    }
}

#[test]
fn a_floor_beside_the_thesis_adds_what_the_thesis_does_not_look_at() {
    let contract = || tool(Destination::Internal, Outcome::Consequential, &[]);
    let acting = |flow| {
        let grant = Grant { flow, ..Grant::everything().clone() };
        Desk { grant, ..Desk::new(FlowMode::Samos).having_read_strangers().calling(contract()) }.found()
    };
    assert_eq!(acting(None), Vec::<String>::new());
    assert_eq!(acting(Some(FlowFloor::Balanced)), ["flow.act confirm"]);
}

#[test]
fn who_is_granted_nothing_any_more_is_given_nothing_any_more() {
    let desk = Desk::new(FlowMode::Observe);
    let judged = |grant: &Grant, now| {
        let facts = Facts { grant, now: Timestamp(now), ..desk.facts() };
        let received = Received::new("text", ReplyFacts::new(ResultType::Complete));
        let labelled = label_reply(&desk.policy, &facts, received);
        decide_reply(&desk.policy, &facts, Obligations::default(), labelled)
    };
    assert!(matches!(judged(Grant::everything(), 9), ReplyVerdict::Pass(_)));
    assert!(matches!(judged(Grant::nothing(), 9), ReplyVerdict::Withhold(_)));
    let short = Grant { expires: Some(Timestamp(9)), ..Grant::everything().clone() };
    assert!(matches!(judged(&short, 8), ReplyVerdict::Pass(_)));
    assert!(matches!(judged(&short, 9), ReplyVerdict::Withhold(_)));
}
