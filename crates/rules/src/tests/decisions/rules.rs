//! The operator's rules and waivers among the other gates.

use super::*;
use crate::compile;
use DataClass::{Financial, Pii};

fn mail_to_the_public() -> Desk {
    Desk::new(FlowMode::Strict).having_read(&[Pii]).calling(tool(Destination::Public, Outcome::Benign, &[]))
}

fn tool_is(name: &str) -> ConditionSource {
    test("tool.id", word(name))
}

#[test]
fn a_rule_is_a_finding_with_its_name_its_message_and_what_it_saw() {
    let financial = test("session.sensitivity", word("financial"));
    let desk = Desk::new(FlowMode::Balanced)
        .having_read(&[Financial])
        .calling(tool(Destination::Internal, Outcome::Benign, &[]))
        .with_rules(&[rule("finance-stays-inside", "block", financial)], &[]);
    let judgement = desk.judge();
    let finding = &judgement.findings()[0];
    assert_eq!(finding.id.to_string(), "rule.finance-stays-inside");
    assert_eq!((finding.effect, finding.reasons.as_slice()), (Effect::Block, &[Reason::Fired][..]));
    assert_eq!(finding.message.as_deref(), Some("for people"));
    assert_eq!(finding.saw[0].fact, "session.sensitivity");
}

#[test]
fn a_rule_that_may_hold_says_so() {
    let desk = Desk::new(FlowMode::Balanced).calling(Contract::unknown()).with_rules(
        &[rule("undone", "confirm", test("tool.annotations.inputMetadata.outcomes", word("irreversible")))],
        &[],
    );
    let judgement = desk.judge();
    assert_eq!(judgement.findings()[0].reasons, [Reason::MayFire]);
    assert!(judgement.findings()[0].saw[0].because.is_some());
}

#[test]
fn rules_may_build_on_the_findings_of_flow() {
    let leaking = test("flow.violations", word("write"));
    let desk = mail_to_the_public().with_rules(&[rule("no-leaks", "passkey", leaking)], &[]);
    assert_eq!(desk.found(), ["flow.write block", "rule.no-leaks passkey"]);
}

#[test]
fn a_waiver_lowers_flow_and_rules_to_a_question_and_no_further() {
    let waivers = [
        waiver("flow.write", tool_is("mail__send"), "2999-01-01"),
        waiver("rule.no-mail", tool_is("mail__send"), "2999-01-01"),
    ];
    let desk = mail_to_the_public().with_rules(&[rule("no-mail", "block", tool_is("mail__send"))], &waivers);
    assert_eq!(desk.found(), ["flow.write confirm", "rule.no-mail confirm"]);
    for finding in desk.judge().findings() {
        let waived = finding.waived.as_ref().unwrap();
        assert_eq!((waived.instead_of, &*waived.reason), (Effect::Block, "the auditor may have it"));
    }
}

#[test]
fn a_waiver_that_is_over_or_not_certain_changes_nothing() {
    let over = waiver("flow.write", tool_is("mail__send"), "2020-01-01");
    assert_eq!(mail_to_the_public().with_rules(&[], &[over]).effect(), Effect::Block);
    let uncertain = waiver("flow.write", test("arguments.to", word("auditor")), "2999-01-01");
    assert_eq!(mail_to_the_public().with_rules(&[], &[uncertain]).effect(), Effect::Block);
}

#[test]
fn a_waiver_of_a_question_is_not_used() {
    let desk = Desk { flow: FlowPolicy::default(), ..mail_to_the_public() }
        .having_read_strangers()
        .settled()
        .with_rules(&[], &[waiver("flow.write", tool_is("mail__send"), "2999-01-01")]);
    let judgement = desk.judge();
    assert_eq!(found(&judgement), ["flow.write confirm"]);
    assert!(judgement.findings()[0].waived.is_none());
}

#[test]
fn no_waiver_reaches_a_structural_gate() {
    let everywhere = test("session.malicious", Written::Bool(false));
    for gate in FindingId::gates().filter(|name| name.starts_with("structural.")) {
        assert!(compile(&[], &[waiver(gate, everywhere.clone(), "2999-01-01")]).is_err(), "{gate}");
    }
}
