//! The laws of a question: any order of events, and a world of stores, people, changes and kills beside it.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// More events than any question takes, however often it is opened.
const LONGEST: usize = 64;

fn any_channel() -> impl Strategy<Value = Channel> {
    use Channel::{FormRequest, FormResult, MissingEvidence, Page, UrlRequest, UrlResult};
    prop::sample::select(vec![FormRequest, FormResult, UrlRequest, UrlResult, Page, MissingEvidence])
}

prop_compose! {
    fn any_situation()(
        passkey in any::<bool>(),
        (is_round, is_signed) in any::<(bool, bool)>(),
        (relayed, is_call, signable, quorum) in any::<(bool, bool, bool, bool)>(),
        channel in prop::option::weighted(0.9, any_channel()),
    ) -> Situation {
        let grade = if passkey { Effect::Passkey } else { Effect::Confirm };
        // What the driver guarantees: a form asks for no passkey.
        let channel = channel.filter(|channel| !(passkey && channel.is_form()));
        Situation { grade, is_round, is_signed, relayed, is_call, signable, quorum, channel }
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        prop::sample::select(vec![
            Event::Found,
            Event::NotFound,
            Event::Put,
            Event::Collected,
            Event::NotPut,
            Event::Agreed,
            Event::Declined,
            Event::Expired,
            Event::StillOpen,
            Event::Returned,
            Event::Allowed,
            Event::Covered,
            Event::CallerGone,
            Event::Spent,
        ]),
        any_situation().prop_map(Event::Changed),
        any_situation().prop_map(Event::NotSpent),
    ]
}

/// The events that may follow a step.
fn expected(step: Step) -> Vec<Event> {
    let situation = Situation {
        grade: Effect::Confirm,
        is_round: false,
        is_signed: false,
        relayed: false,
        is_call: true,
        signable: true,
        quorum: false,
        channel: Some(Channel::Page),
    };
    match step {
        Step::LookFor(_) => vec![Event::Found, Event::NotFound],
        Step::Ask(channel) if channel.is_form() => vec![Event::Put, Event::NotPut, Event::Declined],
        Step::Ask(_) => vec![Event::Put, Event::Collected, Event::NotPut, Event::Declined],
        Step::Wait(_) => {
            vec![Event::Agreed, Event::Declined, Event::Expired, Event::StillOpen, Event::Returned]
        }
        Step::JudgeAgain(None) => vec![Event::Allowed, Event::Changed(situation)],
        Step::JudgeAgain(Some(yes)) if yes.is_for_caller_who_waits() => {
            vec![Event::Allowed, Event::Covered, Event::Changed(situation), Event::CallerGone]
        }
        Step::JudgeAgain(Some(_)) => vec![Event::Allowed, Event::Covered, Event::Changed(situation)],
        Step::Spend(_) => vec![Event::Spent, Event::NotSpent(situation), Event::Declined],
        Step::JudgeWith(_) => vec![Event::Allowed, Event::Changed(situation)],
        Step::Permit | Step::Return | Step::Refuse(_) => Vec::new(),
    }
}

fn is_end(step: Step) -> bool {
    matches!(step, Step::Permit | Step::Return | Step::Refuse(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn in_any_order_of_events_a_permit_follows_a_judgement_and_a_spending_follows_its_cover(
        situation in any_situation(),
        events in vec(any_event(), 1..24),
    ) {
        let (mut question, mut step) = Question::open(situation);
        let (mut asked, mut spent) = (0, 0);
        for event in events {
            let before = step;
            let (transition, next) = question.apply(event);
            step = next;
            let in_order = expected(before).iter().any(|expected| {
                std::mem::discriminant(expected) == std::mem::discriminant(&event)
            });
            prop_assert_eq!(
                transition == Transition::OutOfOrder,
                !in_order,
                "{:?} after {:?}", event, before
            );
            match step {
                Step::Permit => {
                    prop_assert!(matches!(before, Step::JudgeAgain(_) | Step::JudgeWith(_)));
                    prop_assert_eq!(event, Event::Allowed);
                }
                Step::Spend(yes) => {
                    prop_assert_eq!(before, Step::JudgeAgain(Some(yes)));
                    prop_assert_eq!(event, Event::Covered);
                }
                Step::JudgeWith(yes) => {
                    prop_assert_eq!(before, Step::Spend(yes));
                    spent += 1;
                }
                Step::Ask(_) => asked += 1,
                _ => {}
            }
            prop_assert!(asked <= MAX_OPENINGS && spent <= MAX_OPENINGS);
        }
    }

    #[test]
    fn a_question_ends_and_nothing_follows_its_end(
        situation in any_situation(),
        choices in vec(any::<prop::sample::Index>(), LONGEST),
        late in any_event(),
    ) {
        let (mut question, mut step) = Question::open(situation);
        for choice in choices {
            if is_end(step) {
                break;
            }
            let events = expected(step);
            (_, step) = question.apply(*choice.get(&events));
        }
        prop_assert!(is_end(step), "it goes on: {:?}", step);
        let after = question.apply(late);
        prop_assert_eq!(after, (Transition::OutOfOrder, Step::Refuse(Unanswered::OutOfOrder)));
    }

    #[test]
    fn a_word_is_never_looked_for_where_a_passkey_is_asked_for(situation in any_situation()) {
        let situation = Situation { grade: Effect::Passkey, ..situation };
        for yes in [Yes::Permit, Yes::Remembered] {
            prop_assert!(!situation.may_rest_on(yes));
        }
    }

    #[test]
    fn a_round_goes_on_with_the_first_question_alone(
        situation in any_situation(),
        now in any_situation(),
    ) {
        let (mut question, step) = Question::open(situation);
        let Step::LookFor(_) = step else { return Ok(()) };
        question.apply(Event::Found);
        question.apply(Event::Changed(now));
        prop_assert!(!question.situation.is_round);
    }
}

#[test]
fn every_transition_is_taken_and_has_a_name_of_its_own() {
    let mut taken = BTreeSet::from([Transition::OutOfOrder]);
    let open = |(is_round, is_signed), channel, signable| Situation {
        grade: Effect::Confirm,
        is_round,
        is_signed,
        relayed: true,
        is_call: true,
        signable,
        quorum: false,
        channel,
    };
    let mut waiting: Vec<(Question, Step)> = Vec::new();
    for brought in [(false, false), (true, false), (false, true)] {
        for channel in [None, Some(Channel::Page), Some(Channel::FormRequest)] {
            waiting.extend([true, false].map(|signable| Question::open(open(brought, channel, signable))));
        }
    }
    // Every order of expected events, as far as it leads to something new.
    let mut seen: Vec<Question> = Vec::new();
    while let Some((question, step)) = waiting.pop() {
        for event in expected(step) {
            let mut next = question.clone();
            let (transition, step) = next.apply(event);
            assert_ne!(transition, Transition::OutOfOrder, "{event:?} after {step:?}");
            taken.insert(transition);
            if !seen.contains(&next) {
                seen.push(next.clone());
                waiting.push((next, step));
            }
        }
    }
    assert_eq!(taken.into_iter().collect::<Vec<_>>(), {
        let mut all = Transition::ALL.to_vec();
        all.sort();
        all
    });
    let names: BTreeSet<String> = Transition::ALL.iter().map(|name| format!("{name:?}")).collect();
    assert_eq!(names.len(), Transition::ALL.len());
}

mod world;
