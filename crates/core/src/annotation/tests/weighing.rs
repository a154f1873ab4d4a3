//! The axes one by one, for a verified server and for a stranger, and the mail tools of the first seed.

use std::sync::Arc;

use highwater_notation::Words;

use super::*;
use crate::label::{Label, TextSet};

#[test]
fn nobody_said_anything() {
    let contract = Contract::unknown();
    assert_eq!(contract.destination(), Possible::any());
    assert_eq!(contract.destination().worst(), Destination::Public);
    assert_eq!(*contract.accepts(), Accepts::Unknown);
    assert_eq!(contract.outcomes(), Possible::any());
    assert_eq!(contract.outcomes().worst(), Outcome::Irreversible);
    assert_eq!(contract.source(), Possible::only(Source::UntrustedPublic));
    assert_eq!(contract.possible_source(), Possible::any());
    assert_eq!(contract.returns().classes(), Words::only(DataClass::Unclassified));
    assert_eq!(contract.integrity(), TrustLevel::None);
    assert_eq!(contract.approval(), ApprovalWish::None);
    assert_eq!(contract.capabilities().effective(), Words::all());
    assert_eq!(contract.variant(), CallVariant::Write);
    assert_eq!(contract.read_confidentiality(), Confidentiality::High);
    assert_eq!(contract.write_confidentiality(), Confidentiality::Low);
    let silent = Words::all().without(Axis::Integrity).without(Axis::Approval);
    assert_eq!(contract.undeclared(), silent);
    assert_eq!(Contract::weigh(&Claims::new(), &ServerTrust::default()).0, contract);
}

/// Source, the reply's integrity under a verified server of trust `tool`, and the classes it adds.
const SOURCES: &[(Source, TrustLevel, &[DataClass])] = &[
    (Source::UntrustedPublic, TrustLevel::None, &[]),
    (Source::TrustedPublic, TrustLevel::Tool, &[]),
    (Source::System, TrustLevel::Tool, &[]),
    (Source::Internal, TrustLevel::Tool, &[DataClass::Confidential]),
    (Source::User, TrustLevel::Tool, &[DataClass::Confidential, DataClass::User]),
];

#[test]
fn the_source_gives_integrity_and_adds_classes() {
    for (source, integrity, added) in SOURCES {
        let said = || [Claim::SetSource(Possible::only(*source)), Claim::SetReturns(Sensitivity::none())];
        let label = verified(said()).reply_label().clone();
        assert_eq!(label.integrity(), *integrity, "{source}");
        assert_eq!(label.classes(), added.iter().copied().collect(), "{source}");
        assert_eq!(label.open_world(), *source == Source::UntrustedPublic, "{source}");
        assert_eq!(label.sources(), Words::only(*source));
        let label = stranger(said()).reply_label().clone();
        assert_eq!(label.integrity(), TrustLevel::None, "a stranger's {source}");
        assert!(label.sources().contains(*source) && label.classes().covers(added.iter().copied().collect()));
        assert!(label.classes().contains(DataClass::Unclassified));
    }
}

#[test]
fn of_several_sources_the_worst_counts() {
    for (one, integrity_one, added_one) in SOURCES {
        for (other, integrity_other, added_other) in SOURCES {
            let contract =
                verified([Claim::SetSource(set([*one, *other])), Claim::SetReturns(Sensitivity::none())]);
            let label = contract.reply_label();
            assert_eq!(label.integrity(), *integrity_one.min(integrity_other));
            assert_eq!(label.classes(), added_one.iter().chain(*added_other).copied().collect());
        }
    }
}

#[test]
fn resources_are_worth_what_the_operator_says_of_them() {
    let contract = verified([Claim::SetSource(Possible::only(Source::System))]);
    let integrity = |kind| contract.label_of(kind).integrity();
    assert_eq!(integrity(ReplyKind::Server), TrustLevel::Tool);
    assert_eq!(integrity(ReplyKind::Resource), TrustLevel::None);
    assert_eq!(integrity(ReplyKind::ServerWithResource), TrustLevel::None);
}

#[test]
fn a_ceiling_lowers_what_a_reply_is_worth() {
    let trusted = ServerTrust::of_verified(TrustLevel::User, TrustLevel::None);
    let system = || Claim::SetSource(Possible::only(Source::System));
    assert_eq!(declared(trusted, [system()]).integrity(), TrustLevel::User);
    for (level, worth) in [(TrustLevel::Tool, TrustLevel::Tool), (TrustLevel::Owner, TrustLevel::User)] {
        assert_eq!(declared(trusted, [system(), Claim::SetIntegrity(level)]).integrity(), worth);
    }
}

#[test]
fn a_set_counts_for_those_who_may_loosen_and_adds_for_the_others() {
    let internal = Claim::SetDestination(Possible::only(Destination::Internal));
    for by in Authority::ALL {
        let said = claims([(internal.clone(), *by)]);
        let (contract, _) = Contract::weigh(&said, &VERIFIED);
        let loosens = by.may_loosen();
        let expected = if loosens { Possible::only(Destination::Internal) } else { Possible::any() };
        assert_eq!(contract.destination(), expected, "{by}");
        assert_eq!(contract.is_declared(Axis::Destination), loosens, "{by}");
        assert_eq!(contract.basis(Axis::Destination), if loosens { *by } else { Authority::Nothing });
    }
}

#[test]
fn an_added_value_alone_leaves_the_worst_case_standing() {
    let contract = verified([Claim::AddOutcomes(Words::only(Outcome::Consequential))]);
    assert_eq!(contract.outcomes(), Possible::any());
    let contract = verified([Claim::AddReturns(Sensitivity::of([DataClass::Pii]))]);
    assert_eq!(contract.returns().classes(), Words::only(DataClass::Pii).with(DataClass::Unclassified));
    assert!(!contract.returns().may_be_none());
}

#[test]
fn of_two_lists_a_tool_accepts_what_is_in_both() {
    let accepts = |classes: &[DataClass]| Claim::SetAccepts(Sensitivity::of(classes.iter().copied()));
    let contract = verified([
        accepts(&[DataClass::Pii, DataClass::User]),
        accepts(&[DataClass::Pii, DataClass::Financial]),
    ]);
    assert_eq!(*contract.accepts(), Accepts::Only(Sensitivity::of([DataClass::Pii])));
    assert_eq!(
        *stranger([accepts(&[DataClass::Pii])]).accepts(),
        Accepts::Only(Sensitivity::of([DataClass::Pii])),
        "what nobody spoke of is not refused, and a stranger may refuse"
    );
    let (contract, _) = weighed([
        (accepts(&[DataClass::Pii, DataClass::User]), Authority::Catalogue),
        (accepts(&[DataClass::Pii]), Authority::Declared),
    ]);
    assert_eq!(
        *contract.accepts(),
        Accepts::Only(Sensitivity::of([DataClass::Pii])),
        "a stranger may take away"
    );
    let regulated = |scope| Claim::SetAccepts(Sensitivity::regulated([scope]));
    assert_eq!(
        *verified([regulated("hipaa"), regulated("gdpr")]).accepts(),
        Accepts::Only(Sensitivity::none()),
        "regulated data of no common scope"
    );
    // Every scope, once in so many words and once beside a list, is every scope in whichever order it is said.
    let every = || Sensitivity::regulated([]);
    let and_listed = || every().or(&Sensitivity::regulated(["gdpr"]));
    for said in [[every(), and_listed()], [and_listed(), every()]] {
        assert_eq!(*verified(said.map(Claim::SetAccepts)).accepts(), Accepts::Only(every()));
    }
}

#[test]
fn only_the_operator_accepts_anything() {
    for by in Authority::ALL {
        let (contract, _) = Contract::weigh(&claims([(Claim::AcceptsAny, *by)]), &VERIFIED);
        assert_eq!(*contract.accepts() == Accepts::Any, by.is_operator(), "{by}");
    }
}

#[test]
fn a_tool_refuses_the_classes_it_was_not_built_for() {
    let of = |classes: &[DataClass]| Label::bottom().with_classes(classes.iter().copied().collect());
    let held = of(&[DataClass::Pii, DataClass::Confidential, DataClass::Unclassified]);
    assert_eq!(Accepts::Any.refused(&held), Words::EMPTY);
    assert_eq!(Accepts::Unknown.refused(&held), Words::EMPTY, "nobody said what it is not built for");
    let pii = Accepts::Only(Sensitivity::of([DataClass::Pii]));
    assert_eq!(pii.refused(&held), Words::EMPTY, "our own classes are for the destination");
    assert_eq!(pii.refused(&of(&[DataClass::Financial])), Words::only(DataClass::Financial));
    assert_eq!(Accepts::Unknown.refused(&Label::bottom()), Words::EMPTY);
}

#[test]
fn regulated_data_goes_by_scope() {
    let held = |scopes: TextSet| Label::bottom().with_class(DataClass::Regulated).with_scopes(&scopes);
    let hipaa = Accepts::Only(Sensitivity::regulated(["HIPAA"]));
    let every = Accepts::Only(Sensitivity::regulated([]));
    let refused = Words::only(DataClass::Regulated);
    assert_eq!(hipaa.refused(&held(TextSet::of(["hipaa"]))), Words::EMPTY);
    assert_eq!(hipaa.refused(&held(TextSet::of(["hipaa", "gdpr"]))), refused);
    assert_eq!(hipaa.refused(&held(TextSet::EVERY)), refused);
    assert_eq!(hipaa.refused(&held(TextSet::EMPTY)), refused, "scopes that nobody named may be any");
    assert_eq!(every.refused(&held(TextSet::EVERY)), Words::EMPTY);
}

#[test]
fn sensitivity_is_published_without_our_own_classes() {
    let shown = |of: &Sensitivity| serde_json::to_string(of).unwrap();
    assert_eq!(shown(&Sensitivity::none()), r#"["none"]"#);
    assert_eq!(shown(&Sensitivity::of([DataClass::Pii, DataClass::Confidential])), r#"["pii"]"#);
    assert_eq!(shown(&Sensitivity::none().or(&Sensitivity::of([DataClass::Pii]))), r#"["none","pii"]"#);
    assert_eq!(shown(&Sensitivity::regulated(["HIPAA"])), r#"[{"regulated":{"scopes":["hipaa"]}}]"#);
    assert_eq!(shown(&Sensitivity::of([DataClass::Unclassified])), "[]", "nobody said `none`");
}

#[test]
fn the_unknown_argument_of_an_acting_tool_is_a_target() {
    let role = |argument: &str, role| Claim::Role { argument: argument.into(), role };
    let acts = verified([role("body", ArgumentRole::Content), role("message", ArgumentRole::Scalar)]);
    assert_eq!(acts.role("to"), ArgumentRole::Target);
    assert_eq!(acts.role("body"), ArgumentRole::Content);
    assert_eq!(acts.role("message/parts/0"), ArgumentRole::Scalar, "a part has the role of the whole");
    assert_eq!(acts.role("bodyguard"), ArgumentRole::Target);
    let reads = verified([hints(Some(true), None, None)]);
    assert_eq!(reads.role("anything"), ArgumentRole::Query);
    assert_eq!(stranger([role("to", ArgumentRole::Scalar)]).role("to"), ArgumentRole::Target);
    let (contract, _) = weighed([
        (role("to", ArgumentRole::Content), Authority::Catalogue),
        (role("to", ArgumentRole::Object), Authority::Inferred),
    ]);
    assert_eq!(contract.role("to"), ArgumentRole::Object, "a guess may raise");
    let (contract, _) = weighed([
        (role("to", ArgumentRole::Target), Authority::Catalogue),
        (role("to", ArgumentRole::Scalar), Authority::Operator),
    ]);
    assert_eq!(contract.role("to"), ArgumentRole::Scalar);
}

#[test]
fn what_is_inferred_of_an_argument_counts_where_nobody_who_is_believed_speaks() {
    let role = |name: &str, role| Claim::Role { argument: name.into(), role };
    let (content, object) = (Some(ArgumentRole::Content), Some(ArgumentRole::Object));
    let silent = verified([]);
    assert_eq!(silent.roles().role_or("body", content), content);
    assert_eq!(silent.roles().role_or("body", None), None, "it is a target");
    let stated = verified([role("body", ArgumentRole::Object)]);
    assert_eq!(stated.roles().role_or("body", content), object);
    // Whom nobody believes may make it stricter, and never milder: also not where nothing is inferred.
    let raised = stranger([role("body", ArgumentRole::Object), role("to", ArgumentRole::Session)]);
    assert_eq!(raised.roles().role_or("body", content), object);
    assert_eq!(raised.roles().role_or("to", content), content);
    assert_eq!(raised.roles().role_or("to", None), None);
    assert_eq!(raised.role("to"), ArgumentRole::Target);
}

#[test]
fn of_two_lists_of_contributors_only_the_common_ones_are_accepted() {
    let accept = |tokens: &[&str]| Claim::AcceptFrom(tokens.iter().map(|token| Arc::from(*token)).collect());
    let contract = stranger([accept(&["self", "user"]), accept(&["user", "host"])]);
    assert_eq!(contract.accept_from(), Some(&[Arc::from("user")][..]));
    assert_eq!(Contract::unknown().accept_from(), None);
}

#[test]
fn asking_a_server_about_a_call_goes_where_its_tools_go() {
    let to = |destination| verified([Claim::SetDestination(Possible::only(destination))]);
    let tools = [to(Destination::System), to(Destination::Internal)];
    let resolving = Contract::resolving(&tools);
    assert_eq!(resolving.destination().worst(), Destination::Internal);
    assert!(!resolving.acts());
    assert_eq!(Contract::resolving(&[]).destination(), Possible::any());
    assert_eq!(resolving.returns().classes(), Words::only(DataClass::Unclassified));
}

#[test]
fn the_operators_labels_of_a_resource_are_laid_over_what_a_read_is() {
    let said = claims([
        (Claim::SetSource(Possible::only(Source::Internal)), Authority::Operator),
        (Claim::SetReturns(Sensitivity::of([DataClass::Financial])), Authority::Operator),
    ]);
    let base = Contract::reading(Possible::only(Destination::Internal));
    let (contract, _) = base.weighed(&said, &VERIFIED);
    assert!(!contract.acts());
    assert_eq!(contract.destination(), Possible::only(Destination::Internal));
    assert_eq!(contract.reply_label().classes(), Words::only(DataClass::Financial));
}

/// The mail tools of the first seed, on a verified server with trust `tool`.
#[test]
fn the_three_mail_tools() {
    let sensitivity = |classes: &[DataClass]| Sensitivity::of(classes.iter().copied());
    let tool = |to, accepts: &[DataClass], does, source, returns: &[DataClass]| {
        [
            Claim::SetDestination(Possible::only(to)),
            Claim::SetAccepts(sensitivity(accepts)),
            Claim::SetOutcomes(Possible::only(does)),
            Claim::SetSource(Possible::only(source)),
            Claim::SetReturns(sensitivity(returns)),
        ]
    };
    use DataClass::{Confidential, Pii, User};
    let read_drafts = tool(Destination::Ephemeral, &[], Outcome::Benign, Source::User, &[Pii, User]);
    let list_inbox =
        tool(Destination::Ephemeral, &[], Outcome::Benign, Source::UntrustedPublic, &[Pii, User]);
    let send_email = tool(Destination::Public, &[Pii, User], Outcome::Irreversible, Source::System, &[]);

    let drafts = verified(read_drafts.clone());
    assert_eq!(drafts.reply_label().classes(), [Pii, User, Confidential].into_iter().collect());
    assert_eq!(drafts.integrity(), TrustLevel::Tool);
    let inbox = verified(list_inbox);
    assert_eq!(inbox.reply_label().classes(), [Pii, User].into_iter().collect());
    assert_eq!(inbox.integrity(), TrustLevel::None);
    let send = verified(send_email.clone());
    assert_eq!(send.destination().worst(), Destination::Public);
    assert_eq!(send.variant(), CallVariant::Destructive);
    assert!(!send.reply_label().private());
    assert!(drafts.undeclared().contains(Axis::Capabilities) && !drafts.undeclared().contains(Axis::Accepts));

    for tool in [read_drafts, send_email] {
        let lying = stranger(tool);
        assert_eq!(lying.destination().worst(), Destination::Public);
        assert_eq!(lying.outcomes().worst(), Outcome::Irreversible);
        assert_eq!(lying.integrity(), TrustLevel::None);
        assert!(lying.returns().classes().contains(DataClass::Unclassified));
    }
}

#[test]
fn a_reply_names_its_tool_and_what_the_tool_names() {
    let contract =
        verified([Claim::AddOrigins(TextSet::of(["https://example.com"]))]).with_origin("mcp:web:fetch");
    let origins = contract.reply_label().origins();
    assert_eq!(origins.members(), [Arc::from("mcp:web:fetch"), Arc::from("https://example.com")]);
}
