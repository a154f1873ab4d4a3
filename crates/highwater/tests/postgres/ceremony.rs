//! Two gateways on one new database, without any ceremony: each has a page of its own until there is a passkey, and what is
//! printed by one opens the other.

use highwater_passkey::Algorithm;
use highwater_store::PostgresServer;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::{Era, Setup};
use highwater_testkit::passkey::Passkey;
use highwater_testkit::port::ReservedPort;
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

use crate::person::Person;

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// The home of a gateway on this database, with a page at this port.
fn home(url: &str, port: &ReservedPort) -> Home {
    let config = json!({
        "limits": { "drain": "0s" },
        "store": { "postgres": url, "timeout": "60s" },
        "approvals": {
            "listen": format!("localhost:{}", port.get()), "open_browser": false, "notify": false,
        },
        "servers": { "files": { "command": PROGRAM, "args": ["example-server", "files"] } },
    });
    let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
    home.configure(&config.to_string()).unwrap();
    home
}

/// Asks the interface for people, with this token.
async fn api(gateway: &Gateway, token: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let url = gateway.endpoint().replace("/mcp", path);
    let person = Setup::http(&url).token(token).connect_silently().await.unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let reply = person.exchange(method, body, &[]).await.unwrap();
    (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
}

fn token(gateway: &Gateway, name: &str) -> String {
    let file = gateway.home().data_dir().join(name);
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

#[tokio::test]
async fn what_one_gateway_prints_opens_the_other() {
    let server = PostgresServer::start();
    let url = server.url("ceremony");
    let ports = [ReservedPort::new().unwrap(), ReservedPort::new().unwrap()];
    // Another page, and nobody has a passkey: the second starts as the first did.
    let mut one = home(&url, &ports[0]).serve().await.unwrap();
    let other = home(&url, &ports[1]).serve().await.unwrap();
    let knows = async |gateway: &Gateway, agent: &str| {
        gateway.http(Era::Legacy).token(agent).connect().await.is_ok().then_some(())
    };
    for (here, there) in [(&one, &other), (&other, &one)] {
        let (agent, operator) = (token(here, "agent-token"), token(here, "operator-token"));
        until("the agent token of the other opens it", async || knows(there, &agent).await).await.unwrap();
        let sessions =
            async |token: &str| api(there, token, Method::GET, "/api/v1/sessions", &Value::Null).await;
        let (status, said) = sessions(&operator).await;
        assert_eq!(status, 200, "{said}");
        // Each opens its own kind.
        assert_eq!(sessions(&agent).await.0, 401);
        assert!(there.http(Era::Legacy).token(&operator).connect().await.is_err());
    }
    assert_ne!(token(&one, "agent-token"), token(&other, "agent-token"), "each keeps its own");
    // A token that is replaced opens nothing any more, here or there.
    let leaked = token(&one, "agent-token");
    std::fs::remove_file(one.home().data_dir().join("agent-token")).unwrap();
    one.kill().await.unwrap();
    one.restart().await.unwrap();
    let closed = async || knows(&other, &leaked).await.is_none().then_some(());
    until("the old token opens nothing at the other", closed).await.unwrap();
    let fresh = token(&one, "agent-token");
    until("the new one does", async || knows(&other, &fresh).await).await.unwrap();
    // The database holds digests alone.
    let dump = server.dump("ceremony");
    for secret in [&fresh, &token(&other, "agent-token"), &token(&one, "operator-token")] {
        assert!(!dump.contains(secret.as_str()), "a token is in the database");
    }
}

#[tokio::test]
async fn the_first_passkey_says_which_page_it_is_for_and_another_gateway_learns_what_to_write() {
    let server = PostgresServer::start();
    let url = server.url("passkey");
    let ports = [ReservedPort::new().unwrap(), ReservedPort::new().unwrap()];
    let one = home(&url, &ports[0]).serve().await.unwrap();
    let mut other = home(&url, &ports[1]).serve().await.unwrap();
    let origins = ports.each_ref().map(|port| format!("http://localhost:{}", port.get()));
    let code = async |gateway: &Gateway, user: &str| {
        let (operator, asked) = (token(gateway, "operator-token"), json!({ "user": user }));
        let (status, opened) =
            api(gateway, &operator, Method::POST, "/api/v1/approvals/enroll", &asked).await;
        assert_eq!(status, 201, "{opened}");
        opened["code"].as_str().unwrap().to_owned()
    };
    let mut passkey = Passkey::fresh(Algorithm::Es256, &origins[0]);
    let here = Person::operator(&origins[0], one.operator_token()).await;
    here.enroll("owner", &code(&one, "owner").await, &mut passkey).await;
    // A second start of the other would have a page for which the passkey is not.
    other.kill().await.unwrap();
    let error = format!("{:#}", other.restart().await.unwrap_err());
    assert!(error.contains(&format!("the passkeys here were enrolled for `{}`", origins[0])), "{error}");
    assert!(error.contains(&format!("public_url: \"{}\"", origins[0])), "{error}");
    // The words are true: with the same page, and with none, it starts.
    let home = other.home();
    let written: Value = serde_json::from_str(&std::fs::read_to_string(home.config_file()).unwrap()).unwrap();
    for (key, value) in [("public_url", json!(origins[0])), ("listen", json!("none"))] {
        let mut config = written.clone();
        config["approvals"][key] = value;
        other.home().configure(&config.to_string()).unwrap();
        other.restart().await.unwrap_or_else(|error| panic!("{key}: {error:#}"));
        other.kill().await.unwrap();
    }
}
