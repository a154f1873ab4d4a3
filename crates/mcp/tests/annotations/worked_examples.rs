//! Worked examples: the three mail tools of SEP-1913, a fetcher that has hints alone, and claims that contradict
//! each other.

use highwater_core::annotation::{Authority, Claim, Claims, Contract, NoticeKind, Possible, Source};
use highwater_core::session::label_claims;
use highwater_mcp::annotations::{ServerSays, result_says, tool_claims};

use crate::contract::{annotated, axes, noticed, unverified, verified, weighed};

const READ_DRAFTS: &str = r#""inputMetadata":{"destination":"ephemeral","sensitivity":"none","outcomes":"benign"},"returnMetadata":{"source":"user","sensitivity":["pii","user"]}"#;
const LIST_INBOX: &str = r#""inputMetadata":{"destination":"ephemeral","sensitivity":"none","outcomes":"benign"},"returnMetadata":{"source":"untrustedPublic","sensitivity":["pii","user"]}"#;
const SEND_EMAIL: &str = r#""inputMetadata":{"destination":"public","sensitivity":["pii","user"],"outcomes":"irreversible"},"returnMetadata":{"source":"system","sensitivity":"none"}"#;

/// Destination, accepted classes, outcomes, integrity and the classes of a reply.
fn line(contract: &Contract) -> [String; 5] {
    let axes = axes(contract);
    let of = |axis| axes.get(axis).cloned().unwrap_or_default();
    let classes: Vec<&str> = contract.reply_label().classes().iter().map(|class| class.as_str()).collect();
    [of("destination"), of("accepts"), of("outcomes"), of("integrity"), classes.join(",")]
}

#[test]
fn the_mail_tools_of_a_verified_server() {
    let tool = |said| line(&weighed(&annotated(said), verified()));
    assert_eq!(tool(READ_DRAFTS), ["ephemeral", "none", "benign", "tool", "user,pii,confidential"]);
    assert_eq!(tool(LIST_INBOX), ["ephemeral", "none", "benign", "none", "user,pii"]);
    assert_eq!(tool(SEND_EMAIL), ["public", "user,pii", "irreversible", "tool", ""]);
}

#[test]
fn the_same_tools_of_an_unverified_server_got_no_easier() {
    for (said, accepted, returned) in [
        (READ_DRAFTS, "none", "user,pii,confidential,unclassified"),
        (LIST_INBOX, "none", "user,pii,unclassified"),
        (SEND_EMAIL, "user,pii", "unclassified"),
    ] {
        let contract = weighed(&annotated(said), unverified());
        let [destination, accepts, outcomes, integrity, returns] = line(&contract);
        assert!(destination.ends_with("public") && outcomes.ends_with("irreversible"));
        assert_eq!((accepts.as_str(), integrity.as_str(), returns.as_str()), (accepted, "none", returned));
    }
}

#[test]
fn a_fetcher_with_hints_alone() {
    let contract = weighed(&annotated(r#""readOnlyHint":true,"openWorldHint":true"#), verified());
    let [destination, _, outcomes, integrity, returns] = line(&contract);
    assert!(destination.ends_with("public"));
    assert_eq!((outcomes.as_str(), integrity.as_str(), returns.as_str()), ("benign", "none", "unclassified"));
}

#[test]
fn of_claims_that_contradict_each_other_the_severe_one_stands() {
    let axis = |said: &str, axis: &str| axes(&weighed(&annotated(said), verified())).remove(axis).unwrap();
    let said = r#""openWorldHint":false,"returnMetadata":{"source":"untrustedPublic","sensitivity":"none"}"#;
    assert_eq!(axis(said, "integrity"), "none");
    let said = r#""openWorldHint":true,"inputMetadata":{"destination":"internal"}"#;
    assert_eq!(axis(said, "destination"), "internal,public");
    let said = r#""readOnlyHint":true,"inputMetadata":{"outcomes":"consequential"}"#;
    assert_eq!(axis(said, "outcomes"), "consequential");
    let (_, notices) = noticed(&annotated(r#""readOnlyHint":true,"destructiveHint":true"#), verified());
    assert!(notices.iter().any(|notice| notice.kind == NoticeKind::Contradiction));
}

#[test]
fn the_operators_word_stands_and_is_remarked() {
    let tool = annotated(r#""untrustedContentHint":true"#);
    let mut claims: Claims = tool_claims(&tool, &ServerSays::default(), verified().declaring()).claims;
    claims.push(Claim::SetSource(Possible::only(Source::Internal)), Authority::Operator, "operator");
    let (contract, notices) = Contract::weigh(&claims, &verified());
    assert_eq!(contract.integrity(), highwater_core::trust::TrustLevel::Tool);
    assert!(notices.iter().any(|notice| notice.kind == NoticeKind::OverrideBelowClaim));
}

#[test]
fn the_catalogue_does_not_outweigh_a_warning() {
    let tool = annotated(r#""destructiveHint":true"#);
    let mut claims = tool_claims(&tool, &ServerSays::default(), unverified().declaring()).claims;
    let benign = highwater_core::annotation::Outcome::Benign;
    claims.push(Claim::SetOutcomes(Possible::only(benign)), Authority::Catalogue, "catalogue");
    let (contract, _) = Contract::weigh(&claims, &unverified());
    assert!(contract.hints().destructive);
}

#[test]
fn a_reply_adds_to_what_was_declared() {
    let contract = weighed(
        &annotated(r#""returnMetadata":{"source":"system","sensitivity":["none","pii"]}"#),
        verified(),
    );
    let label = |result: &str| {
        let label = contract.reply_label().clone().joined(&label_claims(&result_says(result).claims));
        label.classes().iter().map(|class| class.as_str()).collect::<Vec<_>>().join(",")
    };
    assert_eq!(label("{}"), "pii");
    assert_eq!(label(r#"{"_meta":{"annotations":{"sensitivity":"financial"}}}"#), "pii,financial");
    let no_claim = r#"{"_meta":{"io.modelcontextprotocol/trust-annotations":{"sensitive":false}}}"#;
    assert_eq!(label(no_claim), "pii");
}
