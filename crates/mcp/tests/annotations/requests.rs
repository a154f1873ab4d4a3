//! What clients say of their context, and the wire form of who contributed to it.

use std::sync::Arc;

use highwater_core::session::{Assurance, label_claims};
use highwater_mcp::annotations::{
    ServerSays, contributors, request_says, server_says, tool_claims, without_violation, write_contributors,
};

const ORIGIN: &str = "io.modelcontextprotocol/flowOrigin";

#[test]
fn request_annotations_taint_the_session() {
    let said = request_says(
        r#"{"progressToken":1,"annotations":{"openWorldHint":true,"attribution":["https://a.example"]}}"#,
    );
    let label = label_claims(&said.claims);
    assert!(label.open_world() && label.untrusted());
    assert_eq!(label.origins().contains("https://a.example"), Some(true));
    assert!(request_says(r#"{"annotations":{"openWorldHint":false}}"#).claims.is_empty());
    assert!(request_says(r#"{"progressToken":1}"#).claims.is_empty());
}

#[test]
fn an_origin_label_taints_by_its_weakest_contributor() {
    for (label, untrusted) in [
        (r#"{"contributors":[{"principal":"urn:mcp:user","assurance":"user"}],"complete":true}"#, false),
        (r#"{"contributors":[{"assurance":"host"},{"assurance":"verified"}],"complete":true}"#, false),
        (r#"{"contributors":[{"assurance":"user"},{"assurance":"tofu"}],"complete":true}"#, true),
        (r#"{"contributors":[{"assurance":"unverified"}],"complete":true}"#, true),
        (r#"{"contributors":[{"assurance":"golden"}],"complete":true}"#, true),
        (r#"{"contributors":[{"principal":"https://a.example"}],"complete":true}"#, true),
        (r#"{"contributors":[{"assurance":"user"}],"complete":false}"#, true),
        (r#"{"contributors":[{"assurance":"user"}],"complete":"true"}"#, true),
        (r#"{"contributors":[{"assurance":"user"}]}"#, true),
        (r#"{"complete":true}"#, true),
        (r#""me""#, true),
    ] {
        let said = request_says(&format!(r#"{{"{ORIGIN}":{label}}}"#));
        assert_eq!(label_claims(&said.claims).untrusted(), untrusted, "{label}");
        assert!(said.contributors.is_some());
    }
    // Without a label nothing is claimed; it is for the upstream to assume the worst.
    assert_eq!(request_says("{}").contributors, None);
}

#[test]
fn principals_become_origins() {
    let said = request_says(&format!(
        r#"{{"{ORIGIN}":{{"contributors":[{{"principal":"https://a.example/mcp","assurance":"verified"}}],"complete":true}}}}"#
    ));
    assert_eq!(label_claims(&said.claims).origins().contains("https://a.example/mcp"), Some(true));
}

#[test]
fn an_origin_label_is_read_as_it_is_written() {
    let written = r#"{"contributors":[{"principal":"urn:mcp:user","assurance":"user"},{"principal":"https://a.example","assurance":"tofu"},{"principal":"https://b.example","assurance":"tofu"},{"assurance":"unverified"}],"complete":true}"#;
    let all = contributors(written);
    assert_eq!(write_contributors(&all, true), written);
    assert_eq!(
        write_contributors(&all, false),
        r#"{"contributors":[{"assurance":"user"},{"assurance":"tofu"},{"assurance":"unverified"}],"complete":true}"#
    );
    assert_eq!(all.known().filter(|one| one.assurance == Assurance::Tofu).count(), 2);
    assert_eq!(write_contributors(&contributors("{}"), true), r#"{"contributors":[],"complete":false}"#);
}

#[test]
fn a_tools_policy_replaces_its_servers() {
    let accepts = |tool: &str, capabilities: &str| {
        let reading =
            tool_claims(tool, &server_says(capabilities), highwater_core::annotation::Authority::Declared);
        let trust = highwater_core::trust::ServerTrust::default();
        let (contract, _) = highwater_core::annotation::Contract::weigh(&reading.claims, &trust);
        contract.accept_from().map(|tokens| tokens.iter().map(Arc::to_string).collect::<Vec<_>>().join(","))
    };
    let plain = r#"{"name":"t"}"#;
    let own = r#"{"name":"t","flowPolicy":{"acceptFrom":["unverified"]}}"#;
    assert_eq!(accepts(plain, "{}"), None);
    assert_eq!(accepts(plain, r#"{"flow":{"policy":false}}"#), None);
    assert_eq!(accepts(plain, r#"{"flow":{"origin":true}}"#), None);
    assert_eq!(accepts(plain, r#"{"flow":{"policy":true}}"#).as_deref(), Some("host,self,user,verified"));
    let stated = r#"{"flow":{"policy":true,"default":{"acceptFrom":["self"]}}}"#;
    assert_eq!(accepts(plain, stated).as_deref(), Some("self"));
    assert_eq!(accepts(own, stated).as_deref(), Some("unverified"));
    assert_eq!(accepts(own, "{}").as_deref(), Some("unverified"));
    // What cannot be read admits nobody.
    assert_eq!(
        accepts(plain, r#"{"flow":{"policy":true,"default":{"acceptFrom":"all"}}}"#).as_deref(),
        Some("")
    );
    assert_eq!(accepts(r#"{"name":"t","flowPolicy":{}}"#, "{}").as_deref(), Some(""));
    assert_eq!(accepts(r#"{"name":"t","flowPolicy":{"acceptFrom":[1]}}"#, stated).as_deref(), Some(""));
    assert_eq!(ServerSays::default().accept_from, None);
}

#[test]
fn a_policy_violation_stays_with_us() {
    let error = r#"{"code":-32003,"message":"no","data":{"io.modelcontextprotocol/flowPolicyViolation":{"contributor":"x"},"a":1}}"#;
    let (stripped, violation) = without_violation(error).unwrap();
    assert_eq!(stripped, r#"{"code":-32003,"message":"no","data":{"a":1}}"#);
    assert_eq!(violation, r#"{"contributor":"x"}"#);
    assert_eq!(without_violation(r#"{"code":1,"message":"m"}"#), None);
}
