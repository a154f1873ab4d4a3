//! Approvals of two gateways on one database, before one server whose journal says what ran: a signature, a held call and
//! a grant count once for both.

use std::collections::BTreeMap;
use std::path::Path;

use highwater_passkey::Algorithm;
use highwater_store::PostgresServer;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, scripted_program};
use highwater_testkit::client::{Answer, Client, Era, Request, Setup};
use highwater_testkit::passkey::Passkey;
use highwater_testkit::port::ReservedPort;
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

use crate::labelled::done;
use crate::person::Person;
use crate::traces::Traces;

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");
const KEY: &str = "io.modelcontextprotocol/verified-approval";
/// The page of both, wherever its name leads.
const ORIGIN: &str = "https://approve.example.com";
const DELETE: &str = "files__delete";
/// Holds calls for longer than any test takes: the longest that is allowed.
const HELD: &str = "5m";
/// Holds calls so briefly that callers are told to come again.
const BRIEFLY: &str = "1s";

/// Both gateways, each with somebody in front of its own page. Fields are dropped in this order.
struct Two {
    gateways: [Gateway; 2],
    /// Those of their pages.
    _ports: [ReservedPort; 2],
    people: [Person; 2],
    passkey: Passkey,
    journal: Journal,
    _upstream: HttpFixture,
    database: PostgresServer,
    _folder: tempfile::TempDir,
}

/// What a modern server says that asks once, and wants its state back with the answer.
fn asking() -> Value {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{{text}}}}}"#)];
    let cached = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    let harmless = r#""inputMetadata":{"destination":"ephemeral","sensitivity":["user","pii","financial","credentials"],"outcomes":"benign"},"returnMetadata":{"source":"system","sensitivity":"none"}"#;
    let tool =
        format!(r#"{{"name":"delete","inputSchema":{{"type":"object"}},"annotations":{{{harmless}}}}}"#);
    json!({
        "server/discover": result(&format!(
            r#""supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}},{cached}"#
        )),
        "tools/list": result(&format!(r#""tools":[{tool}],{cached}"#)),
        "tools/call delete": result(
            r#""resultType":"input_required","inputRequests":{"who":{"method":"roots/list"}},"requestState":"one""#,
        ),
        "tools/call": result(r#""resultType":"complete","content":[{"type":"text","text":"done"}]"#),
    })
}

fn script() -> Value {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let harmless = r#""inputMetadata":{"destination":"ephemeral","sensitivity":["user","pii","financial","credentials"],"outcomes":"benign"},"returnMetadata":{"source":"system","sensitivity":"none"}"#;
    let tool =
        format!(r#"{{"name":"delete","inputSchema":{{"type":"object"}},"annotations":{{{harmless}}}}}"#);
    json!({
        "initialize": result(greeting),
        "tools/list": result(&format!(r#"{{"tools":[{tool}]}}"#)),
        "tools/call": result(r#"{"content":[{"type":"text","text":"done"}]}"#),
        "ping": result("{}"),
    })
}

// === impl Two ===

impl Two {
    /// Both hold calls for so long; the owner's passkey was enrolled at the first.
    async fn new(hold: &str) -> Self {
        Self::before(hold, "legacy", &script(), &Value::Null).await
    }

    /// The same where receipts are sealed for somebody.
    async fn sealing(hold: &str, auditor: &Value) -> Self {
        Self::before(hold, "legacy", &script(), auditor).await
    }

    /// The same before a server of this era that says this. Both seal with the key in the database.
    async fn before(hold: &str, era: &str, script: &Value, auditor: &Value) -> Self {
        let (database, url) = tokio::task::spawn_blocking(|| {
            let database = PostgresServer::start();
            let url = database.url("approvals");
            (database, url)
        })
        .await
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let script_file = folder.path().join("script.json");
        std::fs::write(&script_file, script.to_string()).unwrap();
        let journal = Journal::at(folder.path().join("journal.jsonl"));
        let program = scripted_program(Path::new(PROGRAM)).unwrap();
        let words =
            ["--script", script_file.to_str().unwrap(), "--journal", journal.path().to_str().unwrap()];
        let upstream = HttpFixture::start(&program, &words, &journal).await.unwrap();
        let start = async || {
            let port = ReservedPort::new().unwrap();
            let config = json!({
                "limits": { "drain": "0s" },
                "store": { "postgres": url, "timeout": "60s" },
                "approvals": {
                    "listen": format!("127.0.0.1:{}", port.get()), "public_url": ORIGIN,
                    "open_browser": false, "notify": false, "hold": hold,
                },
                "servers": { "files": {
                    "url": upstream.url(), "era": era,
                    "trust": { "server_trust": "tool", "verified": true },
                    "labels": { "delete": { "approval": "passkey" } },
                } },
            });
            let mut config = config;
            if !auditor.is_null() {
                config["approvals"]["auditor_key"] = auditor.clone();
            }
            let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
            home.configure(&config.to_string()).unwrap();
            let gateway = home.serve().await.unwrap_or_else(|error| panic!("{error:#}"));
            let page = format!("http://127.0.0.1:{}", port.get());
            let person = Person::operator_behind(&page, ORIGIN, gateway.operator_token()).await;
            (gateway, person, port)
        };
        let ((one, here, first), (other, there, second)) = (start().await, start().await);
        let opened = api(&one, Method::POST, "/enroll", Some(&json!({ "user": "owner" }))).await;
        let mut passkey = Passkey::fresh(Algorithm::Es256, ORIGIN);
        here.enroll("owner", opened["code"].as_str().unwrap(), &mut passkey).await;
        Self {
            gateways: [one, other],
            _ports: [first, second],
            people: [here, there],
            passkey,
            journal,
            _upstream: upstream,
            database,
            _folder: folder,
        }
    }

    /// A client of each, with these capabilities.
    async fn clients(&self, capabilities: &Value) -> [Client; 2] {
        let connect = async |gateway: &Gateway| {
            let setup = gateway.http(Era::Modern).without_stream();
            setup.capabilities(capabilities.clone()).connect().await.unwrap()
        };
        [connect(&self.gateways[0]).await, connect(&self.gateways[1]).await]
    }

    /// How often the server was told to do something with this in it.
    fn ran(&self, part: &str) -> usize {
        self.journal.of("tools/call").iter().filter(|note| note.raw.contains(part)).count()
    }

    /// The one request that waits, as the gateway at this place sees it.
    async fn pending(&self, place: usize) -> String {
        let asked = until("somebody is asked", async || {
            let list = api(&self.gateways[place], Method::GET, "", None).await;
            let [one] = list.as_array()?.as_slice() else { return None };
            Some(one["id"].as_str().unwrap().to_owned())
        });
        asked.await.unwrap_or_else(|error| panic!("{error:#}: {}", self.gateways[place].log()))
    }

    async fn sign(&self, place: usize, id: &str) {
        let (status, said) = self.people[place].sign(id, &self.passkey).await;
        assert_eq!((status, &said["state"]), (200, &json!("approved")), "{said}");
    }
}

async fn api(gateway: &Gateway, method: Method, path: &str, body: Option<&Value>) -> Value {
    let url = gateway.endpoint().replace("/mcp", &format!("/api/v1/approvals{path}"));
    let person = Setup::http(&url).token(gateway.operator_token()).connect_silently().await.unwrap();
    let body = body.map(ToString::to_string).unwrap_or_default();
    let reply = person.exchange(method, body, &[]).await.unwrap();
    serde_json::from_str(&reply.body).unwrap_or(Value::Null)
}

/// The id of the request that an answer says is waited for.
fn waits(answer: &Answer) -> String {
    let meta = answer.at("/result/_meta/dev.highwater~1approval");
    assert_eq!(meta["state"], "pending", "{}", answer.raw());
    meta["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s57_g06_of_fifty_calls_with_one_signature_spread_over_both_one_runs() {
    let two = Two::new(BRIEFLY).await;
    let clients = two.clients(&json!({ "extensions": { KEY: {} } })).await;
    for issuer in [0, 1] {
        let arguments = json!({ "path": format!("once-{issuer}") });
        let params = json!({ "toolName": DELETE, "arguments": arguments });
        let answer = clients[issuer].request("approval/challenge/create", params).await.unwrap();
        let challenge = answer.result().unwrap_or_else(|error| panic!("{error:#}: {}", answer.raw()));
        let response = two.passkey.get(&challenge["requestOptions"]).unwrap();
        let evidence = json!({
            "method": "webauthn", "challengeId": challenge["challengeId"], "response": response,
        });
        let calls = (0..50).map(|call| {
            clients[call % 2].send(Request::call(DELETE, &arguments).meta(KEY, evidence.clone()))
        });
        let mut words: BTreeMap<String, usize> = BTreeMap::new();
        for answer in futures_util::future::join_all(calls).await {
            let answer = answer.unwrap();
            let word = match answer.error_code() {
                Some(-32001) => answer.at("/error/data/reason").as_str().unwrap().to_owned(),
                _ => answer.text().unwrap(),
            };
            *words.entry(word).or_default() += 1;
        }
        let expected = [("challenge_consumed".to_owned(), 49), ("done".to_owned(), 1)];
        assert_eq!(words, expected.into_iter().collect());
        assert_eq!(two.ran(&format!("once-{issuer}")), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_t3_a_call_held_at_one_gateway_is_approved_at_the_other_and_runs_once() {
    let two = Two::new(HELD).await;
    let clients = two.clients(&json!({})).await;
    for held in [0, 1] {
        let path = format!("held-{held}");
        let call = clients[held].call(DELETE, json!({ "path": path }));
        let elsewhere = 1 - held;
        let answering = async {
            let id = two.pending(elsewhere).await;
            assert_eq!(two.ran(&path), 0);
            two.sign(elsewhere, &id).await;
        };
        let (answer, ()) = tokio::join!(call, answering);
        done(&answer.unwrap());
        assert_eq!(two.ran(&path), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t3_s57_of_two_identical_calls_at_once_one_through_each_a_grant_carries_one() {
    let two = Two::new(BRIEFLY).await;
    let clients = two.clients(&json!({})).await;
    for round in 0..4 {
        let arguments = json!({ "path": format!("grant-{round}") });
        let id = waits(&clients[round % 2].call(DELETE, arguments.clone()).await.unwrap());
        two.sign((round + 1) % 2, &id).await;
        assert_eq!(two.ran(&format!("grant-{round}")), 0, "an approval does nothing by itself");
        let both = clients.iter().map(|client| client.call(DELETE, arguments.clone()));
        let answers = futures_util::future::join_all(both).await;
        let (won, lost): (Vec<_>, Vec<_>) =
            answers.into_iter().map(Result::unwrap).partition(|answer| !answer.is_tool_error());
        assert_eq!((won.len(), lost.len()), (1, 1), "round {round}");
        won.iter().for_each(done);
        assert_ne!(waits(&lost[0]), id, "round {round}: it is asked anew");
        assert_eq!(two.ran(&format!("grant-{round}")), 1, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g25_s57_of_forty_that_bring_one_round_to_both_one_goes_on() {
    let two = Two::before(HELD, "modern", &asking(), &Value::Null).await;
    let clients = two.clients(&json!({ "roots": {} })).await;
    for begun in [0, 1] {
        let arguments = json!({ "path": format!("round-{begun}") });
        let call = clients[begun].send(Request::call(DELETE, &arguments).once());
        let signing = async {
            let id = two.pending(1 - begun).await;
            two.sign(1 - begun, &id).await;
        };
        let (asked, ()) = tokio::join!(call, signing);
        let asked = asked.unwrap();
        assert_eq!(asked.at("/result/resultType"), "input_required", "{}", asked.raw());
        let round = json!({
            "name": DELETE, "arguments": arguments, "inputResponses": { "who": { "roots": [] } },
            "requestState": asked.at("/result/requestState"),
        });
        let all = (0..40)
            .map(|call| clients[call % 2].send(Request::new("tools/call").params(round.clone()).once()));
        let mut words: BTreeMap<String, usize> = BTreeMap::new();
        for answer in futures_util::future::join_all(all).await {
            *words.entry(answer.unwrap().text().unwrap()).or_default() += 1;
        }
        assert_eq!((words.len(), words.get("done")), (2, Some(&1)), "{words:?}");
        assert!(words.keys().any(|word| word.contains("taken already")), "{words:?}");
        assert_eq!(two.ran(&format!("round-{begun}")), 2, "the call and its one round");
    }
}

/// The same server where its tools matter and their words are strangers'. `fetch` asks nothing.
fn among_strangers() -> Value {
    let heavy = asking().to_string().replace("benign", "consequential").replace("system", "untrustedPublic");
    let mut script: Value = serde_json::from_str(&heavy).unwrap();
    let listed = script["tools/list"][0].as_str().unwrap();
    let tool = listed.split("\"tools\":[").nth(1).unwrap().split("],\"resultType\"").next().unwrap();
    let fetch = tool.replace("\"delete\"", "\"fetch\"").replace("consequential", "benign");
    script["tools/list"][0] = json!(listed.replace(tool, &format!("{tool},{fetch}")));
    script["tools/call delete again"] = script["tools/call"].clone();
    script
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g25_what_one_gateway_has_heard_the_other_knows_when_the_answers_come() {
    for (begun, reads) in [(0, false), (1, true)] {
        // Each in a session that has heard nothing yet.
        let two = Two::before(HELD, "modern", &among_strangers(), &Value::Null).await;
        let clients = two.clients(&json!({ "roots": {} })).await;
        let path = format!("heard-{begun}-{reads}");
        let arguments = json!({ "path": path });
        let call = clients[begun].send(Request::call(DELETE, &arguments).once());
        let signing = async {
            let id = two.pending(begun).await;
            two.sign(begun, &id).await;
        };
        let (asked, ()) = tokio::join!(call, signing);
        let asked = asked.unwrap();
        assert_eq!(asked.at("/result/resultType"), "input_required", "{}", asked.raw());
        if reads {
            clients[begun].call("files__fetch", json!({})).await.unwrap();
        }
        let round = json!({
            "name": DELETE, "arguments": arguments, "inputResponses": { "who": { "roots": [] } },
            "requestState": asked.at("/result/requestState"),
        });
        // At once, and at the other.
        let round = clients[1 - begun].send(Request::new("tools/call").params(round).once());
        let round = async {
            let answer = round.await.unwrap();
            assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
        };
        if reads {
            let asking = async {
                let id = two.pending(begun).await;
                assert_eq!(two.ran(&path), 1, "somebody is asked before it goes on");
                two.sign(begun, &id).await;
            };
            tokio::join!(round, asking);
        } else {
            round.await;
        }
        assert_eq!(two.ran(&path), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_begun_at_one_gateway_stops_native_calls_at_the_other() {
    let two = Two::new("1s").await;
    let clients = two.clients(&json!({ "extensions": { KEY: {} } })).await;
    let arguments = json!({ "path": "reset" });
    let params = json!({ "toolName": DELETE, "arguments": arguments });
    let answer = clients[1].request("approval/challenge/create", params.clone()).await.unwrap();
    let challenge = answer.result().unwrap_or_else(|error| panic!("{error:#}: {}", answer.raw()));
    let response = two.passkey.get(&challenge["requestOptions"]).unwrap();
    let evidence =
        json!({ "method": "webauthn", "challengeId": challenge["challengeId"], "response": response });
    let begun = api(&two.gateways[0], Method::POST, "/reset", Some(&json!({ "user": "owner" }))).await;
    assert_eq!(begun["user"], "owner", "{begun}");
    for client in clients {
        let answer =
            client.send(Request::call(DELETE, &arguments).meta(KEY, evidence.clone())).await.unwrap();
        assert_eq!(two.ran("reset"), 0, "{}", answer.raw());
        assert_eq!(answer.at("/error/data/reason"), "challenge_expired", "{}", answer.raw());
        let answer = client.request("approval/challenge/create", params.clone()).await.unwrap();
        assert_eq!(answer.at("/error/data/reason"), "no_eligible_credential", "{}", answer.raw());
    }
}

/// What nobody may find.
const SECRET: &str = "DE75512108001245126199";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_sensitive_call_at_one_gateway_that_is_approved_at_the_other_nothing_stays_in_the_database() {
    let two = Two::sealing(HELD, &json!("hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo")).await;
    let clients = two.clients(&json!({})).await;
    let arguments = json!({ "path": SECRET });
    let traces = |receipt: &Value| {
        let server = receipt["serverId"].as_str().unwrap();
        Traces::of(DELETE, &arguments.to_string(), server, SECRET)
    };
    for held in [0, 1] {
        let answering = async {
            let id = two.pending(1 - held).await;
            assert!(two.database.dump("approvals").contains(SECRET), "whoever is asked must see it");
            two.sign(1 - held, &id).await;
        };
        let (answer, ()) = tokio::join!(clients[held].call(DELETE, arguments.clone()), answering);
        done(&answer.unwrap());
        // The receipt is of the gateway where it was signed.
        let said = api(&two.gateways[1 - held], Method::GET, "/receipts", None).await;
        let receipt = said["receipts"].as_array().unwrap().last().unwrap().clone();
        assert!(receipt["canonicalArguments"]["sealed"].is_string(), "{receipt}");
        let found = traces(&receipt);
        let left = found.found_in(two.database.dump("approvals").as_bytes());
        assert!(left.is_empty(), "{left:?}");
        for gateway in &two.gateways {
            let left = found.found_below(&gateway.home().data_dir());
            assert!(left.is_empty(), "{left:?}");
            assert!(found.found_in(gateway.log().as_bytes()).is_empty());
        }
    }
    // Signed by its own client, too.
    let native = two.clients(&json!({ "extensions": { KEY: {} } })).await;
    let params = json!({ "toolName": DELETE, "arguments": arguments });
    let answer = native[0].request("approval/challenge/create", params).await.unwrap();
    let challenge = answer.result().unwrap_or_else(|error| panic!("{error:#}: {}", answer.raw()));
    let response = two.passkey.get(&challenge["requestOptions"]).unwrap();
    let evidence =
        json!({ "method": "webauthn", "challengeId": challenge["challengeId"], "response": response });
    done(&native[1].send(Request::call(DELETE, &arguments).meta(KEY, evidence)).await.unwrap());
    assert_eq!(two.ran(SECRET), 3);
    let said = api(&two.gateways[0], Method::GET, "/receipts", None).await;
    let left = traces(&said["receipts"][0]);
    let dump = two.database.dump("approvals");
    assert!(left.found_in(dump.as_bytes()).is_empty(), "{dump}");
}
