//! What each argument of a tool decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ArgumentRole, Authority};

/// The roles that somebody stated, by RFC 6901 pointer into the arguments, without its first slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles(Option<Arc<BTreeMap<Arc<str>, Stated>>>);

/// What was said of one argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stated {
    operator: Option<ArgumentRole>,
    /// By those whose word may loosen.
    set: Option<ArgumentRole>,
    /// By everybody else.
    raised: Option<ArgumentRole>,
}

// === impl Roles ===

impl Roles {
    /// The role of this argument, or of the nearest thing it is part of. Of an acting tool the unknown
    /// argument is a target, which is the strictest; of a reading one it is a query.
    pub fn role(&self, pointer: &str, acts: bool) -> ArgumentRole {
        self.stated(pointer).role(acts)
    }

    /// Whether a role was stated by somebody whose word may loosen.
    pub fn is_stated(&self, pointer: &str) -> bool {
        let stated = self.stated(pointer);
        stated.operator.or(stated.set).is_some()
    }

    /// The role of this argument, or else what was inferred of it, as far as that is no milder than what strangers say of
    /// it. Nothing where nobody knows: it is then a target.
    pub fn role_or(&self, pointer: &str, inferred: Option<ArgumentRole>) -> Option<ArgumentRole> {
        let Stated { operator, set, raised } = self.stated(pointer);
        operator.or_else(|| set.or(inferred).map(|role| raised.map_or(role, |raised| role.max(raised))))
    }

    /// Every stated role, for showing.
    pub fn iter(&self, acts: bool) -> impl Iterator<Item = (&str, ArgumentRole)> {
        self.0.iter().flat_map(|map| map.keys()).map(move |pointer| (&**pointer, self.role(pointer, acts)))
    }

    /// For each argument the stricter of both roles. `acts` says of each side whether its tool acts.
    pub(super) fn strictest(&self, acts: bool, other: &Self, other_acts: bool) -> Self {
        if self == other {
            return self.clone();
        }
        let pointers = [self, other].into_iter().flat_map(|roles| roles.0.iter()).flat_map(|map| map.keys());
        let mut next = Self::default();
        for pointer in pointers {
            let role = self.role(pointer, acts).max(other.role(pointer, other_acts));
            next.state(pointer, role, Authority::DeclaredVerified);
        }
        next
    }

    /// Takes the operator's roles of another, for the arguments of which the operator says nothing here.
    pub(super) fn fall_back_on(&mut self, general: &Self) {
        for (pointer, stated) in general.0.iter().flat_map(|map| map.iter()) {
            let own = self.0.as_ref().and_then(|map| map.get(pointer)).and_then(|stated| stated.operator);
            if let (None, Some(role)) = (own, stated.operator) {
                self.state(pointer, role, Authority::Operator);
            }
        }
    }

    /// What holds for this argument. Who may loosen is believed about the nearest part he spoke of; a word
    /// that may only tighten holds for every part of what it was said of, lest a stranger loosen the whole
    /// by a milder word about a part.
    fn stated(&self, pointer: &str) -> Stated {
        let mut found = Stated::default();
        let Some(map) = self.0.as_deref() else { return found };
        let mut part = Some(pointer);
        while let Some(at) = part {
            if let Some(stated) = map.get(at) {
                found.operator = found.operator.or(stated.operator);
                found.set = found.set.or(stated.set);
                found.raised = found.raised.max(stated.raised);
            }
            part = at.rsplit_once('/').map(|(whole, _)| whole);
        }
        found
    }

    pub(super) fn state(&mut self, pointer: &Arc<str>, role: ArgumentRole, by: Authority) {
        let map = Arc::make_mut(self.0.get_or_insert_default());
        let stated = map.entry(Arc::clone(pointer)).or_default();
        let slot = match by {
            Authority::Operator => &mut stated.operator,
            _ if by.may_loosen() => &mut stated.set,
            _ => &mut stated.raised,
        };
        *slot = (*slot).max(Some(role));
    }
}

impl Stated {
    fn role(self, acts: bool) -> ArgumentRole {
        // Nobody who may only tighten makes a query something milder.
        let raised = self.raised.unwrap_or(ArgumentRole::Query).max(ArgumentRole::Query);
        match (self.operator, self.set) {
            (Some(role), _) => role,
            (None, Some(role)) => role.max(raised),
            (None, None) if acts => ArgumentRole::Target,
            (None, None) => raised,
        }
    }
}
