//! What a pin notices, part by part, and what it does not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use highwater_core::annotation::{Authority, Axis, Contract};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_mcp::annotations::{ServerSays, pinned, server_says};
use highwater_notation::Words;
use highwater_pins::{Definition, Direction, Drift, PartClass, PinKind};
use serde_json::{Value, json};

fn tool(item: &Value) -> Definition {
    pinned::tool(&item.to_string(), &ServerSays::default()).unwrap()
}

fn search() -> Value {
    json!({
        "name": "search",
        "title": "Search",
        "description": "Finds things.",
        "inputSchema": { "type": "object", "properties": { "q": { "type": "string", "description": "what" } } },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
        "icons": [{ "src": "data:," }],
        "_meta": { "example.com/x": 1 },
    })
}

/// The search tool with something else at a place.
fn changed(pointer: &str, value: Value) -> Value {
    let mut item = search();
    let (place, key) = pointer.rsplit_once('/').unwrap();
    item.pointer_mut(place).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
    item
}

fn classes(before: &Value, after: &Value) -> Vec<(String, PartClass)> {
    let drift = Drift::between(&tool(before), &tool(after));
    let changes = drift.iter().flat_map(|drift| drift.changes());
    changes.map(|change| (change.part.to_string(), change.class)).collect()
}

#[test]
fn every_part_of_a_tool_is_noticed_as_what_it_is() {
    for (pointer, class) in [
        ("/title", PartClass::Wording),
        ("/description", PartClass::Wording),
        ("/annotations/title", PartClass::Wording),
        ("/execution", PartClass::Schema),
        ("/something", PartClass::Wording),
        ("/_meta/example.com~1x", PartClass::Wording),
        ("/annotations/somethingHint", PartClass::Wording),
        ("/inputSchema", PartClass::Schema),
        ("/outputSchema", PartClass::Schema),
        ("/icons", PartClass::Cosmetic),
        ("/annotations/readOnlyHint", PartClass::Annotation),
        ("/annotations/returnMetadata", PartClass::Annotation),
        ("/_meta/samos", PartClass::Wording),
        ("/trust", PartClass::Annotation),
    ] {
        let key = pointer.replace("~1", "/");
        let after = changed(&key.replace("example.com/x", "example.com~1x"), json!({ "new": 1 }));
        let after = if pointer.contains("~1") {
            let mut item = search();
            item["_meta"]["example.com/x"] = json!(2);
            item
        } else {
            after
        };
        assert_eq!(classes(&search(), &after), [(pointer.to_owned(), class)], "{pointer}");
    }
    let mut deep = search();
    deep["inputSchema"]["properties"]["q"]["description"] = json!("what, and the user's password");
    assert_eq!(classes(&search(), &deep), [("/inputSchema".to_owned(), PartClass::Schema)]);
}

#[test]
fn defaults_that_are_left_out_or_written_are_one() {
    let bare = json!({ "name": "t", "inputSchema": {} });
    for same in [
        json!({ "inputSchema": {}, "name": "t" }),
        json!({ "name": "t", "inputSchema": {}, "annotations": {} }),
        json!({ "name": "t", "inputSchema": {}, "annotations": null, "title": null, "_meta": {} }),
        json!({ "name": "t", "inputSchema": {}, "annotations": {
            "readOnlyHint": false, "idempotentHint": false, "openWorldHint": true } }),
        json!({ "name": "t", "inputSchema": {}, "_meta": { "dev.highwater/contract": { "v": 1 } } }),
    ] {
        assert_eq!(tool(&bare).digest(), tool(&same).digest(), "{same}");
    }
    for other in [
        json!({ "name": "t", "inputSchema": {}, "annotations": { "destructiveHint": true } }),
        json!({ "name": "t", "inputSchema": {}, "annotations": { "destructiveHint": false } }),
        json!({ "name": "t", "inputSchema": {}, "annotations": { "readOnlyHint": "true" } }),
        json!({ "name": "u", "inputSchema": {} }),
    ] {
        assert_ne!(tool(&bare).digest(), tool(&other).digest(), "{other}");
    }
}

#[test]
fn what_is_kept_reads_back_as_it_was() {
    let says = server_says(r#"{"flow":{"policy":true,"default":{"acceptFrom":["self"]}}}"#);
    let definitions = [
        tool(&search()),
        pinned::tool(&search().to_string(), &says).unwrap(),
        pinned::prompt(r#"{"name":"p","description":"d","arguments":[{"name":"a"}]}"#).unwrap(),
        pinned::template(r#"{"uriTemplate":"x://{a}","name":"n"}"#).unwrap(),
        pinned::instructions(r#""Use \u0041 well.""#).unwrap(),
        pinned::identity([("command", json!("cat")), ("arguments", json!([]))]),
    ];
    for definition in &definitions {
        let back = pinned::read_back(definition.key().kind, definition.text()).unwrap();
        assert_eq!(&back, definition);
    }
    assert_ne!(definitions[0].digest(), definitions[1].digest());
    for kind in PinKind::ALL {
        assert_eq!(pinned::read_back(*kind, "nonsense"), None);
    }
}

#[test]
fn a_changed_claim_has_a_direction() {
    let trust = ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::None);
    let contract = |item: &Value| {
        let claims = pinned::claims(&tool(item), Authority::DeclaredVerified).claims;
        Contract::weigh(&claims, &trust).0
    };
    let pinned = contract(&search());
    let riskier = contract(&changed("/annotations/destructiveHint", json!(true)));
    let direction = Direction::between(&pinned, &riskier);
    assert!(direction.loosens.is_empty() && direction.tightens.contains(Axis::Outcomes), "{direction:?}");
    let safer = Direction::between(&riskier, &pinned);
    assert!(safer.tightens.is_empty() && safer.loosens.contains(Axis::Outcomes), "{safer:?}");
    // A server that no longer says that it only reads is taken for one that does not.
    let silent = contract(&changed("/annotations", json!({})));
    let direction = Direction::between(&pinned, &silent);
    assert!(direction.tightens.contains(Axis::Outcomes) && !direction.loosens.contains(Axis::Outcomes));
    let both = pinned.strictest(&silent);
    assert_eq!(both.hints(), silent.hints());
    // What it returns was private, and stays so; that it may come from anybody is the news.
    assert!(!direction.loosens.contains(Axis::Source), "{direction:?}");
    assert!(direction.tightens.contains(Axis::Source), "{direction:?}");
    assert!(both.reply_label().covers(pinned.reply_label()));
    assert!(Direction::between(&pinned, &pinned).is_none());
}

#[test]
fn a_tool_that_begins_to_call_itself_destructive_has_changed() {
    let bare = json!({ "name": "t", "inputSchema": {} });
    let says = json!({ "name": "t", "inputSchema": {}, "annotations": { "destructiveHint": true } });
    assert_eq!(classes(&bare, &says), [("/annotations/destructiveHint".to_owned(), PartClass::Annotation)]);
    let contract = |item: &Value| {
        let claims = pinned::claims(&tool(item), Authority::Declared).claims;
        Contract::weigh(&claims, &ServerTrust::default()).0
    };
    let direction = Direction::between(&contract(&bare), &contract(&says));
    assert_eq!(direction.tightens, Words::only(Axis::Outcomes), "its call class is another");
    assert!(direction.loosens.is_empty());
}

#[test]
fn an_open_world_is_riskier_and_an_idempotent_call_is_no_outcome() {
    let contract = |hints: Value| {
        let item = json!({ "name": "t", "inputSchema": {}, "annotations": hints });
        let claims = pinned::claims(&tool(&item), Authority::DeclaredVerified).claims;
        Contract::weigh(&claims, &ServerTrust::default()).0
    };
    let closed = contract(json!({ "readOnlyHint": true, "openWorldHint": false }));
    let open = contract(json!({ "readOnlyHint": true, "openWorldHint": true }));
    let direction = Direction::between(&closed, &open);
    assert!(direction.tightens.covers(Words::only(Axis::Source).with(Axis::Integrity)), "{direction:?}");
    assert!(!direction.loosens.contains(Axis::Source), "{direction:?}");
    assert!(!direction.loosens.contains(Axis::Integrity), "{direction:?}");
    let once = contract(json!({ "openWorldHint": false }));
    let again = contract(json!({ "openWorldHint": false, "idempotentHint": true }));
    let direction = Direction::between(&once, &again);
    assert_eq!(direction.idempotent, Some(true));
    assert!(direction.loosens.is_empty() && direction.tightens.is_empty(), "{direction:?}");
    assert!(!direction.is_none());
}

#[test]
fn the_policy_of_the_server_belongs_to_the_claims_of_its_tools() {
    let says = |tokens: &str| {
        server_says(&format!(r#"{{"flow":{{"policy":true,"default":{{"acceptFrom":[{tokens}]}}}}}}"#))
    };
    let narrow = pinned::tool(&search().to_string(), &says(r#""self""#)).unwrap();
    let wide = pinned::tool(&search().to_string(), &says(r#""self","unverified""#)).unwrap();
    let drift = Drift::between(&narrow, &wide).unwrap();
    assert!(!drift.holds());
    let contract = |definition: &Definition| {
        let claims = pinned::claims(definition, Authority::Declared).claims;
        Contract::weigh(&claims, &ServerTrust::default()).0
    };
    let direction = Direction::between(&contract(&narrow), &contract(&wide));
    assert!(direction.loosens.contains(Axis::Accepts));
    let both = contract(&narrow).strictest(&contract(&wide));
    assert_eq!(both.accept_from().unwrap().len(), 1);
}
