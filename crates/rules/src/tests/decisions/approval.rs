//! Questions for a person: what is asked, what an answer is worth, and what it is not.

use highwater_core::annotation::ApprovalWish;
use highwater_core::approval::{Grant, GrantOutcome};
use highwater_core::id::ApprovalId;
use highwater_passkey::ActionHash;

use super::*;
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
    let doubtful = asking().having_read_strangers();
    let verdict = decide_approved(&doubtful.policy, &doubtful.facts(), approval);
    assert!(matches!(verdict, Verdict::Escalate(_)), "strangers have spoken since: it is another question");
    let approval = asking().approval();
    let stricter = asking().having_read(&[DataClass::Credentials]);
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

/// A doubtful session and what cannot be undone: `strict` wants a passkey.
fn signing() -> Desk {
    let undoable = tool(Destination::User, Outcome::Irreversible, &[]);
    Desk::new(FlowMode::Strict).having_read_strangers().calling(undoable)
}

fn hash(digit: u8) -> ActionHash {
    ActionHash::from([digit; 32])
}

/// A grant for the first action, worth a passkey, of somebody who was told what this desk asks.
fn grant(desk: &Desk) -> Grant {
    Grant {
        request: ApprovalId::new("apr_1"),
        principal: desk.principal.clone(),
        action: hash(1),
        grade: Effect::Passkey,
        told: desk.escalation().told(),
    }
}

fn spent(grant: Grant) -> Proof {
    Proof::Grant(grant.spend(GrantOutcome::Consumed).unwrap())
}

#[test]
fn what_takes_a_passkey_is_a_question_that_no_word_answers() {
    let desk = signing();
    let asked = desk.escalation();
    assert_eq!(
        (found(asked.judgement()), asked.grade()),
        (vec!["flow.act passkey".to_owned()], Effect::Passkey)
    );
    let question = asked.question();
    let Err(Unapproved::AnotherQuestion(asked)) = asked.answered(question, Answer::Approve) else {
        panic!("a word is no signature")
    };
    let Err(Unapproved::Declined(denial)) = asked.answered(question, Answer::Decline) else {
        panic!("declined")
    };
    assert_eq!(found(denial.judgement()), ["flow.act passkey", "structural.unapproved block"]);
    assert_eq!(desk.escalation().unasked().findings()[1].reasons, [Reason::NobodyToAsk]);
}

#[test]
fn a_grant_that_is_used_up_opens_its_action_and_only_that() {
    let desk = signing();
    let approval = desk.escalation().signed(spent(grant(&desk)), hash(1)).unwrap();
    let Verdict::Allow(permit) = decide_approved(&desk.policy, &desk.facts(), approval) else {
        panic!("approved")
    };
    assert!(permit.obligations().approved());
    let eve = Grant { principal: Principal::new("eve"), ..grant(&desk) };
    let cheap = Grant { grade: Effect::Confirm, ..grant(&desk) };
    let untold = Grant { told: Told::default(), ..grant(&desk) };
    for (wrong, action) in [(grant(&desk), hash(2)), (eve, hash(1)), (cheap, hash(1)), (untold, hash(1))] {
        let refused = desk.escalation().signed(spent(wrong.clone()), action);
        assert!(matches!(refused, Err(Unapproved::AnotherQuestion(_))), "{wrong:?}");
    }
    // Bound to the exact words of the action as well.
    let approval = desk.escalation().signed(spent(grant(&desk)), hash(1)).unwrap();
    let other =
        Action::new(ActionKind::CallTool, UpstreamId::new("mail"), "tools/call", "send", r#"{"to":"eve"}"#);
    let elsewhere = Facts { action: &other, ..desk.facts() };
    assert!(matches!(decide_approved(&desk.policy, &elsewhere, approval), Verdict::Escalate(_)));
}

#[test]
fn only_what_the_store_used_up_is_spent() {
    use GrantOutcome::{AlreadyConsumed, Changed, Declined, Expired, Pending, Short, Unknown};
    for outcome in [AlreadyConsumed, Changed, Declined, Expired, Pending, Short, Unknown] {
        assert_eq!(grant(&signing()).spend(outcome).unwrap_err(), outcome);
    }
}

#[test]
fn a_button_on_the_page_is_worth_a_yes_and_no_passkey() {
    let desk = asking();
    let button = Grant { grade: Effect::Confirm, ..grant(&desk) };
    assert!(desk.escalation().is_answered_by(&button));
    let approval = desk.escalation().signed(spent(button.clone()), hash(1)).unwrap();
    assert!(matches!(decide_approved(&desk.policy, &desk.facts(), approval), Verdict::Allow(_)));
    assert!(!signing().escalation().is_answered_by(&Grant { told: signing().escalation().told(), ..button }));
    // A passkey is worth a yes, too.
    let approval = desk.escalation().signed(spent(grant(&desk)), hash(1)).unwrap();
    assert!(matches!(decide_approved(&desk.policy, &desk.facts(), approval), Verdict::Allow(_)));
}

#[test]
fn g21_a_grant_covers_what_was_shown_and_a_block_wins_over_everything() {
    let desk = signing();
    let noon = |effect| rule("noon", effect, test("tool.id", word("mail__send")));
    let approve = || desk.escalation().signed(spent(grant(&desk)), hash(1)).unwrap();
    for effect in ["confirm", "passkey"] {
        let more = signing().with_rules(&[noon(effect)], &[]);
        let Verdict::Escalate(again) = decide_approved(&more.policy, &more.facts(), approve()) else {
            panic!("{effect}: what was not shown is a new question")
        };
        assert!(!again.is_answered_by(&grant(&desk)));
        assert!(again.is_answered_by(&grant(&more)));
    }
    let blocked = signing().with_rules(&[noon("block")], &[]);
    assert!(matches!(decide_approved(&blocked.policy, &blocked.facts(), approve()), Verdict::Block(_)));
}

#[test]
fn g22_an_approval_releases_one_flow_and_leaves_the_session_as_it_is() {
    let desk = signing();
    let before = desk.session.clone();
    let approval = desk.escalation().signed(spent(grant(&desk)), hash(1)).unwrap();
    assert!(matches!(decide_approved(&desk.policy, &desk.facts(), approval), Verdict::Allow(_)));
    assert_eq!(desk.session, before);
    // The next call is judged by the same label, and asks again.
    assert!(matches!(desk.decide(), Verdict::Escalate(_)));
}

#[test]
fn what_was_told_is_written_and_read_back() {
    let told = asking().escalation().told();
    let text = serde_json::to_string(&told).unwrap();
    assert_eq!(serde_json::from_str::<Told>(&text).unwrap(), told);
    assert_eq!(told.findings().map(ToString::to_string).collect::<Vec<_>>(), ["flow.write"]);
    assert!(told.covers(&Told::default()) && !Told::default().covers(&told));
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
