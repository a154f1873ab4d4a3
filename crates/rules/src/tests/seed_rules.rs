//! The three rules that seed 000 prints, word for word, decide its scenarios.

use highwater_core::annotation::{Claim, DataClass, Destination, Outcome, Possible};
use highwater_core::label::Label;
use highwater_core::policy::{Effect, Phase, ResponseFacts, RuleSet};

use super::support::{Call, rules};

fn printed() -> RuleSet {
    rules(
        r#"{
  "rules": [
    {
      "name": "block-open-world-to-external",
      "conditions": {
        "and": [
          { "fact": "request.annotations.openWorldHint", "equals": true },
          { "fact": "tool.annotations.inputMetadata.destination", "equals": "public" }
        ]
      },
      "effect": "block"
    },
    {
      "name": "escalate-malicious",
      "conditions": { "fact": "response.annotations.maliciousActivityHint", "equals": true },
      "effect": "escalate"
    },
    {
      "name": "confirm-irreversible-actions",
      "conditions": { "fact": "tool.annotations.inputMetadata.outcomes", "equals": "irreversible" },
      "effect": "escalate"
    }
  ]
}"#,
    )
}

fn mail(destination: Destination, outcome: Outcome) -> Call {
    Call::of("send").with([
        Claim::SetDestination(Possible::only(destination)),
        Claim::SetOutcomes(Possible::only(outcome)),
    ])
}

fn open_world() -> Label {
    Label::bottom().with_open_world()
}

fn block() -> (String, Effect) {
    ("block-open-world-to-external".to_owned(), Effect::Block)
}

fn confirm() -> (String, Effect) {
    ("confirm-irreversible-actions".to_owned(), Effect::Confirm)
}

#[test]
fn a_page_is_not_mailed_out() {
    let call = mail(Destination::Public, Outcome::Irreversible).in_session(open_world());
    assert_eq!(call.hits(&printed(), Phase::Call), [block(), confirm()]);
}

#[test]
fn a_page_may_be_kept_inside() {
    let call = mail(Destination::Internal, Outcome::Benign).in_session(open_world());
    assert_eq!(call.hits(&printed(), Phase::Call), []);
}

#[test]
fn the_salary_sheet_to_the_accountant_is_asked_about() {
    let session = Label::bottom().with_class(DataClass::Financial);
    let call = mail(Destination::Public, Outcome::Irreversible).in_session(session);
    assert_eq!(call.hits(&printed(), Phase::Call), [confirm()]);
}

#[test]
fn a_malicious_reply_is_held() {
    let response = ResponseFacts { malicious: true, ..ResponseFacts::default() };
    let call = mail(Destination::Public, Outcome::Irreversible).answered(response);
    assert_eq!(call.hits(&printed(), Phase::Result), [("escalate-malicious".to_owned(), Effect::Confirm)]);
    let call = mail(Destination::Public, Outcome::Irreversible).answered(ResponseFacts::default());
    assert_eq!(call.hits(&printed(), Phase::Result), []);
}

#[test]
fn a_tool_nobody_described_may_do_all_of_it() {
    let call = Call::of("send").in_session(open_world());
    assert_eq!(call.hits(&printed(), Phase::Call), [block(), confirm()]);
}
