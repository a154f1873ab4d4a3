//! What a yes binds where it is collected by a request of its own: what that one says besides was shown to no person.

use highwater_core::approval::Algorithm;
use highwater_testkit::client::{Answer, Client, Era, Request};
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

use crate::bound::{EXTRAS, Extra, Fate, PLAIN, Scene, back, declared, to_server};
use crate::person::Person;
use crate::rounds::{Way, question};
use crate::stage::{DELETE, ERAS, KEY, Stage, WRITE, done, id_of, waits};

/// How a person agrees to a call that is collected later.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A passkey on the page, after the client was told to call again.
    Passkey,
    /// The button there.
    Button,
    /// The passkeys of two people.
    Quorum,
    /// A passkey on the page to which a modern client was sent.
    ReturnedPage,
    /// A form that ended the request of a modern client.
    ReturnedForm,
    /// A signature that the call brings along.
    Native,
    /// A call that goes on after its server asked for more, however it was approved.
    Round(Way),
}

/// A yes that no call has used up.
struct Yes {
    /// What the client brings back with its call.
    state: Value,
    /// The signature.
    evidence: Option<Value>,
}

/// What a modern client says to a question of ours.
const OPENED: &str = r#"{"highwater_approval":{"action":"accept"}}"#;
const ALLOWED: &str = r#"{"highwater_approval":{"action":"accept","content":{"allow":true}}}"#;

// === impl Kind ===

impl Kind {
    fn tool(self) -> &'static str {
        match self {
            Self::Button | Self::ReturnedForm => WRITE,
            Self::Passkey | Self::Quorum | Self::ReturnedPage | Self::Native | Self::Round(_) => DELETE,
        }
    }

    fn capabilities(self) -> Value {
        declared(match self {
            Self::Passkey | Self::Button | Self::Quorum => json!({}),
            Self::ReturnedPage => json!({ "elicitation": { "url": {} } }),
            Self::ReturnedForm => json!({ "elicitation": { "form": {} } }),
            Self::Native => json!({ "extensions": { KEY: { "note": crate::bound::SECRET } } }),
            Self::Round(way) => way.capabilities(),
        })
    }

    /// Whether the call that collects the yes brings back a state of ours, which was made for the first one.
    fn is_retry(self) -> bool {
        matches!(self, Self::ReturnedPage | Self::ReturnedForm | Self::Round(_))
    }

    async fn scene(self, server: Era) -> Scene {
        let hold = if matches!(self, Self::Round(_)) { "20s" } else { "50ms" };
        Scene::new(server, hold, matches!(self, Self::Round(_)), |config| {
            if matches!(self, Self::Quorum) {
                let quorum = json!({ "n": 2, "approvers": ["ada", "ben"] });
                config["approvals"]["tools"] = json!({ "files:delete": { "quorum": quorum } });
            }
        })
        .await
    }

    /// A person agrees to the call of a row, which has something more in it.
    async fn agreed(
        self,
        scene: &Scene,
        people: &[(Person, Passkey)],
        client: &Client,
        row: &Extra,
        extra: &Extra,
    ) -> Yes {
        let (stage, call) = (&scene.stage, extra.call(self.tool(), row, ""));
        let mut yes = Yes { state: Value::Null, evidence: None };
        match self {
            Self::Passkey | Self::Button | Self::Quorum => {
                let id = waits(&client.send(call).await.unwrap());
                let (_, request) = stage.api(Method::GET, &id, None).await;
                assert_eq!(request["arguments"], row.arguments().to_string(), "{request}");
                match self {
                    Self::Button => assert_eq!(stage.person.confirm(&id, None).await.0, 200),
                    Self::Quorum => {
                        for (person, passkey) in people {
                            assert_eq!(person.sign(&id, passkey).await.0, 200);
                        }
                    }
                    _ => assert_eq!(stage.person.sign(&id, &stage.passkey).await.0, 200),
                }
            }
            Self::ReturnedPage => {
                let asked = client.send(call).await.unwrap();
                let page = asked.at("/result/inputRequests/highwater_approval/params/url");
                assert_eq!(stage.person.sign(&id_of(&page), &stage.passkey).await.0, 200);
                yes.state = asked.at("/result/requestState");
            }
            Self::ReturnedForm => {
                let asked = client.send(call).await.unwrap();
                assert_eq!(asked.at("/result/resultType"), "input_required", "{}", asked.raw());
                yes.state = asked.at("/result/requestState");
            }
            Self::Native => yes.evidence = Some(stage.signature(client, &row.arguments()).await),
            Self::Round(way) => {
                yes.state = question(&way.begin(stage, client, &row.arguments()).await);
            }
        }
        yes
    }

    /// The call that collects a yes, with something more in it.
    fn collecting(self, row: &Extra, yes: &Yes, extra: &Extra) -> Request {
        let more = match self {
            Self::ReturnedPage => back(&yes.state, OPENED),
            Self::ReturnedForm => back(&yes.state, ALLOWED),
            Self::Round(_) => to_server(&yes.state),
            Self::Passkey | Self::Button | Self::Quorum | Self::Native => String::new(),
        };
        let call = extra.call(self.tool(), row, &more);
        match &yes.evidence {
            Some(evidence) => call.meta(KEY, evidence.clone()),
            None => call,
        }
    }

    /// Goes through the table with a client and a server of these eras.
    async fn binds(self, client_era: Era, server: Era) {
        let mut scene = self.scene(server).await;
        let people = match self {
            Self::Quorum => vec![enrolled(&scene.stage, "ada").await, enrolled(&scene.stage, "ben").await],
            _ => Vec::new(),
        };
        let setup = scene.stage.setup(client_era).capabilities(self.capabilities());
        let client = setup.connect().await.unwrap();
        for extra in &EXTRAS {
            let fate = extra.fate(client_era, server);
            // Where it stands in the call from the beginning.
            match (self, fate) {
                (Self::Native | Self::Round(_), _) => {}
                (_, Fate::Refused(path)) => {
                    let answer = client.send(extra.call(self.tool(), extra, "")).await.unwrap();
                    scene.refused(&client, &answer, path).await;
                }
                (_, Fate::LeftOut | Fate::Sent) => {
                    let yes = self.agreed(&scene, &people, &client, extra, extra).await;
                    let answer = client.send(self.collecting(extra, &yes, extra)).await.unwrap();
                    scene.done_as_shown(&client, &answer, extra, extra);
                }
            }
            // Where only the call has it that collects the yes.
            if self.is_retry() && extra.is_of_retry() {
                continue;
            }
            let yes = self.agreed(&scene, &people, &client, extra, &PLAIN).await;
            let began = scene.sent();
            began.iter().for_each(|call| scene.is_as_shown(call, extra, &PLAIN, 0));
            let answer = client.send(self.collecting(extra, &yes, extra)).await.unwrap();
            let (answer, sent) = match (self, fate) {
                // It is the call that was kept with the question.
                (Self::ReturnedForm, Fate::LeftOut | Fate::Sent) => (answer, &PLAIN),
                (_, Fate::LeftOut | Fate::Sent) => (answer, extra),
                (_, Fate::Refused(path)) => {
                    self.refused(&mut scene, &client, &answer, path).await;
                    // The yes is still there for the call that it was given to.
                    (client.send(self.collecting(extra, &yes, &PLAIN)).await.unwrap(), &PLAIN)
                }
            };
            done(&answer);
            let calls = scene.sent();
            assert_eq!(calls.len(), 1, "{}: {calls:?}", extra.name);
            scene.is_as_shown(&calls[0], extra, sent, began.len());
        }
    }

    /// A retry that is not the call its state was made for is refused as that.
    async fn refused(self, scene: &mut Scene, client: &Client, answer: &Answer, path: &str) {
        if self.is_retry() {
            assert_eq!(answer.error_code(), Some(-32602), "{path}: {}", answer.raw());
            assert!(answer.raw().contains("was not made for this request"), "{path}: {}", answer.raw());
            assert!(scene.sent().is_empty(), "{path}");
        } else {
            scene.refused(client, answer, path).await;
        }
    }
}

/// Somebody with a passkey that counts.
async fn enrolled(stage: &Stage, user: &str) -> (Person, Passkey) {
    let (status, opened) = stage.api(Method::POST, "enroll", Some(&json!({ "user": user }))).await;
    assert_eq!(status, 201, "{opened}");
    let mut passkey = Passkey::fresh(Algorithm::Es256, stage.person.origin());
    stage.person.enroll(user, opened["code"].as_str().unwrap(), &mut passkey).await;
    (stage.person.with_passkey(&passkey).await, passkey)
}

#[tokio::test]
async fn what_collects_a_signature_from_the_page_is_sent_as_it_was_shown() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        Kind::Passkey.binds(client, server).await;
    }
}

#[tokio::test]
async fn what_collects_a_confirmation_from_the_page_is_sent_as_it_was_shown() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        Kind::Button.binds(client, server).await;
    }
}

#[tokio::test]
async fn what_two_people_signed_is_sent_as_it_was_shown() {
    for server in ERAS {
        Kind::Quorum.binds(Era::Modern, server).await;
    }
}

#[tokio::test]
async fn the_retry_of_a_call_whose_person_was_sent_to_the_page_is_sent_as_it_was_shown() {
    for server in ERAS {
        Kind::ReturnedPage.binds(Era::Modern, server).await;
    }
}

#[tokio::test]
async fn the_retry_of_a_call_that_was_confirmed_in_a_form_is_sent_as_it_was_shown() {
    for server in ERAS {
        Kind::ReturnedForm.binds(Era::Modern, server).await;
    }
}

#[tokio::test]
async fn a_call_that_brings_its_signature_is_sent_as_it_was_signed() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        Kind::Native.binds(client, server).await;
    }
}

#[tokio::test]
async fn a_round_of_an_approved_call_is_sent_as_the_call_was_shown() {
    for way in crate::rounds::WAYS {
        Kind::Round(way).binds(Era::Modern, Era::Modern).await;
    }
}
