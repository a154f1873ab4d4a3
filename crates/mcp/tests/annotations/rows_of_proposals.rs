//! The mapping, row by row: capabilities, single hints, graded risk, declarations, policies and approvals.

use crate::rows::check;

#[test]
fn capabilities_are_claims_and_loosen_nothing() {
    check(&[
        (
            r#""dependencies":{"network":false}"#,
            "capabilities=filesystem,environment,execution,software_libraries",
            "capabilities=filesystem,environment,execution,software_libraries",
            "",
        ),
        (
            r#""network":[]"#,
            "capabilities=filesystem,environment,execution,software_libraries",
            "capabilities=filesystem,environment,execution,software_libraries",
            "",
        ),
        (r#""network":["api.example"]"#, "", "", ""),
        (
            r#""network":true"#,
            "integrity=none",
            "destination=ephemeral,public; integrity=none; source=system,untrustedPublic",
            "",
        ),
        (
            r#""filesystem":false"#,
            "capabilities=network,environment,execution,software_libraries",
            "capabilities=network,environment,execution,software_libraries",
            "",
        ),
        (
            r#""filesystem":["/data"]"#,
            "source=user,untrustedPublic",
            "destination=ephemeral,user; source=system,user",
            "source=user,untrustedPublic",
        ),
        (
            r#""filesystem":true"#,
            "source=user,untrustedPublic",
            "destination=ephemeral,user; source=system,user",
            "source=user,untrustedPublic",
        ),
        (r#""environment":true"#, "", "", ""),
        (r#""environment":["TOKEN"]"#, "", "", ""),
        (r#""execution":true"#, "", "outcomes=benign,irreversible", ""),
        (r#""execution":["/bin/sh"]"#, "", "outcomes=benign,irreversible", ""),
        (r#""execution":["/usr/bin/python3.12"]"#, "", "outcomes=benign,irreversible", ""),
        (r#""execution":["/usr/bin/git"]"#, "", "", ""),
        (r#""software_libraries":["left-pad"]"#, "", "", ""),
    ]);
}

#[test]
fn single_hints() {
    let untrusted = |said| (said, "integrity=none", "integrity=none", "");
    let nothing = |said| (said, "", "", "");
    let confidential = |said| {
        (
            said,
            "returns=confidential,unclassified",
            "returns=confidential",
            "returns=confidential,unclassified",
        )
    };
    check(&[
        nothing(r#""trustedHint":true"#),
        nothing(r#""trusted":true"#),
        untrusted(r#""trustedHint":false"#),
        untrusted(r#""trusted":false"#),
        (
            r#""secretHint":true"#,
            "returns=credentials,confidential,unclassified",
            "returns=credentials,confidential",
            "returns=credentials,confidential,unclassified",
        ),
        nothing(r#""secretHint":false"#),
        untrusted(r#""unsafeOutputHint":true"#),
        untrusted(r#""safeForContextHint":false"#),
        untrusted(r#""verifiedOutputHint":false"#),
        nothing(r#""unsafeOutputHint":false"#),
        nothing(r#""safeForContextHint":true"#),
        nothing(r#""verifiedOutputHint":true"#),
        untrusted(r#""untrustedContentHint":true"#),
        untrusted(r#""contains_untrusted_content":true"#),
        nothing(r#""untrustedContentHint":false"#),
        (
            r#""consequentialHint":true"#,
            "approval=confirm",
            "approval=confirm; outcomes=benign,consequential",
            "approval=confirm",
        ),
        nothing(r#""consequentialHint":false"#),
        (r#""egressHint":true"#, "", "destination=ephemeral,public", ""),
        (r#""egressHint":false"#, "destination=ephemeral,system,user,internal", "", ""),
        (r#""egressHint":"low""#, "", "destination=ephemeral,public", ""),
        (r#""reversibleHint":false"#, "", "outcomes=benign,irreversible", ""),
        (r#""reversibleHint":true"#, "outcomes=benign,consequential", "", ""),
        (r#""reversibleHint":"high""#, "", "outcomes=benign,irreversible", ""),
        (r#""agencyHint":true"#, "integrity=none", "integrity=none; outcomes=benign,irreversible", ""),
        nothing(r#""agencyHint":false"#),
        untrusted(r#""aiProcessingHint":true"#),
        confidential(r#""sensitiveDataHint":true"#),
        (r#""privilegedAccessHint":true"#, "", "outcomes=benign,consequential", ""),
        nothing(r#""slowExecutionHint":true"#),
        nothing(r#""resourceIntensiveHint":true"#),
    ]);
}

#[test]
fn graded_risk() {
    let nothing = |said| (said, "", "", "");
    let adds = |said, laid| (said, "", laid, "");
    let consequential = "outcomes=benign,consequential";
    let irreversible = "outcomes=benign,irreversible";
    check(&[
        nothing(r#""riskLevel":"low""#),
        nothing(r#""riskLevel":"medium""#),
        adds(r#""riskLevel":"high""#, consequential),
        adds(r#""riskLevel":"critical""#, irreversible),
        adds(r#""riskLevel":"apocalyptic""#, irreversible),
        (r#""category":"read""#, "outcomes=benign", "", ""),
        (r#""category":"observe""#, "outcomes=benign", "", ""),
        adds(r#""category":"mutate""#, consequential),
        adds(r#""category":"delete""#, irreversible),
        adds(r#""category":"destroy""#, irreversible),
        nothing(r#""category":"utility""#),
        adds(r#""reversibility":"none""#, irreversible),
        (r#""reversibility":"manual""#, "outcomes=consequential", consequential, ""),
        (r#""reversibility":"auto""#, "outcomes=consequential", consequential, ""),
        adds(r#""sideEffects":["data_exfiltration"]"#, "destination=ephemeral,public"),
        adds(
            r#""sideEffects":["external_notification"]"#,
            "destination=ephemeral,public; outcomes=benign,irreversible",
        ),
        adds(r#""sideEffects":["state_loss"]"#, irreversible),
        adds(r#""sideEffects":["privilege_change"]"#, consequential),
        adds(r#""sideEffects":["cost"]"#, consequential),
        adds(r#""sideEffects":["downtime"]"#, consequential),
        nothing(r#""sideEffects":["confetti"]"#),
        nothing(r#""approvalRecommendation":"none""#),
        (r#""approvalRecommendation":"single""#, "approval=confirm", "approval=confirm", "approval=confirm"),
        (r#""approvalRecommendation":"multi""#, "approval=passkey", "approval=passkey", "approval=passkey"),
        nothing(r#""blastRadius":"global""#),
        nothing(r#""minTrustLevel":5"#),
    ]);
}

#[test]
fn declarations() {
    check(&[
        (r#""trust":{"effect":"read-only"}"#, "outcomes=benign", "", ""),
        (
            r#""trust":{"effect":"writes-data"}"#,
            "outcomes=consequential",
            "outcomes=benign,consequential",
            "",
        ),
        (r#""trust":{"effect":"destructive"}"#, "", "outcomes=benign,irreversible", ""),
        (r#""trust":{"egress":"none"}"#, "destination=user", "destination=ephemeral,user", ""),
        (r#""trust":{"egress":"internal"}"#, "destination=internal", "destination=ephemeral,internal", ""),
        (r#""trust":{"egress":"external"}"#, "", "destination=ephemeral,public", ""),
        (r#""trust":{"dataSensitivity":"public"}"#, "returns=none", "", ""),
        (
            r#""trust":{"dataSensitivity":"internal"}"#,
            "returns=confidential,unclassified",
            "returns=confidential",
            "returns=confidential,unclassified",
        ),
        (
            r#""trust":{"dataSensitivity":"confidential"}"#,
            "returns=confidential,unclassified",
            "returns=confidential",
            "returns=confidential,unclassified",
        ),
        (
            r#""trust":{"dataSensitivity":"secret"}"#,
            "returns=credentials,confidential,unclassified",
            "returns=credentials,confidential",
            "returns=credentials,confidential,unclassified",
        ),
        (r#""trust":{"reversible":false}"#, "", "outcomes=benign,irreversible", ""),
        (r#""trust":{"reversible":true}"#, "", "", ""),
        (r#""trust":{"capabilities":{"subprocess":true}}"#, "", "outcomes=benign,irreversible", ""),
        (r#""trust":{"capabilities":{"network":["api.example:443"],"env":["A"]}}"#, "", "", ""),
        (
            r#""trust":{"capabilities":{"filesystem":{"read":["/in"],"write":[]}}}"#,
            "source=user,untrustedPublic",
            "source=system,user",
            "source=user,untrustedPublic",
        ),
        (
            r#""trust":{"capabilities":{"filesystem":{"read":[],"write":["/out"]}}}"#,
            "",
            "destination=ephemeral,user",
            "",
        ),
    ]);
}

#[test]
fn policies_and_approvals() {
    check(&[
        (
            r#""flowPolicy":{"acceptFrom":["self","user"]}"#,
            r#"acceptFrom=Some(["self", "user"])"#,
            r#"acceptFrom=Some(["self", "user"])"#,
            r#"acceptFrom=Some(["self", "user"])"#,
        ),
        (
            r#""io.modelcontextprotocol/verified-approval":{"required":"verified"}"#,
            "approval=passkey",
            "approval=passkey",
            "approval=passkey",
        ),
        (
            r#""io.modelcontextprotocol/verified-approval":{"required":"sometimes"}"#,
            "approval=passkey",
            "approval=passkey",
            "approval=passkey",
        ),
        (
            r#""io.modelcontextprotocol/verified-approval":{"required":"verified","mode":"conditional"}"#,
            "",
            "",
            "",
        ),
        (r#""io.modelcontextprotocol/display-templates":{"template":"safe!"}"#, "", "", ""),
    ]);
}
