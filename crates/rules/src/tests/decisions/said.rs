//! What is said: to the model almost nothing, to people everything and the way out.

use highwater_core::annotation::Axis;
use highwater_notation::Words;

use super::*;
use DataClass::{Credentials, Pii};

const TOLD: [Asking; 5] = [
    Asking::NotNeeded,
    Asking::Impossible,
    Asking::Answered(Answer::Decline),
    Asking::Answered(Answer::Cancel),
    Asking::Answered(Answer::Silence),
];

#[test]
fn the_model_reads_no_internals() {
    for asking in TOLD {
        for effect in [Effect::Confirm, Effect::Passkey, Effect::Block] {
            let text = refusal(effect, asking, "mail__send");
            assert!(text.contains("`mail__send`") && text.len() < 200, "{text}");
            for word in
                ["rule", "flow", "label", "class", "destination", "untrusted", "private", "passkey", "policy"]
            {
                assert!(!text.contains(word), "{text} names {word}");
            }
        }
    }
    assert!(!withheld("x").contains("rule"));
}

#[test]
fn a_refusal_that_only_a_passkey_could_open_reads_like_any_other() {
    for asking in TOLD {
        assert_eq!(refusal(Effect::Passkey, asking, "x"), refusal(Effect::Confirm, asking, "x"));
    }
}

#[test]
fn a_decision_says_what_would_have_changed_it() {
    let what_if = |desk: Desk| match desk.decide() {
        Verdict::Allow(permit) => permit.judgement().what_if().to_vec(),
        Verdict::Escalate(escalation) => escalation.judgement().what_if().to_vec(),
        Verdict::Block(denial) => denial.judgement().what_if().to_vec(),
    };
    let desk =
        || Desk::new(FlowMode::Balanced).calling(tool(Destination::Public, Outcome::Consequential, &[]));
    assert_eq!(what_if(desk()), []);
    let private = desk().having_read(&[Pii]);
    let allowed = |otherwise| WhatIf { otherwise, arguments: Vec::new(), effect: Effect::Allow };
    assert_eq!(what_if(private), [allowed(Otherwise::NothingPrivate)]);
    let both = desk().having_read(&[Pii]).having_read_strangers();
    assert_eq!(what_if(both), [allowed(Otherwise::NothingRead)]);
    let grave = desk().having_read(&[Credentials]).having_read_strangers();
    let asked =
        WhatIf { otherwise: Otherwise::NothingPrivate, arguments: Vec::new(), effect: Effect::Confirm };
    assert_eq!(what_if(grave), [asked, allowed(Otherwise::NothingRead)]);
    let structural = Desk { virtual_server: VirtualServerId::new("other"), ..desk() }.settled();
    assert_eq!(what_if(structural.having_read(&[Pii])), []);
}

#[test]
fn every_finding_that_can_be_helped_names_a_way_out() {
    let ways = |desk: &Desk| -> Vec<Vec<WayOut>> {
        let undeclared = desk.contract.undeclared();
        desk.judge().findings().iter().map(|finding| WayOut::of(finding, undeclared)).collect()
    };
    let desk = Desk::new(FlowMode::Balanced).having_read(&[Pii]).calling(Contract::unknown());
    let expected = vec![
        WayOut::Approve,
        WayOut::NewSession,
        WayOut::Reset,
        WayOut::Label(Axis::Destination),
        WayOut::Clear,
    ];
    assert_eq!(ways(&desk), [expected]);
    let ruled = Desk::new(FlowMode::Balanced).calling(Contract::unknown()).with_rules(
        &[rule("undone", "block", test("tool.annotations.inputMetadata.outcomes", word("irreversible")))],
        &[],
    );
    let expected = vec![
        WayOut::Label(Axis::Outcomes),
        WayOut::ChangeRule("undone".into()),
        WayOut::Waive(FindingId::Rule("undone".into())),
    ];
    assert_eq!(ways(&ruled), [expected]);
    for gate in FindingId::gates().filter(|gate| !["structural.ask", "structural.reply"].contains(gate)) {
        let id = FindingId::parse(gate).unwrap();
        let finding = Finding::new(id, Effect::Block, Reason::NobodyToAsk);
        let ways = WayOut::of(&finding, Words::EMPTY);
        assert!(!ways.is_empty(), "{gate}");
        assert!(ways.iter().all(|way| !way.to_string().is_empty()));
    }
}
