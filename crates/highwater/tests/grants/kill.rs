//! Killed at any moment: a token is there with a secret that opens it, or not there at all; revoked, or not.

use std::process::{Command, Stdio};
use std::time::Duration;

use highwater_testkit::client::Setup;
use highwater_testkit::client::gateway::Home;
use http::Method;
use serde_json::{Value, json};

use crate::stage::{PROGRAM, Stage, home, run};

/// How often each story is told. The moments are spread over twice as long as the command takes, since a busy machine
/// takes longer another time.
const TIMES: u32 = 40;

/// How often a gateway is killed in each story: every six tenths of a millisecond, until the request is over.
const ROUNDS: u32 = 10;

fn tokens(home: &Home) -> Vec<Value> {
    let listed = run(home, &["token", "list", "--json"]);
    assert!(listed.status.success(), "{listed:?}");
    serde_json::from_slice(&listed.stdout).unwrap()
}

/// Whether what the kills left behind is a whole database.
fn is_whole(home: &Home) -> bool {
    let database = rusqlite::Connection::open(home.data_dir().join("highwater.db")).unwrap();
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    verdict == "ok"
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
        let said = killed(&home, &arguments.each_ref().map(String::as_str), whole * number / TIMES * 2);
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
    assert!(is_whole(&home));
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
        let said = killed(&home, &revoke, whole * number / TIMES * 2);
        let listed = tokens(&home);
        let found = listed.iter().find(|token| token["name"] == *name).unwrap();
        let revoked = found["status"] == "revoked";
        assert!(revoked || found["status"] == "active", "{found}");
        assert_eq!(revoked, found["revoked"].is_u64(), "{found}");
        assert!(said.is_none() || revoked, "{name} was said to be revoked: {found}");
        seen[usize::from(revoked)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "no kill came before, or none after: {seen:?}");
    assert!(is_whole(&home));
}

#[test]
fn a_rotation_that_is_killed_has_happened_or_not() {
    let home = home(&json!({}));
    let created = run(&home, &["token", "create", "bot", "--permission", "read", "--server", "a"]);
    assert!(created.status.success(), "{created:?}");
    let rotate = ["token", "rotate", "bot", "--json"];
    let whole = time_of(&home, &rotate);
    let mut seen = [0, 0];
    for number in 0..TIMES {
        let before = tokens(&home).remove(0);
        let said = killed(&home, &rotate, whole * number / TIMES * 2);
        let after = tokens(&home).remove(0);
        assert_eq!(after["status"], "active", "{after}");
        // The secret and the time of its making go together.
        let changed = before["prefix"] != after["prefix"];
        assert_eq!(changed, before["rotated"] != after["rotated"], "{before} {after}");
        if let Some(said) = said {
            let secret = said["secret"].as_str().unwrap();
            assert!(changed && secret.starts_with(after["prefix"].as_str().unwrap()), "{said} {after}");
        }
        seen[usize::from(changed)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "no kill came before, or none after: {seen:?}");
    assert!(is_whole(&home));
}

/// Asks the interface for people and kills the gateway after some time; gives what it still said.
async fn killed_gateway(stage: &mut Stage, path: &str, body: Value, after: Duration) -> Option<Value> {
    let url = stage.gateway.endpoint().replace("/mcp", path);
    let person = Setup::http(&url).token(stage.gateway.operator_token());
    let person = person.connect_silently().await.unwrap();
    let asked = tokio::spawn(async move { person.exchange(Method::POST, body.to_string(), &[]).await });
    tokio::time::sleep(after).await;
    stage.gateway.kill().await.unwrap();
    let said = asked.await.unwrap().ok().filter(|reply| matches!(reply.status, 200 | 201));
    stage.gateway.restart().await.unwrap();
    said.map(|reply| serde_json::from_str(&reply.body).unwrap())
}

#[tokio::test]
async fn a_gateway_that_is_killed_while_tokens_change_comes_back_with_the_old_ones_or_the_new() {
    let mut stage = Stage::new(json!({})).await;
    for round in 0..ROUNDS {
        let after = Duration::from_micros(u64::from(round) * 600);
        let name = format!("g{round}");
        let grant = json!({ "permissions": ["call_tool_read"], "servers": ["a"] });
        let body = json!({ "name": name, "terms": { "grant": grant, "limits": {} } });
        let said = killed_gateway(&mut stage, "/api/v1/tokens", body, after).await;
        match stage.shown(&name).await {
            None => assert!(said.is_none(), "{said:?} was shown and is not there"),
            Some(found) => {
                assert_eq!(
                    (&found["status"], &found["servers"]),
                    (&json!("active"), &json!(["a"])),
                    "{found}"
                );
                if let Some(said) = said {
                    assert!(stage.opens(said["secret"].as_str().unwrap()).await, "{found}");
                }
            }
        }

        let name = format!("h{round}");
        let old = stage.full(&name).await;
        let path = format!("/api/v1/tokens/{name}/rotate");
        let said = killed_gateway(&mut stage, &path, json!({}), after).await;
        let found = stage.shown(&name).await.unwrap();
        let rotated = found["rotated"].is_u64();
        assert_eq!(stage.opens(&old).await, !rotated, "{found}");
        if let Some(said) = said {
            assert!(rotated && stage.opens(said["secret"].as_str().unwrap()).await, "{found}");
        }

        let name = format!("i{round}");
        let secret = stage.full(&name).await;
        let path = format!("/api/v1/tokens/{name}/revoke");
        let said = killed_gateway(&mut stage, &path, json!({}), after).await;
        let found = stage.shown(&name).await.unwrap();
        let revoked = found["status"] == "revoked";
        assert!(revoked || (found["status"] == "active" && said.is_none()), "{found}");
        assert_eq!(stage.opens(&secret).await, !revoked, "{found}");
    }
    assert!(is_whole(stage.gateway.home()));
}
