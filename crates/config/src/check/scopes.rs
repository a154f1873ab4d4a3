//! Scopes of regulated data. Sets of them are compared with each other, so they are made of a fixed list of
//! scopes: those that conditions name, some for each pattern, and one that nobody names.

use highwater_core::label::TextSet;

use super::diagram::{Function, NEVER};
use super::space::{GaveUp, Space, Values};
use super::texts::{Found, Pattern, find};

/// The scopes there are.
#[derive(Debug, Clone)]
pub(crate) struct ScopeList(Vec<String>);

/// A set of them, or more than can be listed.
#[derive(Debug, Clone)]
pub(crate) struct ScopeSet {
    list: ScopeList,
    members: Vec<Function>,
    pub(crate) open: Function,
}

/// Up to so many patterns every combination of them gets a scope.
const MOST_COMBINED: usize = 5;

// === impl ScopeList ===

impl ScopeList {
    /// The scopes that these patterns can tell apart.
    pub(crate) fn new(mut patterns: Vec<Pattern>) -> Self {
        patterns.sort();
        patterns.dedup();
        let mut scopes: Vec<String> = Vec::new();
        let mut add = |like: &[&Pattern], unlike: &[&Pattern]| {
            if let Found::Text(scope) = find(like, unlike)
                && !scopes.contains(&scope)
                && !scope.is_empty()
            {
                scopes.push(scope);
            }
        };
        let (exact, globs): (Vec<&Pattern>, Vec<&Pattern>) =
            patterns.iter().partition(|pattern| matches!(pattern, Pattern::Exact(_)));
        for one in &exact {
            add(&[one], &[]);
        }
        let combinations = if globs.len() <= MOST_COMBINED { 1_usize << globs.len() } else { 0 };
        for chosen in 0..combinations {
            let is_chosen = |index: usize| chosen >> index & 1 == 1;
            let like: Vec<&Pattern> = globs
                .iter()
                .enumerate()
                .filter(|(index, _)| is_chosen(*index))
                .map(|(_, glob)| *glob)
                .collect();
            let not_chosen = globs.iter().enumerate().filter(|(index, _)| !is_chosen(*index));
            let unlike: Vec<&Pattern> =
                not_chosen.map(|(_, glob)| *glob).chain(exact.iter().copied()).collect();
            let nothing = Pattern::Exact(String::new());
            let unlike: Vec<&Pattern> = unlike.into_iter().chain([&nothing]).collect();
            add(&like, &unlike);
        }
        if combinations == 0 {
            for glob in &globs {
                add(&[glob], &exact);
            }
            add(&[], &patterns.iter().collect::<Vec<_>>());
        }
        Self(scopes)
    }

    /// A set of them. `open` says when it may hold more.
    pub(crate) fn set(&self, space: &mut Space, open: Function) -> Result<ScopeSet, GaveUp> {
        Ok(ScopeSet { list: self.clone(), members: space.switches(self.0.len())?, open })
    }
}

// === impl ScopeSet ===

impl ScopeSet {
    /// When some listed member is like this.
    pub(crate) fn like(&self, space: &mut Space, pattern: &Pattern) -> Result<Function, GaveUp> {
        let like =
            self.list.0.iter().zip(&self.members).filter(|(scope, _)| {
                find(&[pattern, &Pattern::Exact((*scope).clone())], &[]) != Found::Nothing
            });
        let like: Vec<Function> = like.map(|(_, member)| *member).collect();
        Ok(space.diagram.any(like)?)
    }

    /// When it lists something.
    pub(crate) fn has_member(&self, space: &mut Space) -> Result<Function, GaveUp> {
        Ok(space.diagram.any(self.members.iter().copied())?)
    }

    /// When everything that may be in the other is in this one.
    pub(crate) fn covers(&self, space: &mut Space, other: &Self) -> Result<Function, GaveUp> {
        let mut each = Vec::new();
        for (mine, theirs) in self.members.iter().zip(&other.members) {
            each.push(space.diagram.implies(*theirs, *mine)?);
        }
        let listed = space.diagram.all(each)?;
        let closed = space.diagram.minus(listed, other.open)?;
        Ok(space.diagram.or(self.open, closed)?)
    }

    /// Says that nothing is in it unless this holds.
    pub(crate) fn require_only_if(&self, space: &mut Space, condition: Function) -> Result<(), GaveUp> {
        let any = self.has_member(space)?;
        let any = space.diagram.or(any, self.open)?;
        space.require_if(any, condition)
    }

    /// The listed members with these values.
    pub(crate) fn listed(&self, space: &Space, values: &Values) -> Vec<&str> {
        let all = self.list.0.iter().zip(&self.members);
        all.filter(|(_, member)| space.value(**member, values)).map(|(scope, _)| scope.as_str()).collect()
    }

    /// A set with these values.
    pub(crate) fn spelled(&self, space: &Space, values: &Values) -> TextSet {
        let set = TextSet::of(self.listed(space, values));
        if self.open != NEVER && space.value(self.open, values) { set.opened() } else { set }
    }
}
