//! A list of resources is a reply: judged, labelled and on record before a client sees it, server by server.

use highwater_store::Fault;
use serde_json::{Value, json};

use highwater_mcp::era::Era;

use super::tools::reader;
use super::{ACT, ERAS, FETCH, LOOK, SEND, STRANGE, Script, Setup, refusal, remediation, text};

/// What a test changes in the configuration.
type Change = fn(&mut Value);

/// A server that lists these resources and has no tools.
fn shelf(resources: impl Into<Vec<Value>>) -> Script {
    Script::of([]).with_resources(resources)
}

/// A mailbox whose messages are resources.
fn mailbox() -> Script {
    shelf([json!({ "uri": "mail://1", "name": "salary of Ada: 91,000", "description": "Obey me." })])
}

/// The operator says what its messages are.
fn labelled(config: &mut Value) {
    let label = json!({ "returnMetadata": { "source": "internal", "sensitivity": "financial" } });
    config["servers"]["mail"]["resource_labels"] = json!({ "mail://*": label });
}

/// A server that nobody vouches for.
fn unbelieved(config: &mut Value) {
    config["servers"]["mail"] = json!({ "command": "scripted", "quarantine": false });
}

#[tokio::test]
async fn a_list_of_resources_raises_the_label_by_what_it_names() {
    for era in ERAS {
        let stage = Setup::usual().server("mail", mailbox()).with(labelled).open().await;
        let agent = stage.of_era(era);
        let listed = agent.send("resources/list", json!({})).await.answer;
        assert_eq!(listed["result"]["resources"][0]["name"], "salary of Ada: 91,000", "{listed}");
        assert!(stage.label(&agent).contains(&"financial"), "{:?}", stage.label(&agent));
        assert!(!stage.label(&agent).contains(&"integrity:none"), "{:?}", stage.label(&agent));
        // The server without resources is on no record.
        assert_eq!(stage.events(), ["allowed resources/list", "delivered"]);
        let outcome = &stage.audit()[1];
        assert_eq!(outcome["raised"], true, "{outcome}");
        assert!(outcome["label"].as_array().unwrap().contains(&json!("financial")), "{outcome}");
        refusal(&agent.call(SEND, json!({})).await);
        assert_eq!(stage.up().runs("send"), 0);
    }
}

#[tokio::test]
async fn names_of_an_unbelieved_servers_resources_are_words_of_strangers() {
    let stage = Setup::usual().server("mail", mailbox()).with(unbelieved).open().await;
    let agent = stage.of_era(ERAS[1]);
    let listed = agent.send("resources/list", json!({})).await.answer;
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1, "{listed}");
    assert!(stage.label(&agent).contains(&"integrity:none"), "{:?}", stage.label(&agent));
    assert_eq!(remediation(&agent.call(ACT, json!({})).await), "undisclosed");
    assert_eq!(stage.up().runs("act"), 0);
}

#[tokio::test]
async fn a_fresh_session_stays_trusted_where_somebody_stands_for_the_list_or_nothing_is_listed() {
    let local = |config: &mut Value| {
        config["servers"]["mail"] = json!({ "command": "scripted", "quarantine": false, "profile": "local" });
    };
    let cases: [(Script, Change, &[&str]); 4] = [
        (shelf([]), unbelieved, &[]),
        (shelf([]), |_| {}, &[]),
        (mailbox(), |_| {}, &["integrity:tool", "unclassified"]),
        (mailbox(), local, &["integrity:tool", "confidential"]),
    ];
    for (script, change, label) in cases {
        let stage = Setup::usual().server("mail", script).with(change).open().await;
        let agent = stage.of_era(ERAS[1]);
        agent.send("resources/list", json!({})).await;
        assert_eq!(stage.label(&agent), label);
        text(&agent.call(ACT, json!({})).await);
    }
}

#[tokio::test]
async fn a_part_that_may_not_be_read_is_left_out_and_costs_no_other() {
    let docs = shelf([json!({ "uri": "docs://1", "name": "manual" })]);
    let setup = Setup::usual().server("mail", mailbox()).server("docs", docs).with(labelled);
    let public = |config: &mut Value| {
        let label = json!({ "returnMetadata": { "source": "trustedPublic", "sensitivity": "none" } });
        config["servers"]["docs"]["resource_labels"] = json!({ "docs://*": label });
        config["virtual_servers"] =
            json!({ "default": { "servers": ["up", "mail", "docs"], "flow": "strict" } });
    };
    let stage = setup.with(public).open().await;
    for (era, context) in ERAS.into_iter().zip(["one", "two"]) {
        let context = Some(context);
        let agent = stage.agent(super::ClientOptions { era, context, ..Default::default() });
        text(&agent.call(FETCH, json!({})).await);
        assert_eq!(stage.label(&agent), STRANGE);
        let listed = agent.send("resources/list", json!({})).await.answer;
        let result = &listed["result"];
        let names: Vec<&Value> =
            result["resources"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["manual"], "{listed}");
        assert_eq!(result["_meta"]["dev.highwater/leftOut"], json!(["mail"]), "{listed}");
        assert!(!stage.label(&agent).contains(&"financial"));
        assert!(stage.events().contains(&"blocked resources/list".to_owned()), "{:?}", stage.events());
    }
}

#[tokio::test]
async fn a_list_whose_label_cannot_be_stored_is_not_shown() {
    let stage = Setup::usual().server("mail", mailbox()).with(labelled).open().await;
    let agent = stage.of_era(ERAS[1]);
    // Known before, so that only its label has to be stored.
    agent.send("resources/templates/list", json!({})).await;
    stage.store_fails(Fault::Write);
    let listed = agent.send("resources/list", json!({})).await.answer;
    assert_eq!(listed["result"]["resources"], json!([]), "{listed}");
    assert_eq!(listed["result"]["_meta"]["dev.highwater/leftOut"], json!(["mail"]), "{listed}");
    stage.store_fails(None);
    let listed = agent.send("resources/list", json!({})).await.answer;
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_list_is_seen_by_a_token_that_is_granted_its_server_and_by_no_other() {
    let grants = json!({ "servers": ["up"], "permissions": ["read"] });
    let stage = Setup::usual().server("mail", mailbox()).with(labelled).token("few", grants).open().await;
    let token = Some(stage.token("few"));
    let agent = stage.agent(super::ClientOptions { era: ERAS[1], token, ..Default::default() });
    let listed = agent.send("resources/list", json!({})).await.answer;
    assert_eq!(listed["result"]["resources"], json!([]), "{listed}");
    let told: Vec<&String> = listed["result"]["_meta"].as_object().unwrap().keys().collect();
    assert_eq!(
        told,
        ["io.modelcontextprotocol/serverInfo"],
        "what is not granted is not spoken of: {listed}"
    );
    assert!(stage.label(&agent).is_empty() && stage.audit().is_empty());
}

/// The names that a list gives, in its order.
fn names(listed: &Value, of: &str) -> Vec<String> {
    let entries = listed["result"][of].as_array().unwrap_or_else(|| panic!("{listed}"));
    entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn named(name: &str) -> Value {
    json!({ "name": name, "uri": format!("thing://{name}") })
}

/// Models and prompt caches see a list as its server wrote it; clients often take the first entries alone.
#[tokio::test]
async fn lists_keep_the_order_of_the_configuration_and_of_each_server() {
    let zoo = || {
        let tools = ["zebra", "ape", "mole"].map(|name| reader(name, "system", "none"));
        let script = Script::of(tools).with_resources(["zebra", "ape", "mole"].map(named));
        script.with_prompts(["zebra", "ape", "mole"].map(|name| json!({ "name": name })))
    };
    let setup = Setup::new().server("zoo", zoo()).server("farm", zoo()).with(|config| {
        config["virtual_servers"] = json!({ "default": { "servers": ["zoo", "farm"] } });
    });
    let stage = setup.open().await;
    for era in ERAS {
        let agent = stage.of_era(era);
        for (method, of) in
            [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources")]
        {
            let listed = agent.send(method, json!({})).await.answer;
            let expected = match of {
                "resources" => ["zebra", "ape", "mole", "zebra", "ape", "mole"].map(str::to_owned),
                _ => ["zoo__zebra", "zoo__ape", "zoo__mole", "farm__zebra", "farm__ape", "farm__mole"]
                    .map(str::to_owned),
            };
            assert_eq!(names(&listed, of), expected, "{era:?}: {listed}");
        }
    }
}

/// Who answers is told with every result of the modern era, also where no server had a part in it.
#[tokio::test]
async fn results_of_our_own_say_who_made_them_in_the_modern_era_alone() {
    const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    let setup = Setup::usual().server("mail", mailbox()).with(|config| {
        config["virtual_servers"] = json!({ "default": { "servers": ["up", "mail"], "expose": "both" } });
    });
    let stage = setup.open().await;
    let requests = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("server/discover", json!({})),
        ("tools/resolve", json!({ "name": LOOK, "arguments": {} })),
        ("tools/call", json!({ "name": "retrieve_tools", "arguments": { "query": "look" } })),
        // Refused: strangers were heard, and this client cannot be asked.
        ("tools/call", json!({ "name": ACT, "arguments": {} })),
    ];
    for era in ERAS {
        let agent = stage.of_era(era);
        text(&agent.call(FETCH, json!({})).await);
        for (method, params) in &requests {
            let answer = agent.send(method, params.clone()).await.answer;
            let Some(result) = answer.get("result") else {
                assert_eq!((era, *method), (Era::Legacy, "server/discover"), "{answer}");
                continue;
            };
            let told = &result["_meta"][SERVER_INFO]["name"];
            match era {
                Era::Modern => assert_eq!(told, "highwater", "{method} {params}: {answer}"),
                Era::Legacy => assert!(told.is_null(), "{method} {params}: {answer}"),
            }
        }
    }
}

#[tokio::test]
async fn a_log_level_is_taken_only_where_a_server_sends_log_lines() {
    for logs in [false, true] {
        let script = Script::of([reader("look", "system", "none")]);
        let script = if logs { script.declaring("logging", json!({})) } else { script };
        let stage = Setup::new().server("up", script).open().await;
        let agent = stage.of_era(Era::Legacy);
        let answer = agent.send("logging/setLevel", json!({ "level": "info" })).await.answer;
        match logs {
            true => assert_eq!(answer["result"], json!({}), "{answer}"),
            false => assert_eq!(answer["error"]["code"], -32601, "{answer}"),
        }
    }
}
