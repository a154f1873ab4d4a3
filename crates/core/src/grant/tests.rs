//! What a token grants: the rule over every permission set, variant, class and kind, and the scopes.

use proptest::prelude::*;

use super::*;
use crate::action::ActionKind;
use crate::annotation::{Authority, Claim, Claims, Contract, Hints};
use crate::trust::{ServerTrust, TrustLevel};

const KINDS: [ActionKind; 10] = [
    ActionKind::CallTool,
    ActionKind::ResolveTool,
    ActionKind::CreateChallenge,
    ActionKind::ReadResource,
    ActionKind::GetPrompt,
    ActionKind::Complete,
    ActionKind::Subscribe,
    ActionKind::TaskStep,
    ActionKind::Answer,
    ActionKind::ExtraMethod,
];

fn tool_pattern(text: &str) -> ToolPattern {
    ToolPattern::new(text).unwrap()
}

fn reaches(patterns: &[&str], server: &str, tool: &str) -> bool {
    let tools = ToolScope::only(patterns.iter().map(|text| tool_pattern(text)));
    Grant { tools, ..Grant::everything().clone() }.reaches_tool(&UpstreamId::new(server), tool)
}

#[test]
fn a_call_needs_the_greater_of_variant_and_class() {
    for class in CallVariant::ALL {
        assert_eq!(required(ActionKind::CallTool, None, *class), Permission::from(*class));
        for variant in CallVariant::ALL {
            let needed = required(ActionKind::CallTool, Some(*variant), *class);
            assert_eq!(needed, Permission::from(*variant.max(class)), "{variant} of {class}");
            assert_eq!(is_below(Some(*variant), *class), variant < class, "{variant} of {class}");
        }
        assert!(!is_below(None, *class));
    }
}

#[test]
fn what_only_looks_needs_the_permission_to_read() {
    for kind in KINDS {
        let needed = required(kind, None, CallVariant::Destructive);
        match kind {
            ActionKind::CallTool
            | ActionKind::CreateChallenge
            | ActionKind::TaskStep
            | ActionKind::Answer
            | ActionKind::ExtraMethod => {
                assert_eq!(needed, Permission::Destructive, "{kind:?}");
            }
            ActionKind::ResolveTool
            | ActionKind::ReadResource
            | ActionKind::GetPrompt
            | ActionKind::Complete
            | ActionKind::Subscribe => assert_eq!(needed, Permission::Read, "{kind:?}"),
        }
    }
}

#[test]
fn permissions_are_read_in_both_spellings_and_written_in_one() {
    for (text, permission) in [
        ("call_tool_read", Permission::Read),
        ("read", Permission::Read),
        ("destructive", Permission::Destructive),
        ("retrieve_tools", Permission::Retrieve),
    ] {
        assert_eq!(Permission::parse(text), Some(permission));
    }
    assert_eq!(Permission::parse("admin"), None);
    let both: Permissions = [Permission::Read, Permission::Retrieve].into_iter().collect();
    let json = serde_json::to_string(&both).unwrap();
    assert_eq!(json, r#"["call_tool_read","retrieve_tools"]"#);
    assert_eq!(serde_json::from_str::<Permissions>(&json).unwrap(), both);
    assert!(serde_json::from_str::<Permissions>(r#"["all"]"#).is_err());
}

/// The class of a tool that says this of itself.
fn class(verified: bool, read_only: Option<bool>, destructive: Option<bool>) -> CallVariant {
    let trust = ServerTrust::new(Some(TrustLevel::Tool), TrustLevel::None, Some(verified));
    let mut claims = Claims::new();
    let hints = Hints { read_only, destructive, ..Hints::default() };
    claims.push(Claim::Hints(hints), trust.declaring(), "test");
    Contract::weigh(&claims, &trust).0.variant()
}

#[test]
fn the_class_follows_the_published_table_and_an_unverified_claim_never_makes_a_reader() {
    use CallVariant::{Destructive, Read, Write};
    for (read_only, destructive, verified, unverified) in [
        (None, None, Write, Write),
        (Some(true), None, Read, Write),
        (Some(false), None, Write, Write),
        (None, Some(true), Destructive, Destructive),
        (None, Some(false), Write, Write),
        (Some(true), Some(true), Destructive, Destructive),
        (Some(true), Some(false), Read, Write),
        (Some(false), Some(true), Destructive, Destructive),
        (Some(false), Some(false), Write, Write),
    ] {
        assert_eq!(class(true, read_only, destructive), verified, "{read_only:?} {destructive:?}");
        assert_eq!(class(false, read_only, destructive), unverified, "{read_only:?} {destructive:?}");
    }
}

#[test]
fn the_operator_says_what_a_class_is() {
    let trust = ServerTrust::default();
    let mut claims = Claims::new();
    let hints = Hints { read_only: Some(true), ..Hints::default() };
    claims.push(Claim::Hints(hints), Authority::Operator, "test");
    assert_eq!(Contract::weigh(&claims, &trust).0.variant(), CallVariant::Read);
}

#[test]
fn a_pattern_names_a_tool_at_every_server_or_at_one() {
    assert!(reaches(&["get_*"], "github", "get_issue"));
    assert!(reaches(&["github:get_*"], "github", "get_issue"));
    assert!(!reaches(&["github:get_*"], "gitlab", "get_issue"));
    assert!(reaches(&["git*:get_*"], "gitlab", "get_issue"));
    assert!(!reaches(&["get_*"], "github", "forget_issue"));
    assert!(!reaches(&[], "github", "get_issue"));
    assert!(reaches(&["x", "get_issue"], "github", "get_issue"));
    assert!(reaches(&["*:a:b"], "github", "a:b"));
    assert!(!reaches(&["a:b"], "github", "a:b"), "what stands before the first colon is a server");
}

#[test]
fn a_star_among_the_servers_is_all_of_them() {
    assert_eq!(ServerScope::of_names(["*"]), ServerScope::All);
    assert_eq!(ServerScope::of_names(["a", "*"]), ServerScope::All);
    let one = ServerScope::of_names(["a"]);
    assert!(one.covers(&UpstreamId::new("a")));
    assert!(!one.covers(&UpstreamId::new("a*")));
    assert!(!ServerScope::of_names([]).covers(&UpstreamId::new("a")));
}

#[test]
fn a_grant_is_over_at_its_time() {
    let grant = Grant { expires: Some(Timestamp(5)), ..Grant::everything().clone() };
    assert!(!grant.is_over(Timestamp(4)));
    assert!(grant.is_over(Timestamp(5)));
    assert!(!Grant::everything().is_over(Timestamp(u64::MAX)));
}

#[test]
fn a_grant_is_written_and_read_back_and_an_unknown_word_in_it_is_an_error() {
    let grant = Grant {
        permissions: Permissions::only(Permission::Read),
        servers: ServerScope::of_names(["b", "a"]),
        tools: ToolScope::only([tool_pattern("a:get_*")]),
        virtual_server: Some(VirtualServerId::new("coding")),
        flow: Some(FlowFloor::Strict),
        expires: Some(Timestamp(7)),
    };
    let json = serde_json::to_string(&grant).unwrap();
    let expected = r#"{"permissions":["call_tool_read"],"servers":["a","b"],"tools":["a:get_*"],"virtual_server":"coding","flow":"strict","expires":7}"#;
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_str::<Grant>(&json).unwrap(), grant);
    for all in [Grant::everything(), Grant::nothing()] {
        let json = serde_json::to_string(all).unwrap();
        assert_eq!(serde_json::from_str::<Grant>(&json).unwrap(), *all, "{json}");
    }
    let newer = expected.replace(r#""flow""#, r#""until_noon":true,"flow""#);
    assert!(
        serde_json::from_str::<Grant>(&newer).is_err(),
        "a narrowing that is not understood is not ignored"
    );
}

fn variant() -> impl Strategy<Value = CallVariant> {
    (0..3_usize).prop_map(|at| CallVariant::ALL[at])
}

fn grant() -> impl Strategy<Value = Grant> {
    let servers = prop_oneof![Just(None), prop::collection::vec("[ab]", 0..3).prop_map(Some)];
    let tools = prop_oneof![Just(None), prop::collection::vec("([ab*]:)?[xy*]{1,2}", 0..3).prop_map(Some)];
    (0_u16..16, servers, tools).prop_map(|(bits, servers, tools)| Grant {
        permissions: Permissions::from_bits(bits),
        servers: servers
            .map_or(ServerScope::All, |names| ServerScope::of_names(names.iter().map(String::as_str))),
        tools: tools.map_or(ToolScope::All, |all| ToolScope::only(all.iter().map(|text| tool_pattern(text)))),
        ..Grant::everything().clone()
    })
}

proptest! {
    #[test]
    fn a_higher_variant_or_class_never_needs_less(a in variant(), b in variant(), class in variant()) {
        let rank = |permission| CallVariant::ALL.iter().position(|of| Permission::from(*of) == permission);
        let needed = |variant, class| rank(required(ActionKind::CallTool, variant, class));
        prop_assert!(needed(Some(a.max(b)), class) >= needed(Some(a.min(b)), class));
        prop_assert!(needed(Some(class), a.max(b)) >= needed(Some(class), a.min(b)));
        prop_assert!(needed(Some(a), class) >= needed(None, class), "a variant never asks for less than the class");
    }

    #[test]
    fn what_is_listed_may_be_called_and_nothing_else_may(
        grant in grant(), server in "[ab]", tool in "[xy]{1,2}", class in variant(),
    ) {
        let server = UpstreamId::new(server);
        let callable = grant.permits(required(ActionKind::CallTool, None, class))
            && grant.servers.covers(&server)
            && grant.tools.covers(&server, &tool);
        prop_assert_eq!(grant.shows_tool(&server, &tool, class), callable);
        if grant.shows_everything() {
            prop_assert!(grant.shows_tool(&server, &tool, class) && grant.shows_data_of(&server));
        }
    }

    #[test]
    fn a_smaller_grant_never_shows_more(grant in grant(), less in grant(), tool in "[xy]{1,2}", class in variant()) {
        let server = UpstreamId::new("a");
        let both = Grant { permissions: grant.permissions.intersection(less.permissions), ..grant.clone() };
        if both.shows_tool(&server, &tool, class) {
            prop_assert!(grant.shows_tool(&server, &tool, class));
        }
        prop_assert!(!Grant::nothing().shows_tool(&server, &tool, class));
    }
}
