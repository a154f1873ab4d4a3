//! Waivers lower a named finding to a question, for a while, where their condition certainly holds.

use highwater_core::annotation::{Claim, DataClass, Destination, Possible};
use highwater_core::label::Label;
use highwater_core::policy::{Effect, FlowRule, FlowViolations, Phase, RuleSet};
use highwater_notation::Timestamp;

use super::support::{Call, File, rules};
use crate::error::RuleErrorCode as Code;

fn auditor() -> RuleSet {
    rules(
        r#"{"rules":[{"name":"finance-stays-inside","effect":"passkey","message":"Financial data would leave the company.",
            "when":{"session.sensitivity":{"contains":"financial"},"tool.annotations.inputMetadata.destination":"public"}}],
          "waivers":[{"waive":["flow.write","rule.finance-stays-inside"],
            "when":{"tool.id":"mail__send","arguments.to":{"matches":"*@auditor.example"},"session.malicious":false},
            "until":"2027-01-31","reason":"Quarterly figures go to the auditor."}]}"#,
    )
}

fn to(recipient: &str) -> Call {
    Call::of("send")
        .with([Claim::SetDestination(Possible::only(Destination::Public))])
        .in_session(Label::bottom().with_class(DataClass::Financial))
        .arguing(&format!(r#"{{"to":"{recipient}"}}"#))
}

fn effect(call: &Call) -> Option<Effect> {
    call.hits(&auditor(), Phase::Call).first().map(|(_, effect)| *effect)
}

#[test]
fn a_waiver_lowers_a_rule_to_a_question() {
    assert_eq!(effect(&to("kim@auditor.example")), Some(Effect::Confirm));
    assert_eq!(effect(&to("kim@evil.example")), Some(Effect::Passkey));
}

#[test]
fn a_waiver_needs_certainty() {
    assert_eq!(effect(&to("x").arguing("{}")), Some(Effect::Passkey));
    let listed = to("kim@auditor.example");
    let facts =
        highwater_core::policy::Facts { arguments: highwater_notation::Arguments::Unknown, ..listed.facts() };
    assert_eq!(super::support::hits(&auditor(), Phase::Call, &facts)[0].1, Effect::Passkey);
}

#[test]
fn a_waiver_does_not_apply_to_a_label_that_may_have_risen() {
    let call = to("kim@auditor.example");
    let facts = call.facts().at_worst();
    assert_eq!(super::support::hits(&auditor(), Phase::Call, &facts)[0].1, Effect::Passkey);
    let malicious = call.in_session(Label::bottom().with_class(DataClass::Financial).with_malicious());
    assert_eq!(effect(&malicious), Some(Effect::Passkey));
}

#[test]
fn a_waiver_ends() {
    let mut call = to("kim@auditor.example");
    let end = auditor().waivers()[0].until();
    call.now = Timestamp(end.0 - 1);
    assert_eq!(effect(&call), Some(Effect::Confirm));
    call.now = end;
    assert_eq!(effect(&call), Some(Effect::Passkey));
}

#[test]
fn a_waiver_reaches_the_flow_rules_it_names() {
    let (set, call) = (auditor(), to("kim@auditor.example"));
    let facts = call.facts();
    let mut reading = set.read(Phase::Call, &facts, FlowViolations::EMPTY.with(FlowRule::Write));
    let waiver = reading.waiver_of_flow(FlowRule::Write).unwrap();
    assert_eq!(&**waiver.reason(), "Quarterly figures go to the auditor.");
    assert!(reading.waiver_of_flow(FlowRule::Act).is_none());
    assert_eq!(reading.explain_waiver(waiver).len(), 3);
}

#[test]
fn what_can_be_wrong_with_a_waiver() {
    let waiver = |members: &str| {
        format!(
            r#"{{"rules":[{{"name":"money","effect":"block","conditions":{{"fact":"session.sensitivity","contains":"financial"}}}},
                {{"name":"mild","effect":"redact","conditions":{{"fact":"response.annotations.openWorldHint","equals":true}}}}],
                "waivers":[{{{members}}}]}}"#
        )
    };
    let when = r#""when":{"tool.id":"x"}"#;
    let rest = r#""until":"2027-01-31","reason":"because""#;
    for (members, code, at, help) in [
        (
            format!(r#""waive":["flow.wirte"],{when},{rest}"#),
            Code::WaiverTarget,
            "flow.wirte",
            "did you mean `flow.write`?",
        ),
        (
            format!(r#""waive":["rule.mony"],{when},{rest}"#),
            Code::WaiverTarget,
            "rule.mony",
            "did you mean `rule.money`?",
        ),
        (
            format!(r#""waive":["structural.grant"],{when},{rest}"#),
            Code::WaiverStructural,
            "structural.grant",
            "structural findings are about what is granted at all; change the grant instead",
        ),
        (
            format!(r#"{when},{rest}"#),
            Code::WaiverIncomplete,
            "\"waivers\"",
            "say the findings it lowers, such as `flow.write`",
        ),
        (
            format!(r#""waive":["flow.read"],{rest}"#),
            Code::WaiverIncomplete,
            "\"waivers\"",
            "say the circumstances in which it applies",
        ),
        (
            format!(r#""waive":["flow.read"],{when},"reason":"because""#),
            Code::WaiverIncomplete,
            "\"waivers\"",
            "say the last day it is in force, such as `2027-01-31`",
        ),
        (
            format!(r#""waive":["flow.read"],{when},"until":"2027-01-31""#),
            Code::WaiverIncomplete,
            "\"waivers\"",
            "say why it is right",
        ),
        (
            format!(r#""waive":["flow.read"],{when},"until":"2027-01-31","reason":" ""#),
            Code::WaiverIncomplete,
            "\"waivers\"",
            "say why it is right",
        ),
        (
            format!(r#""waive":["flow.read"],{when},"until":"soon","reason":"because""#),
            Code::WrongType,
            "soon",
            "write a day, `2027-01-31`, or a moment in UTC, `2027-01-31T12:00:00Z`",
        ),
        (
            format!(r#""waive":["flow.read"],"when":{{"session.private":true}},{rest}"#),
            Code::NonMonotone,
            "true",
            "a waiver may ask only that the session has not taken in something; turn the test round",
        ),
        (
            format!(r#""waive":["flow.read"],"when":{{"response.annotations.openWorldHint":false}},{rest}"#),
            Code::NoCommonPhase,
            "flow.read",
            "`flow.read` is found in call, resource: ask for what is known there",
        ),
    ] {
        let file = File::new(&waiver(&members));
        let errors = file.compile().unwrap_err();
        let shown: Vec<_> =
            errors.iter().map(|error| (error.code, file.at(error.span), error.suggestion.as_str())).collect();
        assert_eq!(shown, [(code, at, help)], "{members}");
    }
}

#[test]
fn a_waiver_of_a_mild_rule_is_warned_of() {
    let file = File::new(
        r#"{"rules":[{"name":"mild","effect":"confirm","conditions":{"fact":"tool.name","equals":"x"}}],
          "waivers":[{"waive":["rule.mild"],"when":{"tool.id":"x"},"until":"2027-01-31","reason":"because"}]}"#,
    );
    assert_eq!(
        file.check().unwrap().warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(),
        [Code::WaiverWithoutEffect]
    );
}
