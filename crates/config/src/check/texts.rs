//! Whether a text can match some patterns and not others, and such a text.
//!
//! The diagram knows patterns as independent variables; here is what they have to do with each other.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// A pattern as an analysis sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Pattern {
    /// Exactly this text.
    Exact(String),
    /// `*` is any run of characters, `?` is one.
    Glob(String),
}

/// The answer to the question for a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// This one.
    Text(String),
    /// There is none.
    Nothing,
    /// Too many had to be tried.
    GaveUp,
}

/// How many states the search may visit.
const MOST_STATES: usize = 20_000;

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    One(char),
    AnyOne,
    AnyRun,
}

/// The places a pattern may have come to, sorted. The place behind the last step is the end.
type Places = Vec<u16>;

/// A shortest text that matches all of `like` and none of `unlike`.
pub(crate) fn find(like: &[&Pattern], unlike: &[&Pattern]) -> Found {
    let steps: Vec<Vec<Step>> = like.iter().chain(unlike).map(|pattern| pattern.steps()).collect();
    let alphabet = alphabet(&steps);
    let accepts = |state: &[Places]| {
        state.iter().zip(&steps).enumerate().all(|(index, (places, steps))| {
            let at_end = places.iter().any(|place| usize::from(*place) == steps.len());
            at_end == (index < like.len())
        })
    };
    let alive = |state: &[Places]| state.iter().take(like.len()).all(|places| !places.is_empty());

    let start: Vec<Places> = steps.iter().map(|steps| closed(&[0], steps)).collect();
    let mut came_from: HashMap<Vec<Places>, Option<(Vec<Places>, char)>> = HashMap::new();
    came_from.insert(start.clone(), None);
    let mut waiting = VecDeque::from([start]);
    while let Some(state) = waiting.pop_front() {
        if accepts(&state) {
            return Found::Text(spelled(&came_from, state));
        }
        for &character in &alphabet {
            let next: Vec<Places> =
                state.iter().zip(&steps).map(|(places, steps)| advanced(places, steps, character)).collect();
            if !alive(&next) || came_from.contains_key(&next) {
                continue;
            }
            if came_from.len() >= MOST_STATES {
                return Found::GaveUp;
            }
            came_from.insert(next.clone(), Some((state.clone(), character)));
            waiting.push_back(next);
        }
    }
    Found::Nothing
}

/// Some of the patterns that cannot be had together, as few as can be told; for when [`find`] found nothing.
pub(crate) fn conflict<'p>(
    like: &[&'p Pattern],
    unlike: &[&'p Pattern],
) -> (Vec<&'p Pattern>, Vec<&'p Pattern>) {
    let (mut like, mut unlike) = (like.to_vec(), unlike.to_vec());
    let mut index = 0;
    while index < like.len() + unlike.len() {
        let (mut fewer_like, mut fewer_unlike) = (like.clone(), unlike.clone());
        match index.checked_sub(like.len()) {
            None => drop(fewer_like.remove(index)),
            Some(index) => drop(fewer_unlike.remove(index)),
        }
        if find(&fewer_like, &fewer_unlike) == Found::Nothing {
            (like, unlike) = (fewer_like, fewer_unlike);
        } else {
            index += 1;
        }
    }
    (like, unlike)
}

// === impl Pattern ===

impl Pattern {
    fn steps(&self) -> Vec<Step> {
        match self {
            Pattern::Exact(text) => text.chars().map(Step::One).collect(),
            Pattern::Glob(text) => text
                .chars()
                .map(|character| match character {
                    '*' => Step::AnyRun,
                    '?' => Step::AnyOne,
                    other => Step::One(other),
                })
                .collect(),
        }
    }
}

/// The characters that make a difference, and one that is in no pattern.
fn alphabet(steps: &[Vec<Step>]) -> Vec<char> {
    let used: BTreeSet<char> = steps
        .iter()
        .flatten()
        .filter_map(|step| match step {
            Step::One(character) => Some(*character),
            Step::AnyOne | Step::AnyRun => None,
        })
        .collect();
    let other = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain('\u{e000}'..).find(|c| !used.contains(c));
    other.into_iter().chain(used).collect()
}

/// With every place that is reached by letting a run be empty.
fn closed(places: &[u16], steps: &[Step]) -> Places {
    let mut all: BTreeSet<u16> = BTreeSet::new();
    for &place in places {
        let mut place = place;
        while all.insert(place) && steps.get(usize::from(place)) == Some(&Step::AnyRun) {
            place += 1;
        }
    }
    all.into_iter().collect()
}

fn advanced(places: &[u16], steps: &[Step], character: char) -> Places {
    let mut next = Vec::with_capacity(places.len());
    for &place in places {
        match steps.get(usize::from(place)) {
            Some(Step::One(wanted)) if *wanted == character => next.push(place + 1),
            Some(Step::AnyOne) => next.push(place + 1),
            Some(Step::AnyRun) => next.push(place),
            Some(Step::One(_)) | None => {}
        }
    }
    closed(&next, steps)
}

fn spelled(came_from: &HashMap<Vec<Places>, Option<(Vec<Places>, char)>>, end: Vec<Places>) -> String {
    let mut text = Vec::new();
    let mut at = end;
    while let Some(Some((before, character))) = came_from.get(&at) {
        text.push(*character);
        at = before.clone();
    }
    text.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use highwater_core::policy::Glob;
    use proptest::prelude::*;

    use super::*;

    fn glob(text: &str) -> Pattern {
        Pattern::Glob(text.to_owned())
    }

    fn exact(text: &str) -> Pattern {
        Pattern::Exact(text.to_owned())
    }

    #[test]
    fn a_text_is_found_where_there_is_one() {
        for (like, unlike, expected) in [
            (vec![], vec![], Some("")),
            (vec![exact("send")], vec![], Some("send")),
            (vec![glob("send_*")], vec![], Some("send_")),
            (vec![glob("send_*")], vec![exact("send_")], Some("send_a")),
            (vec![glob("*@a.example"), glob("b*")], vec![], Some("b@a.example")),
            (vec![glob("a*"), glob("*b")], vec![glob("a?b"), exact("ab")], Some("abab")),
            (vec![glob("send_*")], vec![glob("*")], None),
            (vec![glob("a*"), glob("b*")], vec![], None),
            (vec![exact("a")], vec![glob("?")], None),
            (vec![glob("a*b")], vec![glob("a*")], None),
            (vec![exact("*")], vec![glob("a*")], Some("*")),
        ] {
            let found = find(&like.iter().collect::<Vec<_>>(), &unlike.iter().collect::<Vec<_>>());
            match expected {
                None => assert_eq!(found, Found::Nothing, "{like:?} {unlike:?}"),
                // Which of several shortest ones is found does not matter.
                Some(text) => {
                    let Found::Text(found) = found else { panic!("{like:?} {unlike:?}: {found:?}") };
                    assert_eq!(found.chars().count(), text.chars().count(), "{like:?} {unlike:?}: {found}");
                }
            }
        }
    }

    #[test]
    fn a_conflict_names_only_those_who_quarrel() {
        let (a, b, c, d) = (glob("a*"), glob("*x*"), glob("b*"), glob("q"));
        let (like, unlike) = conflict(&[&a, &b, &c], &[&d]);
        assert_eq!((like, unlike), (vec![&a, &c], vec![]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Against core's own matcher, over all short texts.
        #[test]
        fn what_is_found_matches_and_what_is_not_found_is_not_there(
            like in prop::collection::vec("[ab*?]{0,4}", 0..3),
            unlike in prop::collection::vec("[ab*?]{0,4}", 0..3),
        ) {
            let patterns = |texts: &[String]| texts.iter().map(|text| glob(text)).collect::<Vec<_>>();
            let fits = |text: &str| {
                let matches = |pattern: &String| Glob::new(pattern).unwrap().matches(text);
                like.iter().all(matches) && !unlike.iter().any(matches)
            };
            let (likes, unlikes) = (patterns(&like), patterns(&unlike));
            match find(&likes.iter().collect::<Vec<_>>(), &unlikes.iter().collect::<Vec<_>>()) {
                Found::Text(text) => prop_assert!(fits(&text), "{text}"),
                Found::GaveUp => prop_assert!(false, "gave up"),
                Found::Nothing => {
                    let mut texts = vec![String::new()];
                    for _ in 0..5 {
                        let longer: Vec<String> = texts.iter().flat_map(|t| ["a", "b", "c"].map(|c| format!("{t}{c}"))).collect();
                        prop_assert!(!longer.iter().chain(&texts).any(|text| fits(text)));
                        texts = longer;
                    }
                }
            }
        }
    }
}
