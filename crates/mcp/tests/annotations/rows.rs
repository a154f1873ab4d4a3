//! The mapping, row by row: the protocol's own hints, SEP-1913 and the schemes of data.
//!
//! Each row is weighed three times: from a verified server alone, from a verified server that declares everything
//! else mild, and from an unverified server. What differs from the same server's silence, or from the mild
//! declaration, is written beside it.

use highwater_core::annotation::Contract;

use crate::contract::{annotated, difference, silence, unverified, verified, weighed};

/// A tool of which everything mild is declared.
const MILD: &str = r#""inputMetadata":{"destination":"ephemeral","sensitivity":["pii","user"],"outcomes":"benign"},"returnMetadata":{"source":"system","sensitivity":"none"}"#;

/// What is said; the difference it makes alone, beside a mild declaration, and from an unverified server.
pub(crate) type Row = (&'static str, &'static str, &'static str, &'static str);

/// Checks a table, and shows every row that is not as written.
pub(crate) fn check(rows: &[Row]) {
    let wrong: Vec<String> = rows.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn wrong((said, alone, beside_mild, unbelieved): &Row) -> Option<String> {
    let mild = weighed(&annotated(MILD), verified());
    // In the other place, so that a member of the same name is said twice.
    let laid = format!(r#"{{"name":"t","annotations":{{{MILD}}},"_meta":{{"annotations":{{{said}}}}}}}"#);
    let found = [
        difference(&silence(verified()), &weighed(&annotated(said), verified())),
        difference(&mild, &weighed(&laid, verified())),
        difference(&silence(unverified()), &weighed(&annotated(said), unverified())),
    ];
    let expected = [*alone, *beside_mild, *unbelieved];
    (found != expected).then(|| format!("{said}\n   is {found:?}\n  not {expected:?}"))
}

#[test]
fn core_hints() {
    check(&[
        (r#""readOnlyHint":true"#, "outcomes=benign", "", ""),
        (r#""readOnlyHint":false"#, "", "", ""),
        (r#""destructiveHint":true"#, "", "outcomes=benign,irreversible", ""),
        (
            r#""destructiveHint":false,"openWorldHint":false"#,
            "accepts=user,pii,financial,regulated,named,<every>; destination=user; outcomes=consequential; source=system,user,internal",
            "",
            "",
        ),
        (
            r#""readOnlyHint":true,"destructiveHint":false,"openWorldHint":false"#,
            "destination=ephemeral; outcomes=benign; source=system,user,internal",
            "",
            "",
        ),
        (r#""destructiveHint":false"#, "outcomes=consequential", "", ""),
        (
            r#""destructiveHint":false,"openWorldHint":true"#,
            "integrity=none; outcomes=consequential",
            "destination=ephemeral,public; integrity=none; source=system,untrustedPublic",
            "",
        ),
        (
            r#""readOnlyHint":true,"destructiveHint":true"#,
            "outcomes=benign,irreversible",
            "outcomes=benign,irreversible",
            "",
        ),
        (
            r#""openWorldHint":true"#,
            "integrity=none",
            "destination=ephemeral,public; integrity=none; source=system,untrustedPublic",
            "",
        ),
        (
            r#""openWorldHint":false"#,
            "destination=ephemeral,system,user,internal; source=system,user,internal",
            "",
            "",
        ),
        (r#""idempotentHint":true"#, "idempotent=true", "idempotent=true", ""),
        (r#""idempotentHint":false"#, "", "", ""),
        (r#""title":"Read only, trust me""#, "", "", ""),
    ]);
}

#[test]
fn sep_1913_blocks() {
    check(&[
        (
            r#""inputMetadata":{"destination":"internal"}"#,
            "destination=internal",
            "destination=ephemeral,internal",
            "",
        ),
        (
            r#""inputMetadata":{"destination":["user","public"]}"#,
            "destination=user,public",
            "destination=ephemeral,user,public",
            "",
        ),
        (r#""inputMetadata":{"sensitivity":"pii"}"#, "accepts=pii", "accepts=pii", "accepts=pii"),
        (
            r#""inputMetadata":{"sensitivity":["none","user","financial"]}"#,
            "accepts=none,user,financial",
            "accepts=none,user",
            "accepts=none,user,financial",
        ),
        (r#""inputMetadata":{"sensitivity":"none"}"#, "accepts=none", "accepts=none", "accepts=none"),
        (
            r#""inputMetadata":{"outcomes":"consequential"}"#,
            "outcomes=consequential",
            "outcomes=benign,consequential",
            "",
        ),
        (
            r#""inputMetadata":{"outcomes":["benign","irreversible"]}"#,
            "outcomes=benign,irreversible",
            "outcomes=benign,irreversible",
            "",
        ),
        (r#""returnMetadata":{"source":"system"}"#, "source=system", "", "source=system,untrustedPublic"),
        (
            r#""returnMetadata":{"source":"user"}"#,
            "source=user",
            "source=system,user",
            "source=user,untrustedPublic",
        ),
        (
            r#""returnMetadata":{"source":"trustedPublic"}"#,
            "source=trustedPublic",
            "source=system,trustedPublic",
            "source=trustedPublic,untrustedPublic",
        ),
        (
            r#""returnMetadata":{"source":["internal","untrustedPublic"]}"#,
            "integrity=none; source=internal,untrustedPublic",
            "integrity=none; source=system,internal,untrustedPublic",
            "source=internal,untrustedPublic",
        ),
        (r#""returnMetadata":{"sensitivity":"none"}"#, "returns=none", "", ""),
        (
            r#""returnMetadata":{"sensitivity":["none","pii"]}"#,
            "returns=none,pii",
            "returns=none,pii",
            "returns=pii,unclassified",
        ),
        (
            r#""returnMetadata":{"sensitivity":"credentials"}"#,
            "returns=credentials",
            "returns=none,credentials",
            "returns=credentials,unclassified",
        ),
        (
            r#""returnMetadata":{"sensitivity":{"regulated":{"scopes":["HIPAA"]}}}"#,
            "returns=regulated,<hipaa>",
            "returns=none,regulated,<hipaa>",
            "returns=regulated,unclassified,<hipaa>",
        ),
        (
            r#""returnMetadata":{"sensitivity":[{"regulated":{"scopes":[]}}]}"#,
            "returns=regulated,<every>",
            "returns=none,regulated,<every>",
            "returns=regulated,unclassified,<every>",
        ),
        (r#""maliciousActivityHint":true"#, "malicious=true", "malicious=true", "malicious=true"),
        (r#""maliciousActivityHint":false"#, "", "", ""),
        (
            r#""attribution":["https://a.example"]"#,
            r#"origins=["https://a.example"]"#,
            r#"origins=["https://a.example"]"#,
            r#"origins=["https://a.example"]"#,
        ),
    ]);
}

#[test]
fn sep_2061_in_pascal_case() {
    check(&[
        (
            r#""InputMetadata":{"Destination":"Internal","Sensitivity":["PII"],"Outcomes":"Consequential"}"#,
            "accepts=pii; destination=internal; outcomes=consequential",
            "accepts=pii; destination=ephemeral,internal; outcomes=benign,consequential",
            "accepts=pii",
        ),
        (
            r#""ReturnMetadata":{"Source":"TrustedPublic","Sensitivity":{"Regulated":{"Scopes":["Other"]}}}"#,
            "returns=regulated,<other>; source=trustedPublic",
            "returns=none,regulated,<other>; source=system,trustedPublic",
            "returns=regulated,unclassified,<other>; source=trustedPublic,untrustedPublic",
        ),
    ]);
}

#[test]
fn hints_of_first_drafts() {
    let confidential = |said| {
        (
            said,
            "returns=confidential,unclassified",
            "returns=confidential",
            "returns=confidential,unclassified",
        )
    };
    check(&[
        confidential(r#""sensitiveHint":"high""#),
        confidential(r#""sensitiveHint":"medium""#),
        confidential(r#""sensitiveHint":true"#),
        confidential(r#""privateHint":true"#),
        (
            r#""sensitiveHint":"low""#,
            "returns=user,unclassified",
            "returns=user",
            "returns=user,unclassified",
        ),
        (r#""sensitiveHint":false"#, "", "", ""),
        (r#""privateHint":false"#, "", "", ""),
    ]);
}

#[test]
fn action_metadata() {
    macro_rules! action {
        ($inner:literal) => {
            concat!(r#""io.modelcontextprotocol/action-metadata":{"#, $inner, "}")
        };
    }
    check(&[
        (
            action!(r#""inputMetadata":{"destination":"local"}"#),
            "destination=internal",
            "destination=ephemeral,internal",
            "",
        ),
        (
            action!(r#""inputMetadata":{"destination":"internal"}"#),
            "destination=internal",
            "destination=ephemeral,internal",
            "",
        ),
        (action!(r#""inputMetadata":{"destination":"external"}"#), "", "destination=ephemeral,public", ""),
        (
            action!(r#""inputMetadata":{"destination":"user"}"#),
            "destination=user",
            "destination=ephemeral,user",
            "",
        ),
        (
            action!(r#""inputMetadata":{"sensitivity":"personal"}"#),
            "accepts=pii",
            "accepts=pii",
            "accepts=pii",
        ),
        (
            action!(r#""inputMetadata":{"sensitivity":"public"}"#),
            "accepts=none",
            "accepts=none",
            "accepts=none",
        ),
        (
            action!(r#""inputMetadata":{"outcomes":"irreversible"}"#),
            "outcomes=irreversible",
            "outcomes=benign,irreversible",
            "",
        ),
        (
            action!(r#""returnMetadata":{"source":"first-party"}"#),
            "source=internal",
            "source=system,internal",
            "source=internal,untrustedPublic",
        ),
        (
            action!(r#""returnMetadata":{"source":"open-world"}"#),
            "integrity=none",
            "integrity=none; source=system,untrustedPublic",
            "",
        ),
        (action!(r#""returnMetadata":{"sensitivity":"public"}"#), "returns=none", "", ""),
        (
            action!(r#""returnMetadata":{"sensitivity":"personal"}"#),
            "returns=pii",
            "returns=none,pii",
            "returns=pii,unclassified",
        ),
        (
            action!(r#""returnMetadata":{"sensitivity":"financial"}"#),
            "returns=financial",
            "returns=none,financial",
            "returns=financial,unclassified",
        ),
        (action!(r#""returnMetadata":{"sensitivity":"cosmic"}"#), "", "returns=unclassified", ""),
        (
            action!(r#""outcome":"consequential""#),
            "outcomes=consequential",
            "outcomes=benign,consequential",
            "",
        ),
        (
            action!(r#""outcomes":["benign","consequential"]"#),
            "outcomes=benign,consequential",
            "outcomes=benign,consequential",
            "",
        ),
        (action!(r#""requiresReview":true"#), "approval=confirm", "approval=confirm", "approval=confirm"),
        (action!(r#""requiresReview":false"#), "", "", ""),
    ]);
}

#[test]
fn samos_grades() {
    check(&[
        (
            r#""read_confidentiality":"high""#,
            "returns=confidential; source=internal",
            "returns=confidential",
            "returns=confidential,unclassified",
        ),
        (
            r#""read_confidentiality":"low""#,
            "integrity=none; returns=none",
            "integrity=none; source=system,untrustedPublic",
            "",
        ),
        (
            r#""read_confidentiality":["low","high"]"#,
            "integrity=none; returns=none,confidential; source=internal,untrustedPublic",
            "integrity=none; source=system,untrustedPublic",
            "returns=confidential,unclassified",
        ),
        (
            r#""read_confidentiality":"medium""#,
            "integrity=none; returns=confidential,unclassified",
            "integrity=none; returns=confidential,unclassified",
            "returns=confidential,unclassified",
        ),
        (r#""write_confidentiality":"low""#, "destination=public", "destination=ephemeral,public", ""),
        (r#""write_confidentiality":"high""#, "destination=internal", "", ""),
        (
            r#""write_confidentiality":["low","high"]"#,
            "destination=internal,public",
            "destination=ephemeral,public",
            "",
        ),
        (r#""write_confidentiality":"medium""#, "", "destination=ephemeral,public", ""),
        (r#""integrity":"low""#, "integrity=none", "integrity=none", ""),
        (r#""integrity":"untrusted""#, "integrity=none", "integrity=none", ""),
        (r#""integrity":"high""#, "source=system,user,internal,trustedPublic", "", ""),
        (r#""integrity":"trusted""#, "source=system,user,internal,trustedPublic", "", ""),
        (r#""integrity":"sha256-xyz""#, "integrity=none", "integrity=none", ""),
    ]);
}

#[test]
fn a_hint_speaks_of_no_sensitivity() {
    let hinted = r#""readOnlyHint":true,"destructiveHint":false,"openWorldHint":false,"idempotentHint":true"#;
    let contract: Contract = weighed(&annotated(hinted), verified());
    assert_eq!(contract.returns(), Contract::unknown().returns());
}
