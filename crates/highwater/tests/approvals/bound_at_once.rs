//! What a yes binds where one request is all there is: its person answers while it waits, or has answered before.

use highwater_testkit::client::{Answer, Client, Era, Question, Reply};
use serde_json::{Value, json};

use crate::bound::{EXTRAS, Extra, Fate, PLAIN, Scene, declared};
use crate::mandated::{How, sign};
use crate::rounds::nobody_is_asked;
use crate::stage::{DELETE, ERAS, WRITE, done, waits};

/// How a person agrees to a call that is one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A passkey on the page, while the call is held.
    HeldPasskey,
    /// The same where the client of 2025-11-25 is asked to open the page.
    InlinePage,
    /// The button on the page, while the call is held.
    HeldButton,
    /// A form on the stream of the call.
    InlineForm,
    /// An answer that is remembered.
    Remembered,
    /// A mandate.
    Mandate,
    /// A passkey, once for all rounds of a call whose server asks for more.
    InlineRounds,
}

// === impl Kind ===

impl Kind {
    fn tool(self) -> &'static str {
        match self {
            Self::HeldPasskey | Self::InlinePage | Self::Mandate | Self::InlineRounds => DELETE,
            Self::HeldButton | Self::InlineForm | Self::Remembered => WRITE,
        }
    }

    fn capabilities(self) -> Value {
        declared(match self {
            Self::HeldPasskey | Self::HeldButton | Self::Remembered | Self::Mandate => json!({}),
            Self::InlinePage => json!({ "elicitation": { "url": {} } }),
            Self::InlineForm | Self::InlineRounds => json!({ "elicitation": { "form": {} } }),
        })
    }

    /// Whether somebody is asked while the call waits.
    fn is_held(self) -> bool {
        matches!(self, Self::HeldPasskey | Self::InlinePage | Self::HeldButton | Self::InlineRounds)
    }

    async fn scene(self, server: Era) -> Scene {
        let hold = if self.is_held() { "20s" } else { "50ms" };
        let asks = self == Self::InlineRounds;
        Scene::new(server, hold, asks, |config| {
            config["approvals"]["tools"] = json!({ "files:delete": { "delegable": true } });
        })
        .await
    }

    async fn client(self, scene: &Scene, era: Era) -> Client {
        let answering = |question: &Question| match question.json().unwrap()["message"].as_str() {
            Some("Who?") => Reply::accept(json!({ "name": "Ada" })),
            _ => Reply::accept(json!({ "allow": true })),
        };
        let setup = scene.stage.setup(era).capabilities(self.capabilities()).answering(answering);
        setup.connect().await.unwrap()
    }

    /// What has to be said before the first call.
    async fn prepare(self, scene: &mut Scene, client: &Client, uses: usize) {
        match self {
            Self::Remembered => {
                for row in EXTRAS {
                    let id = waits(&client.send(PLAIN.call(WRITE, &row, "")).await.unwrap());
                    let (status, said) = scene.stage.person.confirm(&id, Some("tool-with-targets")).await;
                    assert_eq!(status, 200, "{said}");
                    done(&client.send(PLAIN.call(WRITE, &row, "")).await.unwrap());
                }
            }
            Self::Mandate => {
                let id = sign(&scene.stage, client, How::ByName, uses.try_into().unwrap()).await;
                let path = format!("{id}/deny");
                let (status, said) = scene.stage.api(http::Method::POST, &path, Some(&json!({}))).await;
                assert_eq!(status, 200, "{said}");
            }
            _ => {}
        }
        scene.sent();
    }

    /// A call with something more in it, to which the person agrees.
    async fn approved(self, scene: &Scene, client: &Client, extra: &Extra) -> Answer {
        let call = client.send(extra.call(self.tool(), extra, ""));
        if !self.is_held() {
            return call.await.unwrap();
        }
        let answering = async {
            let request = scene.stage.pending().await;
            let id = request["id"].as_str().unwrap();
            let (person, passkey) = (&scene.stage.person, &scene.stage.passkey);
            assert_eq!(request["arguments"], extra.arguments().to_string(), "{request}");
            match self {
                Self::HeldButton => person.confirm(id, None).await.0,
                _ => person.sign(id, passkey).await.0,
            }
        };
        let (answer, status) = tokio::join!(call, answering);
        assert_eq!(status, 200);
        answer.unwrap()
    }

    /// Goes through the table with a client and a server of these eras.
    async fn binds(self, client_era: Era, server: Era) {
        let mut scene = self.scene(server).await;
        let client = self.client(&scene, client_era).await;
        let fates = EXTRAS.map(|extra| extra.fate(client_era, server));
        let uses = fates.iter().filter(|fate| !matches!(fate, Fate::Refused(_))).count();
        self.prepare(&mut scene, &client, uses).await;
        for (extra, fate) in EXTRAS.iter().zip(fates) {
            match fate {
                Fate::Refused(path) => {
                    let answer = client.send(extra.call(self.tool(), extra, "")).await.unwrap();
                    scene.refused(&client, &answer, path).await;
                }
                Fate::LeftOut | Fate::Sent => {
                    let answer = self.approved(&scene, &client, extra).await;
                    scene.done_as_shown(&client, &answer, extra, extra);
                }
            }
        }
        nobody_is_asked(&scene.stage).await;
        if self == Self::Mandate {
            // What was refused has used nothing up, and what was done has.
            waits(&client.send(PLAIN.call(DELETE, &PLAIN, "")).await.unwrap());
            assert!(scene.sent().is_empty());
        }
    }
}

#[tokio::test]
async fn a_held_call_that_is_signed_on_the_page_is_sent_as_it_was_shown() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        Kind::HeldPasskey.binds(client, server).await;
    }
}

#[tokio::test]
async fn a_call_whose_client_opens_the_page_meanwhile_is_sent_as_it_was_shown() {
    for server in ERAS {
        Kind::InlinePage.binds(Era::Legacy, server).await;
    }
}

#[tokio::test]
async fn a_held_call_that_is_confirmed_on_the_page_is_sent_as_it_was_shown() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        Kind::HeldButton.binds(client, server).await;
    }
}

#[tokio::test]
async fn a_call_that_is_confirmed_in_a_form_meanwhile_is_sent_as_it_was_shown() {
    for server in ERAS {
        Kind::InlineForm.binds(Era::Legacy, server).await;
    }
}

#[tokio::test]
async fn a_remembered_answer_covers_a_call_as_it_was_shown_and_no_other() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        Kind::Remembered.binds(client, server).await;
    }
}

#[tokio::test]
async fn a_mandate_covers_a_call_as_it_would_be_shown_and_counts_no_other() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        Kind::Mandate.binds(client, server).await;
    }
}

#[tokio::test]
async fn every_round_of_a_signed_call_of_the_older_era_is_sent_as_it_was_shown() {
    Kind::InlineRounds.binds(Era::Legacy, Era::Modern).await;
}
