//! What changed between a pinned definition and the one that is seen, and in which direction.

use std::cmp::Ordering;
use std::sync::Arc;

use highwater_core::annotation::{Axis, Contract, Destination, Outcome, Source};
use highwater_core::trust::TrustLevel;
use highwater_notation::Words;

use super::definition::{Definition, PartClass};

/// One part that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which part, as a pointer into the definition.
    pub part: Arc<str>,
    /// What it is.
    pub class: PartClass,
    /// Its canonical text as pinned; `None` where there was none.
    pub pinned: Option<Arc<str>>,
    /// Its canonical text as seen; `None` where there is none.
    pub seen: Option<Arc<str>>,
}

/// Everything that is not as it was. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    changes: Vec<Change>,
}

/// What became of a contract: the axes on which it says less than was pinned, and those on which it says worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Safer-looking. It does not take effect until a person accepts it.
    pub loosens: Words<Axis>,
    /// Riskier. It takes effect at once.
    pub tightens: Words<Axis>,
    /// Whether a call may be repeated now, where that changed. It decides about sending again and about nothing else.
    pub idempotent: Option<bool>,
}

// === impl Drift ===

impl Drift {
    /// What changed; `None` if both are the same, defaults filled in.
    pub fn between(pinned: &Definition, seen: &Definition) -> Option<Self> {
        if pinned.digest() == seen.digest() {
            return None;
        }
        let mut changes = Vec::new();
        for (pointer, was) in pinned.parts() {
            let is = seen.parts().get(pointer);
            if is.is_none_or(|is| is.value != was.value) {
                changes.push(Change {
                    part: Arc::clone(pointer),
                    class: is.map_or(was.class, |is| is.class.max(was.class)),
                    pinned: Some(Arc::clone(&was.value)),
                    seen: is.map(|is| Arc::clone(&is.value)),
                });
            }
        }
        for (pointer, is) in seen.parts() {
            if !pinned.parts().contains_key(pointer) {
                changes.push(Change {
                    part: Arc::clone(pointer),
                    class: is.class,
                    pinned: None,
                    seen: Some(Arc::clone(&is.value)),
                });
            }
        }
        if pinned.key() != seen.key() {
            changes.push(Change {
                part: "".into(),
                class: PartClass::Identity,
                pinned: Some(pinned.key().to_string().into()),
                seen: Some(seen.key().to_string().into()),
            });
        }
        Some(Self { changes })
    }

    /// The changed parts.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Whether somebody has to look before it is used again: it says something else, takes or gives something else, or is
    /// somebody else. Only what is claimed of it, and what is for the eye, may change without that.
    pub fn holds(&self) -> bool {
        self.changes.iter().any(|change| match change.class {
            PartClass::Wording | PartClass::Schema | PartClass::Identity => true,
            PartClass::Annotation | PartClass::Cosmetic => false,
        })
    }
}

// === impl Direction ===

impl Direction {
    /// From the contract of the pinned definition to that of the seen one.
    pub fn between(pinned: &Contract, seen: &Contract) -> Self {
        let mut direction = Self {
            loosens: seen.milder_than(pinned),
            tightens: pinned.milder_than(seen),
            idempotent: Some(seen.hints().idempotent).filter(|now| *now != pinned.hints().idempotent),
        };
        // A set that lost some members and gained others has changed both ways. People are told of one: whether the worst
        // that is possible became worse.
        for axis in direction.loosens.intersection(direction.tightens).iter() {
            match worst(seen, axis).cmp(&worst(pinned, axis)) {
                Ordering::Greater => direction.loosens = direction.loosens.without(axis),
                Ordering::Less => direction.tightens = direction.tightens.without(axis),
                Ordering::Equal => {}
            }
        }
        direction
    }

    /// Whether nothing became of it.
    pub fn is_none(self) -> bool {
        self.loosens.is_empty() && self.tightens.is_empty() && self.idempotent.is_none()
    }
}

/// How bad the worst is that a contract leaves possible on an axis, as a number that means something beside another of the
/// same axis.
fn worst(contract: &Contract, axis: Axis) -> usize {
    let rank = |found: Option<usize>| found.map_or(0, |place| place + 1);
    match axis {
        Axis::Destination => {
            rank(Destination::ALL.iter().rposition(|word| contract.destination().contains(*word)))
        }
        Axis::Outcomes => rank(Outcome::ALL.iter().rposition(|word| contract.outcomes().contains(*word))),
        Axis::Source => rank(Source::ALL.iter().rposition(|word| contract.source().contains(*word))),
        Axis::Integrity => {
            let label = contract.reply_label();
            TrustLevel::ALL.len() - rank(TrustLevel::ALL.iter().position(|level| *level == label.integrity()))
                + usize::from(label.open_world())
        }
        // Of these neither set is above the other.
        Axis::Accepts | Axis::Returns | Axis::Approval | Axis::Capabilities => 0,
    }
}
