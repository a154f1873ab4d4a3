//! Every permission set × every class × every surface: a call reaches the server exactly where the token holds what it
//! needs. A surface is one line in [`SURFACES`]; one that offers variants gives the variant it uses.

use highwater_testkit::client::{Answer, Client, Era};
use serde_json::{Value, json};

use crate::stage::{PERMISSIONS, Stage, TOOLS, permission_sets};

/// One way to have something done at a server.
struct Surface {
    name: &'static str,
    /// The permission it needs whatever the tool is; nothing where the tool's class decides.
    needs: Option<&'static str>,
    /// Which request does it, for a tool of server `a`.
    request: fn(&str) -> (&'static str, Value),
    /// What the server then hears.
    heard: &'static str,
    /// Whether the request names a tool.
    of_tools: bool,
    /// Which eras have it.
    eras: &'static [Era],
}

const BOTH: &[Era] = &[Era::Legacy, Era::Modern];
const READ: Option<&str> = Some("call_tool_read");

const SURFACES: [Surface; 6] = [
    Surface {
        name: "direct",
        needs: None,
        request: |tool| ("tools/call", json!({ "name": format!("a__{tool}"), "arguments": {} })),
        heard: "tools/call",
        of_tools: true,
        eras: BOTH,
    },
    Surface {
        name: "resource",
        needs: READ,
        request: |_| ("resources/read", json!({ "uri": "a+note://one" })),
        heard: "resources/read",
        of_tools: false,
        eras: BOTH,
    },
    Surface {
        name: "subscription",
        needs: READ,
        request: |_| ("resources/subscribe", json!({ "uri": "a+note://one" })),
        heard: "resources/subscribe",
        of_tools: false,
        eras: &[Era::Legacy],
    },
    Surface {
        name: "prompt",
        needs: READ,
        request: |_| ("prompts/get", json!({ "name": "a__ask" })),
        heard: "prompts/get",
        of_tools: false,
        eras: BOTH,
    },
    Surface {
        name: "completion",
        needs: READ,
        request: |_| {
            let reference = json!({ "type": "ref/prompt", "name": "a__ask" });
            ("completion/complete", json!({ "ref": reference, "argument": { "name": "x", "value": "y" } }))
        },
        heard: "completion/complete",
        of_tools: false,
        eras: BOTH,
    },
    Surface {
        name: "method outside MCP",
        needs: Some("call_tool_write"),
        request: |_| ("acme/do", json!({})),
        heard: "acme/do",
        of_tools: false,
        eras: BOTH,
    },
];

fn done(answer: &Answer) -> bool {
    answer.error_code().is_none() && !answer.is_tool_error()
}

/// What a refusal says is missing.
fn missing(answer: &Answer) -> Value {
    let in_result = answer.at("/result/_meta/dev.highwater~1decision/permission");
    if in_result.is_null() { answer.at("/error/data/permission") } else { in_result }
}

async fn tried(stage: &Stage, client: &Client, surface: &Surface, tool: &str, held: &[&str], class: &str) {
    let (method, params) = (surface.request)(tool);
    let part = if surface.of_tools { format!("\"{tool}\"") } else { String::new() };
    let before = stage.reached("a", surface.heard, &part);
    let answer = client.request(method, params).await.unwrap();
    let reached = stage.reached("a", surface.heard, &part) - before;
    let needs = surface.needs.unwrap_or(class);
    let story = format!("{} of `{tool}` ({class}) with {held:?}: {}", surface.name, answer.raw());
    let granted = held.contains(&needs);
    assert_eq!(reached, usize::from(granted), "{story}");
    assert_eq!(done(&answer), granted, "{story}");
    if !granted {
        assert_eq!(missing(&answer), needs, "{story}");
        let code = answer.error_code();
        assert!(answer.is_tool_error() || code == Some(403_100), "{story}");
    }
}

/// Where a client comes in.
#[derive(Clone, Copy)]
enum Door {
    /// Over HTTP, at some place behind the endpoint.
    Http(&'static str),
    /// Over standard streams.
    Pipe,
}

async fn client(stage: &Stage, era: Era, door: Door, secret: Option<&str>) -> Client {
    match door {
        Door::Http(place) => {
            let secret = secret.unwrap_or(stage.gateway.agent_token());
            stage.client_at(era, secret, place).await
        }
        Door::Pipe => stage.piped(era, secret).await,
    }
}

async fn matrix(era: Era, door: Door) {
    let stage = Stage::new(json!({})).await;
    // What the sets are tried on is there before the first of them looks.
    let agent = client(&stage, era, door, None).await;
    agent.request("tools/list", json!({})).await.unwrap();
    for held in permission_sets() {
        let name = format!("set-{}", held.join(".").replace("call_tool_", ""));
        let secret = stage.token(&name, json!({ "permissions": held, "servers": ["a", "b"] })).await;
        let client = client(&stage, era, door, Some(&secret)).await;
        for surface in SURFACES.iter().filter(|surface| surface.eras.contains(&era)) {
            let tools = if surface.of_tools { &TOOLS[..] } else { &TOOLS[..1] };
            for (tool, _, class) in tools {
                tried(&stage, &client, surface, tool, &held, class).await;
            }
            // A subscription that is there is not asked for twice.
            if surface.name == "subscription" {
                client.request("resources/unsubscribe", json!({ "uri": "a+note://one" })).await.unwrap();
            }
        }
        // No permission opens what is for people.
        for path in ["/api/v1/tokens", "/api/v1/sessions", "/api/v1/servers", "/api/v1/contexts"] {
            let (status, _) = stage.ask(&secret, http::Method::GET, path, None).await;
            assert_eq!(status, 401, "{path} with {held:?}");
        }
    }
    // The operator's own agent has everything.
    for surface in SURFACES.iter().filter(|surface| surface.eras.contains(&era)) {
        for (tool, _, class) in if surface.of_tools { &TOOLS[..] } else { &TOOLS[..1] } {
            tried(&stage, &agent, surface, tool, &PERMISSIONS, class).await;
        }
    }
}

#[tokio::test]
async fn a_legacy_call_reaches_the_server_exactly_where_its_token_grants_it() {
    matrix(Era::Legacy, Door::Http("")).await;
}

#[tokio::test]
async fn a_modern_call_reaches_the_server_exactly_where_its_token_grants_it() {
    matrix(Era::Modern, Door::Http("")).await;
}

#[tokio::test]
async fn a_virtual_server_is_no_way_round() {
    matrix(Era::Modern, Door::Http("/v/side")).await;
}

#[tokio::test]
async fn standard_streams_are_no_way_round() {
    matrix(Era::Legacy, Door::Pipe).await;
    matrix(Era::Modern, Door::Pipe).await;
}

#[tokio::test]
async fn a_read_only_token_changes_nothing_whatever_an_unverified_server_claims() {
    let home = crate::stage::home(&json!({}));
    let mut config = crate::stage::config(home.path());
    config["servers"]["a"]["trust"] = json!({ "server_trust": "owner", "verified": false });
    // A person has seen the server, and believes nothing that it says of itself.
    home.configure(&config.to_string()).unwrap();
    let stage = Stage::in_home(home).await;
    let secret = stage.token("reader", json!({ "permissions": ["call_tool_read"], "servers": ["*"] })).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era, &secret).await;
        for (tool, _, _) in TOOLS {
            let answer = client.call(&format!("a__{tool}"), json!({})).await.unwrap();
            assert!(!done(&answer), "{tool}: {}", answer.raw());
        }
        let answer = client.call("b__look", json!({})).await.unwrap();
        assert!(done(&answer), "a verified server is believed: {}", answer.raw());
    }
    assert_eq!(stage.reached("a", "tools/call", ""), 0);
}
