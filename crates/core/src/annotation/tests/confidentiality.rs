//! The two SAMOS grades and the capabilities: what they add, and what they do not.

use std::sync::Arc;

use highwater_notation::Words;

use super::*;
use crate::label::Label;

fn low() -> Possible<Confidentiality> {
    Possible::only(Confidentiality::Low)
}

fn high() -> Possible<Confidentiality> {
    Possible::only(Confidentiality::High)
}

#[test]
fn a_low_read_is_public_and_anybody_wrote_it() {
    let contract = verified([Claim::ReadConfidentiality(low())]);
    let label = contract.reply_label();
    assert!(!label.private() && label.untrusted());
    assert_eq!(contract.read_confidentiality(), Confidentiality::Low);
    let contract = stranger([Claim::ReadConfidentiality(low())]);
    assert!(
        contract.reply_label().classes().contains(DataClass::Unclassified),
        "a stranger's word loosens nothing"
    );
}

#[test]
fn a_high_read_is_private_and_not_public_so_the_server_answers_for_it() {
    let contract = verified([Claim::ReadConfidentiality(high())]);
    let label = contract.reply_label();
    assert_eq!(label.classes(), Words::only(DataClass::Confidential));
    assert_eq!(label.integrity(), TrustLevel::Tool);
    let stranger = stranger([Claim::ReadConfidentiality(high())]);
    assert!(stranger.reply_label().untrusted());
    assert!(
        stranger.reply_label().classes().contains(DataClass::Unclassified),
        "high replaces nothing there"
    );
}

#[test]
fn a_high_read_may_be_untrusted_for_other_reasons() {
    for also in [hints(None, None, Some(true)), Claim::Untrusted] {
        assert!(verified([Claim::ReadConfidentiality(high()), also]).reply_label().untrusted());
    }
    assert!(verified([Claim::ReadConfidentiality(low().or(high().members()))]).reply_label().untrusted());
}

#[test]
fn both_grades_are_read_at_their_worst() {
    let both = low().with(Confidentiality::High);
    let contract = verified([Claim::ReadConfidentiality(both), Claim::WriteConfidentiality(both)]);
    assert!(contract.reply_label().classes().contains(DataClass::Confidential));
    assert!(contract.reply_label().untrusted());
    assert_eq!(contract.destination().worst(), Destination::Public);
}

#[test]
fn a_write_is_public_or_internal() {
    let contract = verified([Claim::WriteConfidentiality(high())]);
    assert_eq!(contract.destination(), Possible::only(Destination::Internal));
    assert_eq!(contract.write_confidentiality(), Confidentiality::High);
    let contract = verified([Claim::WriteConfidentiality(low())]);
    assert_eq!(contract.write_confidentiality(), Confidentiality::Low);
    let contract = stranger([Claim::WriteConfidentiality(high())]);
    assert_eq!(contract.destination().worst(), Destination::Public);
}

#[test]
fn one_grade_leaves_the_other_axis_unknown() {
    let contract = verified([Claim::ReadConfidentiality(high())]);
    assert_eq!(contract.destination(), Possible::any());
    assert!(contract.undeclared().contains(Axis::Destination));
}

fn asks(capability: Capability, reach: Reach) -> Claim {
    Claim::Capability(CapabilityClaim::new(capability, reach))
}

fn closed() -> [Claim; 3] {
    [
        Claim::SetDestination(Possible::only(Destination::Ephemeral)),
        Claim::SetOutcomes(Possible::only(Outcome::Benign)),
        Claim::SetSource(Possible::only(Source::System)),
    ]
}

#[test]
fn a_capability_adds_what_it_makes_possible() {
    let with = |claim: Claim| verified(closed().into_iter().chain([claim]));
    let names = |names: &[&str]| Reach::only(names.iter().map(|name| Arc::from(*name)).collect());

    let open = with(asks(Capability::Network, Reach::All));
    assert_eq!(open.destination(), set([Destination::Ephemeral, Destination::Public]));
    assert!(open.source().contains(Source::UntrustedPublic));

    for reach in [Reach::All, names(&["/home/work"])] {
        let files = with(asks(Capability::Filesystem, reach));
        assert_eq!(files.destination(), set([Destination::Ephemeral, Destination::User]));
        assert_eq!(files.source(), set([Source::System, Source::User]));
    }
    let read_only =
        CapabilityClaim { writes: false, ..CapabilityClaim::new(Capability::Filesystem, Reach::All) };
    assert_eq!(with(Claim::Capability(read_only)).destination(), Possible::only(Destination::Ephemeral));

    for runs in
        [Reach::All, names(&["/bin/bash"]), names(&["/usr/bin/git", "python3.12"]), names(&[r"C:\cmd.exe"])]
    {
        assert_eq!(with(asks(Capability::Execution, runs)).outcomes().worst(), Outcome::Irreversible);
    }
    assert_eq!(
        with(asks(Capability::Execution, names(&["/usr/bin/vim"]))).outcomes().worst(),
        Outcome::Benign
    );
}

#[test]
fn a_declared_limit_loosens_nothing() {
    for capability in Capability::ALL {
        for trust in [VERIFIED, STRANGER] {
            let contract = declared(trust, [asks(*capability, Reach::Nothing)]);
            assert_eq!(contract.destination(), Possible::any());
            assert_eq!(contract.outcomes(), Possible::any());
            assert_eq!(contract.source(), Possible::only(Source::UntrustedPublic));
        }
    }
}

#[test]
fn an_empty_list_of_capabilities_is_nothing_and_silence_is_everything() {
    assert_eq!(Reach::only(Vec::new()), Reach::Nothing);
    assert_eq!(Contract::unknown().capabilities().effective(), Words::all());
    let denied = verified([asks(Capability::Network, Reach::Nothing)]);
    assert!(!denied.capabilities().effective().contains(Capability::Network));
    let stranger = stranger([asks(Capability::Network, Reach::Nothing)]);
    assert!(stranger.capabilities().effective().contains(Capability::Network));
    assert_eq!(stranger.capabilities().requested(Capability::Network), Some(&Reach::Nothing));
    let both = verified([asks(Capability::Network, Reach::Nothing), asks(Capability::Network, Reach::All)]);
    assert!(both.capabilities().effective().contains(Capability::Network));
    assert_eq!(both.capabilities().requested(Capability::Network), Some(&Reach::All));
}

#[test]
fn the_worst_label_of_an_unknown_tool_is_untrusted_and_unclassified() {
    let label = Contract::unknown().reply_label().clone();
    let expected = Label::bottom()
        .with_class(DataClass::Unclassified)
        .with_source(Source::UntrustedPublic)
        .with_open_world();
    assert_eq!(label, expected);
}
