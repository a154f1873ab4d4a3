//! Taking back: at once, for whoever is connected, whatever they are doing.

use highwater_testkit::client::{Era, Request};
use highwater_testkit::wait::{until, until_true};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{PERMISSIONS, ShortToken, Stage, run, with_short_token};

#[tokio::test]
async fn a_revoked_token_is_cut_off_at_once() {
    for era in [Era::Legacy, Era::Modern] {
        let stage = Stage::new(json!({})).await;
        let secret = stage.full("bot").await;
        let client = stage.client(era, &secret).await;
        client.call("a__look", json!({})).await.unwrap().ok().unwrap();
        let held = client.begin(Request::call("a__slow", &json!({})).once()).await.unwrap();
        stage.journal("a").wait("tools/call", "slow").await.unwrap();
        let done = stage.run(&["token", "revoke", "bot", "--person", "ada"]);
        assert!(done.status.success(), "{done:?}");
        drop(held);
        let before = stage.journal("a").of("tools/call").len();
        let (status, _) = stage.ask(&secret, Method::POST, "/mcp", Some(&json!({}))).await;
        assert_eq!(status, 401, "{era:?}");
        assert!(client.call("a__look", json!({})).await.is_err(), "{era:?}");
        assert_eq!(stage.journal("a").of("tools/call").len(), before);
        let acts: Vec<Value> = stage.record().into_iter().filter(|event| event["event"] == "token").collect();
        assert_eq!(acts[1]["act"], "revoked", "{acts:?}");
        assert_eq!(acts[1]["by"], "ada", "{acts:?}");
        let again = stage.run(&["token", "revoke", "bot"]);
        assert_eq!(again.status.code(), Some(1));
    }
}

#[tokio::test]
async fn a_client_over_standard_streams_feels_it_too() {
    let stage = Stage::new(json!({})).await;
    let secret = stage.full("piped").await;
    let mut command = stage.gateway.home().command("stdio");
    command.env("HIGHWATER_TOKEN", &secret);
    let client = highwater_testkit::client::Setup::stdio(command).era(Era::Modern).connect().await.unwrap();
    client.call("a__look", json!({})).await.unwrap().ok().unwrap();
    assert!(stage.run(&["token", "revoke", "piped"]).status.success());
    let answer = client.call("a__look", json!({})).await.unwrap();
    assert!(answer.error_code().is_some() || answer.is_tool_error(), "{}", answer.raw());
    assert_eq!(stage.reached("a", "tools/call", "look"), 1);
}

#[tokio::test]
async fn an_open_stream_ends_with_its_token() {
    let stage = Stage::new(json!({})).await;
    let secret = stage.full("ear").await;
    let client = stage.client(Era::Modern, &secret).await;
    let listening = client.listen(json!({ "toolsListChanged": true })).await.unwrap();
    assert!(stage.run(&["token", "revoke", "ear"]).status.success());
    listening.ended().await.unwrap();
}

#[tokio::test]
async fn a_rotated_token_opens_with_its_new_secret_alone() {
    let stage = Stage::new(json!({})).await;
    let old = stage.full("bot").await;
    stage.client(Era::Modern, &old).await.call("a__look", json!({})).await.unwrap().ok().unwrap();
    let done = stage.run(&["token", "rotate", "bot", "--json"]);
    let made: Value = serde_json::from_slice(&done.stdout).unwrap();
    let new = made["secret"].as_str().unwrap();
    let (status, _) = stage.ask(&old, Method::POST, "/mcp", Some(&json!({}))).await;
    assert_eq!(status, 401);
    stage.client(Era::Modern, new).await.call("a__look", json!({})).await.unwrap().ok().unwrap();
    // It is the same agent: what it read before counts.
    let (_, sessions) = stage.api(Method::GET, "/api/v1/sessions", None).await;
    let principals: Vec<&Value> =
        sessions.as_array().unwrap().iter().map(|session| &session["principal"]).collect();
    assert!(principals.iter().all(|principal| *principal == "bot"), "{principals:?}");
}

#[tokio::test]
async fn the_configuration_changes_what_a_token_grants_while_it_is_in_use() {
    let tokens = |permissions: &[&str]| json!({ "bot": { "permissions": permissions, "servers": ["*"] } });
    let home = crate::stage::home(&json!({ "agent_tokens": tokens(&["call_tool_read"]) }));
    // Made before any gateway runs.
    let made = run(&home, &["token", "create", "bot", "--json"]);
    assert!(made.status.success(), "{made:?}");
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(made["token"]["source"], "configuration", "{made}");
    let secret = made["secret"].as_str().unwrap().to_owned();
    let stage = Stage::in_home(home).await;
    let client = stage.client(Era::Modern, &secret).await;
    client.call("a__look", json!({})).await.unwrap().ok().unwrap();
    assert!(client.call("a__plain", json!({})).await.unwrap().is_tool_error());

    let mut config = crate::stage::config(stage.gateway.home().path());
    config["agent_tokens"] = tokens(&PERMISSIONS[1..]);
    stage.gateway.home().configure(&config.to_string()).unwrap();
    stage.gateway.signal(rustix::process::Signal::HUP).unwrap();
    let allowed = async || (!client.call("a__plain", json!({})).await.unwrap().is_tool_error()).then_some(());
    until("it is granted", allowed).await.unwrap();
    assert!(client.call("a__look", json!({})).await.unwrap().is_tool_error());

    // What the file no longer has grants nothing, and says so.
    config["agent_tokens"] = json!({});
    stage.gateway.home().configure(&config.to_string()).unwrap();
    stage.gateway.signal(rustix::process::Signal::HUP).unwrap();
    let said = async || {
        let (_, listed) = stage.api(Method::GET, "/api/v1/tokens", None).await;
        (listed[0]["status"] == "grants-nothing").then_some(())
    };
    until("it grants nothing", said).await.unwrap();
    let answer = client.call("a__plain", json!({})).await.unwrap();
    assert_eq!(answer.at("/error/data/code"), 403_104, "{}", answer.raw());
}

#[tokio::test]
async fn over_standard_streams_an_old_secret_opens_nothing_either() {
    for era in [Era::Legacy, Era::Modern] {
        let stage = Stage::new(json!({})).await;
        let secret = stage.full("piped").await;
        let client = stage.piped(era, Some(&secret)).await;
        client.call("a__look", json!({})).await.unwrap().ok().unwrap();
        assert!(stage.run(&["token", "rotate", "piped"]).status.success());
        for (method, params) in
            [("tools/call", json!({ "name": "a__look", "arguments": {} })), ("tools/list", json!({}))]
        {
            let answer = client.request(method, params).await.unwrap();
            assert_eq!(answer.error_code(), Some(403_100), "{era:?}: {}", answer.raw());
        }
        assert_eq!(stage.reached("a", "tools/call", "look"), 1);
    }
}

#[tokio::test]
async fn a_session_of_an_old_secret_begins_anew_with_the_new_one() {
    let stage = Stage::new(json!({})).await;
    let old = stage.full("bot").await;
    let client = stage.client(Era::Legacy, &old).await;
    let session = client.session().unwrap().to_owned();
    let done = stage.run(&["token", "rotate", "bot", "--json"]);
    let made: Value = serde_json::from_slice(&done.stdout).unwrap();
    let again = stage.setup(Era::Legacy, made["secret"].as_str().unwrap()).connect_silently().await.unwrap();
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ];
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (method, body) in [(Method::POST, list), (Method::GET, "")] {
        let reply = again.exchange(method.clone(), body.to_owned(), &headers).await.unwrap();
        assert_eq!(reply.status, 404, "{method}: {}", reply.body);
    }
}

#[tokio::test]
async fn what_is_open_ends_with_the_time_of_its_token() {
    let stage = Stage::new(json!({})).await;
    with_short_token(&stage, async |short: &ShortToken| {
        let modern = stage.setup(Era::Modern, &short.secret).connect().await?;
        let legacy = stage.setup(Era::Legacy, &short.secret).connect().await?;
        let piped = stage.over_pipe(Era::Legacy, Some(&short.secret)).connect().await?;
        piped.call("a__look", json!({})).await?.ok()?;
        let listening = modern.listen(json!({ "toolsListChanged": true })).await?;
        let mut events = legacy.open(Method::GET, "", &[]).await?;
        assert_eq!(events.status, 200);
        short.over().await?;
        let answer = piped.request("tools/list", json!({})).await.unwrap();
        assert_eq!(answer.error_code(), Some(403_100), "{}", answer.raw());
        listening.ended().await.unwrap();
        while events.next().await.unwrap().is_some() {}
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_a_revoked_token_subscribed_to_is_given_up() {
    let stage = Stage::new(json!({})).await;
    for (round, era) in [Era::Legacy, Era::Modern].into_iter().enumerate() {
        let name = format!("ear-{era:?}");
        let client = stage.client(era, &stage.full(&name).await).await;
        let uri = json!("a+note://one");
        let listening = match era {
            Era::Legacy => {
                client.request("resources/subscribe", json!({ "uri": uri })).await.unwrap().ok().unwrap();
                None
            }
            Era::Modern => Some(client.listen(json!({ "resourceSubscriptions": [uri] })).await.unwrap()),
        };
        assert_eq!(stage.reached("a", "resources/subscribe", "note://one"), round + 1);
        assert!(stage.run(&["token", "revoke", &name]).status.success());
        let told = || stage.reached("a", "resources/unsubscribe", "note://one") == round + 1;
        until_true("the server is told", told).await.unwrap();
        drop(listening);
    }
}
