//! Observe: nothing of the flow rules is enforced, and what every mode would have done is kept. The operator's rules are
//! enforced, in this mode as in every other, except those that are dry runs.

use super::*;
use DataClass::Pii;

fn would_of(judgement: &Judgement, id: &str) -> [&'static str; 3] {
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
    assert_eq!(would_of(&desk.judge(), "flow.write"), ["confirm", "block", "block"]);
    let desk = desk.having_read_strangers();
    let judgement = desk.judge();
    assert_eq!(would_of(&judgement, "flow.write"), ["confirm", "block", "block"]);
    assert_eq!(would_of(&judgement, "flow.act"), ["confirm", "passkey", "allow"]);
    assert_eq!(would_of(&judgement, "flow.read"), ["allow", "block", "allow"]);
    let whole = judgement.would().unwrap();
    assert_eq!(FlowMode::ENFORCING.map(|mode| whole.get(mode).as_str()), ["confirm", "block", "block"]);
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
fn rules_are_enforced() {
    let desk = Desk::new(FlowMode::Observe).with_rules(
        &[
            rule("no-mail", "block", test("tool.id", word("mail__send"))),
            rule("clean", "redact", test("tool.id", word("mail__send"))),
        ],
        &[],
    );
    let judgement = desk.judge();
    assert_eq!(found(&judgement), ["rule.no-mail block", "rule.clean redact"]);
    assert!(judgement.findings().iter().all(|finding| finding.would.is_none()));
    assert!(!judgement.redactions().is_empty());
    assert!(judgement.would().is_none());
    assert!(matches!(desk.decide(), Verdict::Block(_)));
}

#[test]
fn a_rule_that_looks_at_flow_says_what_it_would_do_where_flow_is_seen_otherwise() {
    let acts = test("flow.violations", word("act"));
    let desk = |outcome| {
        Desk::new(FlowMode::Observe)
            .having_read_strangers()
            .calling(tool(Destination::Public, outcome, &[]))
            .with_rules(&[rule("no-acts", "block", acts.clone())], &[])
    };
    // An act in every mode but `samos`, which knows none.
    let judgement = desk(Outcome::Consequential).judge();
    let finding =
        judgement.findings().iter().find(|finding| finding.id.to_string() == "rule.no-acts").unwrap();
    let would = finding.would.unwrap();
    assert_eq!(finding.effect, Effect::Block);
    assert_eq!(FlowMode::ENFORCING.map(|mode| would.get(mode).as_str()), ["block", "block", "allow"]);
    // An act in `strict` alone: here it is seen as `balanced` sees it.
    let judgement = desk(Outcome::Benign).judge();
    assert_eq!(would_of(&judgement, "rule.no-acts"), ["allow", "block", "allow"]);
    assert_eq!(judgement.effect(), Effect::Allow);
}

#[test]
fn a_dry_run_is_recorded_in_every_mode_and_enforced_in_none() {
    for mode in FlowMode::ALL {
        let dry = |name, effect| RuleSource {
            dry_run: true,
            ..rule(name, effect, test("tool.id", word("mail__send")))
        };
        let waived = waiver("rule.signed", test("tool.id", word("mail__send")), "2999-01-01");
        let desk = Desk::new(*mode).with_rules(
            &[
                dry("no-mail", "block"),
                dry("clean", "redact"),
                dry("signed", "passkey"),
                rule("other", "confirm", test("tool.id", word("mail__send"))),
            ],
            &[waived],
        );
        let judgement = desk.judge();
        let mut said = found(&judgement);
        said.sort();
        let expected = ["rule.clean allow", "rule.no-mail allow", "rule.other confirm", "rule.signed allow"];
        assert_eq!(said, expected, "{mode}");
        assert!(judgement.redactions().is_empty());
        assert_eq!(would_of(&judgement, "rule.no-mail"), ["block"; 3]);
        assert_eq!(would_of(&judgement, "rule.signed"), ["confirm"; 3], "a waiver would have lowered it");
        // No mode would have enforced it, so it is no part of what each would have done.
        assert!(judgement.would().is_none());
        assert_eq!(desk.escalation().judgement().findings().len(), 4);
    }
}

#[test]
fn structural_gates_are_enforced_all_the_same() {
    let mut desk = Desk::new(FlowMode::Observe);
    desk.virtual_server = VirtualServerId::new("other");
    assert_eq!(desk.settled().found(), ["structural.grant block"]);
}
