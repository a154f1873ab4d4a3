//! The table of the flow rules, row by row.

use highwater_notation::Words;

use super::*;
use DataClass::{Confidential, Credentials, Financial, Pii, Regulated, Unclassified, User};
use Destination::{Ephemeral, Internal, Public, System};
use FlowMode::{Balanced, Observe, Samos, Strict};
use Outcome::{Benign, Consequential, Irreversible};

const MODES: [FlowMode; 4] = [Observe, Balanced, Strict, Samos];

/// The effect in each mode, in the order observe, balanced, strict, samos.
fn effects(desk: impl Fn(FlowMode) -> Desk) -> [&'static str; 4] {
    MODES.map(|mode| desk(mode).effect().as_str())
}

#[test]
fn private_data_to_the_public_is_asked_about() {
    let trusted = |mode| Desk::new(mode).having_read(&[Pii]).calling(tool(Public, Consequential, &[]));
    assert_eq!(effects(trusted), ["allow", "confirm", "block", "block"]);
    let untrusted = |mode| trusted(mode).having_read_strangers();
    assert_eq!(effects(untrusted), ["allow", "confirm", "block", "block"]);
}

#[test]
fn what_is_graver_is_refused() {
    for class in [Credentials, Regulated] {
        for outcome in [Benign, Consequential] {
            let sending = |mode| {
                Desk::new(mode).having_read(&[class]).having_read_strangers().calling(tool(
                    Public,
                    outcome,
                    &[],
                ))
            };
            assert_eq!(effects(sending)[1], "block", "{class} {outcome}");
        }
    }
    let flagged = Desk::new(Balanced).having_read(&[Pii]).calling(tool(Public, Consequential, &[]));
    let flagged = Desk { session: flagged.session.clone().with_malicious(), ..flagged };
    assert_eq!(flagged.effect(), Effect::Block, "somebody reported an attack");
}

#[test]
fn a_trusted_session_may_fetch_pages_whatever_it_has_read() {
    let fetching = |mode| Desk::new(mode).having_read(&[Pii]).calling(tool(Public, Benign, &[]));
    assert_eq!(effects(fetching), ["allow", "allow", "block", "block"]);
    assert_eq!(
        effects(|mode| fetching(mode).having_read_strangers()),
        ["allow", "confirm", "block", "block"]
    );
}

#[test]
fn an_act_in_an_untrusted_session_is_asked_about_and_an_irreversible_one_takes_a_passkey_in_strict() {
    let acting =
        |outcome| move |mode| Desk::new(mode).having_read_strangers().calling(tool(System, outcome, &[]));
    assert_eq!(effects(acting(Benign)), ["allow", "allow", "allow", "allow"]);
    assert_eq!(effects(acting(Consequential)), ["allow", "confirm", "confirm", "allow"]);
    assert_eq!(effects(acting(Irreversible)), ["allow", "confirm", "passkey", "allow"]);
    let trusted = |mode| Desk::new(mode).calling(tool(System, Irreversible, &[]));
    assert_eq!(effects(trusted), ["allow"; 4]);
}

#[test]
fn a_malicious_flag_counts_as_untrusted() {
    let flagged = |mode| {
        let desk = Desk::new(mode).calling(tool(System, Consequential, &[]));
        Desk { session: Label::bottom().with_malicious(), ..desk }
    };
    assert_eq!(effects(flagged), ["allow", "confirm", "confirm", "allow"]);
}

#[test]
fn fetching_a_page_in_an_untrusted_session_is_an_act_in_strict_only() {
    let fetching = |mode| Desk::new(mode).having_read_strangers().calling(tool(Public, Benign, &[]));
    assert_eq!(effects(fetching), ["allow", "allow", "confirm", "allow"]);
    let posting = |mode| Desk::new(mode).having_read_strangers().calling(tool(Public, Irreversible, &[]));
    assert_eq!(effects(posting), ["allow", "confirm", "passkey", "allow"]);
}

#[test]
fn a_private_read_in_an_untrusted_session_is_let_in_by_balanced_alone() {
    let reading = |mode| Desk::new(mode).having_read_strangers().calling(tool(Ephemeral, Benign, &[User]));
    assert_eq!(effects(reading), ["allow", "allow", "block", "block"]);
    assert!(reading(Balanced).judge().violations().contains(FlowRule::Read), "it is seen all the same");
    assert_eq!(reading(Balanced).found(), [""; 0]);
    let trusted = |mode| Desk::new(mode).calling(tool(Ephemeral, Benign, &[User]));
    assert_eq!(effects(trusted), ["allow"; 4]);
}

#[test]
fn every_rule_that_is_violated_is_a_finding() {
    let desk = Desk::new(Strict).having_read(&[Pii]).having_read_strangers().calling(tool(
        Public,
        Irreversible,
        &[User],
    ));
    assert_eq!(desk.found(), ["flow.write block", "flow.act passkey", "flow.read block"]);
}

#[test]
fn credentials_stay_where_nothing_is_kept_and_what_nobody_classified_counts_as_private() {
    for (destination, effect) in [(Ephemeral, "allow"), (System, "block"), (Internal, "block")] {
        let desk = Desk::new(Balanced).having_read(&[Credentials]).calling(tool(destination, Benign, &[]));
        assert_eq!(desk.effect().as_str(), effect, "credentials to {destination}");
    }
    for class in [Confidential, Unclassified, Financial] {
        for (destination, effect) in [(Ephemeral, "allow"), (Internal, "allow"), (Public, "confirm")] {
            let desk =
                Desk::new(Balanced).having_read(&[class]).calling(tool(destination, Consequential, &[]));
            assert_eq!(desk.effect().as_str(), effect, "{class} to {destination}");
        }
    }
}

#[test]
fn a_tool_must_be_built_for_what_it_is_given_unless_it_keeps_nothing() {
    let accepting_pii = |destination| {
        told(&[
            Claim::SetDestination(Possible::only(destination)),
            Claim::SetAccepts(classes(&[Pii])),
            Claim::SetOutcomes(Possible::only(Benign)),
        ])
    };
    let desk =
        |read, destination| Desk::new(Balanced).having_read(&[read]).calling(accepting_pii(destination));
    assert_eq!(desk(Pii, Internal).effect(), Effect::Allow);
    assert_eq!(desk(Financial, Internal).effect(), Effect::Confirm);
    assert_eq!(desk(Financial, Internal).judge().findings()[0].reasons, [Reason::NotAccepted]);
    // What has no named class is a question of the destination alone.
    assert_eq!(desk(Confidential, Internal).effect(), Effect::Allow);
    assert_eq!(desk(Financial, Ephemeral).effect(), Effect::Allow);
}

#[test]
fn the_inbox_of_seed_000_may_be_read_twice_in_balanced() {
    let inbox = told(&[
        Claim::SetDestination(Possible::only(Ephemeral)),
        Claim::SetAccepts(Sensitivity::none()),
        Claim::SetOutcomes(Possible::only(Benign)),
        Claim::SetSource(Possible::only(Source::UntrustedPublic)),
        Claim::SetReturns(classes(&[Pii, User])),
    ]);
    let mut desk = Desk::new(Balanced).calling(inbox);
    assert_eq!(desk.effect(), Effect::Allow);
    desk.session.join(desk.contract.reply_label());
    assert_eq!(desk.effect(), Effect::Allow);
    let strict = Desk { session: desk.session.clone(), contract: desk.contract.clone(), ..Desk::new(Strict) };
    assert_eq!(strict.found(), ["flow.read block"]);
}

#[test]
fn a_tool_nobody_labelled_is_the_worst_case() {
    let desk = |mode| Desk::new(mode).calling(Contract::unknown());
    assert_eq!(effects(desk), ["allow"; 4]);
    assert_eq!(effects(|mode| desk(mode).having_read(&[User])), ["allow", "confirm", "block", "block"]);
    assert_eq!(effects(|mode| desk(mode).having_read_strangers()), ["allow", "confirm", "block", "block"]);
}

#[test]
fn of_several_destinations_the_worst_counts() {
    let either = told(&[
        Claim::SetDestination(Possible::only(Ephemeral).with(Public)),
        Claim::AcceptsAny,
        Claim::SetOutcomes(Possible::only(Benign)),
    ]);
    let desk = Desk::new(Balanced).having_read(&[Pii]).having_read_strangers().calling(either);
    assert_eq!(desk.effect(), Effect::Confirm);
}

#[test]
fn the_operator_may_clear_a_class_for_a_destination() {
    let mut desk = Desk::new(Strict).having_read(&[Pii]).calling(tool(Public, Benign, &[]));
    assert_eq!(desk.effect(), Effect::Block);
    desk.flow.clearance = Clearance::default().with(Public, Words::only(Pii));
    assert_eq!(desk.settled().effect(), Effect::Allow);
}

#[test]
fn samos_knows_high_and_low_and_nothing_between() {
    let desk =
        |read, destination| Desk::new(Samos).having_read(&[read]).calling(tool(destination, Benign, &[]));
    assert_eq!(desk(Credentials, Internal).effect(), Effect::Allow);
    assert_eq!(desk(User, Public).effect(), Effect::Block);
    // One-bit SAMOS lets a hijacked session destroy things.
    let desk = Desk::new(Samos).having_read_strangers().calling(tool(Internal, Irreversible, &[]));
    assert_eq!(desk.effect(), Effect::Allow);
}

#[test]
fn in_samos_a_private_session_reads_on_and_a_public_one_reads_nothing_private() {
    let reading =
        |read: &[DataClass]| Desk::new(Samos).having_read(read).calling(tool(Internal, Benign, &[User]));
    assert_eq!(reading(&[]).effect(), Effect::Allow, "the first reply says what the session is");
    assert_eq!(reading(&[]).having_read_strangers().effect(), Effect::Block);
    assert_eq!(reading(&[User]).effect(), Effect::Allow);
    assert_eq!(
        reading(&[User]).having_read_strangers().effect(),
        Effect::Allow,
        "it is high for its lifetime"
    );
}

#[test]
fn a_finding_says_what_it_saw() {
    let desk = Desk::new(Balanced).having_read(&[Pii]).calling(tool(Public, Consequential, &[]));
    let judgement = desk.judge();
    let saw = |fact: &str| {
        let seen = judgement.findings()[0].saw.iter().find(|seen| seen.fact == fact).unwrap();
        serde_json::to_string(&seen.value).unwrap()
    };
    assert_eq!(saw("session.sensitivity"), r#"["pii"]"#);
    assert_eq!(saw("tool.annotations.inputMetadata.destination"), r#"["public"]"#);
    assert_eq!(saw("clearance"), "[]");
    assert_eq!(saw("session.integrity"), r#""owner""#);
}
