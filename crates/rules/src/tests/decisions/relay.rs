//! A server's own demand for a verified approval: met by evidence that goes to it, and by nothing else; and that evidence
//! meets nothing else.

use highwater_core::annotation::ApprovalWish;
use highwater_core::approval::{Evidence, RelayedApproval, RelayedCall, RelayedChallenge, relay};
use highwater_core::id::ChallengeId;
use highwater_notation::CanonicalArguments;

use super::*;

fn told(claims: &[Claim]) -> Contract {
    let mut all = Claims::new();
    for claim in claims {
        all.push(claim.clone(), Authority::Operator, "test");
    }
    all.push(Claim::RequiresVerified, Authority::Declared, "test");
    Contract::weigh(&all, &ServerTrust::default()).0
}

fn relayed(principal: &str, tool: &str, arguments: &str) -> RelayedApproval {
    agreed(principal, tool, arguments, None)
}

/// The same where a person was asked before the challenge was.
fn agreed(principal: &str, tool: &str, arguments: &str, agreement: Option<Agreement>) -> RelayedApproval {
    let (principal, upstream) = (Principal::new(principal), UpstreamId::new("mail"));
    let arguments = CanonicalArguments::read(Some(arguments)).unwrap();
    let call = RelayedCall {
        principal: &principal,
        upstream: &upstream,
        tool,
        definition: None,
        arguments: &arguments,
    };
    let challenge = RelayedChallenge::issued(ChallengeId::new("c"), &call).agreed(agreement);
    let evidence = Evidence::parse(Some(r#"{"method":"webauthn","challengeId":"c","response":{}}"#)).unwrap();
    relay(&evidence, Some(&challenge), &call).unwrap()
}

fn findings(desk: &Desk, relayed: Option<&RelayedApproval>) -> Vec<Finding> {
    let facts = Facts { relayed, ..desk.facts() };
    let judged = judge(&desk.policy, &facts);
    assert_eq!(demands(&desk.policy, &facts), judged.demands(), "both say the same");
    judged.findings().iter().filter(|finding| finding.id == FindingId::Approval).cloned().collect()
}

#[test]
fn g17_a_servers_own_gate_is_met_by_evidence_for_exactly_this_call() {
    let desk = Desk::new(FlowMode::Observe).calling(told(&[]));
    let required = |relayed: Option<&RelayedApproval>| {
        let found = findings(&desk, relayed);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].effect == Effect::Passkey,
            found[0].reasons == [Reason::VerifiedApprovalRequired]
        );
        found[0].effect == Effect::Passkey
    };
    assert!(required(None));
    assert!(!required(Some(&relayed("agent", "send", "{}"))));
    assert!(required(Some(&relayed("somebody", "send", "{}"))));
    assert!(required(Some(&relayed("agent", "drop", "{}"))));
    assert!(required(Some(&relayed("agent", "send", r#"{"a":1}"#))));
}

#[test]
fn g17_what_the_server_verifies_answers_nothing_that_is_asked_here() {
    for (wish, effect) in [(ApprovalWish::Confirm, Effect::Confirm), (ApprovalWish::Passkey, Effect::Passkey)]
    {
        let desk = Desk::new(FlowMode::Observe).calling(told(&[Claim::SetApproval(wish)]));
        let found = findings(&desk, Some(&relayed("agent", "send", "{}")));
        let effects: Vec<_> = found.iter().map(|finding| finding.effect).collect();
        assert_eq!(effects, [Effect::Allow, effect]);
        assert_eq!(found[0].reasons, [Reason::VerifiedApprovalRelayed]);
    }
}

#[test]
fn g17_nobody_is_asked_here_for_what_only_the_server_can_open() {
    let desk = Desk::new(FlowMode::Observe).calling(told(&[]));
    assert!(matches!(desk.decide(), Verdict::Block(_)));
    // Not even by somebody who agreed to everything that was asked of the same call.
    let asking = Desk::new(FlowMode::Observe).calling({
        let mut claims = Claims::new();
        claims.push(Claim::SetApproval(ApprovalWish::Confirm), Authority::Operator, "test");
        Contract::weigh(&claims, &ServerTrust::default()).0
    });
    let verdict = decide_approved(&desk.policy, &desk.facts(), asking.approval());
    assert!(matches!(verdict, Verdict::Block(_)), "{verdict:?}");
    let relayed = relayed("agent", "send", "{}");
    let facts = Facts { relayed: Some(&relayed), ..desk.facts() };
    assert!(matches!(decide(&desk.policy, &facts), Verdict::Allow(_)));
}

#[test]
fn what_its_server_verifies_is_never_sent_twice() {
    let claims =
        [Claim::Hints(highwater_core::annotation::Hints { read_only: Some(true), ..Default::default() })];
    let desk = Desk::new(FlowMode::Observe).calling(told(&claims));
    assert_eq!(Conduct::of(&desk.action, &desk.contract), Conduct::Once);
}

#[test]
fn g17_what_was_agreed_to_with_a_challenge_answers_its_call_and_nothing_more() {
    let desk = |wish| Desk::new(FlowMode::Observe).calling(told(&[Claim::SetApproval(wish)]));
    let (confirm, passkey) = (desk(ApprovalWish::Confirm), desk(ApprovalWish::Passkey));
    let asked = |desk: &Desk, relayed: &RelayedApproval| {
        let facts = Facts { relayed: Some(relayed), ..desk.facts() };
        match decide(&desk.policy, &facts) {
            Verdict::Escalate(escalation) => escalation,
            other => panic!("{other:?}"),
        }
    };
    let plain = relayed("agent", "send", "{}");
    let escalation = asked(&confirm, &plain);
    let question = escalation.question();
    let approval = escalation.answered(question, Answer::Approve).unwrap();
    let facts = Facts { relayed: Some(&plain), ..confirm.facts() };
    let Verdict::Allow(permit) = decide_approved(&confirm.policy, &facts, approval) else {
        panic!("no permit")
    };
    let agreement = permit.agreement().cloned();
    assert!(agreement.is_some());

    let mine = agreed("agent", "send", "{}", agreement.clone());
    let approval = asked(&confirm, &mine).agreed(&mine).unwrap();
    let facts = Facts { relayed: Some(&mine), ..confirm.facts() };
    assert!(matches!(decide_approved(&confirm.policy, &facts, approval), Verdict::Allow(_)));
    // Nothing was agreed to, somebody else did, or it is worth too little.
    assert!(asked(&confirm, &plain).agreed(&plain).is_err());
    let theirs = agreed("somebody", "send", "{}", agreement);
    assert!(asked(&confirm, &mine).agreed(&theirs).is_err());
    assert!(asked(&passkey, &mine).agreed(&mine).is_err());
}
