//! `kill -9` between any two steps of a question, and in the course of each: asked, signed, confirmed, declined, remembered,
//! collected; by one person and by two, by form, by mandate. Whatever the gateway had begun, afterwards the call has run no
//! more often than people agreed, and never without them; who was asked can still answer, or is asked anew.
//!
//! How a signed call and a round are killed step by step is in `killed.rs` and `rounds_lasting.rs`.

use highwater_testkit::client::{Answer, Client, Era, Request};
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

use crate::killed::{Moment, killed, lines};
use crate::mandated::sign_as;
use crate::stage::{DELETE, Stage, WRITE, done, waits};

/// What the gateway is doing when it is killed, or has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A call comes that somebody is asked about.
    Ask,
    /// The person signs.
    Sign,
    /// The person presses the button.
    Confirm,
    /// The person says no.
    Decline,
    /// The person presses the button, and wants it remembered.
    Remember,
    /// The call comes that uses up a signature.
    CollectSigned,
    /// The call comes that uses up a button.
    CollectConfirmed,
    /// A call comes that rests on what is remembered.
    UseRemembered,
    /// The person signs a mandate for one call.
    SignMandate,
    /// The call comes that uses it up.
    UseMandate,
    /// The first of two signs.
    SignFirst,
    /// The second of two signs.
    SignSecond,
    /// The call comes that uses up what both signed.
    CollectBoth,
    /// The question goes to a form.
    AskByForm,
    /// The form comes back with a yes.
    AnswerForm,
}

/// A row: the step, how often the call has run in the end, what came before the step included, if the gateway was killed
/// after it and the agent then called twice, and how often at most if it was killed in the course of it.
struct Row {
    step: Step,
    after: usize,
    at_most: usize,
}

const fn row(step: Step, after: usize, at_most: usize) -> Row {
    Row { step, after, at_most }
}

const BY_ONE: [Row; 6] = [
    row(Step::Ask, 0, 0),
    row(Step::Sign, 1, 1),
    row(Step::Confirm, 1, 1),
    row(Step::Decline, 0, 0),
    row(Step::CollectSigned, 1, 1),
    row(Step::CollectConfirmed, 1, 1),
];

const BEFOREHAND: [Row; 4] = [
    row(Step::Remember, 2, 2),
    row(Step::UseRemembered, 4, 4),
    row(Step::SignMandate, 1, 1),
    row(Step::UseMandate, 1, 1),
];

const BY_TWO: [Row; 3] =
    [row(Step::SignFirst, 0, 0), row(Step::SignSecond, 1, 1), row(Step::CollectBoth, 1, 1)];

const BY_FORM: [Row; 2] = [row(Step::AskByForm, 0, 0), row(Step::AnswerForm, 1, 1)];

/// A gateway, and whoever must sign in place of its owner.
struct Scene {
    stage: Stage,
    two: Vec<Passkey>,
    /// How many rows were tried in it.
    rows: usize,
}

/// Agents and people in front of a gateway.
#[derive(Clone, Copy)]
struct Hands<'a> {
    stage: &'a Stage,
    two: &'a [Passkey],
}

/// What there is before a step.
#[derive(Default)]
struct Before {
    /// The request that waits.
    id: String,
    /// What a modern client brings back.
    state: Value,
    /// How often the call had run.
    ran: usize,
}

// === impl Step ===

impl Step {
    fn tool(self) -> &'static str {
        match self {
            Self::Confirm
            | Self::Remember
            | Self::CollectConfirmed
            | Self::UseRemembered
            | Self::AskByForm
            | Self::AnswerForm => WRITE,
            _ => DELETE,
        }
    }

    /// Whether a call is what is killed, so that its server may have it.
    fn is_call(self) -> bool {
        matches!(
            self,
            Self::CollectSigned
                | Self::CollectConfirmed
                | Self::UseRemembered
                | Self::UseMandate
                | Self::CollectBoth
                | Self::AnswerForm
        )
    }

    fn is_form(self) -> bool {
        matches!(self, Self::AskByForm | Self::AnswerForm)
    }

    fn call(self, path: &str) -> Request {
        Request::call(self.tool(), &json!({ "path": path })).once()
    }

    /// The call that comes with, or after, this step.
    fn again(self, path: &str, before: &Before) -> Request {
        if self != Self::AnswerForm {
            return self.call(path);
        }
        let answers = json!({ "highwater_approval": { "action": "accept", "content": { "allow": true } } });
        let params = json!({ "name": WRITE, "arguments": { "path": path }, "requestState": before.state,
                             "inputResponses": answers });
        Request::new("tools/call").params(params).once()
    }
}

// === impl Scene ===

impl Scene {
    async fn new(people: &[&str]) -> Self {
        let stage = Stage::standing("50ms", |config| {
            config["approvals"]["tools"] = match people {
                [] => json!({ "files:delete": { "delegable": true } }),
                _ => json!({ "files:delete": { "quorum": { "n": people.len(), "approvers": people } } }),
            };
        })
        .await;
        let mut two = Vec::new();
        for user in people {
            two.push(stage.enroll(user).await);
        }
        Self { stage, two, rows: 0 }
    }

    fn hands(&self) -> Hands<'_> {
        Hands { stage: &self.stage, two: &self.two }
    }

    /// Kills the gateway at one moment of a step, or after it, starts it again, and looks at what there is.
    async fn killed_at(&mut self, row: &Row, moment: Option<Moment>) {
        let Row { step, after, at_most } = *row;
        self.rows += 1;
        let path = format!("row-{}-", self.rows);
        let mut before = self.hands().before(step, &path).await;
        match moment {
            None => {
                self.hands().take(step, &path, &before).await;
                if step == Step::Ask {
                    before.id = self.stage.pending().await["id"].as_str().unwrap().to_owned();
                }
                self.stage.gateway.kill().await.unwrap();
            }
            Some(moment) => {
                let Self { stage, two, .. } = self;
                let taking = async |stage: &Stage| Hands { stage, two }.take(step, &path, &before).await;
                killed(stage, &path, moment, taking).await;
            }
        }
        let at_kill = self.hands().ran(&path);
        self.stage.restart().await;
        let hands = self.hands();
        let told = format!("{step:?} killed {moment:?}, had run {at_kill} times");
        let client = hands.client(step).await;
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(client.send(step.again(&path, &before)).await.unwrap());
        }
        let ran = hands.ran(&path);
        assert!(ran <= at_most, "{told}: it ran {ran} times");
        if moment.is_none() {
            assert_eq!(ran, after, "{told}: {}", answers[1].raw());
        }
        let agreed = hands.agreed(&path).await;
        assert!(ran == 0 || agreed > 0 || step.is_form(), "{told}: it ran, and nobody agreed");
        // Answered once at most: what is left is asked anew, or still open, or was declined.
        let last = &answers[1];
        if ran == before.ran + 2 || step == Step::UseRemembered {
            done(last);
        } else {
            hands.still_answerable(row, moment, &path, &before, last).await;
        }
        hands.clear().await;
    }

    /// Goes through rows: each is killed after its step and at each line that goes on record in its course; where it is a
    /// call, also when its server has it.
    async fn goes_through(&mut self, rows: &[Row]) {
        for row in rows {
            // Once through, to learn how many lines there are.
            self.rows += 1;
            let path = format!("row-{}-", self.rows);
            let before = self.hands().before(row.step, &path).await;
            let audit = self.stage.gateway.home().data_dir().join("audit");
            let begun = lines(&audit);
            self.hands().take(row.step, &path, &before).await;
            let steps = lines(&audit) - begun;
            self.hands().clear().await;
            let moments = (0..=steps).map(|line| Some(Moment::Recorded(line)));
            let departed = row.step.is_call().then_some(Some(Moment::Departed));
            let moments: Vec<_> = moments.chain(departed).chain([None]).collect();
            eprintln!("{:?}: {} kills", row.step, moments.len());
            for moment in moments {
                self.killed_at(row, moment).await;
            }
        }
    }
}

// === impl Hands ===

impl Hands<'_> {
    async fn client(&self, step: Step) -> Client {
        let forms = if step.is_form() { json!({ "elicitation": { "form": {} } }) } else { json!({}) };
        self.stage.setup(Era::Modern).capabilities(forms).connect().await.unwrap()
    }

    /// All that comes before a step.
    async fn before(&self, step: Step, path: &str) -> Before {
        let client = self.client(step).await;
        let mut before = Before::default();
        match step {
            Step::Ask | Step::AskByForm | Step::SignMandate => {}
            Step::UseMandate => self.mandate(path).await,
            Step::AnswerForm => {
                let asked = client.send(step.call(path)).await.unwrap();
                before.state = asked.at("/result/requestState");
            }
            _ => before.id = waits(&client.send(step.call(path)).await.unwrap()),
        }
        match step {
            Step::CollectSigned | Step::SignSecond => self.sign(&before.id, 0).await,
            Step::CollectConfirmed => self.confirm(&before.id, None).await,
            Step::CollectBoth => {
                self.sign(&before.id, 0).await;
                self.sign(&before.id, 1).await;
            }
            Step::UseRemembered => {
                self.confirm(&before.id, Some("until-definition-changes")).await;
                done(&client.send(step.call(path)).await.unwrap());
                before.ran = 1;
            }
            _ => {}
        }
        before
    }

    /// The step itself.
    async fn take(&self, step: Step, path: &str, before: &Before) {
        match step {
            Step::Sign | Step::SignFirst => self.sign(&before.id, 0).await,
            Step::SignSecond => self.sign(&before.id, 1).await,
            Step::Confirm => self.confirm(&before.id, None).await,
            Step::Remember => self.confirm(&before.id, Some("until-definition-changes")).await,
            Step::Decline => {
                let deny = format!("{}/deny", before.id);
                assert_eq!(self.stage.api(Method::POST, &deny, Some(&json!({}))).await.0, 200);
            }
            Step::SignMandate => self.mandate(path).await,
            Step::Ask
            | Step::AskByForm
            | Step::AnswerForm
            | Step::CollectSigned
            | Step::CollectConfirmed
            | Step::UseRemembered
            | Step::UseMandate
            | Step::CollectBoth => {
                self.client(step).await.send(step.again(path, before)).await.unwrap();
            }
        }
    }

    /// The owner signs, or one of two.
    async fn sign(&self, id: &str, place: usize) {
        let (status, said) = match self.two.get(place) {
            Some(passkey) => self.stage.person.with_passkey(passkey).await.sign(id, passkey).await,
            None => self.stage.person.sign(id, &self.stage.passkey).await,
        };
        assert_eq!(status, 200, "{said}");
    }

    async fn confirm(&self, id: &str, remember: Option<&str>) {
        let (status, said) = self.stage.person.confirm(id, remember).await;
        assert_eq!(status, 200, "{said}");
    }

    async fn mandate(&self, path: &str) {
        sign_as(self.stage, &json!("agent"), &json!({ "path": { "const": path } }), 1).await;
    }

    fn ran(&self, path: &str) -> usize {
        self.stage.ran(&format!("\"{path}\""))
    }

    /// How many signatures there are for a call, and how many requests for it that somebody agreed to.
    async fn agreed(&self, path: &str) -> usize {
        let (_, receipts) = self.stage.api(Method::GET, "receipts", None).await;
        let signed = receipts["receipts"].as_array().unwrap().iter();
        let signed = signed.filter(|receipt| receipt["canonicalArguments"].as_str().unwrap().contains(path));
        let (_, inbox) = self.stage.api(Method::GET, "inbox", None).await;
        let recent = inbox["recent"].as_array().unwrap().iter();
        let granted = recent.filter(|request| {
            let is_granted = request["state"] == "approved" || request["state"] == "consumed";
            is_granted && request["arguments"].as_str().is_some_and(|arguments| arguments.contains(path))
        });
        signed.count() + granted.count()
    }

    /// A person says no to all that waits, and that the agent may ask again.
    async fn clear(&self) {
        let (_, list) = self.stage.api(Method::GET, "", None).await;
        for request in list.as_array().unwrap() {
            let deny = format!("{}/deny", request["id"].as_str().unwrap());
            assert_eq!(self.stage.api(Method::POST, &deny, Some(&json!({}))).await.0, 200);
        }
        for tool in [DELETE, WRITE] {
            self.stage.api(Method::POST, &format!("paused/agent/{tool}/resume"), Some(&json!({}))).await;
        }
    }

    /// Whoever is asked now can answer, and then it runs once; whoever said no is not asked.
    async fn still_answerable(
        &self,
        row: &Row,
        moment: Option<Moment>,
        path: &str,
        before: &Before,
        last: &Answer,
    ) {
        let (step, told) = (row.step, format!("{:?} killed {moment:?}: {}", row.step, last.raw()));
        if step == Step::AnswerForm {
            // The form was with the gateway that was killed, and its state opens nothing.
            assert!(last.error_code().is_some() || last.is_tool_error(), "{told}");
            return;
        }
        if step == Step::AskByForm {
            assert_eq!(last.at("/result/resultType"), "input_required", "{told}");
            return;
        }
        let is_declined = last.text().is_ok_and(|text| text.contains("did not approve"));
        if step == Step::Decline && (moment.is_none() || is_declined) {
            assert!(is_declined, "{told}");
            return;
        }
        let id = waits(last);
        if matches!(step, Step::Ask | Step::SignFirst) && moment.is_none() {
            assert_eq!(id, before.id, "{told}: the question is still there");
        }
        let (ran, client) = (self.ran(path), self.client(step).await);
        match (step.tool(), self.two.len()) {
            (WRITE, _) => self.confirm(&id, None).await,
            (_, 0) => self.sign(&id, 0).await,
            _ => {
                let (_, request) = self.stage.api(Method::GET, &id, None).await;
                let signed = request["need"]["signed"].as_array().unwrap().len();
                assert!(step != Step::SignFirst || moment.is_some() || signed == 1, "{told}: {request}");
                for place in signed..2 {
                    self.sign(&id, place).await;
                }
            }
        }
        assert_eq!(self.ran(path), ran, "{told}: an answer does nothing by itself");
        done(&client.send(step.call(path)).await.unwrap());
        assert_eq!(self.ran(path), ran + 1, "{told}");
        assert_ne!(waits(&client.send(step.call(path)).await.unwrap()), id, "{told}: it is used up");
        assert_eq!(self.ran(path), ran + 1, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_any_two_steps_of_a_question_to_one_person() {
    Scene::new(&[]).await.goes_through(&BY_ONE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_any_two_steps_of_an_answer_beforehand() {
    Scene::new(&[]).await.goes_through(&BEFOREHAND).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_any_two_steps_of_a_question_to_two_people() {
    Scene::new(&["ada", "ben"]).await.goes_through(&BY_TWO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_any_two_steps_of_a_question_by_form() {
    Scene::new(&[]).await.goes_through(&BY_FORM).await;
}
