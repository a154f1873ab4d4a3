//! The rules of reading: where is looked, what a shape means, and what becomes of nonsense.

use highwater_core::annotation::{
    Axis, CallVariant, Capability, Destination, Notice, NoticeKind, Outcome, Reach,
};

use crate::contract::{annotated, axes, difference, noticed, silence, unverified, verified, weighed};

/// The same members in every place in which they are looked for.
fn everywhere(members: &str) -> [String; 4] {
    [
        format!(r#"{{"name":"t",{members}}}"#),
        annotated(members),
        format!(r#"{{"name":"t","_meta":{{{members}}}}}"#),
        format!(r#"{{"name":"t","_meta":{{"annotations":{{{members}}}}}}}"#),
    ]
}

#[test]
fn the_place_of_a_claim_does_not_matter() {
    for members in [
        r#""readOnlyHint":true,"openWorldHint":false"#,
        r#""inputMetadata":{"destination":"internal","sensitivity":["pii"],"outcomes":"benign"}"#,
        r#""returnMetadata":{"source":"user","sensitivity":"pii"},"attribution":["https://a.example"]"#,
        r#""io.modelcontextprotocol/action-metadata":{"outcome":"benign","requiresReview":true}"#,
        r#""read_confidentiality":"low","write_confidentiality":"high""#,
        r#""dependencies":{"network":false,"filesystem":["/a"]}"#,
        r#""network":false,"filesystem":["/a"],"execution":false"#,
        r#""trust":{"effect":"read-only","egress":"internal","dataSensitivity":"public"}"#,
        r#""category":"read","sideEffects":["data_exfiltration"],"approvalRecommendation":"single""#,
        r#""flowPolicy":{"acceptFrom":["self"]}"#,
        r#""maliciousActivityHint":true,"secretHint":true"#,
    ] {
        for trust in [verified(), unverified()] {
            let [on_tool, others @ ..] = everywhere(members).map(|tool| weighed(&tool, trust));
            assert!(trust == unverified() || on_tool != silence(trust), "{members} says something");
            for other in others {
                assert_eq!(axes(&on_tool), axes(&other), "{members}");
            }
        }
    }
}

#[test]
fn of_two_places_the_worst_counts() {
    let cases = [
        (r#""readOnlyHint":true"#, r#""readOnlyHint":false"#, "outcomes=benign,consequential,irreversible"),
        (
            r#""openWorldHint":false"#,
            r#""openWorldHint":true"#,
            "destination=ephemeral,system,user,internal,public",
        ),
        (r#""idempotentHint":true"#, r#""idempotentHint":false"#, "idempotent=false"),
        (r#""destructiveHint":false,"openWorldHint":false"#, r#""destructiveHint":true"#, "irreversible"),
        (
            r#""inputMetadata":{"destination":"user"}"#,
            r#""inputMetadata":{"destination":"public"}"#,
            "destination=user,public",
        ),
        (
            r#""inputMetadata":{"sensitivity":["pii","user"]}"#,
            r#""inputMetadata":{"sensitivity":["pii"]}"#,
            "accepts=pii",
        ),
        (r#""read_confidentiality":"low""#, r#""read_confidentiality":"high""#, "returns=none,confidential"),
        (
            r#""network":false"#,
            r#""network":true"#,
            "capabilities=network,filesystem,environment,execution,software_libraries",
        ),
        (
            r#""flowPolicy":{"acceptFrom":["self","user"]}"#,
            r#""flowPolicy":{"acceptFrom":["user"]}"#,
            r#"acceptFrom=Some(["user"])"#,
        ),
    ];
    for (one, other, expected) in cases {
        for (first, second) in [(one, other), (other, one)] {
            let tool = format!(r#"{{"annotations":{{{first}}},"_meta":{{{second}}}}}"#);
            let axes = axes(&weighed(&tool, verified()));
            let shown =
                axes.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join("; ");
            assert!(shown.contains(expected), "{tool}: {shown}");
        }
    }
}

#[test]
fn a_scalar_is_a_list_of_one_and_an_empty_list_says_nothing() {
    for (block, key, word) in [
        ("inputMetadata", "destination", "user"),
        ("inputMetadata", "sensitivity", "pii"),
        ("inputMetadata", "outcomes", "benign"),
        ("returnMetadata", "source", "internal"),
        ("returnMetadata", "sensitivity", "financial"),
    ] {
        let with = |value: &str| annotated(&format!(r#""{block}":{{"{key}":{value}}}"#));
        let scalar = weighed(&with(&format!(r#""{word}""#)), verified());
        assert_eq!(scalar, weighed(&with(&format!(r#"["{word}"]"#)), verified()), "{key}");
        assert_eq!(silence(verified()), weighed(&with("[]"), verified()), "{key}");
        assert_eq!(
            silence(verified()),
            weighed(&annotated(&format!(r#""{block}":{{}}"#)), verified()),
            "{key}"
        );
    }
    for key in ["read_confidentiality", "write_confidentiality", "integrity", "category"] {
        let empty = annotated(&format!(r#""{key}":[]"#));
        assert_eq!(silence(verified()), weighed(&empty, verified()), "{key}");
    }
    let nothing = weighed(&annotated(r#""network":[]"#), verified());
    assert_eq!(nothing.capabilities().requested(Capability::Network), Some(&Reach::Nothing));
}

#[test]
fn words_are_compared_without_case_and_hyphens_and_keys_are_not() {
    for word in ["untrustedPublic", "UntrustedPublic", "untrusted-public", "UNTRUSTED_PUBLIC"] {
        let tool = annotated(&format!(r#""returnMetadata":{{"source":"{word}","sensitivity":"None"}}"#));
        assert_eq!(
            difference(&silence(verified()), &weighed(&tool, verified())),
            "integrity=none; returns=none",
            "{word}"
        );
    }
    for key in ["READONLYHINT", "ReadOnlyHint", "read_only_hint", "readonlyhint"] {
        let tool = annotated(&format!(r#""{key}":true"#));
        assert_eq!(silence(verified()), weighed(&tool, verified()), "{key}");
    }
    // Spelled with escapes it is the same key.
    let escaped = weighed(&annotated(r#""readOnly\u0048int":true"#), verified());
    assert!(escaped.outcomes().is_only(Outcome::Benign));
}

#[test]
fn an_unknown_word_is_the_worst_and_takes_no_known_one_away() {
    let (contract, notices) = noticed(
        &annotated(
            r#""inputMetadata":{"destination":["user","moon"],"sensitivity":["pii","aura"],"outcomes":"splendid"},"returnMetadata":{"source":["system","oracle"],"sensitivity":["pii","aura"]}"#,
        ),
        verified(),
    );
    assert_eq!(
        difference(&silence(verified()), &contract),
        "accepts=pii; destination=user,public; integrity=none; returns=pii,unclassified; source=system,untrustedPublic"
    );
    for (axis, word) in [
        (Axis::Destination, "moon"),
        (Axis::Accepts, "aura"),
        (Axis::Outcomes, "splendid"),
        (Axis::Source, "oracle"),
        (Axis::Returns, "aura"),
    ] {
        assert!(
            notices.contains(&Notice::new(NoticeKind::UnknownWord, Some(axis), "sep-1913", word)),
            "{word}"
        );
    }
    // The two classes of our own are no words of theirs.
    let own = annotated(
        r#""returnMetadata":{"sensitivity":"confidential"},"inputMetadata":{"sensitivity":"unclassified"}"#,
    );
    assert_eq!(difference(&silence(verified()), &weighed(&own, verified())), "accepts=none");
}

#[test]
fn a_wrong_type_reads_as_the_severe_value() {
    const MILD: &str = r#""returnMetadata":{"source":"system","sensitivity":"none"},"inputMetadata":{"destination":"user","sensitivity":"none","outcomes":"benign"}"#;
    let mild = weighed(&annotated(MILD), verified());
    let severe = [
        ("destructiveHint", "outcomes=benign,irreversible"),
        ("openWorldHint", "destination=user,public; integrity=none; source=system,untrustedPublic"),
        ("maliciousActivityHint", "malicious=true"),
        ("privateHint", "returns=confidential"),
        ("trustedHint", "integrity=none"),
        ("safeForContextHint", "integrity=none"),
        ("untrustedContentHint", "integrity=none"),
        ("secretHint", "returns=credentials,confidential"),
        ("egressHint", "destination=user,public"),
        ("reversibleHint", "outcomes=benign,irreversible"),
    ];
    for wrong in [r#""true""#, r#""false""#, "1", "0", "null", "[true]", "{}"] {
        for (key, expected) in severe {
            let tool = annotated(&format!(r#"{MILD},"{key}":{wrong}"#));
            let (contract, notices) = noticed(&tool, verified());
            assert_eq!(difference(&mild, &contract), expected, "{key}: {wrong}");
            assert!(notices.iter().any(|notice| notice.kind == NoticeKind::WrongType), "{key}: {wrong}");
        }
    }
    for wrong in ["5", "null", r#"{"a":1}"#, r#"[["user"]]"#, "[1]"] {
        let block = format!(
            r#""_meta":{{"inputMetadata":{{"destination":{wrong},"outcomes":{wrong},"sensitivity":{wrong}}},"returnMetadata":{{"source":{wrong},"sensitivity":{wrong}}}}}"#
        );
        let tool = format!(r#"{{"annotations":{{{MILD}}},{block}}}"#);
        assert_eq!(
            difference(&mild, &weighed(&tool, verified())),
            "destination=user,public; integrity=none; outcomes=benign,irreversible; returns=unclassified; source=system,untrustedPublic",
            "{wrong}"
        );
    }
}

#[test]
fn a_block_that_cannot_be_read_is_the_worst_of_its_axes_and_a_remark() {
    const MILD: &str = r#""returnMetadata":{"source":"system","sensitivity":"none"},"inputMetadata":{"destination":"user","sensitivity":"pii","outcomes":"benign"}"#;
    let mild = weighed(&annotated(MILD), verified());
    for (key, expected) in [
        ("inputMetadata", "accepts=none; destination=user,public; outcomes=benign,irreversible"),
        ("returnMetadata", "integrity=none; returns=unclassified; source=system,untrustedPublic"),
        ("trust", "destination=user,public; outcomes=benign,irreversible; returns=unclassified"),
        ("flowPolicy", "acceptFrom=Some([])"),
        ("ifc", "integrity=none; returns=confidential,unclassified"),
        (
            "dependencies",
            "destination=user,public; integrity=none; outcomes=benign,irreversible; source=system,user,untrustedPublic",
        ),
        ("io.modelcontextprotocol/trust-annotations", "integrity=none; returns=confidential,unclassified"),
        ("io.modelcontextprotocol/verified-approval", "approval=passkey"),
    ] {
        let tool = format!(r#"{{"annotations":{{{MILD}}},"_meta":{{"{key}":"?"}}}}"#);
        let (contract, notices) = noticed(&tool, verified());
        assert_eq!(difference(&mild, &contract), expected, "{key}");
        assert!(notices.iter().any(|notice| notice.kind == NoticeKind::Malformed), "{key}: {notices:?}");
    }
    let (contract, notices) = noticed(r#"{"name":"t","annotations":"trust me"}"#, verified());
    assert_eq!(contract.variant(), CallVariant::Destructive);
    assert!(notices.iter().any(|notice| notice.kind == NoticeKind::Malformed));
    // The protocol's own containers may be null, as serializers write what is not there.
    assert_eq!(silence(verified()), weighed(r#"{"name":"t","annotations":null,"_meta":null}"#, verified()));
}

#[test]
fn what_the_protocol_itself_writes_on_a_tool_is_no_capability() {
    let tasks = r#"{"name":"t","execution":{"taskSupport":"optional"}}"#;
    assert_eq!(silence(verified()), weighed(tasks, verified()));
    let asked = r#"{"name":"t","execution":["/bin/sh"]}"#;
    assert_eq!(
        weighed(asked, verified()).capabilities().requested(Capability::Execution),
        Some(&Reach::Only([std::sync::Arc::from("/bin/sh")].into()))
    );
}

#[test]
fn what_destroys_nothing_is_not_called_destructive() {
    let contract = weighed(&annotated(r#""readOnlyHint":false,"destructiveHint":false"#), verified());
    assert_eq!(contract.outcomes().worst(), Outcome::Consequential);
    assert!(!contract.hints().destructive && contract.destination().contains(Destination::Public));
}

#[test]
fn texts_and_lists_are_bounded() {
    let many = (0..5000).map(|number| format!("\"https://{number}.example\"")).collect::<Vec<_>>().join(",");
    let long = "x".repeat(3000);
    for (attribution, kept) in [(many.as_str(), 64), (&format!("\"{long}\""), 0)] {
        let (contract, notices) =
            noticed(&annotated(&format!(r#""attribution":[{attribution}]"#)), verified());
        assert_eq!(contract.attribution().members().len(), kept);
        assert!(contract.attribution().is_open(), "overflow is marked");
        assert!(notices.iter().all(|notice| notice.detail.len() <= 2048));
    }
    // A severe word behind more words than are read is not missed.
    let hidden = format!(r#""inputMetadata":{{"destination":[{}"public"]}}"#, r#""user","#.repeat(10_000));
    assert!(weighed(&annotated(&hidden), verified()).hints().open_world);
    let nonsense = (0..5000).map(|number| format!("\"w{number}\"")).collect::<Vec<_>>().join(",");
    let (_, notices) =
        noticed(&annotated(&format!(r#""inputMetadata":{{"destination":[{nonsense}]}}"#)), verified());
    assert!(notices.len() <= 256);
    let paths = (0..1000).map(|number| format!("\"/{number}\"")).collect::<Vec<_>>().join(",");
    let contract = weighed(&annotated(&format!(r#""filesystem":[{paths}]"#)), verified());
    assert_eq!(contract.capabilities().requested(Capability::Filesystem), Some(&Reach::All));
}

#[test]
fn nobody_poses_as_an_origin_of_ours() {
    let tool = annotated(r#""attribution":["mcp:github:read","mcp://github.example/read","mcp:"]"#);
    let contract = weighed(&tool, verified());
    let origins: Vec<&str> = contract.attribution().members().iter().map(AsRef::as_ref).collect();
    assert_eq!(origins, ["claimed:mcp:", "claimed:mcp:github:read", "mcp://github.example/read"]);
}

#[test]
fn a_key_in_our_name_is_heard_of_and_not_read() {
    let tool =
        r#"{"name":"t","_meta":{"dev.highwater/contract":{"inputMetadata":{"destination":"ephemeral"}}}}"#;
    let (contract, notices) = noticed(tool, verified());
    assert_eq!(contract, silence(verified()));
    assert_eq!(notices, [Notice::new(NoticeKind::Spoofed, None, "highwater", "dev.highwater/contract")]);
}
