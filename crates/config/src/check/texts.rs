//! Whether a text can match some patterns and not others, and such a text.
//!
//! The diagram knows patterns as independent variables; here is what they have to do with each other.

use std::collections::{BTreeSet, HashSet};

use highwater_core::policy::Likeness;

use super::automaton::{Automaton, Step};

/// A pattern as an analysis sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Pattern {
    /// Exactly this text.
    Exact(String),
    /// `*` is any run of characters, `?` is one.
    Glob(String),
    /// It is like one of these, without case.
    Alike(Vec<Likeness>),
    /// It is certainly no canonical form of a path or a URI.
    Odd,
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

/// Globs of what is no canonical form. Only behind a scheme there is an empty step.
const ODD: [&str; 18] = [
    r"*\*", "*%*", "*/", "./*", "*/./*", "*/.", "../*", "*/../*", "*/..", ".", "..", " *", "* ", "//*",
    "://*", "?://*", "*/*://*", "*////*",
];

/// How many states the search may visit.
const MOST_STATES: usize = 20_000;

/// A shortest text that matches all of `like` and none of `unlike`.
pub(crate) fn find(like: &[&Pattern], unlike: &[&Pattern]) -> Found {
    let patterns = like.iter().chain(unlike);
    let mut automata: Vec<Automaton> = patterns.map(|pattern| Automaton::new(pattern.steps())).collect();
    let alphabet = alphabet(&automata);
    let is_like = |index: usize| index < like.len();
    let mut known: HashSet<Vec<usize>> = HashSet::new();
    // Each state, the one before it, and the character between them.
    let mut reached: Vec<(Vec<usize>, usize, char)> = Vec::new();
    let start = vec![0; automata.len()];
    known.insert(start.clone());
    reached.push((start, 0, ' '));
    let mut at = 0;
    while let Some((state, ..)) = reached.get(at).cloned() {
        let mut each = state.iter().zip(&automata).enumerate();
        if each.all(|(index, (state, automaton))| automaton.accepts(*state) == is_like(index)) {
            return Found::Text(spelled(&reached, at));
        }
        for &character in &alphabet {
            let steps = state.iter().zip(&mut automata);
            let next: Vec<usize> =
                steps.map(|(state, automaton)| automaton.after(*state, character)).collect();
            let lost = next.iter().zip(&automata).enumerate().any(|(index, (state, automaton))| {
                if is_like(index) { automaton.is_dead(*state) } else { automaton.accepts_all(*state) }
            });
            if lost || known.contains(&next) {
                continue;
            }
            if known.len() >= MOST_STATES {
                return Found::GaveUp;
            }
            known.insert(next.clone());
            reached.push((next, at, character));
        }
        at += 1;
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
        let mut steps = Vec::new();
        match self {
            Pattern::Exact(text) => steps.extend(text.chars().map(Step::One)),
            Pattern::Glob(text) => steps.extend(glob(text, Step::One)),
            Pattern::Alike(ways) => {
                for (index, Likeness { before, pattern, literal, .. }) in ways.iter().enumerate() {
                    if index > 0 {
                        steps.push(Step::End);
                    }
                    steps.extend(glob(before, Step::One));
                    match literal {
                        true => steps.extend(pattern.chars().map(Step::Folded)),
                        false => steps.extend(glob(pattern, Step::Folded)),
                    }
                }
            }
            Pattern::Odd => {
                for odd in ODD {
                    steps.extend(glob(odd, Step::One).chain([Step::End]));
                }
                steps.extend([Step::AnyRun, Step::Inner, Step::One('/'), Step::One('/'), Step::AnyRun]);
            }
        }
        steps.push(Step::End);
        steps
    }
}

fn glob(text: &str, one: fn(char) -> Step) -> impl Iterator<Item = Step> {
    text.chars().map(move |character| match character {
        '*' => Step::AnyRun,
        '?' => Step::AnyOne,
        other => one(other),
    })
}

/// The characters that make a difference, and one that is in no pattern.
fn alphabet(automata: &[Automaton]) -> Vec<char> {
    let used: BTreeSet<char> = automata.iter().flat_map(Automaton::characters).collect();
    let other = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain('\u{e000}'..).find(|c| !used.contains(c));
    other.into_iter().chain(used).collect()
}

fn spelled(reached: &[(Vec<usize>, usize, char)], end: usize) -> String {
    let mut text = Vec::new();
    let mut at = end;
    while at > 0
        && let Some((_, before, character)) = reached.get(at)
    {
        text.push(*character);
        at = *before;
    }
    text.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use highwater_notation::Glob;
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
