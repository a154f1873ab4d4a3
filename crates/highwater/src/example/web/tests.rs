//! The web: pages, forms, prompts, completion.

use serde_json::{Value, json};

use crate::example::ExampleServer::Web;
use crate::example::tests::client::{BOTH, Client, kept, plain};

const ATTACK: &str = "https://deals.example/pump-sale";
const FORM: &str = "https://forms.example/rebate";

#[test]
fn every_page_is_from_the_open_world_and_the_attack_is_flagged() {
    for era in BOTH {
        let mut web = Client::of(era, Web, &plain());
        let valves = "https://docs.example/valves";
        assert_eq!(
            web.label("fetch_page", json!({"url": valves})),
            json!({"openWorldHint": true, "sensitivity": "none", "attribution": [valves]})
        );
        assert_eq!(
            web.label("fetch_page", json!({"url": ATTACK})),
            json!({
                "openWorldHint": true, "maliciousActivityHint": true, "sensitivity": "none",
                "attribution": [ATTACK]
            })
        );
    }
}

#[test]
fn a_search_is_as_suspicious_as_its_worst_result() {
    let mut web = Client::legacy(Web, &plain());
    let urls = |found: &Value| -> Vec<String> {
        let results = found["structuredContent"]["results"].as_array().unwrap();
        results.iter().map(|result| result["url"].as_str().unwrap().to_owned()).collect()
    };
    let clean = web.call("search_web", json!({"query": "Brass sand"}));
    assert_eq!(urls(&clean), ["https://docs.example/valves"]);
    assert_eq!(clean["_meta"]["annotations"].get("maliciousActivityHint"), None);
    let pumps = web.call("search_web", json!({"query": "pump"}));
    assert_eq!(urls(&pumps), [ATTACK]);
    assert_eq!(pumps["_meta"]["annotations"]["maliciousActivityHint"], true);
    assert_eq!(urls(&web.call("search_web", json!({"query": "no such words"}))), Vec::<String>::new());
}

#[test]
fn a_form_is_sent_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut web = Client::modern(Web, &kept(directory.path()));
    let form = web.data("fetch_page", json!({"url": FORM}))["form"].take();
    assert_eq!(form, json!(["farm", "cubic_metres"]));
    let fields = json!({"farm": "Reinders", "cubic_metres": "410"});
    let sent = web.data("submit_form", json!({"url": FORM, "fields": fields}));
    assert_eq!(sent, json!({"url": FORM, "receipt": 1}));
    let saved = std::fs::read(directory.path().join("web.json")).unwrap();
    let saved: Value = serde_json::from_slice(&saved).unwrap();
    assert_eq!(saved["submissions"], json!([{"url": FORM, "fields": fields}]));
    let mut again = Client::legacy(Web, &kept(directory.path()));
    assert_eq!(again.data("submit_form", json!({"url": FORM, "fields": fields}))["receipt"], 2);
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let mut web = Client::legacy(Web, &plain());
    for (tool, arguments, named) in [
        ("fetch_page", json!({"url": "https://elsewhere.example/"}), "`url`"),
        ("fetch_page", json!({"url": "http://127.0.0.1:1/"}), "`url`"),
        ("search_web", json!({"query": ""}), "`query`"),
        ("submit_form", json!({"url": "https://docs.example/valves", "fields": {}}), "`url`"),
        ("submit_form", json!({"url": FORM, "fields": {"farm": "x"}}), "`cubic_metres`"),
        ("submit_form", json!({"url": FORM, "fields": {"other": "x"}}), "`other`"),
        ("submit_form", json!({"url": FORM, "fields": {"farm": 1}}), "`fields.farm`"),
        ("submit_form", json!({"url": FORM, "fields": []}), "`fields`"),
    ] {
        let text = web.refused(tool, arguments);
        assert!(text.contains(named), "{tool}: {text}");
    }
}

#[test]
fn a_prompt_quotes_its_page_under_the_label_of_the_page() {
    for era in BOTH {
        let mut web = Client::of(era, Web, &plain());
        let listed = web.ask("prompts/list", json!({}))["prompts"].take();
        let names: Vec<&str> =
            listed.as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["summarise_page", "plan_research"]);
        let arguments = json!({"url": ATTACK, "sentences": "2"});
        let prompt = web.ask("prompts/get", json!({"name": "summarise_page", "arguments": arguments}));
        assert_eq!(prompt["messages"][0]["content"]["type"], "resource");
        assert_eq!(prompt["messages"][0]["content"]["resource"]["uri"], ATTACK);
        assert!(prompt["messages"][1]["content"]["text"].as_str().unwrap().contains("2 sentences"));
        assert_eq!(prompt["_meta"]["annotations"]["maliciousActivityHint"], true);
        let plan = web.ask("prompts/get", json!({"name": "plan_research", "arguments": {"topic": "pumps"}}));
        assert!(plan["messages"][0]["content"]["text"].as_str().unwrap().contains("pumps"));
        assert_eq!(plan["_meta"]["annotations"].get("openWorldHint"), None);
        for arguments in [json!({"url": "https://x.example/"}), json!({"url": ATTACK, "sentences": "many"})] {
            let error = web.fail("prompts/get", json!({"name": "summarise_page", "arguments": arguments}));
            assert_eq!(error["code"], -32602);
        }
    }
}

#[test]
fn addresses_are_completed_from_scheme_or_host() {
    let mut web = Client::legacy(Web, &plain());
    let mut complete = |argument: &str, value: &str| {
        let reference = json!({"type": "ref/prompt", "name": "summarise_page"});
        let params = json!({"ref": reference, "argument": {"name": argument, "value": value}});
        web.ask("completion/complete", params)["completion"]["values"].take()
    };
    let docs = json!(["https://docs.example/drip-irrigation", "https://docs.example/valves"]);
    assert_eq!(complete("url", "https://docs"), docs);
    assert_eq!(complete("url", "docs"), docs);
    assert_eq!(complete("url", "none"), json!([]));
    assert_eq!(complete("sentences", ""), json!([]));
}
