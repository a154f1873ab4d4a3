//! Operator cases: one tool for public and private repositories, told apart by argument and by what came back.

use highwater_notation::{Arguments, Pointer, Words};

use super::*;
use crate::label::Label;
use crate::policy::{Case, CaseSet, Check, Condition, Slot, Span, Subject, Test};
use crate::session::label_reply;

/// `arguments.repo: {in: [website, docs]}`.
fn public_repository() -> Case {
    // In the order in which lists of texts are asked: by length.
    let listed = Check::Text(["docs".into(), "website".into()].into());
    let test = Test::new(Slot(0), None, listed, false, Span::default());
    let repo = Subject::Argument(Pointer::parse("repo").unwrap());
    Case::new(CaseSet::new(vec![Condition::Test(test)], vec![repo]))
}

fn said(claims: impl IntoIterator<Item = Claim>) -> Claims {
    // Whatever authority they come with: what is written in the configuration is the operator's.
    super::claims(claims.into_iter().map(|claim| (claim, Authority::Nothing)))
}

fn either() -> Claims {
    said([
        Claim::SetSource(set([Source::Internal, Source::UntrustedPublic])),
        Claim::SetReturns(Sensitivity::none().or(&Sensitivity::of([DataClass::User]))),
    ])
}

fn public() -> Claims {
    said([Claim::SetSource(Possible::only(Source::UntrustedPublic)), Claim::SetReturns(Sensitivity::none())])
}

fn tool(label: &OperatorLabel) -> Contract {
    Contract::weigh(label.claims(), &VERIFIED).0
}

#[test]
fn an_argument_tells_public_from_private() {
    let label =
        OperatorLabel::new(&either(), vec![ArgumentCase::new(public_repository(), &public())], vec![]);
    let tool = tool(&label);
    let call = |arguments| tool.narrowed(&label.for_call(arguments)).0;
    let website = call(Arguments::Known(r#"{"repo":"website"}"#));
    assert!(!website.reply_label().private() && website.reply_label().untrusted());
    for private in
        [r#"{"repo":"payroll"}"#, "{}", r#"{"repo":["website"]}"#, r#"{"repo":"website "}"#, "not json"]
    {
        let call = call(Arguments::Known(private));
        assert_eq!(call.reply_label().classes(), Words::only(DataClass::User), "{private}");
    }
    assert_eq!(call(Arguments::Unknown).reply_label(), tool.reply_label(), "nobody has chosen yet");
}

#[test]
fn a_case_that_may_hold_tightens_and_does_not_narrow() {
    let asked = said([Claim::SetApproval(ApprovalWish::Confirm), Claim::SetReturns(Sensitivity::none())]);
    let label = OperatorLabel::new(&either(), vec![ArgumentCase::new(public_repository(), &asked)], vec![]);
    let call = |arguments| tool(&label).narrowed(&label.for_call(Arguments::Known(arguments))).0;
    let perhaps = call("{}");
    assert_eq!(perhaps.approval(), ApprovalWish::Confirm);
    assert!(perhaps.reply_label().private());
    assert_eq!(call(r#"{"repo":"payroll"}"#).approval(), ApprovalWish::None);
    assert_eq!(call(r#"{"repo":"docs"}"#).approval(), ApprovalWish::Confirm);
}

fn visibility(equals: Scalar) -> OperatorLabel {
    let pointer = Pointer::parse("_meta/ifc/confidentiality").expect("a pointer");
    OperatorLabel::new(&either(), vec![], vec![ResultCase::new(pointer, equals, &public())])
}

#[test]
fn a_result_tells_public_from_private() {
    let label = visibility(Scalar::Text("public".into()));
    let tool = tool(&label);
    let replied = |result: &str| {
        let (reply, _) = tool.narrowed(&label.for_reply(result));
        label_reply(&reply, &Claims::new(), &Label::bottom(), ReplyKind::Server)
    };
    assert!(!replied(r#"{"content":[],"_meta":{"ifc":{"confidentiality":"public"}}}"#).private());
    for private in [
        r#"{"_meta":{"ifc":{"confidentiality":"private"}}}"#,
        r#"{"_meta":{"ifc":{"confidentiality":["public"]}}}"#,
        r#"{"_meta":{"ifc":{}}}"#,
        "{}",
        "not json",
    ] {
        assert!(replied(private).private(), "{private}");
    }
}

#[test]
fn a_value_is_compared_with_its_type() {
    let yes = r#"{"_meta":{"ifc":{"confidentiality":true}}}"#;
    let one = r#"{"_meta":{"ifc":{"confidentiality":1}}}"#;
    let word = r#"{"_meta":{"ifc":{"confidentiality":"true"}}}"#;
    for (equals, met, missed) in [
        (Scalar::Bool(true), yes, [one, word]),
        (Scalar::Int(1), one, [yes, word]),
        (Scalar::Text("true".into()), word, [yes, one]),
    ] {
        let label = visibility(equals);
        assert!(!label.for_reply(met).is_empty());
        assert!(missed.iter().all(|result| label.for_reply(result).is_empty()));
    }
}

#[test]
fn several_cases_may_look_at_one_place() {
    let pointer = || Pointer::parse("structuredContent/private").expect("a pointer");
    let private = said([Claim::SetReturns(Sensitivity::of([DataClass::User]))]);
    let label = OperatorLabel::new(
        &either(),
        vec![],
        vec![
            ResultCase::new(pointer(), Scalar::Bool(true), &private),
            ResultCase::new(pointer(), Scalar::Bool(false), &public()),
        ],
    );
    assert_eq!(label.for_reply(r#"{"structuredContent":{"private":true}}"#).len(), 1);
    assert_eq!(label.for_reply(r#"{"structuredContent":{"private":false}}"#).len(), 2);
    assert_eq!(label.for_reply(r#"{"structuredContent":{}}"#).len(), 0);
}

#[test]
fn a_mild_contract_is_tightened_by_what_came_back() {
    let pointer = Pointer::parse("structuredContent/private").expect("a pointer");
    let private = said([
        Claim::SetSource(Possible::only(Source::Internal)),
        Claim::SetReturns(Sensitivity::of([DataClass::Confidential])),
    ]);
    let label =
        OperatorLabel::new(&public(), vec![], vec![ResultCase::new(pointer, Scalar::Bool(true), &private)]);
    let tool = tool(&label);
    assert!(!tool.reply_label().private());
    let (reply, notices) = tool.narrowed(&label.for_reply(r#"{"structuredContent":{"private":true}}"#));
    assert!(reply.reply_label().classes().contains(DataClass::Confidential));
    assert!(reply.reply_label().untrusted(), "the mild case's doubt stays");
    assert!(
        !notices.iter().any(|notice| notice.kind == NoticeKind::Drift),
        "this is what the operator wrote"
    );
}
