//! Everything harmless that a server can say of a tool, in every vocabulary. Held against contracts by the tests of `mcp`,
//! and against decisions by those of the program.

/// Everything harmless that each vocabulary can say, and the axes on which a verified server is believed.
pub const HARMLESS: &[(&str, &str, &[&str])] = &[
    (
        "core",
        r#""readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false"#,
        &["destination", "outcomes", "benign", "source", "idempotent", "variant"],
    ),
    (
        "sep-1913",
        r#""maliciousActivityHint":false,"attribution":[],"sensitiveHint":false,"privateHint":false,"sensitivity":"none","inputMetadata":{"destination":"ephemeral","sensitivity":["none","user","pii","financial","credentials",{"regulated":{"scopes":[]}}],"outcomes":"benign"},"returnMetadata":{"source":"system","sensitivity":"none"}"#,
        &["destination", "outcomes", "benign", "source", "returns", "reply"],
    ),
    (
        "sep-1913",
        r#""InputMetadata":{"Destination":"Ephemeral","Sensitivity":["None","User"],"Outcomes":"Benign"},"ReturnMetadata":{"Source":"System","Sensitivity":"None"}"#,
        &["destination", "outcomes", "benign", "source", "returns", "reply"],
    ),
    (
        "trust-annotations",
        r#""io.modelcontextprotocol/trust-annotations":{"sensitive":false,"untrusted":false}"#,
        &[],
    ),
    ("data-class", r#""data-class.v1":{"class":"public","regulatory":[],"labels":[]}"#, &[]),
    (
        "action-metadata",
        r#""io.modelcontextprotocol/action-metadata":{"inputMetadata":{"destination":"local","sensitivity":"personal"},"returnMetadata":{"source":"first-party","sensitivity":"public"},"outcome":"benign","requiresReview":false}"#,
        &["destination", "outcomes", "benign", "source", "returns", "reply"],
    ),
    ("ifc", r#""ifc":{"integrity":"trusted","confidentiality":"public"}"#, &["source", "returns", "reply"]),
    (
        "samos",
        r#""read_confidentiality":"low","write_confidentiality":"high","integrity":"high""#,
        &["destination", "returns", "reply"],
    ),
    (
        "dependencies",
        r#""network":false,"filesystem":false,"environment":[],"execution":false,"software_libraries":[],"dependencies":{"network":false,"filesystem":[],"environment":false,"execution":[],"software_libraries":false}"#,
        &["capabilities"],
    ),
    (
        "hints",
        r#""trustedHint":true,"trusted":true,"secretHint":false,"unsafeOutputHint":false,"safeForContextHint":true,"verifiedOutputHint":true,"untrustedContentHint":false,"contains_untrusted_content":false,"consequentialHint":false,"egressHint":false,"reversibleHint":true,"agencyHint":false,"aiProcessingHint":false,"sensitiveDataHint":false,"privilegedAccessHint":false,"slowExecutionHint":false,"resourceIntensiveHint":false"#,
        &["destination", "outcomes"],
    ),
    (
        "graded-risk",
        r#""riskLevel":"low","category":"read","reversibility":"auto","sideEffects":[],"approvalRecommendation":"none","blastRadius":"item","minTrustLevel":1"#,
        &["outcomes"],
    ),
    ("flow", r#""flowPolicy":{"acceptFrom":["self","user","host","verified","tofu","unverified"]}"#, &[]),
    (
        "declarations",
        r#""trust":{"effect":"read-only","egress":"none","dataSensitivity":"public","reversible":true,"idempotent":true,"capabilities":{"network":[],"filesystem":{"read":[],"write":[]},"subprocess":false,"env":[]}}"#,
        &["destination", "outcomes", "benign", "returns", "reply", "capabilities"],
    ),
    (
        "verified-approval",
        r#""io.modelcontextprotocol/verified-approval":{"required":"verified","mode":"conditional"}"#,
        &[],
    ),
];
