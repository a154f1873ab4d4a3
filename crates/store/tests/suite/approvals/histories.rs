//! Random histories of approvals, side by side with the model: two who ask, three who sign, buttons, quorums, mandates,
//! replays, revocations, resets, restarts and, where a test says what time it is, everything that runs out.

use highwater_core::approval::{CredentialStanding, VerifiedApproval};
use highwater_core::decide::Effect;
use highwater_core::id::{ApprovalId, Principal};
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_receipts::{ChainLink, Receipt, SignedReceipt, check_chain};
use highwater_store::{
    ApprovalRequest, AskLimits, Asked, Memory, Put, ReceiptDraft, Store, StoreOptions, StoredMandate,
};

use super::super::Backend;
use super::super::random::Random;
use super::scene::{Person, Scene, definition, fresh, quorum, tool};

const HISTORIES: u64 = 8;
const STEPS: u64 = 60;

/// Times that something ends by: a challenge, a grant, a request, a no.
const JUMPS: [u64; 5] = [1_000, 61_000, 121_000, 301_000, 601_000];

const NAMES: [&str; 3] = ["ada", "ben", "cyd"];
const PATHS: [&str; 4] = ["a", "b", "c", "d"];

/// A store and the model beside it, and everything that was ever put into both.
struct History {
    random: Random,
    /// Two gateways' views of the place, where it is shared.
    stores: [Store; 2],
    model: Store,
    scenes: [Scene; 2],
    people: Vec<(Person, u32)>,
    requests: Vec<ApprovalRequest>,
    /// Signatures that were made, for whoever tries one again: in the store and in the model.
    signatures: Vec<(Option<ApprovalId>, [Made; 2])>,
    /// Mandates with the receipts they rest on.
    mandates: Vec<(String, [Receipt; 2])>,
    /// How much later it is than the clock says.
    later: u64,
    seed: u64,
}

/// A signature, and the receipt it would leave.
type Made = (VerifiedApproval, ReceiptDraft);

/// What came of a step, in words that both sides must agree on.
type Told = String;

impl History {
    async fn new<B: Backend>(place: &B, seed: u64) -> Self {
        let stores = [place.open().await, place.open_beside().await];
        let model = Memory::new(false).open(&StoreOptions::default()).await.unwrap();
        let other = Scene { principal: Principal::new("other"), ..Scene::new() };
        let scenes = [Scene::new(), other];
        let mut people = Vec::new();
        for name in NAMES {
            let person = Person::new(name);
            let new = scenes[0].registered(&person);
            for store in [&stores[0], &model] {
                let now = store.now().await.unwrap();
                store.add_credential(&new, "terminal", CredentialStanding::Active, now).await.unwrap();
            }
            people.push((person, 1));
        }
        let random = Random(seed);
        let (requests, signatures, mandates) = (Vec::new(), Vec::new(), Vec::new());
        Self { random, stores, model, scenes, people, requests, signatures, mandates, later: 0, seed }
    }

    fn pick(&mut self, count: usize) -> usize {
        self.random.below(count as u64) as usize
    }

    async fn time(&self, store: &Store) -> Timestamp {
        Timestamp(store.now().await.unwrap().0 + self.later)
    }

    /// The store of this step, and the model, with the time of each.
    async fn sides(&mut self) -> [(Store, Timestamp); 2] {
        let store = self.stores[self.pick(2)].clone();
        let (now, model) = (self.time(&store).await, self.model.clone());
        let then = self.time(&model).await;
        [(store, now), (model, then)]
    }

    fn some_request(&mut self) -> Option<ApprovalRequest> {
        let at = self.pick(self.requests.len().max(1));
        self.requests.get(at).cloned()
    }

    async fn ask(&mut self) -> [Told; 2] {
        let (scene, path) = (self.pick(2), PATHS[self.pick(4)]);
        let new = match self.pick(3) {
            0 => self.scenes[scene].request(Effect::Confirm, path, None),
            1 => self.scenes[scene].request(Effect::Passkey, path, None),
            _ => self.scenes[scene].request(Effect::Passkey, path, quorum(2, &NAMES)),
        };
        let mut told = Vec::new();
        for (store, now) in self.sides().await {
            let asked = store.ask(new.clone(), &AskLimits::default(), now).await.unwrap();
            told.push(match asked {
                Asked::New(found) => {
                    if told.is_empty() {
                        self.requests.push(found.clone());
                    }
                    format!("new {}", found.id)
                }
                Asked::Joined(found) => format!("joined {}", found.id),
                Asked::Granted(found) => format!("granted {}", found.id),
                Asked::Declined { .. } => "declined".to_owned(),
                Asked::TooMany => "too many".to_owned(),
                Asked::Paused => "paused".to_owned(),
                Asked::Resetting => "resetting".to_owned(),
            });
        }
        both(told)
    }

    /// A button, a no, or the end of a request.
    async fn answer(&mut self) -> [Told; 2] {
        let how = self.pick(5);
        let presses = (self.pick(2) == 0).then(|| self.people[0].0.user.clone());
        let Some(request) = self.some_request() else { return nothing() };
        let mut told = Vec::new();
        for (store, now) in self.sides().await {
            let done = match how {
                0..=2 => store.confirm(&request.id, "ada", presses.as_ref(), now).await,
                3 => store.decline(&request.id, "ada", now).await,
                _ => store.end_request(&request.id, now).await,
            };
            told.push(format!("answered {how} {} {}", request.id, done.unwrap()));
        }
        both(told)
    }

    /// T1 and T2: somebody signs, for a request or for a call of its own; now and then with a counter that goes back.
    async fn sign(&mut self) -> [Told; 2] {
        let request = if self.pick(4) == 0 { None } else { self.some_request() };
        let who = self.pick(self.people.len());
        let back = self.pick(8) == 0;
        let sides = self.sides().await;
        let (person, counter) = &mut self.people[who];
        if !back {
            *counter += 1;
        }
        let counter = if back { 1 } else { *counter };
        let scene = match &request {
            Some(request) if request.principal == self.scenes[1].principal => &self.scenes[1],
            _ => &self.scenes[0],
        };
        let path = request.as_ref().map_or("native".to_owned(), path_of);
        let known = self.model.credentials(Some(&person.user)).await.unwrap();
        if known.iter().all(|it| it.credential.standing != CredentialStanding::Active) {
            return nothing();
        }
        let drawn = scene.draw(&self.model, person, &path).await;
        let (mut told, mut made) = (Vec::new(), Vec::new());
        for (store, now) in &sides {
            let id = request.as_ref().map(|request| &request.id);
            let record = match store.put_challenge(&drawn, id).await.unwrap() {
                Put::Done(record) => *record,
                refused @ (Put::TooMany | Put::Resetting) => {
                    told.push(format!("no challenge {refused:?}"));
                    continue;
                }
            };
            let verified = match scene.judge(store, &record, person, counter, false).await {
                Ok(verified) => verified,
                Err(rejection) => {
                    told.push(format!("rejected {}", rejection.reason));
                    continue;
                }
            };
            let draft = scene.draft(store, &verified, &record).await;
            let used = store.consume(&verified, id, &draft, *now).await.unwrap();
            told.push(format!("signed {:?} {:?} {:?}", used.outcome, used.request, used.receipt.is_some()));
            made.push((verified, draft, used.receipt.map(|receipt| receipt.receipt().clone())));
        }
        if let Ok([(one, draft, receipt), (twin, other, copy)]) = <[_; 2]>::try_from(made) {
            if let (None, Some(receipt), Some(copy)) = (&request, receipt, copy) {
                self.give_mandate(&sides, who, [receipt, copy]).await;
            }
            self.signatures.push((request.map(|it| it.id), [(one, draft), (twin, other)]));
        }
        both(told)
    }

    /// A signature that was made before, once more.
    async fn replay(&mut self) -> [Told; 2] {
        let at = self.pick(self.signatures.len().max(1));
        let sides = self.sides().await;
        let Some((request, made)) = self.signatures.get(at) else { return nothing() };
        let mut told = Vec::new();
        for ((store, now), (verified, draft)) in sides.iter().zip(made) {
            let used = store.consume(verified, request.as_ref(), draft, *now).await.unwrap();
            told.push(format!("replayed {:?} {:?} {}", used.outcome, used.request, used.receipt.is_some()));
        }
        both(told)
    }

    /// T3: a call, now and then of somebody else, of another action or of another tool.
    async fn call(&mut self) -> [Told; 2] {
        let Some(request) = self.some_request() else { return nothing() };
        let (foreign, changed) = (self.pick(8) == 0, self.pick(8) == 0);
        let principal = if foreign { Principal::new("mallory") } else { request.principal.clone() };
        let defined = definition(if changed { 'b' } else { 'a' });
        let mut told = Vec::new();
        for (store, now) in self.sides().await {
            let caller = (&principal, &request.session);
            let used = store.consume_grant(&request.id, caller, request.action, Some(defined), now).await;
            told.push(format!("called {} {:?}", request.id, used.unwrap()));
        }
        both(told)
    }

    async fn give_mandate(&mut self, sides: &[(Store, Timestamp); 2], who: usize, receipts: [Receipt; 2]) {
        let id = fresh("mnd_");
        for ((store, now), receipt) in sides.iter().zip(&receipts) {
            let mandate = StoredMandate {
                id: id.clone(),
                receipt: receipt.id.clone(),
                user: self.people[who].0.user.clone(),
                agent: self.scenes[0].principal.clone(),
                terms: CanonicalArguments::read(Some(r#"{"tools":["files__write"]}"#)).unwrap(),
                definitions: "{}".into(),
                remaining: 2,
                not_before: Timestamp(now.0.saturating_sub(1000)),
                expires: Timestamp(now.0 + 200_000),
                revoked: None,
            };
            assert!(store.put_mandate(&mandate).await.unwrap());
        }
        self.mandates.push((id, receipts));
    }

    /// T4: a use of a mandate, or its end.
    async fn mandate(&mut self) -> [Told; 2] {
        let (at, end) = (self.pick(self.mandates.len().max(1)), self.pick(5) == 0);
        let sides = self.sides().await;
        let Some((id, receipts)) = self.mandates.get(at) else { return nothing() };
        let mut told = Vec::new();
        for ((store, now), of) in sides.iter().zip(receipts) {
            if end {
                told.push(format!("ended {}", store.revoke_mandate(id, "ada", "", *now).await.unwrap()));
                continue;
            }
            let chain = ChainLink::first(self.scenes[0].key.chain());
            let receipt = Receipt {
                id: fresh("rcp_"),
                chain,
                signed: None,
                mandate: Some(of.id.clone()),
                ..of.clone()
            };
            let draft = ReceiptDraft::new(receipt, &self.scenes[0].key);
            let used = store.use_mandate(id, &draft, *now).await.unwrap();
            told.push(format!("used {:?} {}", used.outcome, used.receipt.is_some()));
        }
        both(told)
    }

    /// A credential is lost, a tool is resumed, or what has run out is cleared.
    async fn tend(&mut self) -> [Told; 2] {
        let (what, who, scene) = (self.pick(6), self.pick(self.people.len()), self.pick(2));
        let mut told = Vec::new();
        for (store, now) in self.sides().await {
            told.push(match what {
                0 => {
                    let id = self.people[who].0.credential();
                    format!("revoked {}", store.revoke_credential(&id, "ada", "lost", now).await.unwrap())
                }
                1 | 2 => {
                    let principal = &self.scenes[scene].principal;
                    let resumed = store.resume_tool(principal, &tool("files__delete")).await.unwrap();
                    format!("resumed {resumed}")
                }
                _ => {
                    let mut ended = store.expire_requests(&AskLimits::default(), now).await.unwrap();
                    ended.sort();
                    format!("ended {ended:?}")
                }
            });
        }
        both(told)
    }

    /// Somebody starts over, has second thoughts, or is done with it.
    async fn reset(&mut self) -> [Told; 2] {
        let (how, delay) = (self.pick(5), 60_000 * self.random.below(2));
        let who = self.pick(self.people.len());
        let user = self.people[who].0.user.clone();
        let mut told = Vec::new();
        for (store, now) in self.sides().await {
            let done = match how {
                0 | 1 => store.begin_reset(&user, "root", delay, now).await,
                2 | 3 => store.cancel_reset(&user).await,
                _ => store.complete_reset(&user, "root", now).await,
            };
            told.push(format!("reset {how} {user} {}", done.unwrap()));
        }
        both(told)
    }

    /// Everything that can be seen, on both sides.
    async fn agree(&self, step: u64) {
        let place = format!("seed {} step {step}", self.seed);
        for request in &self.requests {
            let (found, expected) = (
                self.stores[0].request(&request.id).await.unwrap(),
                self.model.request(&request.id).await.unwrap(),
            );
            let seen = |request: Option<ApprovalRequest>| {
                request.map(|request| (request.state, request.decided_by, request.cleared))
            };
            assert_eq!(seen(found), seen(expected), "{place}: {}", request.id);
        }
        let mut sides = Vec::new();
        for store in [&self.stores[1], &self.model] {
            let mut mandates: Vec<_> = store
                .mandates(None, 100)
                .await
                .unwrap()
                .into_iter()
                .map(|it| (it.id, it.remaining, it.revoked.is_some()))
                .collect();
            mandates.sort();
            let paused = store.paused_tools(&AskLimits::default()).await.unwrap();
            let mut paused: Vec<_> =
                paused.into_iter().map(|it| (it.principal.to_string(), it.declines)).collect();
            paused.sort();
            let mut counters = Vec::new();
            for (person, _) in &self.people {
                let known = store.credentials(Some(&person.user)).await.unwrap();
                counters.extend(known.into_iter().map(|it| (it.credential.counter, it.credential.standing)));
            }
            let stored = store.receipts(self.scenes[0].key.chain(), 0, 1000).await.unwrap();
            let receipts: Vec<_> = stored.iter().map(|it| SignedReceipt::parse(&it.text).unwrap()).collect();
            assert_eq!(check_chain(&receipts), [], "{place}");
            sides.push((mandates, paused, counters, receipts.len()));
        }
        assert_eq!(sides[0], sides[1], "{place}");
    }
}

/// What was asked for, by the request's own arguments.
fn path_of(request: &ApprovalRequest) -> String {
    let arguments: serde_json::Value = serde_json::from_str(request.arguments.as_str()).unwrap();
    arguments["path"].as_str().unwrap().to_owned()
}

fn both(told: Vec<Told>) -> [Told; 2] {
    told.try_into().unwrap()
}

fn nothing() -> [Told; 2] {
    [Told::new(), Told::new()]
}

async fn play<B: Backend>(seed: u64, timed: bool) -> usize {
    let place = B::new().await;
    let mut history = History::new(&place, seed).await;
    let mut consumed = 0;
    for step in 0..STEPS {
        let what = history.random.below(if timed { 26 } else { 24 });
        let [found, expected] = match what {
            0..6 => history.ask().await,
            6..9 => history.answer().await,
            9..14 => history.sign().await,
            14 => history.replay().await,
            15..18 => history.call().await,
            18 | 19 => history.mandate().await,
            20 => history.tend().await,
            22 | 23 => history.reset().await,
            21 => {
                // Ended in order and started again: nothing is another than before.
                let [one, other] = &history.stores;
                one.close().await.unwrap();
                // Closed with the first, where it is the same.
                other.close().await.ok();
                history.stores = [place.open().await, place.open_beside().await];
                nothing()
            }
            _ => {
                history.later += JUMPS[history.pick(JUMPS.len())];
                nothing()
            }
        };
        assert_eq!(found, expected, "seed {seed} step {step}");
        consumed += usize::from(found.contains("Consumed"));
        if step % 10 == 9 {
            history.agree(step).await;
        }
    }
    consumed
}

/// That something happens in these histories at all.
const LEAST: usize = HISTORIES as usize;

pub(crate) async fn random_histories_of_approvals_agree_with_the_model<B: Backend>() {
    let mut consumed = 0;
    for seed in 0..HISTORIES {
        consumed += play::<B>(seed, false).await;
    }
    assert!(consumed > LEAST, "{consumed}");
}

pub(crate) async fn random_histories_of_approvals_agree_while_time_passes<B: Backend>() {
    for seed in 100..100 + 2 * HISTORIES {
        play::<B>(seed, true).await;
    }
}
