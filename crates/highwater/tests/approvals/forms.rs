//! A yes in a form may be remembered until the conversation ends and no longer: a form is the client's word. Where it is
//! remembered it is kept as the page keeps it, and asked again where the page asks again. Never for a passkey.

use std::sync::{Arc, Mutex};

use highwater_testkit::client::{Client, Era, Question, Reply, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, ERAS, LOOK, READ, Stage, WRITE, done, waits};

/// A person who fills in forms: with this, until they are told otherwise. They remember what they were asked.
#[derive(Clone)]
struct Filler {
    content: Arc<Mutex<Value>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Filler {
    fn of(content: Value) -> Self {
        Self { content: Arc::new(Mutex::new(content)), asked: Arc::default() }
    }

    fn says(&self, content: Value) {
        *self.content.lock().unwrap() = content;
    }

    fn times(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// What the last form offered.
    fn offered(&self) -> Value {
        let asked = self.asked.lock().unwrap();
        asked.last().unwrap()["requestedSchema"]["properties"]["remember"].clone()
    }

    async fn before(&self, setup: Setup) -> Client {
        let (content, asked) = (Arc::clone(&self.content), Arc::clone(&self.asked));
        let answering = move |question: &Question| {
            asked.lock().unwrap().push(question.json().unwrap());
            Reply::accept(content.lock().unwrap().clone())
        };
        let setup = setup.capabilities(json!({ "elicitation": { "form": {} } }));
        setup.answering(answering).connect().await.unwrap()
    }
}

/// A gateway, a client and a person who has said yes to writing `a` until the conversation ends.
async fn remembered(era: Era) -> (Stage, Client, Filler) {
    let everything =
        json!({ "permissions": ["read", "write", "destructive"], "servers": ["*"], "forms": "person" });
    let other = json!({ "other": everything });
    let stage = Stage::standing(BRIEFLY, |config| config["agent_tokens"] = other).await;
    let filler = Filler::of(json!({ "allow": true, "remember": "session" }));
    let client = filler.before(stage.setup(era)).await;
    done(&client.call(LOOK, json!({})).await.unwrap());
    for times in 1..=4 {
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        assert_eq!((stage.ran("write"), filler.times()), (times, 1), "{era:?}");
    }
    let offered = filler.offered();
    assert_eq!(offered["enum"], json!(["once", "session"]), "{offered}");
    // From now on every question is answered by no.
    filler.says(json!({ "allow": false }));
    (stage, client, filler)
}

/// That a person is asked once more, and nothing runs since they say no.
async fn asks(stage: &Stage, client: &Client, filler: &Filler, arguments: Value) {
    let (ran, times) = (stage.ran("write"), filler.times());
    let answer = client.call(WRITE, arguments).await.unwrap();
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert_eq!((stage.ran("write"), filler.times()), (ran, times + 1), "{}", answer.raw());
}

#[tokio::test]
async fn a_yes_that_is_remembered_is_for_one_token_these_targets_and_what_the_session_held() {
    for era in ERAS {
        let (stage, client, filler) = remembered(era).await;
        for other in [json!({ "path": "b" }), json!({ "path": "a", "force": true }), json!({})] {
            asks(&stage, &client, &filler, other).await;
        }
        let other = filler.before(stage.setup(era).token(&token(&stage, "other").await)).await;
        asks(&stage, &other, &filler, json!({ "path": "a" })).await;
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        done(&client.call(READ, json!({})).await.unwrap());
        asks(&stage, &client, &filler, json!({ "path": "a" })).await;
    }
}

#[tokio::test]
async fn a_yes_that_is_remembered_ends_with_the_definition() {
    for era in ERAS {
        let (stage, client, filler) = remembered(era).await;
        stage.pull(&client, "Writes elsewhere.").await;
        asks(&stage, &client, &filler, json!({ "path": "a" })).await;
    }
}

#[tokio::test]
async fn what_one_road_remembers_holds_on_the_other() {
    let (stage, _, filler) = remembered(Era::Modern).await;
    let formless = stage.client(Era::Modern).await;
    done(&formless.call(WRITE, json!({ "path": "a" })).await.unwrap());
    let id = waits(&formless.call(WRITE, json!({ "path": "b" })).await.unwrap());
    let (status, said) = stage.person.confirm(&id, Some("tool-with-targets")).await;
    assert_eq!(status, 200, "{said}");
    done(&formless.call(WRITE, json!({ "path": "b" })).await.unwrap());
    let client = filler.before(stage.setup(Era::Legacy)).await;
    let times = filler.times();
    for path in ["a", "b"] {
        done(&client.call(WRITE, json!({ "path": path })).await.unwrap());
    }
    assert_eq!(filler.times(), times);
}

#[tokio::test]
async fn what_was_not_offered_counts_once() {
    for era in ERAS {
        let stage = Stage::new(BRIEFLY).await;
        let filler = Filler::of(Value::Null);
        let client = filler.before(stage.setup(era)).await;
        let answers = [
            json!({ "allow": true }),
            json!({ "allow": true, "remember": "once" }),
            json!({ "allow": true, "remember": "always" }),
            json!({ "allow": true, "remember": "tool-with-targets" }),
            json!({ "allow": true, "remember": "until-definition-changes" }),
            json!({ "allow": true, "remember": ["session"] }),
            json!({ "allow": false, "remember": "session" }),
            json!({ "remember": "session" }),
        ];
        for (before, answer) in answers.into_iter().enumerate() {
            let runs = answer["allow"] == true;
            filler.says(answer);
            let ran = stage.ran("write");
            let answer = client.call(WRITE, json!({ "path": "a" })).await.unwrap();
            assert_eq!(filler.times(), before + 1, "{}", answer.raw());
            assert_eq!(stage.ran("write"), ran + usize::from(runs), "{}", answer.raw());
        }
        let (_, inbox) = stage.api(Method::GET, "inbox", None).await;
        assert_eq!(inbox["remembered"], json!([]), "{inbox}");
    }
}

#[tokio::test]
async fn no_form_serves_a_passkey_and_none_offers_more_than_the_page() {
    for era in ERAS {
        let stage = Stage::new(BRIEFLY).await;
        let filler = Filler::of(json!({ "allow": true, "remember": "session" }));
        let client = filler.before(stage.setup(era)).await;
        waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
        assert_eq!((filler.times(), stage.ran("delete")), (0, 0));
        // Nothing is remembered of what has no definition that could change.
        let uri = client.request("resources/list", json!({})).await.unwrap().at("/result/resources/0/uri");
        for times in 1..=2 {
            let answer = client.request("resources/read", json!({ "uri": uri })).await.unwrap();
            assert!(answer.error_code().is_none(), "{}", answer.raw());
            assert_eq!((filler.times(), filler.offered()), (times, Value::Null));
        }
    }
}

/// E01, E02, E07: a script with an agent's token answers its own forms, and wants that remembered for as long as it can.
#[tokio::test]
async fn whoever_has_a_token_alone_answers_no_question_about_their_own_call() {
    let everything = json!({ "permissions": ["read", "write", "destructive"], "servers": ["*"] });
    let mut ran = Vec::new();
    for era in ERAS {
        let everything = everything.clone();
        let stage =
            Stage::standing(BRIEFLY, |config| config["agent_tokens"] = json!({ "other": everything })).await;
        let script = Filler::of(json!({ "allow": true, "remember": "until-definition-changes" }));
        let client = script.before(stage.setup(era).token(&token(&stage, "other").await)).await;
        for _ in 0..2 {
            client.call(WRITE, json!({ "path": "a" })).await.unwrap();
        }
        let (_, inbox) = stage.api(Method::GET, "inbox", None).await;
        let remembered = inbox["remembered"].as_array().unwrap().len();
        ran.push((era, stage.ran("write"), script.times(), remembered));
    }
    assert_eq!(
        ran,
        [(ERAS[0], 0, 0, 0), (ERAS[1], 0, 0, 0)],
        "by era: how often it ran, how often a script was asked, what is remembered"
    );
}

/// D3, E06: a form that asked about a payment did not say to whom.
#[tokio::test]
async fn a_form_shows_every_argument_of_the_call() {
    let mut blind = Vec::new();
    for era in ERAS {
        let stage = Stage::new(BRIEFLY).await;
        let filler = Filler::of(json!({ "allow": false }));
        let client = filler.before(stage.setup(era)).await;
        let answer = client.call(WRITE, json!({ "path": "the/ledger", "amount": 1250 })).await.unwrap();
        assert!(answer.is_tool_error(), "{}", answer.raw());
        let asked = filler.asked.lock().unwrap().clone();
        let message = asked[0]["message"].as_str().unwrap().to_owned();
        if !["path", "the/ledger", "amount", "1250"].iter().all(|part| message.contains(part)) {
            blind.push((era, message));
        }
    }
    assert!(blind.is_empty(), "the arguments are not shown: {blind:#?}");
}

/// D3: what a form cannot show all of it does not ask about.
#[tokio::test]
async fn a_form_asks_about_nothing_that_it_cannot_show() {
    let mut asked = Vec::new();
    for era in ERAS {
        let stage = Stage::new(BRIEFLY).await;
        let filler = Filler::of(json!({ "allow": true }));
        let client = filler.before(stage.setup(era)).await;
        let answer = client.call(WRITE, json!({ "path": "a".repeat(2_500) })).await.unwrap();
        asked.push((era, filler.times(), stage.ran("write"), answer.is_tool_error()));
    }
    assert_eq!(
        asked,
        [(ERAS[0], 0, 0, true), (ERAS[1], 0, 0, true)],
        "by era: how many forms, how often it ran, whether the page is named"
    );
}

async fn token(stage: &Stage, name: &str) -> String {
    let url = stage.gateway.endpoint().replace("/mcp", "/api/v1/tokens");
    let person = Setup::http(&url).token(stage.gateway.operator_token()).connect_silently().await.unwrap();
    let made = person.exchange(Method::POST, json!({ "name": name }).to_string(), &[]).await.unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let made: Value = serde_json::from_str(&made.body).unwrap();
    made["secret"].as_str().unwrap().to_owned()
}
