//! Conditions as Boolean functions on two rails: when they may hold, and when they certainly do.

use highwater_core::policy::{Condition, Test};

use super::space::{GaveUp, Rails, Space};

/// The rails of a condition, given those of each test as it stands, its negation included.
pub(crate) fn rails(
    space: &mut Space,
    condition: &Condition,
    of: &mut dyn FnMut(&mut Space, &Test) -> Result<Rails, GaveUp>,
) -> Result<Rails, GaveUp> {
    match condition {
        Condition::Test(test) => of(space, test),
        Condition::All(parts) => {
            let mut whole = Rails::ALWAYS;
            for part in parts {
                let part = rails(space, part, of)?;
                whole = Rails {
                    may: space.diagram.and(whole.may, part.may)?,
                    must: space.diagram.and(whole.must, part.must)?,
                };
            }
            Ok(whole)
        }
        Condition::Any(parts) => {
            let mut whole = Rails::NEVER;
            for part in parts {
                let part = rails(space, part, of)?;
                whole = Rails {
                    may: space.diagram.or(whole.may, part.may)?,
                    must: space.diagram.or(whole.must, part.must)?,
                };
            }
            Ok(whole)
        }
    }
}

/// The rails of a test, given those of its check.
pub(crate) fn turned(space: &mut Space, test: &Test, rails: Rails) -> Result<Rails, GaveUp> {
    if !test.negated() {
        return Ok(rails);
    }
    // What certainly holds cannot fail; what may hold may fail, unless it certainly holds.
    Ok(Rails { may: space.diagram.not(rails.must)?, must: space.diagram.not(rails.may)? })
}
