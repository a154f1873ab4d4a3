//! One pattern as an automaton that is made as far as somebody walks it.

use std::collections::{BTreeSet, HashMap};

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    One(char),
    /// In either case; the character is the lower one.
    Folded(char),
    /// Any but a slash and a colon.
    Inner,
    AnyOne,
    AnyRun,
    /// One of several ways through a pattern ends here, and the next begins behind it.
    End,
}

/// The places that a pattern may have come to, sorted.
type Places = Box<[u32]>;

/// The automaton of one pattern.
#[derive(Debug)]
pub(super) struct Automaton {
    steps: Vec<Step>,
    states: Vec<Places>,
    known: HashMap<Places, usize>,
    moves: HashMap<(usize, char), usize>,
}

// === impl Automaton ===

impl Automaton {
    /// Of a pattern whose last step is an end. Its first state is 0.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        let behind_ends =
            (1_u32..).zip(&steps).filter(|(_, step)| **step == Step::End).map(|(place, _)| place);
        let starts: Vec<u32> = std::iter::once(0).chain(behind_ends).collect();
        let mut automaton = Self { steps, states: Vec::new(), known: HashMap::new(), moves: HashMap::new() };
        automaton.state(starts);
        automaton
    }

    /// Where a character leads to.
    pub(super) fn after(&mut self, state: usize, character: char) -> usize {
        if let Some(known) = self.moves.get(&(state, character)) {
            return *known;
        }
        let places = self.states.get(state).cloned().unwrap_or_default();
        let next = places.iter().filter_map(|place| match self.step(*place)? {
            Step::One(wanted) => (wanted == character).then_some(place + 1),
            Step::Folded(wanted) => {
                (wanted == character || character.to_lowercase().eq([wanted])).then_some(place + 1)
            }
            Step::Inner => (!matches!(character, '/' | ':')).then_some(place + 1),
            Step::AnyOne => Some(place + 1),
            Step::AnyRun => Some(*place),
            Step::End => None,
        });
        let next = next.collect();
        let next = self.state(next);
        self.moves.insert((state, character), next);
        next
    }

    /// Whether the pattern matches what led here.
    pub(super) fn accepts(&self, state: usize) -> bool {
        self.places(state).any(|place| self.step(place) == Some(Step::End))
    }

    /// Whether it matches nothing that begins with what led here.
    pub(super) fn is_dead(&self, state: usize) -> bool {
        self.places(state).next().is_none()
    }

    /// Whether it matches everything that begins with what led here.
    pub(super) fn accepts_all(&self, state: usize) -> bool {
        self.places(state)
            .any(|place| (self.step(place), self.step(place + 1)) == (Some(Step::AnyRun), Some(Step::End)))
    }

    /// The characters that make a difference to it.
    pub(super) fn characters(&self) -> impl Iterator<Item = char> {
        self.steps.iter().flat_map(|step| match step {
            Step::One(character) => vec![*character],
            Step::Folded(character) => std::iter::once(*character).chain(character.to_uppercase()).collect(),
            Step::Inner => vec!['/', ':'],
            Step::AnyOne | Step::AnyRun | Step::End => Vec::new(),
        })
    }

    fn places(&self, state: usize) -> impl Iterator<Item = u32> {
        self.states.get(state).into_iter().flatten().copied()
    }

    fn step(&self, place: u32) -> Option<Step> {
        usize::try_from(place).ok().and_then(|place| self.steps.get(place)).copied()
    }

    /// The state of these places, and of those that are reached by letting a run be empty.
    fn state(&mut self, places: Vec<u32>) -> usize {
        let mut all: BTreeSet<u32> = BTreeSet::new();
        for mut place in places {
            while self.step(place).is_some() && all.insert(place) && self.step(place) == Some(Step::AnyRun) {
                place += 1;
            }
        }
        let places: Places = all.into_iter().collect();
        if let Some(known) = self.known.get(&places) {
            return *known;
        }
        self.states.push(places.clone());
        self.known.insert(places, self.states.len() - 1);
        self.states.len() - 1
    }
}
