//! The kinds of proof: what is called on them, what is configured for them, how a person agrees, and how a call uses it.

use highwater_passkey::Algorithm;
use highwater_testkit::client::{Client, Era, Request};
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

use super::extras::{EXTRAS, Extra, PLAIN, SECRET, Wanted};
use super::scene::{Scene, back, declared, to_server};
use super::{Column, Proof};
use crate::mandated::sign_as;
use crate::person::Person;
use crate::rounds::{Way, question};
use crate::stage::{DELETE, ERAS, KEY, Stage, WRITE, done, id_of, waits};

/// What a modern client says to a question of ours.
const OPENED: &str = r#"{"highwater_approval":{"action":"accept"}}"#;
const ALLOWED: &str = r#"{"highwater_approval":{"action":"accept","content":{"allow":true}}}"#;

/// When a person agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// While the call waits.
    Held,
    /// Before another request collects it.
    Collected,
    /// Long before.
    Standing,
}

/// A yes that no call has used up.
#[derive(Default)]
pub(crate) struct Yes {
    /// What the client brings back with its call.
    state: Value,
    /// The signature.
    evidence: Option<Value>,
}

/// Somebody with a passkey that counts.
pub(crate) type Signer = (Person, Passkey);

// === impl Proof ===

impl Proof {
    pub(crate) fn when(self) -> When {
        match self {
            Self::HeldPasskey
            | Self::InlinePage
            | Self::HeldButton
            | Self::InlineForm
            | Self::InlineRounds => When::Held,
            Self::LaterPasskey
            | Self::LaterButton
            | Self::ReturnedPage
            | Self::ReturnedForm
            | Self::Native
            | Self::Quorum
            | Self::RoundNative
            | Self::RoundPage
            | Self::RoundHeld
            | Self::CallAsTask => When::Collected,
            Self::RememberedCall
            | Self::RememberedRecipient
            | Self::RememberedFolder
            | Self::RememberedHost
            | Self::Mandate
            | Self::Permit => When::Standing,
        }
    }

    /// Which clients and servers it is tried between. What changes the tools is tried between the first.
    pub(crate) fn eras(self) -> Vec<(Era, Era)> {
        let [legacy, modern] = ERAS;
        match self {
            Self::InlinePage | Self::InlineForm => vec![(legacy, legacy), (legacy, modern)],
            Self::ReturnedPage | Self::ReturnedForm | Self::Quorum => {
                vec![(modern, legacy), (modern, modern)]
            }
            Self::RoundNative | Self::RoundPage | Self::RoundHeld => vec![(modern, modern)],
            Self::InlineRounds => vec![(legacy, modern)],
            Self::CallAsTask | Self::RememberedRecipient | Self::RememberedFolder | Self::RememberedHost => {
                vec![(modern, legacy)]
            }
            Self::HeldPasskey
            | Self::LaterPasskey
            | Self::HeldButton
            | Self::LaterButton
            | Self::Native
            | Self::RememberedCall
            | Self::Mandate
            | Self::Permit => vec![(modern, legacy), (legacy, legacy), (modern, modern), (legacy, modern)],
        }
    }

    pub(crate) fn capabilities(self) -> Value {
        declared(match self {
            Self::InlinePage | Self::ReturnedPage => json!({ "elicitation": { "url": {} } }),
            Self::InlineForm | Self::ReturnedForm | Self::InlineRounds => {
                json!({ "elicitation": { "form": {} } })
            }
            Self::Native => json!({ "extensions": { KEY: { "note": SECRET } } }),
            Self::RoundNative | Self::RoundPage | Self::RoundHeld => self.way().capabilities(),
            _ => json!({}),
        })
    }

    /// How the first round of a call is approved.
    fn way(self) -> Way {
        match self {
            Self::RoundNative => Way::Native,
            Self::RoundPage => Way::Page,
            _ => Way::Held,
        }
    }

    fn is_round(self) -> bool {
        matches!(self, Self::RoundNative | Self::RoundPage | Self::RoundHeld)
    }

    /// Whether the call that collects the yes brings back a state of ours, which was made for the first one.
    pub(crate) fn is_retry(self) -> bool {
        matches!(self, Self::ReturnedPage | Self::ReturnedForm) || self.is_round()
    }

    /// Whether a button is enough.
    fn takes_button(self) -> bool {
        !matches!(self.tool(), DELETE | "files__chore")
    }

    fn tool(self) -> &'static str {
        match self {
            Self::HeldButton
            | Self::LaterButton
            | Self::InlineForm
            | Self::ReturnedForm
            | Self::RememberedCall => WRITE,
            Self::RememberedRecipient => "files__send_mail",
            Self::RememberedFolder => "files__edit_file",
            Self::RememberedHost => "files__get_page",
            Self::Permit => "files__append",
            Self::CallAsTask => "files__chore",
            _ => DELETE,
        }
    }

    pub(crate) async fn scene(self, server: Era) -> Scene {
        let is_held = self.when() == When::Held && self != Self::InlineForm || self.is_round();
        let hold = if is_held { "20s" } else { "50ms" };
        let asks = self.is_round() || self == Self::InlineRounds;
        let scene = Scene::new(server, hold, asks, |config| match self {
            Self::Mandate => {
                config["approvals"]["tools"] = json!({ "files:delete": { "delegable": true } });
            }
            Self::Quorum => {
                let quorum = json!({ "n": 2, "approvers": ["ada", "ben"] });
                config["approvals"]["tools"] = json!({ "files:delete": { "quorum": quorum } });
            }
            Self::Permit => {
                // What an agent alone may act on is listed.
                let rows = EXTRAS.iter().map(|extra| extra.name.to_owned());
                let columns = Column::ALL
                    .iter()
                    .flat_map(|column| ["other", "later"].map(|when| format!("{when}-{}", column.title())));
                let paths: Vec<String> = rows.chain(columns).map(|row| format!("build/{row}")).collect();
                let arguments = json!({ "path": { "enum": paths } });
                config["permits"] = json!({ "builds": {
                    "token": "agent", "tool": "files:append", "until": "2999-01-01", "arguments": arguments,
                } });
            }
            Self::RememberedRecipient | Self::RememberedFolder => {
                config["servers"]["files"]["profile"] = json!("local");
            }
            Self::RememberedHost => config["servers"]["files"]["profile"] = json!("public"),
            _ => {}
        })
        .await;
        if self == Self::RememberedFolder {
            for made in ["letters", "plans"] {
                std::fs::create_dir_all(desk(&scene.stage).join(made)).unwrap();
            }
        }
        scene
    }

    /// The people who sign, where it takes several.
    pub(crate) async fn signers(self, stage: &Stage) -> Vec<Signer> {
        match self {
            Self::Quorum => vec![enrolled(stage, "ada").await, enrolled(stage, "ben").await],
            _ => Vec::new(),
        }
    }

    /// The call of a row, which is what a person agrees to.
    pub(crate) fn wanted(self, scene: &Scene, row: &str) -> Wanted {
        let arguments = match self {
            Self::RememberedRecipient => json!({ "to": "ada@example.com", "subject": "news", "body": row }),
            Self::RememberedFolder => {
                json!({ "path": desk(&scene.stage).join("letters").join(format!("{row}.txt")), "content": row })
            }
            Self::RememberedHost => json!({ "url": format!("https://docs.example/{row}") }),
            _ => json!({ "path": format!("build/{row}") }),
        };
        Wanted { tool: self.tool().to_owned(), arguments }
    }

    /// Arguments of the same tool that nobody agreed to.
    pub(crate) fn other_arguments(self, scene: &Scene, wanted: &Wanted) -> Vec<Value> {
        let with = |key: &str, value: Value| {
            let mut other = wanted.arguments.clone();
            other[key] = value;
            other
        };
        match self {
            Self::RememberedRecipient => {
                vec![with("to", json!("eve@example.com")), with("cc", json!("eve@example.com"))]
            }
            Self::RememberedFolder => vec![
                with("path", json!(desk(&scene.stage).join("plans").join("a.txt"))),
                with(
                    "path",
                    json!(desk(&scene.stage).join("letters").join("..").join("plans").join("a.txt")),
                ),
            ],
            Self::RememberedHost => {
                vec![
                    with("url", json!("https://eve.example/a")),
                    with("url", json!("https://docs.example/a?q=1")),
                ]
            }
            _ => vec![with("path", json!("elsewhere/a")), with("amount", json!(7))],
        }
    }

    /// A person agrees, before the call comes, to what the call of a row is.
    pub(crate) async fn stand(self, scene: &mut Scene, client: &Client, wanted: &Wanted, uses: u64) {
        let scope = match self {
            Self::RememberedCall => "tool-with-targets",
            Self::RememberedRecipient => "session",
            Self::RememberedFolder => "folder",
            Self::RememberedHost => "host",
            Self::Mandate => {
                sign_as(&scene.stage, &json!("agent"), &json!({ "path": { "prefix": "build/" } }), uses)
                    .await;
                return;
            }
            _ => return,
        };
        let asked = client.send(wanted.call(&PLAIN, "")).await.unwrap();
        if asked.at("/result/isError") == json!(true) {
            let (status, said) = scene.stage.person.confirm(&waits(&asked), Some(scope)).await;
            assert_eq!(status, 200, "{scope}: {said}");
            done(&client.send(wanted.call(&PLAIN, "")).await.unwrap());
        }
        scene.sent();
    }

    /// Everything that the calls of the table rest on, where that is said once.
    pub(crate) async fn stand_for_all(self, scene: &mut Scene, client: &Client, uses: usize) {
        match self {
            Self::RememberedCall => {
                for extra in &EXTRAS {
                    let wanted = self.wanted(scene, extra.name);
                    self.stand(scene, client, &wanted, 1).await;
                }
            }
            _ => {
                let wanted = self.wanted(scene, "first");
                self.stand(scene, client, &wanted, uses.try_into().unwrap()).await;
            }
        }
    }

    /// A person answers a request that waits.
    pub(crate) async fn agree(self, stage: &Stage, people: &[Signer], id: &str) {
        let signed = match self {
            Self::Quorum => {
                for (person, passkey) in people {
                    assert_eq!(person.sign(id, passkey).await.0, 200);
                }
                return;
            }
            _ if self.takes_button() => stage.person.confirm(id, None).await,
            _ => stage.person.sign(id, &stage.passkey).await,
        };
        assert_eq!(signed.0, 200, "{}", signed.1);
    }

    /// A person agrees to a call that has something more in it, and nothing has collected it yet.
    pub(crate) async fn agreed(
        self,
        scene: &Scene,
        people: &[Signer],
        client: &Client,
        wanted: &Wanted,
        extra: &Extra,
    ) -> Yes {
        let (stage, call) = (&scene.stage, wanted.call(extra, ""));
        let mut yes = Yes::default();
        match self {
            Self::ReturnedPage => {
                let asked = client.send(call).await.unwrap();
                let page = asked.at("/result/inputRequests/highwater_approval/params/url");
                self.agree(stage, people, &id_of(&page)).await;
                yes.state = asked.at("/result/requestState");
            }
            Self::ReturnedForm => {
                let asked = client.send(call).await.unwrap();
                assert_eq!(asked.at("/result/resultType"), "input_required", "{}", asked.raw());
                yes.state = asked.at("/result/requestState");
            }
            Self::Native => yes.evidence = Some(stage.signature(client, &wanted.arguments).await),
            _ if self.is_round() => {
                yes.state = question(&self.way().begin(stage, client, &wanted.arguments).await);
            }
            _ => {
                let id = waits(&client.send(call).await.unwrap());
                let (_, request) = stage.api(Method::GET, &id, None).await;
                assert_eq!(request["arguments"], wanted.arguments.to_string(), "{request}");
                self.agree(stage, people, &id).await;
            }
        }
        yes
    }

    /// The call that uses a yes, with something more in it.
    pub(crate) fn using(self, wanted: &Wanted, yes: &Yes, extra: &Extra) -> Request {
        let more = match self {
            Self::ReturnedPage => back(&yes.state, OPENED),
            Self::ReturnedForm => back(&yes.state, ALLOWED),
            _ if self.is_round() => to_server(&yes.state),
            _ => String::new(),
        };
        let call = wanted.call(extra, &more);
        match &yes.evidence {
            Some(evidence) => call.meta(KEY, evidence.clone()),
            None => call,
        }
    }
}

/// Where files are that are in no project.
fn desk(stage: &Stage) -> std::path::PathBuf {
    stage.gateway.home().path().canonicalize().unwrap().join("desk")
}

async fn enrolled(stage: &Stage, user: &str) -> Signer {
    let (status, opened) = stage.api(Method::POST, "enroll", Some(&json!({ "user": user }))).await;
    assert_eq!(status, 201, "{opened}");
    let mut passkey = Passkey::fresh(Algorithm::Es256, stage.person.origin());
    stage.person.enroll(user, opened["code"].as_str().unwrap(), &mut passkey).await;
    (stage.person.with_passkey(&passkey).await, passkey)
}
