//! The operator's label for every tool of a server, under the label of a tool by its own name.

use highwater_notation::Words;

use super::*;

fn label(said: impl IntoIterator<Item = Claim>) -> OperatorLabel {
    OperatorLabel::new(&claims(said.into_iter().map(|claim| (claim, Authority::Operator))), vec![], vec![])
}

/// What a tool gets of whose server nothing else is known.
fn weighed_alone(label: &OperatorLabel) -> Contract {
    Contract::weigh(label.claims(), &VERIFIED).0
}

fn destination(word: Destination) -> Claim {
    Claim::SetDestination(Possible::only(word))
}

#[test]
fn every_tool_has_it_with_the_operators_authority() {
    let general = label([destination(Destination::User), Claim::SetReturns(Sensitivity::none())]);
    let mut said = general.of_every_tool().claims().clone();
    said.push(destination(Destination::Public), Authority::Manifest, "test");
    said.push(Claim::AddReturns(Sensitivity::of([DataClass::Pii])), Authority::Declared, "test");
    let (contract, _) = Contract::weigh(&said, &VERIFIED);
    assert_eq!(contract.destination(), Possible::only(Destination::User));
    assert_eq!(*contract.returns(), Sensitivity::none());
    for axis in [Axis::Destination, Axis::Returns] {
        assert_eq!(contract.basis(axis), Authority::OperatorDefault, "{axis}");
    }
}

#[test]
fn a_tools_own_label_replaces_it_axis_by_axis() {
    let general = label([
        destination(Destination::Public),
        Claim::SetSource(Possible::only(Source::Internal)),
        Claim::SetReturns(Sensitivity::of([DataClass::Financial])),
        Claim::SetAccepts(Sensitivity::of([DataClass::Pii])),
        Claim::SetApproval(ApprovalWish::Passkey),
        Claim::Role { argument: "to".into(), role: ArgumentRole::Target },
        Claim::Role { argument: "body".into(), role: ArgumentRole::Content },
    ]);
    let own = label([
        destination(Destination::User),
        Claim::SetReturns(Sensitivity::of([DataClass::Pii])),
        Claim::SetApproval(ApprovalWish::None),
        Claim::Role { argument: "to".into(), role: ArgumentRole::Object },
    ]);
    let contract = weighed_alone(&own.over(&general));
    assert_eq!(contract.destination(), Possible::only(Destination::User));
    assert_eq!(*contract.returns(), Sensitivity::of([DataClass::Pii]));
    assert_eq!(contract.approval(), ApprovalWish::None);
    assert_eq!(contract.role("to"), ArgumentRole::Object);
    assert_eq!(contract.basis(Axis::Destination), Authority::Operator);
    // What it does not state comes from the general one.
    assert_eq!(contract.source(), Possible::only(Source::Internal));
    assert_eq!(*contract.accepts(), Accepts::Only(Sensitivity::of([DataClass::Pii])));
    assert_eq!(contract.role("body"), ArgumentRole::Content);
    assert_eq!(contract.basis(Axis::Source), Authority::OperatorDefault);
}

#[test]
fn a_hint_of_the_tool_replaces_what_the_general_label_says_of_the_same_axis() {
    let general = label([
        Claim::SetOutcomes(Possible::only(Outcome::Irreversible)),
        Claim::SetDestination(set([Destination::User, Destination::Public])),
    ]);
    let own = label([hints(Some(true), None, Some(false))]);
    let contract = weighed_alone(&own.over(&general));
    assert_eq!(contract.outcomes(), Possible::only(Outcome::Benign));
    assert_eq!(contract.destination(), Possible::only(Destination::Ephemeral));
    assert_eq!(contract.variant(), CallVariant::Read);

    // A bound takes away from what the general label names, and replaces it where nothing is left of it.
    let closed = label([hints(None, None, Some(false))]);
    assert_eq!(
        weighed_alone(&closed.over(&general)).destination(),
        Possible::only(Destination::User),
        "within the bound"
    );
    let outside = label([destination(Destination::Public)]);
    let contract = weighed_alone(&closed.over(&outside));
    assert!(!contract.destination().contains(Destination::Public));
    assert_eq!(contract.basis(Axis::Destination), Authority::Operator);
}

#[test]
fn what_the_tool_states_is_not_worsened_by_a_general_hint() {
    let general = label([hints(None, Some(true), Some(true))]);
    let own = label([
        destination(Destination::User),
        Claim::SetOutcomes(Possible::only(Outcome::Benign)),
        Claim::SetSource(Possible::only(Source::System)),
    ]);
    let contract = weighed_alone(&own.over(&general));
    assert_eq!(contract.destination(), Possible::only(Destination::User));
    assert_eq!(contract.outcomes(), Possible::only(Outcome::Benign));
    assert_eq!(contract.source(), Possible::only(Source::System));
    assert_ne!(contract.variant(), CallVariant::Destructive);
}

#[test]
fn general_and_own_hints_are_read_together() {
    let general = label([hints(Some(true), None, Some(false))]);
    let own = label([hints(Some(false), None, None)]);
    let contract = weighed_alone(&own.over(&general));
    assert_eq!(contract.destination(), Possible::only(Destination::User), "a write in a closed world");
}

#[test]
fn it_outranks_the_profile() {
    use crate::profile::{Profile, RunsBy, SendsBy, ToolActs};
    // A reading name, and arguments that nobody knows.
    let (sends, runs) = (Some(SendsBy::UnknownArguments), Some(RunsBy::UnknownArguments));
    let tool = ToolActs { reads_by_name: true, sends, runs };
    let general = label([destination(Destination::Internal)]).of_every_tool();
    let (contract, _) = Contract::profiled(Profile::Local, tool).weighed(general.claims(), &VERIFIED);
    assert_eq!(contract.destination(), Possible::only(Destination::Internal));
    assert_eq!(contract.basis(Axis::Destination), Authority::OperatorDefault);
    assert_eq!(contract.basis(Axis::Returns), Authority::Profile);
}

#[test]
fn levels_and_capabilities_of_the_operator_replace_those_of_the_server() {
    let asks = |capability, reach| Claim::Capability(CapabilityClaim::new(capability, reach));
    let hosts = |name: &str| Reach::only(vec![name.into()]);
    let general = label([
        Claim::ReadConfidentiality(Possible::only(Confidentiality::High)),
        Claim::WriteConfidentiality(Possible::only(Confidentiality::High)),
        asks(Capability::Network, hosts("a.example")),
        asks(Capability::Execution, Reach::Nothing),
    ]);
    let own = label([
        Claim::WriteConfidentiality(Possible::only(Confidentiality::Low)),
        asks(Capability::Network, hosts("b.example")),
    ]);
    let mut said = own.over(&general).claims().clone();
    for capability in [Capability::Network, Capability::Execution] {
        said.push(asks(capability, Reach::All), Authority::DeclaredVerified, "test");
    }
    let (contract, _) = Contract::weigh(&said, &VERIFIED);
    let touched = contract.capabilities();
    assert_eq!(touched.bound(Capability::Network), Some(&hosts("b.example")));
    assert_eq!(touched.bound(Capability::Execution), Some(&Reach::Nothing));
    assert_eq!(touched.bound(Capability::Filesystem), None, "nobody spoke of it");
    assert!(!touched.effective().contains(Capability::Execution));
    assert_eq!(contract.write_levels(), Words::only(Confidentiality::Low));
    assert_eq!(contract.read_levels(), Words::only(Confidentiality::High));
    assert_eq!(contract.returns().classes(), Words::only(DataClass::Confidential));
}

#[test]
fn what_a_stranger_says_of_its_reach_is_no_bound() {
    let only =
        Claim::Capability(CapabilityClaim::new(Capability::Network, Reach::only(vec!["a.example".into()])));
    assert_eq!(stranger([only.clone()]).capabilities().bound(Capability::Network), None);
    assert!(verified([only]).capabilities().bound(Capability::Network).is_some());
}

#[test]
fn levels_that_are_possible_are_told_apart_from_the_worst() {
    let levels = |words: Possible<Confidentiality>| {
        let contract =
            weighed_alone(&label([Claim::ReadConfidentiality(words), Claim::WriteConfidentiality(words)]));
        (contract.read_levels(), contract.write_levels())
    };
    let either = set([Confidentiality::Low, Confidentiality::High]);
    assert_eq!(levels(either), (either.members(), either.members()));
    for word in [Confidentiality::Low, Confidentiality::High] {
        assert_eq!(levels(Possible::only(word)), (Words::only(word), Words::only(word)), "{word}");
    }
}
