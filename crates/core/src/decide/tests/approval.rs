//! Questions for a person: what is asked, what an answer is worth, and what it is not.

use super::*;
use crate::annotation::ApprovalWish;
use DataClass::Pii;

/// A trusted session with personal data, and a public tool: `balanced` asks.
fn asking() -> Desk {
    Desk::new(FlowMode::Balanced).having_read(&[Pii]).calling(tool(
        Destination::Public,
        Outcome::Irreversible,
        &[],
    ))
}

#[test]
fn a_yes_opens_exactly_the_call_it_was_asked_about() {
    let desk = asking();
    let Verdict::Allow(permit) = decide_approved(&desk.policy, &desk.facts(), desk.approval()) else {
        panic!("approved")
    };
    assert!(permit.obligations().approved());
    assert_eq!(found(permit.judgement()), ["flow.write confirm"]);
    let other =
        Action::new(ActionKind::CallTool, UpstreamId::new("mail"), "tools/call", "send", r#"{"to":"eve"}"#);
    let elsewhere = Facts { action: &other, ..desk.facts() };
    assert!(matches!(decide_approved(&desk.policy, &elsewhere, desk.approval()), Verdict::Escalate(_)));
    let eve = Principal::new("eve");
    let elsewhere = Facts { principal: &eve, ..desk.facts() };
    assert!(matches!(decide_approved(&desk.policy, &elsewhere, desk.approval()), Verdict::Escalate(_)));
}

#[test]
fn a_yes_to_another_question_is_no_yes() {
    let desk = asking();
    let wish = desk.contract.clone();
    let other = Desk { principal: Principal::new("eve"), ..asking() }.escalation().question();
    let asked = desk.escalation();
    assert_ne!(asked.question(), other);
    assert!(matches!(asked.answered(other, Answer::Approve), Err(Unapproved::AnotherQuestion(_))));
    // The same call under a label that raises one more finding is another question, too.
    let doubtful = Desk { session: Label::bottom().with_open_world(), contract: wish, ..asking() };
    assert_ne!(doubtful.escalation().question(), desk.escalation().question());
    assert_eq!(asking().escalation().question(), desk.escalation().question());
}

#[test]
fn everything_but_a_yes_is_a_refusal_on_record() {
    for answer in [Answer::Decline, Answer::Cancel, Answer::Silence] {
        let asked = asking().escalation();
        let question = asked.question();
        let Err(Unapproved::Declined(denial)) = asked.answered(question, answer) else {
            panic!("{answer:?}")
        };
        assert_eq!(found(denial.judgement()), ["flow.write confirm", "structural.unapproved block"]);
        assert_eq!(denial.findings()[1].reasons, [Reason::Declined]);
    }
    let denial = asking().escalation().unasked();
    assert_eq!(denial.findings()[1].reasons, [Reason::NobodyToAsk]);
}

#[test]
fn an_approval_never_outlives_a_stricter_decision() {
    let approval = asking().approval();
    let stricter = asking().having_read_strangers();
    assert!(matches!(decide_approved(&stricter.policy, &stricter.facts(), approval), Verdict::Block(_)));
    let strict =
        Desk { flow: FlowPolicy { mode: FlowMode::Strict, ..FlowPolicy::default() }, ..asking() }.settled();
    let approval = asking().approval();
    assert!(matches!(decide_approved(&strict.policy, &strict.facts(), approval), Verdict::Block(_)));
}

#[test]
fn what_the_person_was_not_told_is_a_new_question() {
    let acting = tool(Destination::User, Outcome::Consequential, &[]);
    let desk = Desk::new(FlowMode::Balanced).having_read_strangers().calling(acting);
    let approval = desk.approval();
    let more = desk.with_rules(&[rule("noon", "confirm", test("tool.id", word("mail__send")))], &[]);
    let Verdict::Escalate(again) = decide_approved(&more.policy, &more.facts(), approval) else {
        panic!("asked")
    };
    assert_eq!(found(again.judgement()), ["flow.act confirm", "rule.noon confirm"]);
}

#[test]
fn an_approval_of_more_than_is_asked_is_enough() {
    let desk = Desk::new(FlowMode::Balanced)
        .having_read_strangers()
        .calling(tool(Destination::User, Outcome::Consequential, &[]))
        .with_rules(&[rule("noon", "confirm", test("tool.id", word("mail__send")))], &[]);
    let approval = desk.approval();
    let less = desk.with_rules(&[], &[]);
    assert!(matches!(decide_approved(&less.policy, &less.facts(), approval), Verdict::Allow(_)));
}

#[test]
fn what_takes_a_passkey_is_refused_with_its_own_reason() {
    let desk = Desk::new(FlowMode::Strict).having_read_strangers().calling(tool(
        Destination::User,
        Outcome::Irreversible,
        &[],
    ));
    let Verdict::Block(denial) = desk.decide() else { panic!("refused") };
    assert_eq!(found(denial.judgement()), ["flow.act passkey", "structural.passkey block"]);
    assert_eq!(denial.findings()[1].reasons, [Reason::PasskeyUnavailable]);
}

#[test]
fn a_contract_that_wants_a_person_gets_one_in_every_mode() {
    for mode in FlowMode::ALL {
        let wishing = |wish| {
            let claims = [Claim::SetOutcomes(Possible::only(Outcome::Benign)), Claim::SetApproval(wish)];
            Desk::new(*mode).calling(told(&claims))
        };
        assert_eq!(wishing(ApprovalWish::None).found(), [""; 0]);
        assert_eq!(wishing(ApprovalWish::Confirm).found(), ["structural.approval confirm"]);
        assert_eq!(wishing(ApprovalWish::Passkey).found(), ["structural.approval passkey"]);
        let required = Desk::new(*mode).calling(told(&[Claim::RequiresVerified]));
        assert_eq!(required.judge().findings()[0].reasons, [Reason::VerifiedApprovalRequired]);
    }
}
