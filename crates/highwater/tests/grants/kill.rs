//! Killed at any moment: a token is there with a secret that opens it, or not there at all; revoked, or not.

use std::process::{Command, Stdio};
use std::time::Duration;

use highwater_testkit::client::gateway::Home;
use serde_json::{Value, json};

use crate::stage::{PROGRAM, home, run};

/// How often each story is told. The moments are spread over how long the command takes.
const TIMES: u32 = 24;

fn tokens(home: &Home) -> Vec<Value> {
    let listed = run(home, &["token", "list", "--json"]);
    assert!(listed.status.success(), "{listed:?}");
    serde_json::from_slice(&listed.stdout).unwrap()
}

/// Starts a command and kills it after some time; gives what it said.
fn killed(home: &Home, arguments: &[&str], after: Duration) -> Option<Value> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data-dir").arg(home.data_dir()).arg("--config").arg(home.config_file());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).ok()
}

/// How long a command takes when nobody kills it.
fn time_of(home: &Home, arguments: &[&str]) -> Duration {
    let begun = std::time::Instant::now();
    assert!(run(home, arguments).status.success());
    begun.elapsed()
}

#[test]
fn a_token_whose_making_is_killed_is_whole_or_not_there() {
    let home = home(&json!({}));
    let create = |name: &str| {
        ["token", "create", name, "--permission", "read", "--server", "a", "--json"].map(str::to_owned)
    };
    let whole = time_of(&home, &create("first").each_ref().map(String::as_str));
    let mut seen = [0, 0];
    for number in 0..TIMES {
        let name = format!("t{number}");
        let arguments = create(&name);
        let said = killed(&home, &arguments.each_ref().map(String::as_str), whole * number / TIMES * 5 / 4);
        let listed = tokens(&home);
        let found = listed.iter().find(|token| token["name"] == *name);
        seen[usize::from(found.is_some())] += 1;
        if let Some(said) = said {
            let found = found.unwrap_or_else(|| panic!("{name} was shown and is not there"));
            assert_eq!(found["status"], "active", "{found}");
            assert!(
                said["secret"].as_str().unwrap().starts_with(found["prefix"].as_str().unwrap()),
                "{found}"
            );
        }
        if let Some(found) = found {
            assert_eq!(found["permissions"], json!(["call_tool_read"]), "{found}");
            assert_eq!(found["servers"], json!(["a"]), "{found}");
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "no kill came before, or none after: {seen:?}");
}

#[test]
fn a_revocation_that_is_killed_has_happened_or_not() {
    let home = home(&json!({}));
    let mut whole = Duration::ZERO;
    let mut seen = [0, 0];
    for number in 0..TIMES {
        let name = format!("t{number}");
        let create = ["token", "create", &name, "--permission", "read", "--server", "a"];
        assert!(run(&home, &create).status.success());
        let revoke = ["token", "revoke", &name, "--json"];
        if number == 0 {
            whole = time_of(&home, &revoke);
            continue;
        }
        let said = killed(&home, &revoke, whole * number / TIMES * 5 / 4);
        let listed = tokens(&home);
        let found = listed.iter().find(|token| token["name"] == *name).unwrap();
        let revoked = found["status"] == "revoked";
        assert!(revoked || found["status"] == "active", "{found}");
        assert_eq!(revoked, found["revoked"].is_u64(), "{found}");
        assert!(said.is_none() || revoked, "{name} was said to be revoked: {found}");
        seen[usize::from(revoked)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "no kill came before, or none after: {seen:?}");
}

#[tokio::test]
async fn a_gateway_that_is_killed_while_tokens_change_comes_back_with_the_old_ones_or_the_new() {
    let mut stage = crate::stage::Stage::new(json!({})).await;
    for round in 0..4_u64 {
        let name = format!("g{round}");
        let secret = stage.full(&name).await;
        let url = stage.gateway.endpoint().replace("/mcp", &format!("/api/v1/tokens/{name}/revoke"));
        let person = highwater_testkit::client::Setup::http(&url).token(stage.gateway.operator_token());
        let person = person.connect_silently().await.unwrap();
        let revoking =
            tokio::spawn(async move { person.exchange(http::Method::POST, String::new(), &[]).await });
        tokio::time::sleep(Duration::from_millis(round * 2)).await;
        stage.gateway.kill().await.unwrap();
        let said = revoking.await.unwrap().is_ok_and(|reply| reply.status == 200);
        stage.gateway.restart().await.unwrap();
        let (_, listed) = stage.api(http::Method::GET, "/api/v1/tokens", None).await;
        let found = listed.as_array().unwrap().iter().find(|token| token["name"] == *name).unwrap().clone();
        let (status, _) = stage.ask(&secret, http::Method::POST, "/mcp", Some(&json!({}))).await;
        match found["status"].as_str().unwrap() {
            "revoked" => assert_eq!(status, 401),
            "active" => assert!(!said && status != 401, "{status} {found}"),
            other => panic!("{other}"),
        }
    }
}
