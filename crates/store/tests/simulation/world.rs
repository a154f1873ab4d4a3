//! The world of one history: gateways that come and go, the ways to their stores, agents that act on what they are given.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use highwater_core::id::{Principal, VirtualServerId};
use highwater_core::label::{Label, LabelBits, TextSet};
use highwater_core::policy::Policy;
use highwater_store::{
    Fault, GRACE, Link, Memory, Passage, SessionHandle, SessionKind, SessionOwner, Store, StoreOptions,
};
use tokio::task::AbortHandle;

use crate::dice::Dice;
use crate::history::{Call, History, Outage, Step, What};
use crate::oracle::{Oracle, anew, key, left};
use crate::protocol::{Mutant, Served, pause};
use crate::tools::{POLICIES, Tool};

/// When everything that was begun is over, in milliseconds.
const QUIET: u64 = 60_000;

/// How far the standby of a mutant lags behind, in milliseconds.
const LAG: u64 = 1_500;

/// What came of a history.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) violation: Option<String>,
    pub(crate) told: Vec<String>,
    pub(crate) counts: std::collections::BTreeMap<&'static str, u64>,
}

/// Everything there is.
pub(crate) struct World {
    pub(crate) policy: &'static Policy,
    pub(crate) mutant: Option<Mutant>,
    history: History,
    memory: Memory,
    oracle: Mutex<Oracle>,
    nodes: Vec<Mutex<Option<Arc<Node>>>>,
    wires: AtomicU64,
    /// How many calls are under way: nobody is silent meanwhile.
    under_way: Arc<AtomicUsize>,
    /// Everybody is silent.
    is_silent: AtomicBool,
}

/// A call is under way until this is dropped.
struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A gateway from its start to its end.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) store: Store,
    /// Where people lower labels: the same, unless they are careless.
    people: Store,
    wire: Arc<Wire>,
    tasks: Mutex<Vec<AbortHandle>>,
}

/// The way from a gateway to its store.
#[derive(Debug)]
struct Wire {
    dice: Mutex<Dice>,
    /// The store is a part of the gateway, and dies with it.
    inside: bool,
    lagging: bool,
    /// Raises are answered before they are on disk.
    hasty: bool,
    is_cut: AtomicBool,
    outage: Mutex<Option<Outage>>,
}

/// Plays a history.
pub(crate) fn play(history: &History, mutant: Option<Mutant>) -> Outcome {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let outcome = runtime.block_on(async {
        let world = Arc::new(World::new(history.clone(), mutant));
        world.run().await;
        let oracle = world.oracle();
        Outcome {
            violation: oracle.violation.clone(),
            told: oracle.told.clone(),
            counts: oracle.counts.clone(),
        }
    });
    drop(runtime);
    outcome
}

// === impl Outcome ===

impl Outcome {
    /// The history as it happened.
    pub(crate) fn story(&self) -> String {
        self.told.iter().fold(String::new(), |mut story, line| {
            writeln!(story, "  {line}").unwrap();
            story
        })
    }
}

// === impl World ===

impl World {
    fn new(history: History, mutant: Option<Mutant>) -> Self {
        let memory = Memory::new(history.shared);
        Self {
            policy: &POLICIES[history.policy],
            mutant,
            oracle: Mutex::new(Oracle::new(memory.clone(), history.agents, history.presumed)),
            under_way: Arc::default(),
            is_silent: AtomicBool::new(false),
            memory,
            nodes: history.clocks.iter().map(|_| Mutex::default()).collect(),
            wires: AtomicU64::new(history.seed),
            history,
        }
    }

    pub(crate) fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap()
    }

    /// The epoch of an agent's session, as it is.
    pub(crate) fn epoch(&self, agent: usize) -> u64 {
        self.memory.look(&key(self.history.presumed, agent)).map_or(0, |found| found.session.epoch)
    }

    /// The session of an agent, as a gateway holds it.
    pub(crate) fn session(&self, store: &Store, agent: usize) -> SessionHandle {
        let principal = Principal::new("agent");
        match self.history.presumed {
            true => {
                let way = SessionKind::Transport.key(&principal, &format!("agent_{agent}"));
                store.presumed(&way, &owner(SessionKind::Transport))
            }
            false => store.session(&key(false, agent), &owner(SessionKind::Context)),
        }
    }

    async fn run(self: &Arc<Self>) {
        for replica in 0..self.nodes.len() {
            self.start(replica).await;
        }
        if self.mutant == Some(Mutant::LaggingStandby) {
            let memory = self.memory.clone();
            tokio::spawn(async move {
                loop {
                    memory.catch_up();
                    pause(LAG).await;
                }
            });
        }
        for step in self.history.steps.clone() {
            tokio::spawn(Arc::clone(self).perform(step));
        }
        pause(QUIET).await;
        self.oracle().tell("everything is quiet".to_owned());
        for agent in 0..self.history.agents {
            for replica in 0..self.nodes.len() {
                for tool in [Tool::Send, Tool::Inbox] {
                    self.issue(Arc::new(Call::plain(agent, replica, tool)), 0);
                    pause(1_000).await;
                }
            }
        }
        pause(QUIET).await;
    }

    /// Starts a gateway, and again until its store answers.
    async fn start(self: &Arc<Self>, replica: usize) {
        loop {
            let wire = Arc::new(Wire {
                dice: Mutex::new(Dice::new(self.wires.fetch_add(1 << 32, Ordering::Relaxed))),
                inside: !self.history.shared,
                lagging: self.mutant == Some(Mutant::LaggingStandby),
                hasty: self.mutant == Some(Mutant::UnflushedRaise),
                is_cut: AtomicBool::new(false),
                outage: Mutex::default(),
            });
            let clock = self.history.clocks[replica] as u32;
            let grace = GRACE * clock / 100;
            let options = StoreOptions { grace: Some(grace), ..StoreOptions::default() };
            let memory = self.memory.over(Arc::clone(&wire) as Arc<dyn Link>);
            if let Ok(store) = memory.open(&options).await {
                let people = match self.mutant {
                    Some(Mutant::NoGrace) if self.history.shared => {
                        let options = StoreOptions { grace: Some(Duration::ZERO), ..options };
                        self.memory.open(&options).await.unwrap()
                    }
                    _ => store.clone(),
                };
                let node = Node { store, people, wire, tasks: Mutex::default() };
                *self.nodes[replica].lock().unwrap() = Some(Arc::new(node));
                return;
            }
            pause(100).await;
        }
    }

    fn node(&self, replica: usize) -> Option<Arc<Node>> {
        self.nodes[replica].lock().unwrap().clone()
    }

    fn take(&self, replica: usize) -> Option<Arc<Node>> {
        self.nodes[replica].lock().unwrap().take()
    }

    async fn perform(self: Arc<Self>, step: Step) {
        pause(step.at).await;
        match step.what {
            What::Call(call) => self.issue(Arc::new(call), 0),
            What::Declassify { agent, replica, keeps_pii } => self.declassify(agent, replica, keeps_pii),
            What::Silence { agent, replica } => self.be_silent(agent, replica).await,
            What::Anew { agent, replica } => self.begin_anew(agent, replica),
            What::Crash { replica, down } => {
                let Some(node) = self.take(replica) else { return };
                self.oracle().tell(format!("{replica} is killed"));
                node.kill();
                pause(down).await;
                self.start(replica).await;
            }
            What::Stop { replica, down } => {
                let Some(node) = self.take(replica) else { return };
                self.oracle().tell(format!("{replica} is stopped"));
                node.end_tasks();
                // One that cannot end in order is killed in the end.
                tokio::time::timeout(Duration::from_secs(5), node.store.close()).await.ok();
                node.kill();
                pause(down).await;
                self.start(replica).await;
            }
            What::PowerCut { down } => {
                let Some(node) = self.take(0) else { return };
                self.oracle().tell("the power is cut".to_owned());
                node.kill();
                self.memory.lose_power();
                pause(down).await;
                self.start(0).await;
            }
            What::Outage { replica, how, lasts } => {
                let Some(node) = self.node(replica) else { return };
                self.oracle().tell(format!("the store of {replica}: {how:?}"));
                *node.wire.outage.lock().unwrap() = Some(how);
                pause(lasts).await;
                *node.wire.outage.lock().unwrap() = None;
                self.oracle().tell(format!("the store of {replica} is back"));
            }
            What::Newer { agent } => self.newer(agent).await,
        }
    }

    /// An agent issues a call, a little later.
    fn issue(self: &Arc<Self>, call: Arc<Call>, after: u64) {
        let world = Arc::clone(self);
        tokio::spawn(async move {
            pause(after).await;
            while world.is_silent.load(Ordering::Relaxed) {
                pause(5).await;
            }
            world.under_way.fetch_add(1, Ordering::Relaxed);
            let under_way = UnderWay(Arc::clone(&world.under_way));
            let issued = world.oracle().issue(&call);
            pause(call.way).await;
            let Some(node) = world.node(call.replica) else { return };
            let served = Served::new(Arc::clone(&world), Arc::clone(&node), call, issued);
            node.spawn(async move {
                served.run().await;
                drop(under_way);
            });
        });
    }

    /// The agent acts on the first message of a call.
    pub(crate) fn follow_up(self: &Arc<Self>, call: &Call, is_reply: bool) {
        if is_reply == call.progress.is_none() {
            for next in &call.then {
                self.issue(Arc::new(next.call.clone()), next.after);
            }
        }
    }

    fn declassify(self: &Arc<Self>, agent: usize, replica: usize, keeps_pii: bool) {
        let Some(node) = self.node(replica) else { return };
        let (world, session) = (Arc::clone(self), self.session(&node.people, agent));
        node.spawn(async move {
            let Ok(seen) = session.current().await else { return };
            // A person lowers: they leave nothing in that was not there.
            let (label, reason) = left(keeps_pii && seen.label.covers(&left(true).0));
            world.oracle().tell(format!("a person lowers the label of agent {agent} at {replica}"));
            let done = session.declassify(seen.epoch, &label, "ada", reason).await;
            world.oracle().tell(format!("of the label of agent {agent}: {done:?}"));
        });
    }

    /// A silence ends what went on, if nothing is under way.
    async fn be_silent(self: &Arc<Self>, agent: usize, replica: usize) {
        let Some(node) = self.node(replica) else { return };
        if self.under_way.load(Ordering::Relaxed) > 0 || self.is_silent.swap(true, Ordering::Relaxed) {
            return;
        }
        let session = self.session(&node.store, agent);
        // A store that hangs is given up, as by a gateway that is killed.
        let done = tokio::time::timeout(Duration::from_secs(5), session.begin_after_silence()).await;
        self.is_silent.store(false, Ordering::Relaxed);
        let mut oracle = self.oracle();
        oracle.tell(format!("after a silence agent {agent} comes to {replica}: {done:?}"));
        if matches!(done, Ok(Ok(()))) {
            oracle.count("silent");
        }
    }

    /// A person says that an agent has begun anew.
    fn begin_anew(self: &Arc<Self>, agent: usize, replica: usize) {
        let Some(node) = self.node(replica) else { return };
        let (world, session) = (Arc::clone(self), self.session(&node.people, agent));
        node.spawn(async move {
            let Ok(seen) = session.current().await else { return };
            world.oracle().tell(format!("a person says that agent {agent} begins anew, at {replica}"));
            let (label, reason) = (Label::bottom(), anew(agent));
            let done = match world.mutant {
                Some(Mutant::AWordForEverybody) => {
                    session.declassify(seen.epoch, &label, "ada", &reason).await
                }
                _ => session.begin_anew(session.way(), seen.epoch, &label, "ada", &reason).await,
            };
            world.oracle().tell(format!("of agent {agent} that begins anew: {done:?}"));
        });
    }

    /// Another version of the gateway joins what only it can read, and releases it.
    async fn newer(&self, agent: usize) {
        let options = StoreOptions::default();
        let store = self.memory.open(&options).await.unwrap();
        let foreign = Label::from_parts(LabelBits::from_i64(1 << 40), TextSet::EMPTY, TextSet::EMPTY);
        let joined = self.session(&store, agent).join(&foreign).await.unwrap();
        self.oracle().give(agent, &Label::top(), "what only a newer version can read");
        drop(joined);
    }
}

fn owner(kind: SessionKind) -> SessionOwner {
    SessionOwner { principal: Principal::new("agent"), virtual_server: VirtualServerId::new("default"), kind }
}

// === impl Node ===

impl Node {
    /// Does something until the gateway ends.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(work);
        self.tasks.lock().unwrap().push(task.abort_handle());
    }

    fn end_tasks(&self) {
        self.tasks.lock().unwrap().drain(..).for_each(|task| task.abort());
    }

    /// Ends at once, wherever it was.
    fn kill(&self) {
        self.wire.is_cut.store(true, Ordering::Relaxed);
        self.end_tasks();
    }
}

// === impl Wire ===

impl Link for Wire {
    fn passage(&self, writes: bool) -> Passage {
        let mut dice = self.dice.lock().unwrap();
        let (few, many) = if self.inside { (2, 50) } else { (20, 1_200) };
        let outage = *self.outage.lock().unwrap();
        let mut time = || {
            let slow = if outage == Some(Outage::Slow) { 500 + dice.below(3_000) } else { 0 };
            Duration::from_millis(slow + dice.wait(few, many))
        };
        let fault = match outage {
            _ if self.is_cut.load(Ordering::Relaxed) => Some(Fault::Hang),
            Some(Outage::Away) => Some(if writes { Fault::Write } else { Fault::Read }),
            Some(Outage::Blind) => Some(Fault::Read),
            Some(Outage::Full) => Some(Fault::Write),
            Some(Outage::Deaf) => Some(Fault::LostAnswer),
            Some(Outage::Slow) | None => None,
        };
        Passage { there: time(), fault, lagging: self.lagging, back: time() }
    }

    /// What was sent to a database elsewhere arrives there whatever became of the sender.
    fn arrives(&self) -> bool {
        !self.inside || !self.is_cut.load(Ordering::Relaxed)
    }

    fn flushes(&self, doing: &str) -> bool {
        !self.hasty || doing != "raise a label"
    }
}
