//! What we say: of tools and replies to clients, of the context to upstreams.

use highwater_core::annotation::{Authority, DataClass, Sensitivity};
use highwater_core::label::Label;
use highwater_core::session::{Assurance, Contributor, Contributors};
use highwater_core::trust::TrustLevel;
use highwater_mcp::annotations::emit::{
    Context, Outlook, ReplyNote, Share, context_meta, contract_json, reply_meta, resolution,
    resolution_of_tool, shown_tool, with_meta,
};
use highwater_mcp::annotations::{resolved_claims, result_says};
use highwater_mcp::text::{member, pointer};
use serde_json::{Value, json};

use crate::contract::{annotated, unverified, verified, weighed};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_contract_is_shown_in_the_spelling_of_sep_1913() {
    let tool = annotated(
        r#""inputMetadata":{"destination":"internal","sensitivity":["pii",{"regulated":{"scopes":["HIPAA"]}}],"outcomes":["benign","consequential"]},"returnMetadata":{"source":"user","sensitivity":["none","pii"]},"consequentialHint":true"#,
    );
    assert_eq!(
        parsed(&contract_json(&weighed(&tool, verified()))),
        json!({
            "v": 1,
            "inputMetadata": {
                "destination": ["internal"],
                "sensitivity": ["pii", { "regulated": { "scopes": ["hipaa"] } }],
                "outcomes": ["benign", "consequential"],
            },
            // What comes from the user is the user's, whatever is said of it.
            "returnMetadata": { "source": ["user"], "sensitivity": ["user", "pii"] },
            "readConfidentiality": "high",
            "writeConfidentiality": "high",
            "approval": "confirm",
            "basis": {
                "destination": "declared-verified", "accepts": "declared-verified",
                "outcomes": "declared-verified", "source": "declared-verified", "returns": "declared-verified",
            },
            "undeclared": ["capabilities"],
        })
    );
}

#[test]
fn what_nobody_said_is_shown_as_undeclared() {
    let shown = parsed(&contract_json(&weighed(r#"{"name":"t"}"#, unverified())));
    assert_eq!(
        shown["inputMetadata"]["destination"],
        json!(["ephemeral", "system", "user", "internal", "public"])
    );
    assert_eq!(shown["inputMetadata"]["sensitivity"], json!(["none"]));
    assert_eq!(shown["returnMetadata"], json!({ "source": ["untrustedPublic"], "sensitivity": [] }));
    assert_eq!(shown["basis"]["source"], "default");
    assert_eq!(
        shown["undeclared"],
        json!([
            "inputMetadata.destination",
            "inputMetadata.sensitivity",
            "inputMetadata.outcomes",
            "returnMetadata.source",
            "returnMetadata.sensitivity",
            "capabilities",
        ])
    );
}

#[test]
fn a_hint_is_edited_only_where_it_reads_milder() {
    let raw = r#"{ "name":"t" , "annotations" : { "title" : "T", "readOnlyHint" :true,"openWorldHint":false , "x":1.0 }, "_meta":{"a":1e400,"dev.highwater/contract":"forged"} }"#;
    let unbelieved = shown_tool(raw, "s__t", &weighed(raw, unverified()));
    assert_eq!(
        member(&unbelieved, "annotations"),
        Some(r#"{ "title" : "T", "readOnlyHint" :false,"openWorldHint":true , "x":1.0 }"#)
    );
    assert_eq!(
        pointer(&unbelieved, &["_meta", "dev.highwater/declared"]),
        Some(r#"{"readOnlyHint":true,"openWorldHint":false}"#)
    );
    let believed = shown_tool(raw, "s__t", &weighed(raw, verified()));
    assert_eq!(member(&believed, "annotations"), member(raw, "annotations"));
    assert_eq!(pointer(&believed, &["_meta", "dev.highwater/declared"]), None);
    for shown in [&unbelieved, &believed] {
        assert_eq!(member(shown, "name"), Some(r#""s__t""#));
        assert_eq!(pointer(shown, &["_meta", "a"]), Some("1e400"));
        assert!(
            pointer(shown, &["_meta", "dev.highwater/contract", "v"]).is_some(),
            "ours replaces the forged one"
        );
        assert_eq!(
            pointer(shown, &["_meta", "io.modelcontextprotocol/tool-resolution", "resolvable"]),
            Some("true")
        );
    }
    // A value that is no boolean may be taken for either.
    for odd in ["\"true\"", "1", "null"] {
        let raw = annotated(&format!(r#""readOnlyHint":{odd}"#));
        let shown = shown_tool(&raw, "t", &weighed(&raw, unverified()));
        assert_eq!(pointer(&shown, &["annotations", "readOnlyHint"]), Some("false"), "{odd}");
    }
    // Without annotations nothing is written among them.
    let plain = shown_tool(r#"{"name":"t"}"#, "t", &weighed(r#"{"name":"t"}"#, unverified()));
    assert_eq!(member(&plain, "annotations"), None);
}

#[test]
fn our_own_resolution_has_both_forms() {
    let raw = annotated(
        r#""readOnlyHint":true,"openWorldHint":false,"returnMetadata":{"source":["internal","system"],"sensitivity":["none","pii"]}"#,
    );
    let contract = weighed(&raw, verified());
    let outlook = Outlook { effect: "confirm", would_taint: true };
    let hints = json!({
        "readOnlyHint": true, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false,
        "inputMetadata": { "destination": "ephemeral", "sensitivity": "none", "outcomes": "benign" },
        "returnMetadata": { "source": ["system", "internal"], "sensitivity": "pii" },
    });
    let extension = parsed(&resolution("s__t", &contract, outlook));
    assert_eq!(extension["name"], "s__t");
    assert_eq!(extension["annotations"], hints);
    let whole = parsed(&resolution_of_tool(&shown_tool(&raw, "s__t", &contract), &contract, outlook));
    assert_eq!(whole["tool"]["name"], "s__t");
    assert_eq!(whole["tool"]["annotations"], hints);
    for meta in [&extension["_meta"], &whole["tool"]["_meta"]] {
        assert_eq!(meta["dev.highwater/outlook"], json!({ "effect": "confirm", "wouldTaint": true }));
        assert_eq!(meta["dev.highwater/contract"], parsed(&contract_json(&contract)));
    }
}

/// Seeds F10: a client read `[internal, untrustedPublic]` where the server had resolved `internal`.
#[test]
fn a_resolution_shows_what_was_resolved_in_place_of_the_possible_sets() {
    let raw = annotated(
        r#""returnMetadata":{"source":["internal","untrustedPublic"],"sensitivity":["none","pii"]},"attribution":["https://a.example","https://b.example"]"#,
    );
    let contract = weighed(&raw, verified());
    let answer = format!(
        r#"{{"tool":{}}}"#,
        annotated(
            r#""returnMetadata":{"source":"internal","sensitivity":"pii"},"attribution":["https://b.example"]"#
        )
    );
    let said = resolved_claims(&answer, "t", Authority::ResolvedVerified).unwrap().claims;
    let (resolved, _) = contract.narrowed(&said);
    let outlook = Outlook { effect: "allow", would_taint: true };
    let shown = parsed(&resolution_of_tool(&shown_tool(&raw, "s__t", &contract), &resolved, outlook));
    let annotations = &shown["tool"]["annotations"];
    assert_eq!(annotations["returnMetadata"], json!({ "source": "internal", "sensitivity": "pii" }));
    assert_eq!(annotations["attribution"], json!(["https://b.example"]));
    assert_eq!(
        parsed(&resolution("s__t", &resolved, outlook))["annotations"]["attribution"],
        json!(["https://b.example"])
    );
    // A server that is not believed chooses nothing.
    let said = resolved_claims(&answer, "t", Authority::Resolved).unwrap().claims;
    let (doubted, _) = weighed(&raw, unverified()).narrowed(&said);
    let shown = parsed(&resolution_of_tool(&shown_tool(&raw, "s__t", &contract), &doubted, outlook));
    assert_eq!(
        shown["tool"]["annotations"]["attribution"],
        json!(["https://a.example", "https://b.example"])
    );
    assert_ne!(shown["tool"]["annotations"]["returnMetadata"]["source"], "internal");
}

fn untrusted() -> Label {
    let returned = Sensitivity::regulated(["HIPAA"]);
    Label::bottom()
        .with_class(DataClass::Pii)
        .with_classes(returned.classes())
        .with_scopes(returned.scopes())
        .with_open_world()
        .with_origin("mcp:web:fetch")
}

#[test]
fn a_reply_says_what_is_in_it_and_what_the_session_holds() {
    let (reply, session) = (untrusted(), untrusted().with_class(DataClass::Confidential));
    let note = ReplyNote { reply: &reply, sources: reply.origins(), session: &session, decision: "hwd_1" };
    let expected = json!({
        "annotations": { "openWorldHint": true, "attribution": ["mcp:web:fetch"] },
        "io.modelcontextprotocol/trust-annotations": { "sensitive": true, "untrusted": true },
        "dev.highwater/label": {
            "v": 1,
            "secrecy": ["pii", { "regulated": { "scopes": ["hipaa"] } }],
            "integrity": "none",
            "session": {
                "secrecy": ["pii", { "regulated": { "scopes": ["hipaa"] } }, "confidential"],
                "integrity": "none",
            },
        },
        "dev.highwater/decision": { "id": "hwd_1" },
    });
    assert_eq!(parsed(&reply_meta(None, &note)), expected);
    assert_eq!(parsed(&reply_meta(Some("{}"), &note)), expected);
    assert_eq!(parsed(&reply_meta(Some("null"), &note)), expected);
}

#[test]
fn a_harmless_reply_is_called_nothing() {
    let label = Label::bottom().with_integrity(TrustLevel::Tool).with_class(DataClass::Unclassified);
    let note = ReplyNote { reply: &label, sources: label.origins(), session: &label, decision: "hwd_1" };
    for upstream in [None, Some("{}")] {
        let meta = parsed(&reply_meta(upstream, &note));
        let keys: Vec<&String> = meta.as_object().unwrap().keys().collect();
        // `unclassified` is no claim, and nobody is told `false`.
        assert_eq!(keys, ["dev.highwater/decision", "dev.highwater/label"]);
    }
}

#[test]
fn a_reply_keeps_what_the_upstream_said_and_is_never_called_milder() {
    let reply = untrusted();
    let note = ReplyNote { reply: &reply, sources: reply.origins(), session: &reply, decision: "hwd_1" };
    let upstream = r#"{ "a" : 1e400, "annotations" : {"openWorldHint":false, "attribution":["https://x.example"] , "z":1.0},"io.modelcontextprotocol/trust-annotations":{"untrusted":false,"evidenceRef":{"type":"t","digest":"d"}},"ifc":{"integrity":"trusted","confidentiality":"public","n":1},"dev.highwater/label":"forged","dev.highwater/approval":"forged"}"#;
    let meta = reply_meta(Some(upstream), &note);
    assert_eq!(member(&meta, "a"), Some("1e400"));
    assert_eq!(
        member(&meta, "annotations"),
        Some(r#"{"openWorldHint":true, "attribution":["https://x.example","mcp:web:fetch"] , "z":1.0}"#)
    );
    assert_eq!(
        member(&meta, "io.modelcontextprotocol/trust-annotations"),
        Some(r#"{"untrusted":true,"evidenceRef":{"type":"t","digest":"d"},"sensitive":true}"#)
    );
    assert_eq!(member(&meta, "ifc"), Some(r#"{"integrity":"untrusted","confidentiality":"private","n":1}"#));
    assert_eq!(pointer(&meta, &["dev.highwater/label", "v"]), Some("1"));
    assert_eq!(member(&meta, "dev.highwater/approval"), None);
    // A reply that says more than we know keeps its word.
    let trusted = Label::bottom().with_integrity(TrustLevel::Tool);
    let note =
        ReplyNote { reply: &trusted, sources: trusted.origins(), session: &trusted, decision: "hwd_1" };
    let severe = r#"{"annotations":{"openWorldHint":true},"ifc":{"integrity":"untrusted","confidentiality":"private"}}"#;
    let meta = reply_meta(Some(severe), &note);
    assert!(meta.starts_with(severe.strip_suffix('}').unwrap()), "{meta}");
}

#[test]
fn what_the_upstream_says_of_other_things_keeps_its_bytes() {
    let label = untrusted();
    let note = ReplyNote { reply: &label, sources: label.origins(), session: &label, decision: "hwd_1" };
    let upstream = r#"{ "io.modelcontextprotocol/serverInfo" : {"name":"s"},"n":1e400 }"#;
    let meta = reply_meta(Some(upstream), &note);
    assert!(meta.starts_with(upstream.strip_suffix('}').unwrap()), "{meta}");
    let mut said = parsed(&reply_meta(None, &note));
    said["io.modelcontextprotocol/serverInfo"] = json!({ "name": "s" });
    let shown = meta.replace("1e400", "0");
    said["n"] = json!(0);
    assert_eq!(parsed(&shown), said);
}

#[test]
fn an_upstreams_ifc_is_tightened_in_its_own_form() {
    let reply = untrusted();
    let note = ReplyNote { reply: &reply, sources: reply.origins(), session: &reply, decision: "d" };
    for (before, after) in [
        (
            r#"{"integrity":"high","confidentiality":["public"]}"#,
            r#"{"integrity":"low","confidentiality":[]}"#,
        ),
        (
            r#"{"integrity":"low","confidentiality":["alice"]}"#,
            r#"{"integrity":"low","confidentiality":["alice"]}"#,
        ),
        (
            r#"{"integrity":"untrusted","confidentiality":"private"}"#,
            r#"{"integrity":"untrusted","confidentiality":"private"}"#,
        ),
        (r#"{"integrity":7}"#, r#"{"integrity":"untrusted","confidentiality":"private"}"#),
    ] {
        let meta = reply_meta(Some(&format!(r#"{{"ifc":{before}}}"#)), &note);
        assert_eq!(member(&meta, "ifc"), Some(after), "{before}");
    }
}

#[test]
fn what_we_say_of_a_reply_reads_back_as_at_least_that() {
    let reply = untrusted().with_malicious();
    let note = ReplyNote { reply: &reply, sources: reply.origins(), session: &reply, decision: "hwd_1" };
    for upstream in [None, Some(r#"{"annotations":{"maliciousActivityHint":false}}"#)] {
        let result = format!(r#"{{"content":[],"_meta":{}}}"#, reply_meta(upstream, &note));
        let read = highwater_core::session::label_claims(&result_says(&result).claims);
        assert!(read.untrusted() && read.open_world() && read.malicious() && read.private());
        assert_eq!(read.origins().contains("claimed:mcp:web:fetch"), Some(true));
    }
}

#[test]
fn a_new_meta_is_put_in_without_touching_another_byte() {
    let meta = r#"{"m":1}"#;
    for (result, expected) in [
        (r#"{}"#, r#"{"_meta":{"m":1}}"#),
        (r#" { "a" : 1 } "#, r#" { "a" : 1 ,"_meta":{"m":1}} "#),
        (r#"{ "_meta" : {"old":1} , "a":1e400 }"#, r#"{ "_meta" : {"m":1} , "a":1e400 }"#),
        (r#"{"a":{"_meta":1},"\u005fmeta":null}"#, r#"{"a":{"_meta":1},"\u005fmeta":{"m":1}}"#),
    ] {
        let mut out = Vec::new();
        with_meta(&mut out, result, member(result, "_meta"), meta);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn an_upstream_is_told_no_more_than_it_may_know() {
    let session = untrusted();
    let told = |client: Option<&str>, share| {
        context_meta(client, &Context { session: &session, share, contributors: None })
            .map(|meta| parsed(&meta))
    };
    assert_eq!(told(None, Share::Nothing), None);
    assert_eq!(told(None, Share::Hints), Some(json!({ "annotations": { "openWorldHint": true } })));
    assert_eq!(
        told(None, Share::Full),
        Some(json!({ "annotations": { "openWorldHint": true, "attribution": ["mcp:web:fetch"] } }))
    );
    // What the client says of its context is known to us, and goes on as far as it may.
    let client = Some(
        r#"{"progressToken":1,"annotations":{"openWorldHint":false,"attribution":["https://x.example"]}}"#,
    );
    assert_eq!(told(client, Share::Nothing), Some(json!({ "progressToken": 1 })));
    assert_eq!(
        told(client, Share::Hints),
        Some(json!({ "progressToken": 1, "annotations": { "openWorldHint": true } }))
    );
    assert_eq!(
        told(client, Share::Full).unwrap()["annotations"]["attribution"],
        json!(["https://x.example", "mcp:web:fetch"])
    );
    // No class of data is ever told.
    for share in [Share::Nothing, Share::Hints, Share::Full] {
        let text = told(client, share).unwrap().to_string();
        assert!(!text.contains("pii") && !text.contains("hipaa"), "{text}");
    }
}

#[test]
fn a_trusted_context_is_not_worth_a_word() {
    let session = Label::bottom().with_class(DataClass::Credentials);
    for share in [Share::Nothing, Share::Hints, Share::Full] {
        let context = Context { session: &session, share, contributors: None };
        assert_eq!(context_meta(None, &context), None);
        assert_eq!(context_meta(Some(r#"{"progressToken":"p"}"#), &context), None);
    }
}

#[test]
fn what_is_for_us_alone_does_not_reach_an_upstream() {
    let session = Label::bottom();
    let context = Context { session: &session, share: Share::Full, contributors: None };
    let client = r#"{"a":1,"clientSessionId":"s","io.modelcontextprotocol/authorization-context-id":"hwd_1","dev.highwater/label":{},"io.modelcontextprotocol/flowOrigin":{"contributors":[{"principal":"https://secret.example","assurance":"tofu"}],"complete":true}}"#;
    assert_eq!(context_meta(Some(client), &context).as_deref(), Some(r#"{"a":1}"#));
}

#[test]
fn an_upstream_with_a_policy_is_told_who_contributed() {
    let session = Label::bottom();
    let server = Contributor {
        principal: Some("https://other.example".into()),
        ..Contributor::unnamed(Assurance::Tofu)
    };
    let all = Contributors::new([Contributor::user(), server], false);
    let told = |share| {
        let context = Context { session: &session, share, contributors: Some(&all) };
        parsed(&context_meta(None, &context).unwrap())["io.modelcontextprotocol/flowOrigin"].clone()
    };
    assert_eq!(
        told(Share::Hints),
        json!({ "contributors": [{ "assurance": "user" }, { "assurance": "tofu" }], "complete": false })
    );
    // The same as if it had sent an empty object.
    for session in [session.clone(), untrusted()] {
        for (share, contributors) in [Share::Nothing, Share::Hints, Share::Full]
            .into_iter()
            .flat_map(|one| [(one, None), (one, Some(&all))])
        {
            let context = Context { session: &session, share, contributors };
            assert_eq!(context_meta(None, &context), context_meta(Some("{}"), &context));
        }
    }
    // Who is told nothing assumes the worst.
    let context = Context { session: &session, share: Share::Nothing, contributors: Some(&all) };
    assert_eq!(context_meta(None, &context), None);
    assert_eq!(
        told(Share::Full)["contributors"][1],
        json!({ "principal": "https://other.example", "assurance": "tofu" })
    );
}
