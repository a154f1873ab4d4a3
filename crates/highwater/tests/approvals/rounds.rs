//! Approved calls whose server asks for more (G25): one approval carries every round of one execution, each round goes on
//! once, and nothing else goes on with it.

use highwater_testkit::client::{Answer, Client, Era, Request, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, HELD, KEY, READ, Stage, WRITE, done, id_of, waits};

/// How the person's yes comes to the first round.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// The call brings a signature.
    Native,
    /// The client is sent to the page.
    Page,
    /// The call is held.
    Held,
}

pub(crate) const WAYS: [Way; 3] = [Way::Native, Way::Page, Way::Held];

/// What a server says that asks twice before it is done, and wants a state back each time. `delete` and `write` do, and
/// are described in these words; `stateless` asks and keeps no state.
pub(crate) fn script(words: &str) -> Value {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{{text}}}}}"#)];
    let cached = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    let tool = |name: &str, returns: &str| {
        format!(
            r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string"}}}}}},"annotations":{{"inputMetadata":{{"destination":"ephemeral","sensitivity":["user","pii","financial","credentials"],"outcomes":"benign"}},"returnMetadata":{returns}}}}}"#
        )
    };
    let (harmless, private) =
        (r#"{"source":"system","sensitivity":"none"}"#, r#"{"source":"user","sensitivity":"pii"}"#);
    let tools = [
        tool("delete", harmless),
        tool("write", harmless),
        tool("stateless", harmless),
        tool("read", private),
    ];
    let tools = tools.join(",");
    let asks = |state: &str| {
        result(&format!(
            r#""resultType":"input_required","inputRequests":{{"who":{{"method":"elicitation/create","params":{{"mode":"form","message":"Who?","requestedSchema":{{"type":"object","properties":{{"name":{{"type":"string"}}}}}}}}}}}}{state}"#
        ))
    };
    let (first, second) = (asks(r#","requestState":"one""#), asks(r#","requestState":"two""#));
    let end = result(r#""resultType":"complete","content":[{"type":"text","text":"done"}]"#);
    json!({
        "server/discover": result(&format!(
            r#""supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}},{cached}"#
        )),
        "tools/list": result(&format!(r#""tools":[{tools}],{cached}"#)),
        "tools/call": end,
        "tools/call delete": first,
        "tools/call delete again one": second,
        "tools/call write": first,
        "tools/call write again one": second,
        "tools/call stateless": asks(""),
    })
}

/// A gateway before that server.
pub(crate) async fn stage(hold: &str, change: impl FnOnce(&mut Value)) -> Stage {
    Stage::standing(hold, |config| {
        let server = &mut config["servers"]["files"];
        server["era"] = json!("modern");
        server["labels"]["stateless"] = json!({ "approval": "passkey" });
        std::fs::write(server["args"][1].as_str().unwrap(), script("Changes things.").to_string()).unwrap();
        change(config);
    })
    .await
}

impl Way {
    pub(crate) fn capabilities(self) -> Value {
        match self {
            Self::Native => json!({ "extensions": { KEY: {} }, "elicitation": { "form": {} } }),
            Self::Page => json!({ "elicitation": { "form": {}, "url": {} } }),
            Self::Held => json!({ "elicitation": { "form": {} } }),
        }
    }

    pub(crate) async fn client(self, stage: &Stage) -> Client {
        stage.setup(Era::Modern).capabilities(self.capabilities()).connect().await.unwrap()
    }

    /// The first round, approved, up to the server's question.
    pub(crate) async fn begin(self, stage: &Stage, client: &Client, arguments: &Value) -> Answer {
        let call = Request::call(DELETE, arguments).once();
        match self {
            Self::Native => {
                let signature = stage.signature(client, arguments).await;
                client.send(call.meta(KEY, signature)).await.unwrap()
            }
            Self::Page => {
                let asked = client.send(call).await.unwrap();
                sent_to_page(stage, client, arguments, &asked).await
            }
            Self::Held => {
                let signing = async {
                    let request = stage.pending().await;
                    stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await.0
                };
                let (answer, status) = tokio::join!(client.send(call), signing);
                assert_eq!(status, 200);
                answer.unwrap()
            }
        }
    }
}

/// The person signs on the page that an answer leads to, and the client comes back.
pub(crate) async fn sent_to_page(
    stage: &Stage,
    client: &Client,
    arguments: &Value,
    asked: &Answer,
) -> Answer {
    let page = asked.at("/result/inputRequests/highwater_approval/params");
    assert_eq!(page["mode"], "url", "{}", asked.raw());
    assert_eq!(stage.person.sign(&id_of(&page["url"]), &stage.passkey).await.0, 200);
    let params = json!({
        "name": DELETE, "arguments": arguments, "requestState": asked.at("/result/requestState"),
        "inputResponses": { "highwater_approval": { "action": "accept" } },
    });
    client.send(Request::new("tools/call").params(params).once()).await.unwrap()
}

/// What the client must bring back to be in the next round.
pub(crate) fn question(answer: &Answer) -> Value {
    assert_eq!(answer.at("/result/inputRequests/who/method"), "elicitation/create", "{}", answer.raw());
    let state = answer.at("/result/requestState");
    assert!(state.as_str().unwrap().starts_with("hw2."), "{}", answer.raw());
    state
}

/// A retry that brings answers.
pub(crate) fn on(tool: &str, arguments: &Value, state: &Value) -> Request {
    let answers = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
    let params =
        json!({ "name": tool, "arguments": arguments, "inputResponses": answers, "requestState": state });
    Request::new("tools/call").params(params).once()
}

/// How often the server was brought this state of its own.
pub(crate) fn resumed(stage: &Stage, state: &str) -> usize {
    stage.ran(&format!(r#""requestState":"{state}""#))
}

pub(crate) async fn receipts(stage: &Stage) -> usize {
    let (_, found) = stage.api(Method::GET, "receipts", None).await;
    found["receipts"].as_array().unwrap().len()
}

pub(crate) async fn nobody_is_asked(stage: &Stage) {
    let (_, list) = stage.api(Method::GET, "", None).await;
    assert_eq!(list, json!([]));
}

/// A refusal in a tool's result that says this.
pub(crate) fn refused(answer: &Answer, word: &str) {
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert!(answer.text().unwrap().contains(word), "{}", answer.raw());
}

#[tokio::test]
async fn g25_one_signature_carries_every_round_of_a_call() {
    for way in WAYS {
        let stage = stage(HELD, |_| ()).await;
        let client = way.client(&stage).await;
        // Spelled otherwise in each round: what goes out is what was signed (G27).
        let first = way.begin(&stage, &client, &json!({ "path": "a", "n": 1.0 })).await;
        let one = question(&first);
        let second = client.send(on(DELETE, &json!({ "n": 1.0, "path": "a" }), &one)).await.unwrap();
        let two = question(&second);
        assert_ne!(one, two);
        done(&client.send(on(DELETE, &json!({ "path": "a", "n": 1.0 }), &two)).await.unwrap());
        assert_eq!((resumed(&stage, "one"), resumed(&stage, "two")), (1, 1), "{way:?}");
        assert_eq!(stage.ran(r#""arguments":{"n":1,"path":"a"}"#), 3, "{way:?}");
        assert_eq!(stage.ran(r#""name":"Ada""#), 2, "{way:?}: the answers reach the server");
        assert_eq!(stage.ran("hw2.") + stage.ran("hwr2."), 0, "our seals reach no server");
        assert_eq!(receipts(&stage).await, 1, "{way:?}");
        nobody_is_asked(&stage).await;
    }
}

#[tokio::test]
async fn g25_a_round_belongs_to_one_call_of_one_principal_and_goes_on_once() {
    let other = json!({ "other": { "permissions": ["read", "write", "destructive"], "servers": ["*"] } });
    let stage = stage(BRIEFLY, |config| config["agent_tokens"] = other).await;
    let client = Way::Native.client(&stage).await;
    let arguments = json!({ "path": "a" });
    let state = question(&Way::Native.begin(&stage, &client, &arguments).await);
    // Another call, another tool, a seal that is not ours.
    let text = state.as_str().unwrap();
    let swapped: String = text
        .chars()
        .enumerate()
        .map(|(place, letter)| match (place == text.len() / 2, letter) {
            (true, 'A') => 'B',
            (true, _) => 'A',
            (false, letter) => letter,
        })
        .collect();
    // As before the form of our seals changed: it is refused, and no server's own state.
    let former = text.replacen("hw2.", "hw1.", 1);
    let forged = [json!(format!("{text}x")), json!(swapped), json!(former), json!("hw1."), json!("hw2.")];
    let mut foreign = vec![
        on(DELETE, &json!({ "path": "b" }), &state),
        on(DELETE, &json!({}), &state),
        on(WRITE, &arguments, &state),
    ];
    foreign.extend(forged.iter().map(|forged| on(DELETE, &arguments, forged)));
    for request in foreign {
        let answer = client.send(request).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "{}", answer.raw());
    }
    // Somebody else.
    let url = stage.gateway.endpoint().replace("/mcp", "/api/v1/tokens");
    let person = Setup::http(&url).token(stage.gateway.operator_token()).connect_silently().await.unwrap();
    let made = person.exchange(Method::POST, r#"{"name":"other"}"#, &[]).await.unwrap();
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let stranger = stage.setup(Era::Modern).capabilities(Way::Native.capabilities());
    let stranger = stranger.token(made["secret"].as_str().unwrap()).connect().await.unwrap();
    let answer = stranger.send(on(DELETE, &arguments, &state)).await.unwrap();
    assert_eq!(answer.error_code(), Some(-32602), "{}", answer.raw());
    // Without the state, or with the server's own, it is a call of its own, whose answers no person would be shown.
    let answers = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
    for own in [Value::Null, json!("one")] {
        let mut params = json!({ "name": DELETE, "arguments": arguments, "inputResponses": answers });
        if own.is_string() {
            params["requestState"] = own;
        }
        let answer = client.send(Request::new("tools/call").params(params).once()).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "{}", answer.raw());
        assert_eq!(answer.at("/error/data/path"), "/params/inputResponses", "{}", answer.raw());
    }
    assert_eq!((resumed(&stage, "one"), stage.ran("delete")), (0, 1), "nothing of this reached the server");
    // It goes on, and not once more: not in turn and not at once.
    let next = question(&client.send(on(DELETE, &arguments, &state)).await.unwrap());
    refused(&client.send(on(DELETE, &arguments, &state)).await.unwrap(), "taken already");
    let all = (0..20).map(|_| client.send(on(DELETE, &arguments, &next)));
    let all: Vec<Answer> =
        futures_util::future::join_all(all).await.into_iter().map(Result::unwrap).collect();
    let (won, lost): (Vec<_>, Vec<_>) = all.iter().partition(|answer| !answer.is_tool_error());
    assert_eq!((won.len(), lost.len()), (1, 19));
    done(won[0]);
    lost.iter().for_each(|answer| refused(answer, "taken already"));
    assert_eq!((resumed(&stage, "one"), resumed(&stage, "two")), (1, 1));
    assert_eq!(receipts(&stage).await, 1);
}

#[tokio::test]
async fn g25_without_a_state_of_the_server_there_is_nothing_to_go_on_with() {
    let stage = stage(BRIEFLY, |_| ()).await;
    let client = stage.client(Era::Modern).await;
    let name = "files__stateless";
    let id = waits(&client.call(name, json!({})).await.unwrap());
    assert_eq!(stage.person.sign(&id, &stage.passkey).await.0, 200);
    let asked = client.send(Request::call(name, &json!({})).once()).await.unwrap();
    assert_eq!(asked.at("/result/inputRequests/who/method"), "elicitation/create", "{}", asked.raw());
    assert_eq!(asked.at("/result/requestState"), Value::Null, "{}", asked.raw());
    let answers = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
    let params = json!({ "name": name, "arguments": {}, "inputResponses": answers });
    let again = client.send(Request::new("tools/call").params(params).once()).await.unwrap();
    assert_eq!(again.error_code(), Some(-32602), "{}", again.raw());
    assert_eq!(again.at("/error/data/path"), "/params/inputResponses", "no person is shown them");
    nobody_is_asked(&stage).await;
    let again = client.call(name, json!({})).await.unwrap();
    assert_ne!(waits(&again), id, "to run it once more is asked once more");
    assert_eq!(stage.ran("stateless"), 1);
}

/// A rule that fires once the session has read something private.
fn after_reading(effect: &str) -> Value {
    json!({
        "name": "nothing-after-reading", "effect": effect,
        "when": { "tool.name": "delete", "session.sources": { "contains": "user" } },
    })
}

#[tokio::test]
async fn g21_g25_each_round_is_judged_as_things_are_then_and_a_block_blocks() {
    for way in WAYS {
        let stage = stage(HELD, |config| {
            config["rules"].as_array_mut().unwrap().push(after_reading("block"));
        })
        .await;
        let client = way.client(&stage).await;
        let arguments = json!({ "path": "a" });
        let state = question(&way.begin(&stage, &client, &arguments).await);
        done(&client.call(READ, json!({})).await.unwrap());
        let answer = client.send(on(DELETE, &arguments, &state)).await.unwrap();
        assert!(answer.is_tool_error(), "{way:?}: {}", answer.raw());
        assert_eq!(resumed(&stage, "one"), 0, "{way:?}");
    }
}

#[tokio::test]
async fn g21_g25_what_nobody_was_shown_is_asked_and_the_call_goes_on_from_where_it_was() {
    for way in WAYS {
        let stage = stage(BRIEFLY, |config| {
            config["approvals"]["hold"] = json!(HELD);
            config["rules"].as_array_mut().unwrap().push(after_reading("passkey"));
        })
        .await;
        let client = way.client(&stage).await;
        let arguments = json!({ "path": "a" });
        let state = question(&way.begin(&stage, &client, &arguments).await);
        done(&client.call(READ, json!({})).await.unwrap());
        let round = on(DELETE, &arguments, &state);
        let second = match way {
            Way::Native => {
                let answer = client.send(round.clone()).await.unwrap();
                assert_eq!(answer.at("/error/data/reason"), "missing_evidence", "{}", answer.raw());
                let signature = stage.signature(&client, &arguments).await;
                client.send(round.meta(KEY, signature)).await.unwrap()
            }
            Way::Page => {
                let asked = client.send(round).await.unwrap();
                sent_to_page(&stage, &client, &arguments, &asked).await
            }
            Way::Held => {
                let signing = async {
                    let request = stage.pending().await;
                    assert!(request["asks"].to_string().contains("nothing-after-reading"), "{request}");
                    stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await.0
                };
                let (answer, status) = tokio::join!(client.send(round), signing);
                assert_eq!(status, 200);
                answer.unwrap()
            }
        };
        // From here on they were shown everything.
        let two = question(&second);
        assert_eq!((resumed(&stage, "one"), receipts(&stage).await), (1, 2), "{way:?}");
        done(&client.send(on(DELETE, &arguments, &two)).await.unwrap());
        assert_eq!((stage.ran(r#""name":"Ada""#), receipts(&stage).await), (2, 2), "{way:?}");
    }
}
