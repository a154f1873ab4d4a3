//! Killed at any moment: a token is there with a secret that opens it, or not there at all; revoked, or not.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use highwater_testkit::client::Setup;
use highwater_testkit::client::gateway::Home;
use highwater_testkit::wait::PATIENCE;
use http::Method;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::stage::{PROGRAM, Stage, home, run};

/// How often each story is told. The moments are spread over twice as long as the command takes; the first one comes
/// before anything can be done, and the last one after everything is.
const TIMES: u32 = 40;

/// How often a gateway is killed in each story: every six tenths of a millisecond, and before and after all of it.
const ROUNDS: u32 = 10;

/// When something is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Before it can write anything: somebody else holds the database.
    Locked,
    /// So long after its beginning.
    After(Duration),
    /// When it says that it is done.
    Told,
}

fn tokens(home: &Home) -> Vec<Value> {
    let listed = run(home, &["token", "list", "--json"]);
    assert!(listed.status.success(), "{listed:?}");
    serde_json::from_slice(&listed.stdout).unwrap()
}

/// Whether what the kills left behind is a whole database.
fn is_whole(home: &Home) -> bool {
    let database = Connection::open(home.data_dir().join("highwater.db")).unwrap();
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    verdict == "ok"
}

/// The database of a home, in which nobody else can write while this exists.
fn locked(home: &Home) -> Connection {
    let other = Connection::open(home.data_dir().join("highwater.db")).unwrap();
    other.busy_timeout(PATIENCE).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

/// Whether a process has a file of the database open.
fn has_database(pid: u32) -> bool {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut open = open.filter_map(|file| std::fs::read_link(file.path()).ok());
    open.any(|file| file.to_str().is_some_and(|file| file.contains("highwater.db")))
}

/// Starts a command and kills it at this moment; gives what it said.
fn killed(home: &Home, arguments: &[&str], moment: Moment) -> Option<Value> {
    let lock = matches!(moment, Moment::Locked).then(|| locked(home));
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data-dir").arg(home.data_dir()).arg("--config").arg(home.config_file());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = Vec::new();
    let mut stdout = child.stdout.take().unwrap();
    match moment {
        Moment::Locked => {
            let deadline = Instant::now() + PATIENCE;
            while !has_database(child.id()) {
                assert!(Instant::now() < deadline, "it does not open its database");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Moment::After(time) => std::thread::sleep(time),
        Moment::Told => {
            said.push(0);
            stdout.read_exact(&mut said).unwrap();
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lock);
    stdout.read_to_end(&mut said).unwrap();
    serde_json::from_slice(&said).ok()
}

/// The moment of this kill of a command that takes so long.
fn moment(number: u32, whole: Duration) -> Moment {
    match number {
        0 => Moment::Locked,
        number if number + 1 == TIMES => Moment::Told,
        number => Moment::After(whole * number / TIMES * 2),
    }
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
        let said = killed(&home, &arguments.each_ref().map(String::as_str), moment(number, whole));
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
    let create = |name: &str| {
        let create = ["token", "create", name, "--permission", "read", "--server", "a"];
        assert!(run(&home, &create).status.success());
    };
    create("first");
    let whole = time_of(&home, &["token", "revoke", "first", "--json"]);
    let mut seen = [0, 0];
    for number in 0..TIMES {
        let name = format!("t{number}");
        create(&name);
        let said = killed(&home, &["token", "revoke", &name, "--json"], moment(number, whole));
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
        let said = killed(&home, &rotate, moment(number, whole));
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

/// Asks the interface for people and kills the gateway at this moment; gives what it still said.
async fn killed_gateway(stage: &mut Stage, path: &str, body: Value, moment: Moment) -> Option<Value> {
    let lock = matches!(moment, Moment::Locked).then(|| locked(stage.gateway.home()));
    let url = stage.gateway.endpoint().replace("/mcp", path);
    let person = Setup::http(&url).token(stage.gateway.operator_token());
    let person = person.connect_silently().await.unwrap();
    let mut asked = tokio::spawn(async move { person.exchange(Method::POST, body.to_string(), &[]).await });
    let answered = match moment {
        Moment::After(time) => tokio::time::timeout(time, &mut asked).await.ok(),
        // With its database locked it gives up after a while, and says so.
        Moment::Locked | Moment::Told => Some((&mut asked).await),
    };
    stage.gateway.kill().await.unwrap();
    drop(lock);
    let answered = match answered {
        Some(answered) => answered,
        None => asked.await,
    };
    let said = answered.unwrap().ok().filter(|reply| matches!(reply.status, 200 | 201));
    match moment {
        Moment::Locked => assert!(said.is_none(), "{said:?}"),
        Moment::Told => assert!(said.is_some(), "{path}"),
        Moment::After(_) => {}
    }
    stage.gateway.restart().await.unwrap();
    said.map(|reply| serde_json::from_str(&reply.body).unwrap())
}

#[tokio::test]
async fn a_gateway_that_is_killed_while_tokens_change_comes_back_with_the_old_ones_or_the_new() {
    let mut stage = Stage::new(json!({})).await;
    let spread = (0..ROUNDS).map(|round| Moment::After(Duration::from_micros(u64::from(round) * 600)));
    for (round, moment) in [Moment::Locked].into_iter().chain(spread).chain([Moment::Told]).enumerate() {
        let name = format!("g{round}");
        let grant = json!({ "permissions": ["call_tool_read"], "servers": ["a"] });
        let body = json!({ "name": name, "terms": { "grant": grant, "limits": {} } });
        let said = killed_gateway(&mut stage, "/api/v1/tokens", body, moment).await;
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
        let said = killed_gateway(&mut stage, &path, json!({}), moment).await;
        let found = stage.shown(&name).await.unwrap();
        let rotated = found["rotated"].is_u64();
        assert_eq!(stage.opens(&old).await, !rotated, "{found}");
        if let Some(said) = said {
            assert!(rotated && stage.opens(said["secret"].as_str().unwrap()).await, "{found}");
        }

        let name = format!("i{round}");
        let secret = stage.full(&name).await;
        let path = format!("/api/v1/tokens/{name}/revoke");
        let said = killed_gateway(&mut stage, &path, json!({}), moment).await;
        let found = stage.shown(&name).await.unwrap();
        let revoked = found["status"] == "revoked";
        assert!(revoked || (found["status"] == "active" && said.is_none()), "{found}");
        assert_eq!(stage.opens(&secret).await, !revoked, "{found}");
    }
    assert!(is_whole(stage.gateway.home()));
}
