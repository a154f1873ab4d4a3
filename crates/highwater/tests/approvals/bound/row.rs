//! One row of the table, as it happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use highwater_testkit::client::{Answer, Client, Era, Question, Reply, Request};
use highwater_testkit::wait::until;
use serde_json::json;
use tokio::sync::mpsc as async_mpsc;
use tokio::task::JoinHandle;

use super::extras::{EXTRAS, Extra, Fate, PLAIN, Wanted};
use super::proof::{Signer, When, Yes};
use super::scene::Scene;
use super::{Cell, Column, Proof};
use crate::rounds::nobody_is_asked;
use crate::stage::{DELETE, done, waits};

/// Goes through a row, between clients and servers of all eras that it is for.
pub(super) async fn holds(proof: Proof) {
    for (place, (client, server)) in proof.eras().into_iter().enumerate() {
        let mut run = Run::new(proof, client, server).await;
        for (column, expected) in Column::ALL.into_iter().zip(proof.cells()) {
            let seen = match (column, expected) {
                (_, Cell::Impossible(_)) => continue,
                (Column::Name | Column::Argument | Column::Definition | Column::Strangers, _)
                    if place > 0 =>
                {
                    continue;
                }
                (Column::Name | Column::Argument, _) => run.other_call(column).await,
                (Column::Definition | Column::Strangers, _) => run.same_call_later(column).await,
                _ => run.more_in_it(column).await,
            };
            // A modern server knows nothing of a legacy client's tasks, so that they are left out.
            let plainly = column == Column::Task && (client, server) == (Era::Legacy, Era::Modern);
            let expected = if plainly { Cell::AsShown } else { expected };
            assert_eq!(seen, expected, "{proof:?} × {} ({client:?} {server:?})", column.title());
        }
    }
}

/// The form in front of a legacy client's person: filled in at once, or when they are told what to say.
struct Forms {
    waits: Arc<AtomicBool>,
    shown: async_mpsc::UnboundedReceiver<()>,
    says: mpsc::Sender<Reply>,
}

struct Run {
    proof: Proof,
    eras: (Era, Era),
    /// Whether everything is tried between these.
    is_first: bool,
    scene: Scene,
    client: Arc<Client>,
    forms: Forms,
    people: Vec<Signer>,
}

type Calling = JoinHandle<Answer>;

/// What a call comes to first.
enum First {
    Question,
    End(Box<Answer>),
}

// === impl Forms ===

impl Forms {
    async fn before(proof: Proof, scene: &Scene, era: Era) -> (Client, Self) {
        let (show, shown) = async_mpsc::unbounded_channel();
        let (says, said) = mpsc::channel();
        let (waits, said) = (Arc::new(AtomicBool::new(false)), Mutex::new(said));
        let gate = Arc::clone(&waits);
        let answering = move |question: &Question| {
            let params = question.json().unwrap();
            if params["message"] == "Who?" {
                return Reply::accept(json!({ "name": "Ada" }));
            }
            if params["mode"] != "url" && gate.load(Ordering::SeqCst) {
                show.send(()).unwrap();
                // Whatever else this thread of the runtime had to do is done by another.
                return tokio::task::block_in_place(|| said.lock().unwrap().recv().unwrap());
            }
            Reply::accept(json!({ "allow": true }))
        };
        let setup = scene.stage.setup(era).capabilities(proof.capabilities()).answering(answering);
        (setup.connect().await.unwrap(), Self { waits, shown, says })
    }
}

// === impl Run ===

impl Run {
    async fn new(proof: Proof, client: Era, server: Era) -> Self {
        let mut scene = proof.scene(server).await;
        let people = proof.signers(&scene.stage).await;
        let eras = (client, server);
        let is_first = proof.eras().first() == Some(&eras);
        let (client, forms) = Forms::before(proof, &scene, client).await;
        if proof.when() == When::Standing {
            let tried = EXTRAS.iter().filter(|extra| is_first || extra.in_every_era);
            let uses = tried.filter(|extra| fate(proof, extra, eras).cell() == Cell::AsShown).count();
            proof.stand_for_all(&mut scene, &client, uses).await;
        }
        Self { proof, eras, is_first, scene, client: Arc::new(client), forms, people }
    }

    fn begin(&self, request: Request) -> Calling {
        let client = Arc::clone(&self.client);
        tokio::spawn(async move { client.send(request).await.unwrap() })
    }

    /// A call with something in it that nobody is shown, for each that is of the column.
    async fn more_in_it(&mut self, column: Column) -> Cell {
        let mut cells = Vec::new();
        let is_first = self.is_first;
        // Between others than the first only what they could differ in.
        let tried = move |extra: &&Extra| extra.column == column && (is_first || extra.in_every_era);
        for extra in EXTRAS.iter().filter(tried) {
            let fate = fate(self.proof, extra, self.eras);
            match self.proof.when() {
                When::Held | When::Standing => self.one_request(extra, fate).await,
                When::Collected => self.two_requests(extra, fate).await,
            }
            cells.push(fate.cell());
        }
        nobody_is_asked(&self.scene.stage).await;
        let last = column == Column::Progress;
        if self.proof == Proof::Mandate && last {
            // What was refused has used nothing up, and what was done has.
            let spent = Wanted { tool: DELETE.to_owned(), arguments: json!({ "path": "build/one-more" }) };
            waits(&self.client.send(spent.call(&PLAIN, "")).await.unwrap());
            assert!(self.scene.sent().is_empty());
            self.scene.decline_all().await;
        }
        cells.dedup();
        assert_eq!(cells.len(), 1, "{column:?}");
        cells[0]
    }

    /// Where one request is all there is.
    async fn one_request(&mut self, extra: &Extra, fate: Fate) {
        let wanted = self.proof.wanted(&self.scene, extra.name);
        let call = wanted.call(extra, "");
        if let Fate::Refused(path) = fate {
            let answer = self.client.send(call).await.unwrap();
            return self.scene.refused(&self.client, &answer, path).await;
        }
        let calling = self.begin(call);
        if self.proof.when() == When::Held && self.proof != Proof::InlineForm {
            let request = self.scene.stage.pending().await;
            assert_eq!(request["arguments"], wanted.arguments.to_string(), "{request}");
            self.proof.agree(&self.scene.stage, &self.people, request["id"].as_str().unwrap()).await;
        }
        let answer = calling.await.unwrap();
        self.scene.done_as_shown(&self.client, &answer, &wanted, extra);
    }

    /// Where one request is asked about and another collects the answer.
    async fn two_requests(&mut self, extra: &Extra, fate: Fate) {
        let (proof, client) = (self.proof, Arc::clone(&self.client));
        let wanted = proof.wanted(&self.scene, extra.name);
        // Where it stands in the call from the beginning.
        match (proof, fate) {
            (Proof::Native | Proof::RoundNative | Proof::RoundPage | Proof::RoundHeld, _) => {}
            (_, Fate::Refused(path)) => {
                let answer = client.send(wanted.call(extra, "")).await.unwrap();
                self.scene.refused(&client, &answer, path).await;
            }
            (_, Fate::LeftOut | Fate::Sent) => {
                let yes = proof.agreed(&self.scene, &self.people, &client, &wanted, extra).await;
                let answer = client.send(proof.using(&wanted, &yes, extra)).await.unwrap();
                self.scene.done_as_shown(&client, &answer, &wanted, extra);
            }
        }
        // Where only the call has it that collects the yes.
        if proof.is_retry() && extra.is_of_retry() {
            return;
        }
        let yes = proof.agreed(&self.scene, &self.people, &client, &wanted, &PLAIN).await;
        let began = self.scene.sent();
        began.iter().for_each(|call| self.scene.is_as_shown(call, &wanted, &PLAIN, 0));
        let answer = client.send(proof.using(&wanted, &yes, extra)).await.unwrap();
        let (answer, sent) = match (proof, fate) {
            // It is the call that was kept with the question.
            (Proof::ReturnedForm, Fate::LeftOut | Fate::Sent) => (answer, &PLAIN),
            (_, Fate::LeftOut | Fate::Sent) => (answer, extra),
            (_, Fate::Refused(path)) => {
                self.refused(&answer, path).await;
                // The yes is still there for the call that it was given to.
                (client.send(proof.using(&wanted, &yes, &PLAIN)).await.unwrap(), &PLAIN)
            }
        };
        done(&answer);
        let calls = self.scene.sent();
        assert_eq!(calls.len(), 1, "{}: {calls:?}", extra.name);
        self.scene.is_as_shown(&calls[0], &wanted, sent, began.len());
    }

    /// A retry that is not the call its state was made for is refused as that.
    async fn refused(&mut self, answer: &Answer, path: &str) {
        if self.proof.is_retry() {
            assert_eq!(answer.error_code(), Some(-32602), "{path}: {}", answer.raw());
            assert!(answer.raw().contains("was not made for this request"), "{path}: {}", answer.raw());
            assert!(self.scene.sent().is_empty(), "{path}");
        } else {
            self.scene.refused(&self.client, answer, path).await;
        }
    }

    /// A person has agreed to a call, and another one comes.
    async fn other_call(&mut self, column: Column) -> Cell {
        let wanted = self.proof.wanted(&self.scene, &format!("other-{}", column.title()));
        let others = match column {
            Column::Name => vec![Wanted { tool: format!("{}_all", wanted.tool), ..wanted.clone() }],
            _ => {
                let arguments = self.proof.other_arguments(&self.scene, &wanted).into_iter();
                arguments.map(|arguments| Wanted { arguments, ..wanted.clone() }).collect()
            }
        };
        let mut cells = Vec::new();
        let yes = match self.proof.when() {
            When::Held => None,
            When::Collected => {
                Some(self.proof.agreed(&self.scene, &self.people, &self.client, &wanted, &PLAIN).await)
            }
            When::Standing => {
                self.proof.stand(&mut self.scene, &self.client, &wanted, 1).await;
                Some(Yes::default())
            }
        };
        let began = self.scene.sent().len();
        for other in others {
            cells.push(match &yes {
                Some(yes) => {
                    let request = self.proof.using(&other, yes, &PLAIN);
                    self.seen(request, &other, began).await
                }
                None => self.beside(&wanted, &other).await,
            });
        }
        // What they agreed to is still there for the call that they saw.
        if let Some(yes) = yes {
            let seen = self.seen(self.proof.using(&wanted, &yes, &PLAIN), &wanted, began).await;
            assert_eq!(seen, Cell::AsShown, "{column:?}");
        }
        cells.dedup();
        assert_eq!(cells.len(), 1, "{column:?}: {cells:?}");
        cells[0]
    }

    /// A call is held, another one comes, and a person agrees to the first alone.
    async fn beside(&mut self, wanted: &Wanted, other: &Wanted) -> Cell {
        let calling = self.begin(wanted.call(&PLAIN, ""));
        if self.proof == Proof::InlineForm {
            // Filled in at once, and so before the other comes.
            let answer = calling.await.unwrap();
            self.scene.done_as_shown(&self.client, &answer, wanted, &PLAIN);
            return self.seen(other.call(&PLAIN, ""), other, 0).await;
        }
        let first = self.scene.stage.pending().await["id"].as_str().unwrap().to_owned();
        let another = self.begin(other.call(&PLAIN, ""));
        let both = until("both wait", async || (self.scene.waiting().await.len() == 2).then_some(()));
        both.await.unwrap_or_else(|error| panic!("{error:#}: {}", self.scene.stage.gateway.log()));
        self.proof.agree(&self.scene.stage, &self.people, &first).await;
        let answer = calling.await.unwrap();
        self.scene.done_as_shown(&self.client, &answer, wanted, &PLAIN);
        self.scene.decline_all().await;
        let answer = another.await.unwrap();
        assert!(answer.is_tool_error() && self.scene.sent().is_empty(), "{}", answer.raw());
        Cell::AskedAnew
    }

    /// A person has agreed to a call, something happens, and the call comes.
    async fn same_call_later(&mut self, column: Column) -> Cell {
        let wanted = self.proof.wanted(&self.scene, &format!("later-{}", column.title()));
        match self.proof.when() {
            When::Held => {
                self.forms.waits.store(true, Ordering::SeqCst);
                let calling = self.begin(wanted.call(&PLAIN, ""));
                let asked = self.question(&calling, &[]).await;
                assert!(asked.is_some(), "nobody is asked");
                self.happens(column).await;
                self.says(true, asked.as_deref()).await;
                let seen = self.watched(calling, asked.as_slice(), &wanted, 0).await;
                self.forms.waits.store(false, Ordering::SeqCst);
                seen
            }
            When::Collected => {
                let yes = self.proof.agreed(&self.scene, &self.people, &self.client, &wanted, &PLAIN).await;
                let began = self.scene.sent().len();
                self.happens(column).await;
                self.seen(self.proof.using(&wanted, &yes, &PLAIN), &wanted, began).await
            }
            When::Standing => {
                self.proof.stand(&mut self.scene, &self.client, &wanted, 1).await;
                self.happens(column).await;
                self.seen(wanted.call(&PLAIN, ""), &wanted, 0).await
            }
        }
    }

    async fn happens(&mut self, column: Column) {
        let client = Arc::clone(&self.client);
        if column == Column::Strangers {
            return self.scene.read_page(&client).await;
        }
        if self.scene.redescribe(&client).await {
            let (client, forms) = Forms::before(self.proof, &self.scene, self.eras.0).await;
            (self.client, self.forms) = (Arc::new(client), forms);
        }
    }

    /// What a person says to what waits: to a form, or to the request of this id.
    async fn says(&self, yes: bool, id: Option<&str>) {
        match id {
            Some(id) if self.proof != Proof::InlineForm => {
                self.proof.agree(&self.scene.stage, &self.people, id).await;
            }
            _ => self.forms.says.send(Reply::accept(json!({ "allow": yes }))).unwrap(),
        }
    }

    /// What is asked about a call, other than what is known: the id of its request, empty for a form. Nothing if the call
    /// ends first.
    async fn question(&mut self, calling: &Calling, known: &[String]) -> Option<String> {
        let (scene, forms) = (&self.scene, Mutex::new(&mut self.forms.shown));
        let come = until("somebody is asked or it ends", async || {
            if forms.lock().unwrap().try_recv().is_ok() {
                return Some(Some(String::new()));
            }
            let is_over = calling.is_finished();
            let ids = scene.waiting().await;
            let mut ids = ids.iter().map(|request| request["id"].as_str().unwrap().to_owned());
            let new = ids.find(|id| !known.contains(id));
            (new.is_some() || is_over).then_some(new)
        });
        come.await.unwrap_or_else(|error| panic!("{error:#}: {}", scene.stage.gateway.log()))
    }

    /// What becomes of a request.
    async fn seen(&mut self, request: Request, wanted: &Wanted, began: usize) -> Cell {
        self.forms.waits.store(true, Ordering::SeqCst);
        let calling = self.begin(request);
        let seen = self.watched(calling, &[], wanted, began).await;
        self.forms.waits.store(false, Ordering::SeqCst);
        seen
    }

    /// What becomes of a call that is under way. Whoever is asked anew says no.
    async fn watched(&mut self, calling: Calling, known: &[String], wanted: &Wanted, began: usize) -> Cell {
        let first = match self.question(&calling, known).await {
            Some(_) => First::Question,
            None => First::End(Box::new(calling.await.unwrap())),
        };
        let sent = self.scene.sent();
        let answer = match first {
            First::Question => {
                assert!(sent.is_empty(), "it was sent before anybody said anything: {sent:?}");
                if self.proof == Proof::InlineForm {
                    self.says(false, None).await;
                }
                self.scene.decline_all().await;
                return Cell::AskedAnew;
            }
            First::End(answer) => answer,
        };
        let is_done = answer.error_code().is_none() && answer.at("/result/isError") != json!(true);
        if answer.at("/result/inputRequests/highwater_approval").is_object() {
            assert!(sent.is_empty(), "{sent:?}");
            return Cell::AskedAnew;
        }
        if !is_done {
            assert!(sent.is_empty(), "{sent:?}: {}", answer.raw());
            return Cell::Refused;
        }
        let rounds = if self.proof == Proof::InlineRounds { 2 } else { 1 };
        assert_eq!(sent.len(), rounds, "{sent:?}: {}", answer.raw());
        for (round, call) in sent.iter().enumerate() {
            self.scene.is_as_shown(call, wanted, &PLAIN, began + round);
        }
        Cell::AsShown
    }
}

/// What becomes of something in a call on this proof, between these eras.
fn fate(proof: Proof, extra: &Extra, (client, server): (Era, Era)) -> Fate {
    match extra.fate(client, server) {
        // Where a tool runs as a task alone we ask for one in our own words.
        Fate::Refused("/params/task") if proof == Proof::CallAsTask => Fate::LeftOut,
        fate => fate,
    }
}
