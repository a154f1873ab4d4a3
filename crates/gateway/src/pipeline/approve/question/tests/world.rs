//! A small world around questions: a store, a policy that changes, people who answer, several callers of one call, and a
//! gateway that may be killed between any two steps. What it holds: a call runs once for each yes, and never against the
//! judgement of its moment.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;

/// What the policy asks of the call at a moment: nothing, one of two questions, or it blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Allows,
    Asks(u8),
    Blocks,
}

/// A request on the page, as the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    None,
    Pending(u8),
    Approved(u8),
    Declined,
}

/// What survives a kill.
#[derive(Clone, Debug)]
struct Store {
    request: Request,
    /// How often a mandate may still be used; it covers question 0.
    mandate: u8,
}

/// A gateway that drives one call.
#[derive(Clone, Debug)]
struct Driver {
    question: Question,
    step: Step,
    /// The question that the yes in hand was given to.
    covers: Option<u8>,
    /// The question that was found to be open last.
    open: u8,
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// One of two drivers does its next step.
    Step(bool),
    /// It is killed, and its client calls again.
    Killed(bool),
    Agreed,
    Declined,
    Policy(Policy),
}

/// What the world has seen.
#[derive(Default, Debug)]
struct Seen {
    /// Yeses that people gave on the page.
    given: u32,
    spent_grants: u32,
    spent_mandates: u32,
    ran_with_yes: u32,
}

fn situation(policy: Policy, store: &Store) -> Option<(Situation, u8)> {
    let Policy::Asks(question) = policy else { return None };
    let situation = Situation {
        grade: Effect::Confirm,
        is_round: false,
        is_signed: false,
        relayed: false,
        is_call: true,
        signable: true,
        quorum: false,
        channel: (store.mandate < 9).then_some(Channel::Page),
    };
    Some((situation, question))
}

impl Driver {
    /// A call arrives: nothing where the policy allows or blocks it outright.
    fn arrive(policy: Policy, store: &Store) -> Option<Self> {
        let (situation, open) = situation(policy, store)?;
        let (question, step) = Question::open(situation);
        Some(Self { question, step, covers: None, open })
    }

    /// Does the step that is due. True when the call ran.
    fn step(&mut self, policy: Policy, store: &mut Store, seen: &mut Seen) -> Result<bool, Ended> {
        let event = match self.step {
            Step::LookFor(Yes::Mandate) if store.mandate > 0 && self.open == 0 => {
                self.covers = Some(0);
                Event::Found
            }
            Step::LookFor(_) => Event::NotFound,
            Step::Ask(_) => match store.request {
                Request::Approved(question) => {
                    self.covers = Some(question);
                    Event::Collected
                }
                Request::Declined => Event::Declined,
                Request::Pending(question) if question == self.open => Event::Put,
                Request::None | Request::Pending(_) => {
                    store.request = Request::Pending(self.open);
                    Event::Put
                }
            },
            Step::Wait(_) => match store.request {
                Request::Pending(_) => return Ok(false),
                Request::Approved(question) => {
                    self.covers = Some(question);
                    Event::Agreed
                }
                Request::Declined => Event::Declined,
                Request::None => Event::Expired,
            },
            Step::JudgeAgain(yes) => match (policy, situation(policy, store)) {
                (Policy::Allows, _) => Event::Allowed,
                (_, Some((_, question))) if yes.is_some() && self.covers == Some(question) => Event::Covered,
                (_, Some((now, question))) => {
                    self.open = question;
                    if yes == Some(Yes::Grant) {
                        store.request = Request::None;
                    }
                    Event::Changed(now)
                }
                (_, None) => return Err(Ended),
            },
            Step::Spend(Yes::Grant) => match (store.request, situation(policy, store)) {
                (Request::Approved(question), _) if self.covers == Some(question) => {
                    store.request = Request::None;
                    seen.spent_grants += 1;
                    Event::Spent
                }
                (_, Some((now, question))) => {
                    self.open = question;
                    Event::NotSpent(now)
                }
                (_, None) => return Err(Ended),
            },
            Step::Spend(_) if store.mandate > 0 => {
                store.mandate -= 1;
                seen.spent_mandates += 1;
                Event::Spent
            }
            Step::Spend(_) => match situation(policy, store) {
                Some((now, question)) => {
                    self.open = question;
                    Event::NotSpent(now)
                }
                None => return Err(Ended),
            },
            Step::JudgeWith(_) => match (policy, situation(policy, store)) {
                (Policy::Allows, _) => Event::Allowed,
                (Policy::Asks(question), _) if self.covers == Some(question) => {
                    seen.ran_with_yes += 1;
                    Event::Allowed
                }
                (_, Some((now, question))) => {
                    self.open = question;
                    Event::Changed(now)
                }
                (_, None) => return Err(Ended),
            },
            Step::Permit | Step::Return | Step::Refuse(_) => return Err(Ended),
        };
        (_, self.step) = self.question.apply(event);
        assert_ne!(self.step, Step::Refuse(Unanswered::OutOfOrder));
        Ok(self.step == Step::Permit)
    }
}

/// The driver's call is over.
struct Ended;

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        1 => Just(Policy::Allows),
        6 => (0..2u8).prop_map(Policy::Asks),
        1 => Just(Policy::Blocks),
    ]
}

fn any_happening() -> impl Strategy<Value = Happens> {
    prop_oneof![
        12 => any::<bool>().prop_map(Happens::Step),
        2 => any::<bool>().prop_map(Happens::Killed),
        3 => Just(Happens::Agreed),
        1 => Just(Happens::Declined),
        2 => any_policy().prop_map(Happens::Policy),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn every_yes_is_used_once_whoever_dies_in_between(
        mut policy in any_policy(),
        mandate in 0..4u8,
        story in vec(any_happening(), 1..80),
    ) {
        let mut store = Store { request: Request::None, mandate };
        let mut seen = Seen::default();
        let mut drivers: [Option<Driver>; 2] = [None, None];
        for happens in story {
            match happens {
                Happens::Step(which) => {
                    let driver = &mut drivers[usize::from(which)];
                    if driver.is_none() {
                        *driver = Driver::arrive(policy, &store);
                    }
                    let Some(at_work) = driver else { continue };
                    match at_work.step(policy, &mut store, &mut seen) {
                        Ok(true) => {
                            prop_assert_ne!(policy, Policy::Blocks, "it ran although it is blocked");
                            *driver = None;
                        }
                        Ok(false) => {}
                        Err(Ended) => *driver = None,
                    }
                }
                // Whatever it held in memory is gone, and so is a yes that it had used up.
                Happens::Killed(which) => drivers[usize::from(which)] = None,
                Happens::Agreed => {
                    if let Request::Pending(question) = store.request {
                        store.request = Request::Approved(question);
                        seen.given += 1;
                    }
                }
                Happens::Declined => {
                    if matches!(store.request, Request::Pending(_)) {
                        store.request = Request::Declined;
                    }
                }
                Happens::Policy(next) => policy = next,
            }
            prop_assert!(seen.spent_grants <= seen.given, "{:?}", seen);
            prop_assert!(seen.spent_mandates <= u32::from(mandate), "{:?}", seen);
            prop_assert!(seen.ran_with_yes <= seen.spent_grants + seen.spent_mandates, "{:?}", seen);
        }
    }
}
