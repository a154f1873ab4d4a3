//! Observe: nothing of the flow rules and of the operator's rules is enforced, and what every mode would have done is
//! kept.

use super::*;
use DataClass::Pii;

fn would(judgement: &Judgement, id: &str) -> [&'static str; 3] {
    let finding = judgement.findings().iter().find(|finding| finding.id.to_string() == id).unwrap();
    assert_eq!(finding.effect, Effect::Allow);
    let would = finding.would.unwrap();
    FlowMode::ENFORCING.map(|mode| would.get(mode).as_str())
}

#[test]
fn each_finding_says_what_each_mode_would_have_done() {
    let desk = Desk::new(FlowMode::Observe).having_read(&[Pii]).calling(tool(
        Destination::Public,
        Outcome::Irreversible,
        &[Pii],
    ));
    assert_eq!(would(&desk.judge(), "flow.write"), ["confirm", "block", "block"]);
    let desk = desk.having_read_strangers();
    let judgement = desk.judge();
    assert_eq!(would(&judgement, "flow.write"), ["block", "block", "block"]);
    assert_eq!(would(&judgement, "flow.act"), ["confirm", "passkey", "allow"]);
    assert_eq!(would(&judgement, "flow.read"), ["allow", "block", "block"]);
    let whole = judgement.would().unwrap();
    assert_eq!(FlowMode::ENFORCING.map(|mode| whole.get(mode)), [Effect::Block; 3]);
    assert_eq!(judgement.effect(), Effect::Allow);
}

#[test]
fn what_would_have_been_done_is_what_the_mode_does() {
    for (read, strangers, destination, outcome) in [
        (&[][..], false, Destination::Public, Outcome::Irreversible),
        (&[Pii][..], false, Destination::Internal, Outcome::Benign),
        (&[Pii][..], true, Destination::Public, Outcome::Benign),
        (&[][..], true, Destination::Public, Outcome::Benign),
        (&[][..], true, Destination::User, Outcome::Consequential),
    ] {
        let desk = |mode| {
            let desk = Desk::new(mode).having_read(read).calling(tool(destination, outcome, &[Pii]));
            let built_on_it = test("flow.violations", word("act"));
            let desk = desk.with_rules(&[rule("no-acts", "block", built_on_it)], &[]);
            if strangers { desk.having_read_strangers() } else { desk }
        };
        let observed = desk(FlowMode::Observe).judge();
        for mode in FlowMode::ENFORCING {
            let would = observed.would().map_or(Effect::Allow, |would| would.get(mode));
            assert_eq!(would, desk(mode).effect(), "{mode} {read:?} {strangers} {destination} {outcome}");
        }
    }
}

#[test]
fn rules_are_recorded_and_not_enforced() {
    let desk = Desk::new(FlowMode::Observe).with_rules(
        &[
            rule("no-mail", "block", test("tool.id", word("mail__send"))),
            rule("clean", "redact", test("tool.id", word("mail__send"))),
        ],
        &[],
    );
    let judgement = desk.judge();
    assert_eq!(found(&judgement), ["rule.no-mail allow", "rule.clean allow"]);
    assert_eq!(would(&judgement, "rule.no-mail"), ["block"; 3]);
    assert!(judgement.redactions().is_empty());
    assert!(matches!(desk.decide(), Verdict::Allow(_)));
}

#[test]
fn structural_gates_are_enforced_all_the_same() {
    let mut desk = Desk::new(FlowMode::Observe);
    desk.virtual_server = VirtualServerId::new("other");
    assert_eq!(desk.settled().found(), ["structural.grant block"]);
}
