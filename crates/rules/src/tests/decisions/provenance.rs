//! What changes once it is known where the arguments of a call come from.

use highwater_core::annotation::ArgumentRole;
use highwater_core::profile::LocalAct;
use highwater_core::provenance::{ArgumentStanding, CallProvenance, Carries, Ground, Lack, Need, Standing};
use highwater_notation::Words;

use super::*;
use DataClass::{Credentials, Financial, Pii, Regulated};
use Destination::{Public, System};
use FlowMode::{Balanced, Observe, Samos, Strict};
use Outcome::{Benign, Consequential, Irreversible};

const MODES: [FlowMode; 4] = [Observe, Balanced, Strict, Samos];

/// A call of a conversation that tells the user's words, all of it asked for.
fn wanted() -> CallProvenance {
    CallProvenance {
        has_words: true,
        arguments: vec![ArgumentStanding {
            pointer: "/to".into(),
            role: ArgumentRole::Target,
            standing: Standing::Wanted,
            ground: Ground::Words,
            source: None,
        }],
        lacks: Vec::new(),
        lacks_strictly: Vec::new(),
        audience_wanted: true,
        carries: Carries::Anything,
    }
}

/// The same, if `/to` stands in nothing that vouches for it.
fn unasked() -> CallProvenance {
    let lacks = vec![Lack { need: Need::Value, pointer: Some("/to".into()) }];
    let mut given = wanted();
    given.arguments[0].standing = Standing::Unfounded;
    CallProvenance { lacks: lacks.clone(), lacks_strictly: lacks, audience_wanted: false, ..given }
}

fn judged(desk: &Desk, provenance: &CallProvenance) -> Judgement {
    let facts = Facts { provenance: Some(provenance), ..desk.facts() };
    let judgement = judge(&desk.policy, &facts);
    assert_eq!(demands(&desk.policy, &facts), judgement.demands(), "both say the same");
    judgement
}

/// The effect in each mode, in the order observe, balanced, strict, samos.
fn effects(desk: impl Fn(FlowMode) -> Desk, provenance: &CallProvenance) -> [&'static str; 4] {
    MODES.map(|mode| judged(&desk(mode), provenance).effect().as_str())
}

#[test]
fn an_act_that_was_asked_for_is_no_question_in_an_untrusted_session() {
    let acting =
        |outcome| move |mode| Desk::new(mode).having_read_strangers().calling(tool(System, outcome, &[]));
    assert_eq!(effects(acting(Consequential), &wanted()), ["allow"; 4]);
    assert_eq!(effects(acting(Consequential), &unasked()), ["allow", "confirm", "confirm", "allow"]);
    // What cannot be undone takes a passkey in `strict`, whoever asked for it.
    assert_eq!(effects(acting(Irreversible), &wanted()), ["allow", "allow", "passkey", "allow"]);
    assert_eq!(effects(acting(Irreversible), &unasked()), ["allow", "confirm", "passkey", "allow"]);
}

#[test]
fn what_is_known_or_listed_is_enough_for_balanced_alone() {
    let known = CallProvenance { lacks_strictly: unasked().lacks_strictly, ..wanted() };
    let acting = |mode| Desk::new(mode).having_read_strangers().calling(tool(System, Consequential, &[]));
    assert_eq!(effects(acting, &known), ["allow", "allow", "confirm", "allow"]);
}

#[test]
fn where_words_are_told_a_public_act_must_be_asked_for_in_any_session() {
    let acting = |to, outcome| move |mode| Desk::new(mode).calling(tool(to, outcome, &[]));
    assert_eq!(effects(acting(Public, Consequential), &unasked()), ["allow", "confirm", "confirm", "allow"]);
    assert_eq!(effects(acting(Public, Consequential), &wanted()), ["allow"; 4]);
    assert_eq!(effects(acting(Public, Irreversible), &wanted()), ["allow"; 4]);
    // What stays here must be asked for in `strict`, and only what cannot be undone.
    assert_eq!(effects(acting(System, Consequential), &unasked()), ["allow"; 4]);
    assert_eq!(effects(acting(System, Irreversible), &unasked()), ["allow", "allow", "passkey", "allow"]);
    assert_eq!(effects(acting(System, Irreversible), &wanted()), ["allow"; 4]);
    let silent = CallProvenance { has_words: false, ..unasked() };
    assert_eq!(effects(acting(Public, Irreversible), &silent), ["allow"; 4]);
}

#[test]
fn a_page_must_be_asked_for_once_strangers_have_been_read() {
    let fetching = |mode| Desk::new(mode).calling(tool(Public, Benign, &[]));
    assert_eq!(effects(fetching, &unasked()), ["allow", "allow", "confirm", "allow"]);
    assert_eq!(effects(fetching, &wanted()), ["allow"; 4]);
    let doubtful = |mode| fetching(mode).having_read_strangers();
    assert_eq!(effects(doubtful, &unasked()), ["allow", "confirm", "confirm", "allow"]);
    assert_eq!(effects(doubtful, &wanted()), ["allow"; 4]);
    // Without words, as ever: only if the session holds something private.
    let silent = CallProvenance { has_words: false, ..unasked() };
    assert_eq!(effects(doubtful, &silent), ["allow", "allow", "confirm", "allow"]);
}

#[test]
fn what_stays_on_this_machine_and_can_be_undone_is_no_question_in_balanced() {
    for (mode, effect) in [(Balanced, Effect::Allow), (Strict, Effect::Confirm)] {
        let desk = Desk::new(mode).having_read_strangers().calling(tool(System, Consequential, &[]));
        let given = unasked();
        let facts = Facts { provenance: Some(&given), local_act: LocalAct::Undoable, ..desk.facts() };
        assert_eq!(judge(&desk.policy, &facts).effect(), effect, "{mode}");
    }
}

#[test]
fn whom_the_user_named_may_have_private_data_but_nothing_graver() {
    let sending =
        |class| move |mode| Desk::new(mode).having_read(&[class]).calling(tool(Public, Consequential, &[]));
    assert_eq!(effects(sending(Pii), &wanted()), ["allow", "allow", "allow", "block"]);
    assert_eq!(
        effects(|mode| sending(Pii)(mode).having_read_strangers(), &wanted()),
        ["allow", "allow", "allow", "block"]
    );
    assert_eq!(effects(sending(Pii), &unasked()), ["allow", "confirm", "block", "block"]);
    for class in [Credentials, Regulated] {
        assert_eq!(effects(sending(class), &wanted()), ["allow", "block", "block", "block"], "{class}");
    }
    let flagged = |mode| {
        let desk = sending(Pii)(mode);
        Desk { session: desk.session.clone().with_malicious(), ..desk }
    };
    assert_eq!(
        effects(flagged, &wanted()),
        ["allow", "block", "block", "block"],
        "somebody reported an attack"
    );
}

#[test]
fn a_call_that_cannot_carry_what_was_read_is_no_leak() {
    let to = |carries| CallProvenance { carries, audience_wanted: false, ..wanted() };
    let sending =
        |class| move |mode| Desk::new(mode).having_read(&[class]).calling(tool(Public, Consequential, &[]));
    assert_eq!(effects(sending(Pii), &to(Carries::Nothing)), ["allow", "allow", "allow", "block"]);
    let of = |class| to(Carries::Things(Words::only(class)));
    assert_eq!(effects(sending(Pii), &of(Financial)), ["allow", "allow", "allow", "block"]);
    assert_eq!(effects(sending(Pii), &of(Pii)), ["allow", "confirm", "block", "block"]);
    for class in [Credentials, Regulated] {
        assert_eq!(
            effects(sending(class), &to(Carries::Nothing)),
            ["allow", "block", "block", "block"],
            "{class}"
        );
    }
}

#[test]
fn an_audience_is_named_and_a_tool_is_still_not_made_for_it() {
    let accepting_pii = told(&[
        Claim::SetDestination(Possible::only(Public)),
        Claim::SetAccepts(classes(&[Pii])),
        Claim::SetOutcomes(Possible::only(Consequential)),
    ]);
    let desk = Desk::new(Balanced).having_read(&[Financial]).calling(accepting_pii);
    let judgement = judged(&desk, &wanted());
    assert_eq!(found(&judgement), ["flow.write confirm"]);
    assert_eq!(judgement.findings()[0].reasons, [Reason::NotAccepted]);
}

#[test]
fn a_finding_says_what_the_request_lacks_and_what_would_have_helped() {
    let desk = Desk::new(Balanced).having_read_strangers().calling(tool(Public, Consequential, &[]));
    let lacking = unasked();
    let judgement = judged(&desk, &lacking);
    let [finding] = judgement.findings() else { panic!("{judgement:?}") };
    assert_eq!(finding.reasons, [Reason::UntrustedActs, Reason::ValueNotAskedFor]);
    assert_eq!(finding.unasked_arguments().collect::<Vec<_>>(), ["/to"]);
    // In a session that no stranger has spoken to, that is all there is to say.
    let trusted = Desk { session: Label::bottom(), ..desk };
    assert_eq!(judged(&trusted, &lacking).findings()[0].reasons, [Reason::ValueNotAskedFor]);
    let Verdict::Escalate(asked) =
        decide(&trusted.policy, &Facts { provenance: Some(&lacking), ..trusted.facts() })
    else {
        panic!("it is a question")
    };
    let what_if = serde_json::to_value(asked.judgement().what_if()).unwrap();
    assert_eq!(what_if, serde_json::json!([{ "if": "asked-for", "arguments": ["/to"], "effect": "allow" }]));
}

#[test]
fn a_yes_to_whom_something_goes_is_none_to_what_it_says() {
    let desk = Desk::new(Balanced).calling(tool(Public, Consequential, &[]));
    let asked = |given: &CallProvenance| {
        let facts = Facts { provenance: Some(given), ..desk.facts() };
        match decide(&desk.policy, &facts) {
            Verdict::Escalate(asked) => asked.told(),
            other => panic!("{other:?} is no question"),
        }
    };
    let lack = |need, pointer: &str| vec![Lack { need, pointer: Some(pointer.into()) }];
    let whom = asked(&unasked());
    let what = asked(&CallProvenance { lacks: lack(Need::Carrier, "/body"), ..wanted() });
    assert!(whom.covers(&asked(&CallProvenance { lacks: lack(Need::Value, "/cc"), ..wanted() })));
    assert!(!whom.covers(&what) && !what.covers(&whom));
}

#[test]
fn observe_keeps_what_each_mode_would_have_asked() {
    let desk = Desk::new(Observe).calling(tool(Public, Consequential, &[]));
    let judgement = judged(&desk, &unasked());
    let [finding] = judgement.findings() else { panic!("{judgement:?}") };
    assert_eq!(finding.lacks, unasked().lacks);
    let would = judgement.would().unwrap();
    assert_eq!(
        (would.balanced, would.strict, would.samos),
        (Effect::Confirm, Effect::Confirm, Effect::Allow)
    );
    assert!(judged(&desk, &wanted()).findings().is_empty());
}

#[test]
fn a_number_above_its_cap_is_asked_about_in_every_mode() {
    let caps = [highwater_core::annotation::Cap { argument: "amount".into(), most: 100.into() }]
        .into_iter()
        .collect();
    for mode in MODES {
        let desk = Desk::new(mode);
        let paying = |arguments| {
            let facts = Facts { caps: &caps, arguments: Arguments::Known(arguments), ..desk.facts() };
            found(&judge(&desk.policy, &facts))
        };
        assert_eq!(paying(r#"{"amount":101}"#), ["structural.cap confirm"], "{mode}");
        assert_eq!(paying(r#"{"amount":100}"#), [""; 0], "{mode}");
    }
    // A tool that is only listed is not kept from anybody.
    let desk = Desk::new(Balanced);
    let listed = Facts { caps: &caps, arguments: Arguments::Unknown, ..desk.facts() };
    assert_eq!(judge(&desk.policy, &listed).effect(), Effect::Allow);
}

#[test]
fn a_rule_may_look_at_the_weakest_standing() {
    let test = ConditionSource::Test {
        fact: spanned("call.standing"),
        operator: spanned("lessThan"),
        value: ValueSource { span: Span::default(), value: word("wanted") },
    };
    let desk = Desk::new(Balanced).with_rules(&[rule("asked-for-only", "block", test)], &[]);
    assert_eq!(judged(&desk, &wanted()).effect(), Effect::Allow);
    assert_eq!(judged(&desk, &unasked()).effect(), Effect::Block);
    // What nobody found out may be anything.
    assert_eq!(found(&desk.judge()), ["rule.asked-for-only block"]);
}
