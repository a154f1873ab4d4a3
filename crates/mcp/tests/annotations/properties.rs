//! Laws of reading, over random annotations: nobody gains without authority, and neither order nor place matters.

use highwater_core::annotation::{Authority, Claims, Contract};
use highwater_core::label::Label;
use highwater_core::session::label_claims;
use highwater_mcp::annotations::emit::{Context, ReplyNote, Share, context_meta, reply_meta, shown_tool};
use highwater_mcp::annotations::ours::without_ours_in_blocks;
use highwater_mcp::annotations::{
    ServerSays, known_keys, request_says, resolved_claims, result_says, server_says, tool_claims,
};
use highwater_mcp::text::member;
use proptest::prelude::*;
use serde_json::Value;

use crate::contract::{axes, milder, silence, unverified, verified, weighed};

/// Words of all vocabularies and a few of none.
const WORDS: &[&str] = &[
    "ephemeral",
    "system",
    "user",
    "internal",
    "public",
    "none",
    "pii",
    "financial",
    "credentials",
    "regulated",
    "benign",
    "consequential",
    "irreversible",
    "trustedPublic",
    "untrusted_public",
    "low",
    "medium",
    "high",
    "critical",
    "read",
    "mutate",
    "delete",
    "utility",
    "auto",
    "manual",
    "cost",
    "data_exfiltration",
    "single",
    "multi",
    "trusted",
    "untrusted",
    "private",
    "local",
    "external",
    "first-party",
    "open-world",
    "personal",
    "read-only",
    "writes-data",
    "destructive",
    "secret",
    "confidential",
    "verified",
    "self",
    "strange",
];

/// Members of blocks.
const MEMBERS: &[&str] = &[
    "destination",
    "sensitivity",
    "outcomes",
    "source",
    "Destination",
    "Outcomes",
    "outcome",
    "inputMetadata",
    "returnMetadata",
    "requiresReview",
    "sensitive",
    "untrusted",
    "integrity",
    "confidentiality",
    "class",
    "regulatory",
    "network",
    "filesystem",
    "execution",
    "effect",
    "egress",
    "dataSensitivity",
    "reversible",
    "capabilities",
    "acceptFrom",
    "required",
    "mode",
];

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(WORDS).prop_map(|word| format!("\"{word}\"")),
        4 => Just("true".to_owned()),
        4 => Just("false".to_owned()),
        1 => Just("null".to_owned()),
        1 => Just("7".to_owned()),
        1 => Just(r#"{"regulated":{"scopes":["HIPAA"]}}"#.to_owned()),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let list = |of: BoxedStrategy<String>| {
        prop::collection::vec(of, 0..4).prop_map(|items| format!("[{}]", items.join(",")))
    };
    let shallow = prop_oneof![3 => scalar(), 2 => list(scalar().boxed())].boxed();
    let block = |of: BoxedStrategy<String>| {
        prop::collection::btree_map(prop::sample::select(MEMBERS), of, 0..5)
            .prop_map(|members| object(&members))
    };
    let inner = block(shallow.clone()).boxed();
    prop_oneof![3 => shallow.clone(), 3 => block(prop_oneof![4 => shallow, 1 => inner].boxed())]
}

fn object<K: AsRef<str>>(members: &std::collections::BTreeMap<K, String>) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("\"{}\":{value}", key.as_ref())).collect();
    format!("{{{}}}", members.join(","))
}

/// Members of any vocabularies, each key once.
fn annotations() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let keys: Vec<&'static str> = known_keys().map(|(_, key)| key).collect();
    const HINTS: [&str; 6] = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "inputMetadata",
        "returnMetadata",
    ];
    let key = prop_oneof![2 => prop::sample::select(keys), 1 => prop::sample::select(&HINTS[..])];
    prop::collection::btree_map(key, value(), 0..8).prop_map(|members| members.into_iter().collect())
}

fn tool(parts: [&[(&'static str, String)]; 4]) -> String {
    let [on_tool, annotations, meta, nested] = parts
        .map(|members| members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>());
    let mut meta = meta;
    meta.push(format!(r#""annotations":{{{}}}"#, nested.join(",")));
    let mut all = on_tool;
    all.push(r#""name":"t""#.to_owned());
    all.push(format!(r#""annotations":{{{}}}"#, annotations.join(",")));
    all.push(format!(r#""_meta":{{{}}}"#, meta.join(",")));
    format!("{{{}}}", all.join(","))
}

fn in_annotations(members: &[(&'static str, String)]) -> String {
    tool([&[], members, &[], &[]])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_annotations_of_an_unverified_server_are_better_than_none(said in annotations()) {
        let contract = weighed(&in_annotations(&said), unverified());
        prop_assert_eq!(milder(&contract, &silence(unverified())), [""; 0]);
    }

    #[test]
    fn a_claim_without_authority_makes_nothing_milder(said in annotations(), more in annotations()) {
        let server = ServerSays::default();
        let mut claims: Claims = tool_claims(&in_annotations(&said), &server, Authority::DeclaredVerified).claims;
        let (before, _) = Contract::weigh(&claims, &verified());
        claims.extend(&tool_claims(&in_annotations(&more), &server, Authority::Declared).claims);
        let (after, _) = Contract::weigh(&claims, &verified());
        prop_assert_eq!(milder(&after, &before), [""; 0]);
    }

    #[test]
    fn neither_order_nor_place_matters(
        said in annotations().prop_shuffle(),
        places in prop::collection::vec(0..4_usize, 8),
        trusted: bool,
    ) {
        let trust = if trusted { verified() } else { unverified() };
        let mut parts: [Vec<(&'static str, String)>; 4] = Default::default();
        for (member, place) in said.iter().zip(&places) {
            // On the tool itself an object of this name is the protocol's own.
            let own = member.0 == "execution" && member.1.starts_with('{');
            parts[if own { 1 } else { *place }].push(member.clone());
        }
        let scattered = tool([&parts[0], &parts[1], &parts[2], &parts[3]]);
        let mut sorted = said.clone();
        sorted.sort();
        prop_assert_eq!(axes(&weighed(&scattered, trust)), axes(&weighed(&in_annotations(&sorted), trust)));
    }

    #[test]
    fn saying_a_thing_twice_changes_nothing(said in annotations(), trusted: bool) {
        let trust = if trusted { verified() } else { unverified() };
        let twice = tool([&[], &said, &said, &said]);
        prop_assert_eq!(axes(&weighed(&twice, trust)), axes(&weighed(&in_annotations(&said), trust)));
    }

    #[test]
    fn blocks_of_a_reply_join_in_any_order(one in annotations(), other in annotations()) {
        let block = |said: &[(&'static str, String)]| {
            let members: Vec<String> = said.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!(r#"{{"type":"text","text":"t","_meta":{{{}}}}}"#, members.join(","))
        };
        let label = |blocks: &[String]| {
            label_claims(&result_says(&format!(r#"{{"content":[{}]}}"#, blocks.join(","))).claims)
        };
        let (one, other) = (block(&one), block(&other));
        let both = label(&[one.clone(), other.clone()]);
        prop_assert_eq!(&both, &label(&[other.clone(), one.clone()]));
        prop_assert_eq!(both, label(&[one]).joined(&label(&[other])));
    }

    #[test]
    fn nothing_that_can_be_sent_stops_the_reading(text in prop_oneof![".*", "[\\[\\]{}\",:\\\\u0ae_mt]{0,40}"], said in annotations()) {
        let whole = in_annotations(&said);
        // Cut anywhere, or strange from the start.
        let cut: String = whole.chars().take(text.len()).collect();
        for raw in [text.as_str(), &cut, &format!(r#"{{"annotations":{text},"_meta":{text}}}"#)] {
            let contract = weighed(raw, unverified());
            prop_assert_eq!(milder(&contract, &silence(unverified())), [""; 0]);
            let (_, _, _) = (result_says(raw), request_says(raw), without_ours_in_blocks(raw));
            let (_, _) = (resolved_claims(raw, "t", Authority::Resolved), server_says(raw));
            shown_tool(raw, "t", &contract);
            let label = Label::bottom().with_open_world();
            reply_meta(Some(raw), &ReplyNote { reply: &label, sources: label.origins(), session: &label, decision: "d" });
            context_meta(Some(raw), &Context { session: &label, share: Share::Full, contributors: None });
        }
    }

    #[test]
    fn no_hint_is_shown_milder_than_the_contract(said in annotations(), trusted: bool) {
        let trust = if trusted { verified() } else { unverified() };
        let raw = in_annotations(&said);
        let contract = weighed(&raw, trust);
        let shown = shown_tool(&raw, "s__t", &contract);
        let (before, after): (Value, Value) =
            (serde_json::from_str(&raw).unwrap(), serde_json::from_str(&shown).unwrap());
        let hints = contract.hints();
        for (key, severe, needed) in [
            ("readOnlyHint", false, !hints.read_only),
            ("destructiveHint", true, hints.destructive),
            ("idempotentHint", false, !hints.idempotent),
            ("openWorldHint", true, hints.open_world),
        ] {
            let shown = &after["annotations"][key];
            // Absent is the default, and every default is the severe value.
            prop_assert!(!needed || shown.is_null() && after["annotations"].get(key).is_none() || *shown == severe);
            // A hint is never loosened, nor written where there was none.
            let edited = *shown != before["annotations"][key];
            prop_assert!(!edited || (needed && *shown == severe && before["annotations"].get(key).is_some()));
        }
        let edited = after["annotations"] != before["annotations"];
        let declared = &after["_meta"]["dev.highwater/declared"];
        prop_assert_eq!(edited, declared.is_object());
        if edited {
            for (key, value) in declared.as_object().unwrap() {
                prop_assert_eq!(value, &before["annotations"][key]);
            }
        } else {
            prop_assert_eq!(member(&shown, "annotations"), member(&raw, "annotations"));
        }
        // Apart from the hints, the name and `_meta` it is the tool it was.
        let strip = |tool: &Value| {
            let mut tool = tool.clone();
            for key in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                tool["annotations"].as_object_mut().unwrap().remove(key);
            }
            tool["name"] = Value::Null;
            let ours = |key: &String| key.starts_with("dev.highwater/") || key.ends_with("/tool-resolution");
            tool["_meta"].as_object_mut().unwrap().retain(|key, _| !ours(key));
            tool
        };
        prop_assert_eq!(strip(&before), strip(&after));
    }
}
