//! `tools/resolve` in both forms: what is read of an answer, and what it does to a contract.

use highwater_core::annotation::{Authority, Contract, NoticeKind, Outcome, Source};
use highwater_mcp::annotations::{
    ResolveForm, ServerSays, Unresolved, resolvable, resolved_claims, server_says,
};

use crate::contract::{annotated, difference, unverified, verified, weighed};

const EXTENSION: &str = "io.modelcontextprotocol/tool-resolution";

fn narrowed(contract: &Contract, answer: &str, by: Authority) -> Contract {
    contract.narrowed(&resolved_claims(answer, "t", by).unwrap().claims).0
}

#[test]
fn a_server_says_in_which_form_it_resolves() {
    let resolves = |capabilities: &str| server_says(capabilities).resolves;
    assert_eq!(resolves(r#"{"tools":{"resolve":true}}"#), Some(ResolveForm::Tool));
    assert_eq!(
        resolves(&format!(r#"{{"extensions":{{"{EXTENSION}":{{}}}}}}"#)),
        Some(ResolveForm::Extension)
    );
    assert_eq!(
        resolves(&format!(r#"{{"tools":{{"resolve":true}},"extensions":{{"{EXTENSION}":{{}}}}}}"#)),
        Some(ResolveForm::Extension)
    );
    // Settings that nobody knows, and everything that is not `true`, mean no.
    for no in
        [r#"{}"#, r#"{"tools":{"resolve":"true"}}"#, r#"{"tools":{}}"#, r#"{"tools":{"resolve":false}}"#]
    {
        assert_eq!(resolves(no), None, "{no}");
    }
    assert_eq!(resolves(&format!(r#"{{"extensions":{{"{EXTENSION}":{{"v":2}}}}}}"#)), None);
}

#[test]
fn only_a_marked_tool_of_such_a_server_is_resolved() {
    let of = |resolves| ServerSays { resolves, accept_from: None };
    let original = r#"{"name":"t","resolve":true}"#;
    let extension = format!(r#"{{"name":"t","_meta":{{"{EXTENSION}":{{"resolvable":true}}}}}}"#);
    assert_eq!(resolvable(original, &of(Some(ResolveForm::Tool))), Some(ResolveForm::Tool));
    assert_eq!(resolvable(&extension, &of(Some(ResolveForm::Extension))), Some(ResolveForm::Extension));
    assert_eq!(resolvable(original, &of(Some(ResolveForm::Extension))), None);
    assert_eq!(resolvable(&extension, &of(Some(ResolveForm::Tool))), None);
    assert_eq!(resolvable(original, &of(None)), None);
    assert_eq!(resolvable(r#"{"name":"t","resolve":"true"}"#, &of(Some(ResolveForm::Tool))), None);
}

#[test]
fn both_forms_narrow_alike() {
    let wide = weighed(
        &annotated(
            r#""inputMetadata":{"destination":["internal","public"],"sensitivity":"none","outcomes":["benign","irreversible"]},"returnMetadata":{"source":["internal","untrustedPublic"],"sensitivity":["none","user"]}"#,
        ),
        verified(),
    );
    let said = r#""annotations":{"inputMetadata":{"destination":"internal","sensitivity":"none","outcomes":"benign"},"returnMetadata":{"source":"internal","sensitivity":"user"}}"#;
    let tool = narrowed(&wide, &format!(r#"{{"tool":{{"name":"t",{said}}}}}"#), Authority::ResolvedVerified);
    let extension = narrowed(
        &wide,
        &format!(r#"{{"resultType":"complete","name":"t",{said}}}"#),
        Authority::ResolvedVerified,
    );
    assert_eq!(tool, extension);
    assert_eq!(
        difference(&wide, &tool),
        "destination=internal; integrity=tool; outcomes=benign; returns=user; source=internal"
    );
}

#[test]
fn an_unverified_server_resolves_nothing_away() {
    let wide = weighed(&annotated(r#""readOnlyHint":false"#), unverified());
    let answer = r#"{"name":"t","annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false,"idempotentHint":true}}"#;
    let call = narrowed(&wide, answer, Authority::Resolved);
    assert_eq!(call.outcomes().worst(), Outcome::Irreversible);
    assert!(call.destination().contains(highwater_core::annotation::Destination::Public));
}

#[test]
fn a_value_outside_the_static_bounds_stands_beside_them() {
    let closed = weighed(
        &annotated(
            r#""inputMetadata":{"destination":"internal","sensitivity":"none","outcomes":"benign"},"returnMetadata":{"source":"internal","sensitivity":"none"}"#,
        ),
        verified(),
    );
    let answer =
        r#"{"name":"t","annotations":{"returnMetadata":{"source":"untrustedPublic","sensitivity":"none"}}}"#;
    let (call, notices) =
        closed.narrowed(&resolved_claims(answer, "t", Authority::ResolvedVerified).unwrap().claims);
    assert!(call.source().contains(Source::Internal) && call.source().contains(Source::UntrustedPublic));
    assert!(notices.iter().any(|notice| notice.kind == NoticeKind::Drift));
}

#[test]
fn of_a_whole_tool_only_annotations_and_meta_are_taken() {
    let answer = r#"{"tool":{"name":"t","annotations":{"readOnlyHint":true},"_meta":{"secretHint":true},"dependencies":{"network":false},"trust":{"egress":"none"},"inputSchema":{"x":1},"description":"new"}}"#;
    let claims = resolved_claims(answer, "t", Authority::ResolvedVerified).unwrap().claims;
    let vocabularies: Vec<&str> = claims.iter().map(|said| said.from).collect();
    assert_eq!(vocabularies, ["hints", "core"]);
    assert!(claims.iter().all(|said| said.by == Authority::ResolvedVerified));
}

#[test]
fn other_vocabularies_beside_the_annotations_count() {
    let answer = r#"{"resultType":"complete","name":"t","annotations":{},"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"private"}}}"#;
    let static_one =
        weighed(&annotated(r#""returnMetadata":{"source":"system","sensitivity":"none"}"#), verified());
    let call = narrowed(&static_one, answer, Authority::ResolvedVerified);
    assert_eq!(difference(&static_one, &call), "integrity=none; returns=confidential");
}

#[test]
fn an_answer_about_something_else_is_none() {
    let reason = |answer: &str| resolved_claims(answer, "t", Authority::ResolvedVerified).unwrap_err();
    assert_eq!(reason("{}"), Unresolved::NoAnswer);
    assert_eq!(reason(r#"{"tool":"t"}"#), Unresolved::NoAnswer);
    assert_eq!(reason(r#"{"name":"other","annotations":{}}"#), Unresolved::OtherTool);
    assert_eq!(reason(r#"{"annotations":{}}"#), Unresolved::OtherTool);
    assert_eq!(reason(r#"{"tool":{"name":"other","annotations":{}}}"#), Unresolved::OtherTool);
    assert_eq!(reason(r#"{"resultType":"task","name":"t","annotations":{}}"#), Unresolved::Incomplete);
    assert_eq!(reason(r#"{"resultType":1,"name":"t","annotations":{}}"#), Unresolved::Incomplete);
}
