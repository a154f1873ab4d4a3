//! Rules ruled out in bulk: a test that several rules require is asked once, and where it fails none of them is
//! looked at any further. Of a hundred rules most calls look at a dozen tests.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::condition::{Check, Slot, Test};
use super::kind::Truth;
use super::rule::Rule;

/// What a test asks: of which fact, whether turned round, and what.
type Asked<'t> = (Slot, bool, &'t Check);

/// Rules, sixty-four at a time, each block with what its rules require.
#[derive(Clone, Debug, Default)]
pub(super) struct Guarded {
    blocks: Vec<Block>,
}

/// Up to sixty-four rules.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The places of its rules; one bit each in the masks.
    rules: Vec<usize>,
    /// All of them, as a mask.
    all: u64,
    /// What most of them require comes first.
    guards: Vec<Guard>,
}

/// A test, and the rules that cannot fire unless it may hold.
#[derive(Clone, Debug)]
struct Guard {
    test: Test,
    rules: u64,
}

// === impl Guarded ===

impl Guarded {
    const BLOCK: usize = u64::BITS as usize;

    /// Sorts these rules so that those that require the same stand together.
    pub(super) fn new(places: Vec<usize>, rules: &[Rule]) -> Self {
        let required = |place: &usize| rules.get(*place).into_iter().flat_map(guards_of);
        // How many rules require each test, and which of them is met first.
        let mut asked: HashMap<Asked<'_>, (usize, usize)> = HashMap::new();
        for (number, test) in places.iter().flat_map(required).enumerate() {
            asked.entry(test.asked()).or_insert((0, number)).0 += 1;
        }
        let rank = |test: &Test| asked.get(&test.asked()).map(|(count, first)| (Reverse(*count), *first));
        let mut places = places;
        places.sort_by_cached_key(|place| required(place).filter_map(rank).min());
        Self { blocks: places.chunks(Self::BLOCK).map(|some| Block::new(some, rules)).collect() }
    }

    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

/// The tests that must hold for a rule to fire. Those on arguments are not among them: they are dear.
fn guards_of(rule: &Rule) -> impl Iterator<Item = &Test> {
    rule.condition.required().filter(|test| test.fact.is_some())
}

// === impl Block ===

impl Block {
    fn new(places: &[usize], rules: &[Rule]) -> Self {
        let mut guards: Vec<Guard> = Vec::new();
        for (bit, place) in places.iter().enumerate() {
            for test in rules.get(*place).into_iter().flat_map(guards_of) {
                match guards.iter_mut().find(|guard| guard.test.asked() == test.asked()) {
                    Some(guard) => guard.rules |= 1 << bit,
                    None => guards.push(Guard { test: test.clone(), rules: 1 << bit }),
                }
            }
        }
        guards.sort_by_key(|guard| (Reverse(guard.rules.count_ones()), guard.test.check.cost()));
        let all = (0..places.len()).fold(0, |all, bit| all | 1 << bit);
        Self { rules: places.to_vec(), all, guards }
    }

    /// The rules that may fire, as far as the guards can tell: a bit for each.
    pub(super) fn survivors(&self, mut ask: impl FnMut(&Test) -> Truth) -> u64 {
        let mut alive = self.all;
        for guard in &self.guards {
            if alive & guard.rules != 0 && ask(&guard.test) == Truth::False {
                alive &= !guard.rules;
                if alive == 0 {
                    break;
                }
            }
        }
        alive
    }

    /// Where these rules stand.
    pub(super) fn places(&self, mut alive: u64) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let place = self.rules.get(alive.trailing_zeros() as usize)?;
            alive &= alive - 1;
            Some(*place)
        })
    }
}

// === impl Test ===

impl Test {
    /// The question itself, wherever it is written.
    fn asked(&self) -> Asked<'_> {
        (self.slot, self.negated, &self.check)
    }
}
