//! Search and call variants: every permission set × every variant × every class, where tools are found and where they are
//! offered both ways; what is found, and that nothing else can be told from what does not exist.

use highwater_testkit::client::{Answer, Client, Era, Request};
use serde_json::{Value, json};

use crate::stage::{PERMISSIONS, Stage, TOOLS, permission_sets};

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
const VARIANTS: [&str; 3] = ["call_tool_read", "call_tool_write", "call_tool_destructive"];

/// Two endpoints beside the default one: tools are found, or offered both ways.
async fn stage() -> Stage {
    Stage::new(json!({ "virtual_servers": {
        "found": { "servers": ["a", "b"], "expose": "search" },
        "open": { "servers": ["a", "b"], "expose": "both" },
    } }))
    .await
}

async fn client(stage: &Stage, era: Era, secret: &str, server: &str) -> Client {
    let endpoint = format!("{}/v/{server}", stage.gateway.endpoint());
    let setup = highwater_testkit::client::Setup::http(&endpoint).era(era).token(secret).without_stream();
    setup.connect().await.unwrap()
}

fn rank(of: &str) -> usize {
    VARIANTS.iter().position(|variant| *variant == of).unwrap()
}

fn done(answer: &Answer) -> bool {
    answer.error_code().is_none() && !answer.is_tool_error()
}

fn decision(answer: &Answer, member: &str) -> Value {
    answer.at(&format!("/result/_meta/dev.highwater~1decision/{member}"))
}

async fn found(client: &Client, arguments: Value) -> Value {
    let answer = client.call("retrieve_tools", arguments).await.unwrap();
    assert!(done(&answer), "{}", answer.raw());
    let found = answer.at("/result/structuredContent");
    let text: Value = serde_json::from_str(answer.at("/result/content/0/text").as_str().unwrap()).unwrap();
    assert_eq!(text, found, "the text says what the structure says");
    found
}

fn names(found: &Value) -> Vec<&str> {
    found["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn listed(client: &Client) -> Vec<String> {
    let answer = client.request("tools/list", json!({})).await.unwrap();
    let tools = answer.at("/result/tools");
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// One call through a variant, and what must come of it.
async fn tried(
    stage: &Stage,
    client: &Client,
    held: &[&str],
    variant: &str,
    (tool, _, class): (&str, &str, &str),
) {
    let part = format!("\"{tool}\"");
    let before = stage.reached("a", "tools/call", &part);
    let arguments = json!({ "name": format!("a__{tool}"), "arguments": {} });
    let answer = client.call(variant, arguments).await.unwrap();
    let reached = stage.reached("a", "tools/call", &part) - before;
    let story = format!("`{tool}` ({class}) through {variant} with {held:?}: {}", answer.raw());
    let needs = VARIANTS[rank(variant).max(rank(class))];
    let meant = rank(variant) >= rank(class);
    let allowed = held.contains(&needs) && meant;
    assert_eq!(reached, usize::from(allowed), "{story}");
    assert_eq!(done(&answer), allowed, "{story}");
    if !held.contains(&needs) {
        assert_eq!(decision(&answer, "permission"), needs, "{story}");
    } else if !meant {
        assert_eq!(decision(&answer, "code"), "SERVER_MISMATCH", "{story}");
        assert_eq!(decision(&answer, "callWith"), class, "{story}");
        assert!(answer.text().unwrap().contains(class), "{story}");
    }
}

async fn matrix(era: Era) {
    let stage = stage().await;
    for held in permission_sets() {
        let name = format!("set-{}", held.join(".").replace("call_tool_", ""));
        let secret = stage.token(&name, json!({ "permissions": held, "servers": ["a", "b"] })).await;
        for server in ["found", "open"] {
            let client = client(&stage, era, &secret, server).await;
            for variant in VARIANTS {
                for tool in TOOLS {
                    tried(&stage, &client, &held, variant, tool).await;
                }
            }
            // By its own name a tool is called only where it is offered by it.
            for (tool, _, class) in TOOLS {
                let before = stage.reached("a", "tools/call", "");
                let answer = client.call(&format!("a__{tool}"), json!({})).await.unwrap();
                let allowed = server == "open" && held.contains(&class);
                assert_eq!(done(&answer), allowed, "{tool} at {server} with {held:?}: {}", answer.raw());
                assert_eq!(stage.reached("a", "tools/call", "") - before, usize::from(allowed));
            }
            searched(&client, &held, server).await;
        }
    }
}

/// What a token is offered, finds and is told of.
async fn searched(client: &Client, held: &[&str], server: &str) {
    let searches = held.contains(&"retrieve_tools");
    let mut own: Vec<String> = Vec::new();
    if searches {
        own.extend(["retrieve_tools".to_owned(), "describe_tool".to_owned()]);
    }
    own.extend(VARIANTS.iter().filter(|variant| held.contains(variant)).map(|variant| (*variant).to_owned()));
    let offered = listed(client).await;
    assert_eq!(&offered[..own.len()], own, "{held:?} at {server}");
    // In which order is for the tests of lists.
    let mut theirs = offered[own.len()..].to_vec();
    theirs.sort();
    let mut granted: Vec<String> = TOOLS
        .iter()
        .filter(|(_, _, class)| held.contains(class))
        .flat_map(|(tool, ..)| [format!("a__{tool}"), format!("b__{tool}")])
        .collect();
    if held.contains(&"call_tool_read") {
        granted.extend(["a__slow".to_owned(), "b__slow".to_owned()]);
    }
    granted.sort();
    assert_eq!(theirs, if server == "open" { &granted[..] } else { &[] }, "{held:?} at {server}");
    if !searches {
        for tool in ["retrieve_tools", "describe_tool"] {
            let answer = client.call(tool, json!({ "name": "a__look" })).await.unwrap();
            assert_eq!(decision(&answer, "permission"), "retrieve_tools", "{held:?}: {}", answer.raw());
            assert!(answer.is_tool_error());
        }
        return;
    }
    let all = found(client, json!({ "limit": 100 })).await;
    assert_eq!(names(&all), granted, "{held:?} at {server}");
    for tool in all["tools"].as_array().unwrap() {
        let class = TOOLS.iter().find(|(own, ..)| tool["name"].as_str().unwrap().ends_with(own));
        let class = class.map_or("call_tool_read", |(.., class)| class);
        assert_eq!(tool["call_with"], class, "{tool}");
        assert_eq!(tool["status"], "callable_now", "nothing but the token decides here: {tool}");
    }
    for (tool, _, class) in TOOLS {
        let answer = client.call("describe_tool", json!({ "name": format!("a__{tool}") })).await.unwrap();
        assert_eq!(done(&answer), held.contains(&class), "{tool} with {held:?}: {}", answer.raw());
    }
}

#[tokio::test]
async fn a_legacy_call_through_a_variant_needs_the_greater_of_variant_and_class() {
    matrix(Era::Legacy).await;
}

#[tokio::test]
async fn a_modern_call_through_a_variant_needs_the_greater_of_variant_and_class() {
    matrix(Era::Modern).await;
}

#[tokio::test]
async fn what_is_out_of_reach_cannot_be_told_from_what_is_not_there() {
    let stage = stage().await;
    let grant = json!({ "permissions": PERMISSIONS, "servers": ["a"], "tools": ["look", "plain"] });
    let secret = stage.token("narrow", grant).await;
    for era in ERAS {
        let client = client(&stage, era, &secret, "found").await;
        let all = found(&client, json!({})).await;
        assert_eq!(names(&all), ["a__look", "a__plain"]);
        assert_eq!(all["total"], 2);
        for hidden in ["a__wipe", "b__look", "c__look", "call_tool_read", "retrieve_tools", ""] {
            let invented = "a__nothing";
            for tool in ["call_tool_read", "call_tool_write", "call_tool_destructive", "describe_tool"] {
                let say = async |name: &str| {
                    let answer = client.call(tool, json!({ "name": name, "arguments": {} })).await.unwrap();
                    assert!(answer.is_tool_error(), "{}", answer.raw());
                    answer.at("/result").to_string().replace(&format!("`{name}`"), "NAME")
                };
                assert_eq!(say(hidden).await, say(invented).await, "{tool} of `{hidden}`");
            }
        }
        // Not even a filter counts what is not seen.
        let filtered = found(&client, json!({ "exclude_destructive": true })).await;
        assert_eq!(filtered["filter_diagnostics"]["matched_before_filters"], 2, "{filtered}");
        let other = found(&client, json!({ "server": "b" })).await;
        assert_eq!((names(&other).len(), &other["total"]), (0, &json!(0)));
    }
    assert_eq!(stage.reached("a", "tools/call", "wipe"), 0);
    assert_eq!(stage.reached("b", "tools/call", ""), 0);
}

#[tokio::test]
async fn filters_come_before_the_limit_and_say_what_they_hid() {
    let stage = stage().await;
    let client = client(&stage, Era::Modern, stage.gateway.agent_token(), "found").await;
    let whole = found(&client, json!({ "limit": 100 })).await;
    let reads = |tool: &&Value| tool["annotations"]["readOnlyHint"] == json!(true);
    let expected: Vec<&str> = whole["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(reads)
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(expected, ["a__look", "a__slow", "b__look", "b__slow"]);
    let cut = found(&client, json!({ "limit": 3, "read_only_only": true })).await;
    assert_eq!(names(&cut), expected[..3]);
    assert_eq!(cut["total"], 4);
    let told = &cut["filter_diagnostics"];
    assert_eq!((&told["matched_before_filters"], &told["omitted_total"]), (&json!(12), &json!(8)));
    // `plain` says nothing of itself; `change`, `wipe` and `liar` say what they are.
    assert_eq!(told["omitted_by_filter"]["read_only_only"], json!({ "tools": 8, "unstated": 2 }));
    let one = found(&client, json!({ "query": "wipe", "server": "b" })).await;
    assert_eq!(names(&one), ["b__wipe"]);
    for (wrong, said) in [
        (json!({ "limit": 0 }), "`limit`"),
        (json!({ "limit": "3" }), "`limit`"),
        (json!({ "read_only": true }), "`read_only`"),
        (json!({ "exclude_destructive": "yes" }), "`exclude_destructive`"),
        (json!({ "query": 7 }), "`query`"),
        (json!({ "detail": "some" }), "`detail`"),
    ] {
        let answer = client.call("retrieve_tools", wrong).await.unwrap();
        assert!(answer.is_tool_error() && answer.text().unwrap().contains(said), "{}", answer.raw());
    }
}

#[tokio::test]
async fn a_call_through_a_variant_is_the_call_itself() {
    let stage = stage().await;
    for era in ERAS {
        let client = client(&stage, era, stage.gateway.agent_token(), "found").await;
        let exact = r#"{"b":1.0,"a":12345678901234567890,  "s":"\u00e9"}"#;
        let params =
            format!(r#"{{"name":"call_tool_read","arguments":{{"arguments":{exact},"name":"a__look"}}}}"#);
        let answer = client.send(Request::new("tools/call").raw_params(&params)).await.unwrap();
        assert!(done(&answer), "{}", answer.raw());
        assert_eq!(answer.text().unwrap(), "done");
        let heard = stage.journal("a").of("tools/call");
        assert!(heard.last().unwrap().raw.contains(exact), "{}", heard.last().unwrap().raw);
        let recorded = stage.record();
        let decided = recorded.iter().rev().find(|event| event["event"] == "decision").unwrap();
        assert_eq!(decided["variant"], "call_tool_read", "{decided}");
        assert_eq!((&decided["tool"], &decided["target"]), (&json!("a__look"), &json!("look")));
        assert_eq!(decided["method"], "tools/call");
        // A variant above the class is allowed and noted.
        assert!(done(&client.call("call_tool_write", json!({ "name": "a__look" })).await.unwrap()));
        // A call within a call is none.
        let within = json!({ "name": "call_tool_read", "arguments": { "name": "a__look" } });
        assert!(!done(&client.call("call_tool_read", within).await.unwrap()));
        for wrong in [json!({}), json!({ "name": 3 }), json!({ "name": "a__look", "arguments": [] })] {
            assert!(client.call("call_tool_read", wrong).await.unwrap().is_tool_error());
        }
    }
}

#[tokio::test]
async fn a_call_through_a_variant_can_be_cancelled() {
    let stage = stage().await;
    let client = client(&stage, Era::Legacy, stage.gateway.agent_token(), "found").await;
    let call = Request::call("call_tool_read", &json!({ "name": "a__slow", "arguments": {} }));
    let pending = client.begin(call).await.unwrap();
    stage.journal("a").wait("tools/call", "slow").await.unwrap();
    pending.cancel().await.unwrap();
    stage.journal("a").wait("notifications/cancelled", "").await.unwrap();
}

#[tokio::test]
async fn search_is_offered_over_every_front() {
    let stage = Stage::new(json!({ "expose": "search" })).await;
    for era in ERAS {
        for setup in [stage.gateway.stdio(era), stage.setup(era, stage.gateway.agent_token())] {
            let client = setup.connect().await.unwrap();
            let own = [
                "retrieve_tools",
                "describe_tool",
                "call_tool_read",
                "call_tool_write",
                "call_tool_destructive",
            ];
            assert_eq!(listed(&client).await, own);
            let hits = found(&client, json!({ "query": "wipe" })).await;
            assert_eq!(names(&hits), ["a__wipe", "b__wipe"]);
            let answer = client.call("call_tool_destructive", json!({ "name": "b__wipe" })).await.unwrap();
            assert!(done(&answer), "{}", answer.raw());
        }
    }
    assert_eq!(stage.reached("b", "tools/call", "wipe"), 4);
}

#[tokio::test]
async fn a_server_that_is_down_does_not_tell_hidden_from_unknown() {
    let home = crate::stage::home(&json!({}));
    let mut config = crate::stage::config(home.path());
    config["servers"]["down"] = json!({ "command": "there-is-no-such-program" });
    config["expose"] = json!("both");
    home.configure(&config.to_string()).unwrap();
    let stage = Stage::in_home(home).await;
    let grant = json!({ "permissions": PERMISSIONS, "servers": ["a", "down"], "tools": ["look"] });
    let secret = stage.token("narrow", grant).await;
    let client = stage.client(Era::Modern, &secret).await;
    let hits = found(&client, json!({})).await;
    assert_eq!((names(&hits), &hits["not_available"]), (vec!["a__look"], &json!(["down"])));
    let say = async |tool: &str, arguments: Value, name: &str| {
        let answer = client.call(tool, arguments).await.unwrap();
        let said = answer.at("/error").to_string() + &answer.at("/result").to_string();
        assert!(said.contains("not available right now: `down`"), "{said}");
        said.replace(&format!("`{name}`"), "NAME")
    };
    for hidden in ["a__wipe", "b__look"] {
        let invented = "a__nothing";
        assert_eq!(say(hidden, json!({}), hidden).await, say(invented, json!({}), invented).await);
        for tool in ["call_tool_read", "describe_tool"] {
            let of = |name: &str| json!({ "name": name });
            assert_eq!(say(tool, of(hidden), hidden).await, say(tool, of(invented), invented).await);
        }
    }
}
