//! The protocol that keeps labels, in thousands of random histories: gateways crash, power is lost, stores are away,
//! messages are late, clocks disagree and people lower labels meanwhile.
//!
//! What must hold: no call is allowed whose causal past contains a label that forbids it. That the simulation would see
//! it is shown by gateways that each leave out one thing: every one of them must be caught.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::as_conversions,
    reason = "a test fails by panicking"
)]

mod dice;
mod history;
mod oracle;
mod protocol;
mod tools;
mod world;

use std::collections::BTreeMap;

use history::History;
use protocol::Mutant;
use tools::POLICIES;
use world::{Outcome, play};

/// How many histories are played with every change.
const HISTORIES: u64 = 10_000;

/// How many histories a mutant may survive.
const PATIENCE: u64 = 4_000;

/// The most steps that a history has once everything is left out that the failure does not need.
const STEPS_LEFT: usize = 6;

fn history(seed: u64) -> History {
    History::of(seed, POLICIES.len())
}

/// Makes the history small, and tells it.
fn report(history: History, mutant: Option<Mutant>) -> String {
    tell(&history.shrunk(|simpler| play(simpler, mutant).violation.is_some()), mutant)
}

fn tell(history: &History, mutant: Option<Mutant>) -> String {
    let outcome = play(history, mutant);
    let violation = outcome.violation.as_deref().unwrap_or("nothing is wrong");
    format!("{violation}\n{history}what happened:\n{}", outcome.story())
}

#[test]
fn no_call_is_allowed_that_its_past_forbids() {
    hold(HISTORIES);
}

fn hold(histories: u64) {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let counts = std::thread::scope(|scope| {
        let play_some = |first: u64| {
            let mut all: BTreeMap<&str, u64> = BTreeMap::new();
            for seed in (first..histories).step_by(threads as usize) {
                let Outcome { violation, counts, .. } = play(&history(seed), None);
                assert!(violation.is_none(), "{}", report(history(seed), None));
                counts.into_iter().for_each(|(what, count)| *all.entry(what).or_default() += count);
            }
            all
        };
        let players: Vec<_> = (0..threads).map(|first| scope.spawn(move || play_some(first))).collect();
        let mut all: BTreeMap<&str, u64> = BTreeMap::new();
        for player in players {
            let counts = player.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            counts.into_iter().for_each(|(what, count)| *all.entry(what).or_default() += count);
        }
        all
    });
    // A simulation in which nothing is refused, withheld or lowered would hold whatever the protocol is.
    for what in [
        "allowed",
        "refused",
        "released with a label",
        "lowered",
        "withheld by policy",
        "withheld by the store",
        "released without the store",
    ] {
        let count = counts.get(what).copied().unwrap_or_default();
        assert!(count > histories / 50, "{what}: {count} in {histories} histories");
    }
    for what in ["silent", "begun anew"] {
        let count = counts.get(what).copied().unwrap_or_default();
        assert!(count > histories / 200, "{what}: {count} in {histories} histories");
    }
}

#[test]
fn a_history_happens_the_same_way_twice() {
    for seed in 0..50 {
        let (once, again) = (play(&history(seed), None), play(&history(seed), None));
        assert_eq!(once.told, again.told, "seed {seed}");
    }
}

/// Looks for a history that this mutant spoils, and makes sure that the mutant alone spoils it.
fn is_caught(mutant: Mutant) {
    let spoiled = (0..PATIENCE).map(history).find(|history| play(history, Some(mutant)).violation.is_some());
    let spoiled = spoiled.unwrap_or_else(|| panic!("{mutant:?} survives {PATIENCE} histories"));
    let seed = spoiled.seed;
    assert!(play(&spoiled, None).violation.is_none(), "seed {seed} fails without {mutant:?}");
    let smallest = spoiled.shrunk(|simpler| play(simpler, Some(mutant)).violation.is_some());
    // What is left is short enough to be understood.
    assert!(smallest.steps.len() <= STEPS_LEFT, "{}", tell(&smallest, Some(mutant)));
}

macro_rules! caught {
    ($($name:ident: $mutant:ident;)+) => {
        $( #[test] fn $name() { is_caught(Mutant::$mutant); } )+
    };
}

caught! {
    a_release_before_the_write_is_caught: ReleaseBeforeWrite;
    not_reading_when_the_judgements_differ_is_caught: NoRead;
    reading_a_lagging_standby_is_caught: LaggingStandby;
    a_raise_that_is_not_flushed_is_caught: UnflushedRaise;
    a_late_reply_in_the_old_epoch_is_caught: LateReplyIntoOldEpoch;
    skipping_a_join_on_an_old_copy_is_caught: SkipOnOldCopy;
    lowering_without_grace_is_caught: NoGrace;
    taking_the_unknown_for_false_is_caught: UnknownIsFalse;
    dropping_bits_of_a_newer_version_is_caught: ForeignBitsAreDropped;
    trusting_an_old_copy_when_a_read_fails_is_caught: FailedReadIsOldCopy;
    joining_only_replies_is_caught: OnlyReplies;
    using_a_proof_for_too_long_is_caught: NoRenewal;
    marking_with_an_old_copy_is_caught: MarksOfOldCopy;
    judging_replies_under_an_old_copy_is_caught: RepliesUnderOldCopy;
    overlooking_what_a_rule_looks_at_is_caught: OverlookedByAnother;
    forgetting_what_is_pending_is_caught: PendingIsForgotten;
    a_word_that_counts_for_everybody_is_caught: AWordForEverybody;
}
