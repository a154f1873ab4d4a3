//! Replies: labelled, judged with the label they really have, and given out through a `Pass` alone.

use std::sync::Arc;

use highwater_core::policy::SightingKind;

use super::*;
use DataClass::{Credentials, User};

fn judged(desk: &Desk, known: ReplyFacts, obligations: Obligations) -> ReplyVerdict<&'static str> {
    let facts = desk.facts();
    let labelled = label_reply(&desk.policy, &facts, Received::new("text", known));
    decide_reply(&desk.policy, &facts, obligations, labelled)
}

fn plain() -> ReplyFacts {
    ReplyFacts::new(ResultType::Complete)
}

fn saying(claim: Claim) -> ReplyFacts {
    let mut known = plain();
    known.claims.push(claim, Authority::Declared, "test");
    known
}

fn held(verdict: ReplyVerdict<&'static str>) -> HeldReply<&'static str> {
    match verdict {
        ReplyVerdict::Hold(held) => *held,
        other => panic!("{other:?} is not held"),
    }
}

fn findings(verdict: &ReplyVerdict<&'static str>) -> Vec<String> {
    match verdict {
        ReplyVerdict::Pass(pass) => found(pass.judgement()),
        ReplyVerdict::Hold(held) => found(held.escalation().judgement()),
        ReplyVerdict::Withhold(denial) => found(denial.judgement()),
    }
}

#[test]
fn a_pass_carries_the_label_to_join() {
    let desk = Desk::new(FlowMode::Balanced).calling(tool(Destination::Ephemeral, Outcome::Benign, &[User]));
    let mut known = saying(Claim::AddReturns(classes(&[Credentials])));
    known.marks = Label::bottom().with_origin("mcp:notes:write");
    let ReplyVerdict::Pass(pass) = judged(&desk, known, Obligations::default()) else { panic!("passed") };
    assert!(pass.label().classes().contains(User) && pass.label().classes().contains(Credentials));
    assert_eq!(pass.label().origins().contains("mcp:notes:write"), Some(true));
    assert_eq!(pass.into_reply(|_, _| Err("there is nothing to redact")), Ok("text"));
}

#[test]
fn a_server_that_returns_more_than_it_declared_is_withheld_in_strict() {
    for (mode, effect) in [
        (FlowMode::Observe, "pass"),
        (FlowMode::Balanced, "pass"),
        (FlowMode::Strict, "withhold"),
        (FlowMode::Samos, "withhold"),
    ] {
        let desk = Desk::new(mode).having_read_strangers();
        assert_eq!(desk.effect(), Effect::Allow, "{mode}: nothing private was declared");
        let verdict = judged(&desk, saying(Claim::AddReturns(classes(&[User]))), Obligations::default());
        let came = match &verdict {
            ReplyVerdict::Pass(_) => "pass",
            ReplyVerdict::Hold(_) => "hold",
            ReplyVerdict::Withhold(_) => "withhold",
        };
        assert_eq!(came, effect, "{mode}");
        let expected: &[&str] = match mode {
            FlowMode::Observe => &["flow.read allow"],
            FlowMode::Balanced => &[],
            FlowMode::Strict | FlowMode::Samos => &["flow.read block"],
        };
        assert_eq!(findings(&verdict), expected, "{mode}");
    }
}

#[test]
fn the_operators_result_case_may_say_less_than_the_contract() {
    let either = tool(Destination::Ephemeral, Outcome::Benign, &[User]);
    let desk = Desk::new(FlowMode::Strict).having_read_strangers().calling(either);
    let public = tool(Destination::Ephemeral, Outcome::Benign, &[]);
    let known = ReplyFacts { contract: Some(Arc::new(public)), ..plain() };
    let ReplyVerdict::Pass(pass) = judged(&desk, known, Obligations::default()) else { panic!("public") };
    assert!(!pass.label().private());
    assert!(matches!(judged(&desk, plain(), Obligations::default()), ReplyVerdict::Withhold(_)));
}

#[test]
fn seed_000s_malicious_reply_is_held_and_released_by_a_person() {
    let malicious = test("response.annotations.maliciousActivityHint", Written::Bool(true));
    let desk =
        Desk::new(FlowMode::Balanced).with_rules(&[rule("escalate-malicious", "escalate", malicious)], &[]);
    assert!(matches!(judged(&desk, plain(), Obligations::default()), ReplyVerdict::Pass(_)));
    let verdict = || judged(&desk, saying(Claim::Malicious), Obligations::default());
    assert_eq!(findings(&verdict()), ["rule.escalate-malicious confirm"]);
    let asked = held(verdict());
    let question = asked.escalation().question();
    let approved = asked.answered(question, Answer::Approve).unwrap();
    let ReplyVerdict::Pass(pass) = decide_reply_approved(&desk.policy, &desk.facts(), approved) else {
        panic!("released")
    };
    assert!(pass.label().malicious(), "an approval lowers no label");
    assert!(held(verdict()).answered(question, Answer::Decline).is_err());
    assert_eq!(found(held(verdict()).unasked().judgement()).len(), 2);
}

#[test]
fn a_reading_that_a_person_approved_is_not_asked_about_again() {
    let anywhere = test("session.malicious", Written::Bool(false));
    let private = tool(Destination::Ephemeral, Outcome::Benign, &[User]);
    let desk = Desk::new(FlowMode::Strict)
        .having_read_strangers()
        .calling(private)
        .with_rules(&[], &[waiver("flow.read", anywhere, "2999-01-01")]);
    let Verdict::Allow(permit) = decide_approved(&desk.policy, &desk.facts(), desk.approval()) else {
        panic!("approved")
    };
    let obligations = permit.obligations();
    assert_eq!(findings(&judged(&desk, plain(), obligations)), [""; 0]);
    // But to more than the contract spoke of nobody has agreed.
    let more = saying(Claim::AddReturns(classes(&[Credentials])));
    assert_eq!(findings(&judged(&desk, more, obligations)), ["flow.read confirm"]);
}

#[test]
fn what_a_rule_of_the_call_wants_removed_is_removed_from_the_reply() {
    let desk = Desk::new(FlowMode::Balanced)
        .with_rules(&[rule("clean", "redact", test("tool.id", word("mail__send")))], &[]);
    let Verdict::Allow(permit) = desk.decide() else { panic!("redaction is no refusal") };
    assert_eq!(permit.obligations().redactions().kinds().len(), 5);
    let ReplyVerdict::Pass(pass) = judged(&desk, plain(), permit.obligations()) else { panic!("passed") };
    assert_eq!(pass.into_reply(|_, kinds| Err::<&str, _>(kinds.kinds().len())), Err(5));
}

#[test]
fn a_redaction_is_carried_out_even_where_a_person_is_asked() {
    let secret = test("response.sightings", word(SightingKind::Secret.as_str()));
    let malicious = test("response.annotations.maliciousActivityHint", Written::Bool(true));
    let desk = Desk::new(FlowMode::Balanced)
        .with_rules(&[rule("clean", "redact", secret), rule("look", "confirm", malicious)], &[]);
    let asked = held(judged(&desk, saying(Claim::Malicious), Obligations::default()));
    let question = asked.escalation().question();
    let approved = asked.answered(question, Answer::Approve).unwrap();
    let ReplyVerdict::Pass(pass) = decide_reply_approved(&desk.policy, &desk.facts(), approved) else {
        panic!("released")
    };
    assert_eq!(pass.redactions().kinds().iter().collect::<Vec<_>>(), [SightingKind::Secret]);
}

#[test]
fn a_reply_can_only_add_to_what_was_declared() {
    let from_strangers = told(&[
        Claim::SetOutcomes(Possible::only(Outcome::Benign)),
        Claim::SetSource(Possible::only(Source::UntrustedPublic)),
    ]);
    let source = test("response.annotations.returnMetadata.source", word("untrustedPublic"));
    let desk = Desk::new(FlowMode::Balanced)
        .calling(from_strangers)
        .with_rules(&[rule("no-web", "block", source)], &[]);
    for known in [plain(), saying(Claim::SetSource(Possible::only(Source::System)))] {
        assert_eq!(findings(&judged(&desk, known, Obligations::default())), ["rule.no-web block"]);
    }
}

#[test]
fn a_question_is_judged_like_a_reply_and_labels_like_one() {
    let sampling = test("ask.kind", word("sampling"));
    let desk = Desk::new(FlowMode::Balanced)
        .calling(tool(Destination::Ephemeral, Outcome::Benign, &[User]))
        .with_rules(&[rule("no-sampling", "confirm", sampling)], &[]);
    let (facts, upstream, claims) = (desk.facts(), UpstreamId::new("mail"), Claims::new());
    let judged = |kind| {
        let asked = AskFacts {
            during: Some(&facts),
            upstream: &upstream,
            kind,
            declared: true,
            refused_page: false,
            claims: &claims,
        };
        decide_ask(&desk.policy, &desk.decision, &asked)
    };
    let AskVerdict::Put(pass) = judged(AskKind::ElicitForm) else { panic!("put") };
    assert!(pass.label().classes().contains(User));
    let AskVerdict::Refuse(denial) = judged(AskKind::Sample) else {
        panic!("nobody is asked about a question")
    };
    assert_eq!(found(denial.judgement()), ["rule.no-sampling confirm"]);
}
