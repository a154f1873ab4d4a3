//! A history: what agents, people, machines and networks do, and when. Made from a seed, written out for people, and made
//! smaller while it still shows the same failure.

use std::fmt;

use crate::dice::Dice;
use crate::tools::{Saying, Tool};

/// How long things go on happening, in milliseconds.
const SPAN: u64 = 12_000;

/// One history.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) seed: u64,
    /// Whether the gateways share their store, or there is one with a store of its own.
    pub(crate) shared: bool,
    /// How fast the clock of each gateway runs, in percent.
    pub(crate) clocks: Vec<u64>,
    pub(crate) agents: usize,
    /// Whether nobody says which agent is which: all come by ways of their own to one presumed conversation.
    pub(crate) presumed: bool,
    /// Which of the policies applies.
    pub(crate) policy: usize,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) at: u64,
    pub(crate) what: What,
}

/// What happens.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Call(Call),
    /// A person lowers the label of an agent's session, to nothing or to personal data alone.
    Declassify {
        agent: usize,
        replica: usize,
        keeps_pii: bool,
    },
    /// Nobody does anything for long, and then an agent comes again. Only where agents are presumed to be one.
    Silence {
        agent: usize,
        replica: usize,
    },
    /// A person says that an agent has begun a new conversation. Likewise.
    Anew {
        agent: usize,
        replica: usize,
    },
    /// A gateway is killed and comes back.
    Crash {
        replica: usize,
        down: u64,
    },
    /// A gateway is stopped in order and comes back.
    Stop {
        replica: usize,
        down: u64,
    },
    /// The machine of the only gateway loses its power.
    PowerCut {
        down: u64,
    },
    /// A gateway cannot reach its store as usual.
    Outage {
        replica: usize,
        how: Outage,
        lasts: u64,
    },
    /// A gateway of a newer version gives the agent something that this version has no word for.
    Newer {
        agent: usize,
    },
}

/// What is wrong with the way to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outage {
    /// Nothing gets through.
    Away,
    /// Reads alone fail.
    Blind,
    /// Writes alone fail.
    Full,
    /// What is written arrives, and nobody is told.
    Deaf,
    /// Everything takes seconds.
    Slow,
}

/// A call, with all that will happen in its course. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) agent: usize,
    /// Where it happens to be routed.
    pub(crate) replica: usize,
    pub(crate) tool: Tool,
    pub(crate) object: usize,
    /// From the agent to the gateway.
    pub(crate) way: u64,
    /// From the decision to the upstream, and from there to each of its messages.
    pub(crate) there: u64,
    pub(crate) back: u64,
    pub(crate) progress: Option<Saying>,
    pub(crate) reply: Saying,
    /// The reply is an error.
    pub(crate) fails: bool,
    /// From the join of a label to the release.
    pub(crate) slow: u64,
    /// What the agent does with the first message.
    pub(crate) then: Vec<Next>,
}

/// A call that follows from a message.
#[derive(Clone, Debug)]
pub(crate) struct Next {
    pub(crate) after: u64,
    pub(crate) call: Call,
}

// === impl History ===

impl History {
    /// The history of a seed.
    pub(crate) fn of(seed: u64, policies: usize) -> Self {
        let mut dice = Dice::new(seed);
        let shared = !dice.one_in(3);
        let replicas = if shared { 1 + dice.below(3) as usize } else { 1 };
        let mut history = Self {
            seed,
            shared,
            clocks: (0..replicas).map(|_| 75 + dice.below(51)).collect(),
            agents: 1 + dice.below(3) as usize,
            presumed: seed % 3 == 1,
            policy: dice.below(policies as u64) as usize,
            steps: Vec::new(),
        };
        for _ in 0..4 + dice.below(10) {
            let at = dice.below(SPAN);
            let what = history.any(&mut dice);
            history.steps.push(Step { at, what });
        }
        history.steps.sort_by_key(|step| step.at);
        history
    }

    fn any(&self, dice: &mut Dice) -> What {
        let replica = dice.below(self.clocks.len() as u64) as usize;
        let agent = dice.below(self.agents as u64) as usize;
        let drawn = dice.below(100);
        if self.presumed {
            match drawn {
                0..7 => return What::Anew { agent, replica },
                31..45 => return What::Silence { agent, replica },
                _ => {}
            }
        }
        match drawn {
            0..14 => What::Declassify { agent, replica, keeps_pii: dice.one_in(3) },
            14..20 => What::Crash { replica, down: dice.wait(200, 3_000) },
            20..22 => What::Stop { replica, down: dice.wait(200, 3_000) },
            22..27 => {
                let how = dice.pick(&[Outage::Away, Outage::Blind, Outage::Full, Outage::Deaf, Outage::Slow]);
                What::Outage { replica, how, lasts: dice.wait(1_000, 6_000) }
            }
            27..31 if !self.shared => What::PowerCut { down: dice.wait(200, 2_000) },
            27..28 => What::Newer { agent },
            _ => What::Call(self.call(dice, agent, 2)),
        }
    }

    fn call(&self, dice: &mut Dice, agent: usize, depth: u64) -> Call {
        let next = if depth > 0 && !dice.one_in(3) { 1 + dice.below(2) } else { 0 };
        let progress = dice.one_in(3).then(|| Saying::any(dice));
        Call {
            agent,
            replica: dice.below(self.clocks.len() as u64) as usize,
            tool: Tool::any(dice),
            object: dice.below(2) as usize,
            way: dice.wait(5, 400),
            there: dice.wait(10, 1_500),
            back: dice.wait(10, 3_000),
            progress,
            reply: Saying::any(dice),
            fails: dice.one_in(5),
            slow: dice.wait(3, 4_500),
            then: (0..next)
                .map(|_| Next { after: dice.wait(5, 2_500), call: self.call(dice, agent, depth - 1) })
                .collect(),
        }
    }

    /// Histories that are a little simpler.
    pub(crate) fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for number in (0..self.steps.len()).rev() {
            let mut without = self.clone();
            without.steps.remove(number);
            all.push(without);
        }
        for (number, step) in self.steps.iter().enumerate() {
            let What::Call(call) = &step.what else { continue };
            for call in call.simpler() {
                let mut with = self.clone();
                with.steps[number].what = What::Call(call);
                all.push(with);
            }
        }
        all
    }

    /// The smallest history that still fails.
    pub(crate) fn shrunk(self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut smallest = self;
        while let Some(simpler) = smallest.simpler().into_iter().find(|simpler| fails(simpler)) {
            smallest = simpler;
        }
        smallest
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = if self.shared { "a shared store" } else { "a store of its own" };
        let (seed, policy, clocks) = (self.seed, self.policy, &self.clocks);
        let whose = if self.presumed { "one presumed conversation" } else { "a context for each agent" };
        writeln!(f, "seed {seed}, policy {policy}, {store}, {whose}, clocks at {clocks:?} percent")?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  at {:>6} ms: {:?}", step.at, step.what))
    }
}

// === impl Call ===

impl Call {
    /// A call at once, with nothing in its course.
    pub(crate) fn plain(agent: usize, replica: usize, tool: Tool) -> Self {
        let (way, there, back, slow, object) = (0, 0, 0, 0, 0);
        let (progress, reply, fails, then) = (None, Saying::Nothing, false, Vec::new());
        Self { agent, replica, tool, object, way, there, back, progress, reply, fails, slow, then }
    }

    fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for number in (0..self.then.len()).rev() {
            let mut without = self.clone();
            without.then.remove(number);
            all.push(without);
            for call in self.then[number].call.simpler() {
                let mut with = self.clone();
                with.then[number].call = call;
                all.push(with);
            }
        }
        if self.progress.is_some() {
            all.push(Self { progress: None, ..self.clone() });
        }
        if self.reply != Saying::Nothing {
            all.push(Self { reply: Saying::Nothing, ..self.clone() });
        }
        if self.fails {
            all.push(Self { fails: false, ..self.clone() });
        }
        let times: [fn(&mut Self) -> &mut u64; 4] =
            [|call| &mut call.way, |call| &mut call.there, |call| &mut call.back, |call| &mut call.slow];
        for time in times {
            let mut shorter = self.clone();
            if std::mem::take(time(&mut shorter)) > 0 {
                all.push(shorter);
            }
        }
        all
    }
}
