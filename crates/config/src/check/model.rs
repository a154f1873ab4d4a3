//! How the values of one fact are told apart, and when a test on it may hold or certainly does.

use highwater_core::policy::{Check, Kind};

use super::diagram::{ALWAYS, Function, NEVER};
use super::label::LabelModel;
use super::risk;
use super::scopes::ScopeSet;
use super::space::{GaveUp, Rails, Space, TextId};
use super::texts::Pattern;

/// How the values of a fact are told apart.
#[derive(Debug)]
pub(super) enum Model {
    /// Which words are possible; exactly one, where the value is known.
    Possible(Vec<Function>),
    /// Which words are members.
    Members { has: Vec<Function>, unknown: Function },
    /// A text; there may be none, or nobody may know it.
    Text { id: Option<TextId>, absent: Function, unknown: Function },
    /// The members of several sets of texts together.
    Texts { ids: Vec<TextId>, open: Function },
    /// Scopes of regulations.
    Scopes { set: ScopeSet, unknown: Function },
    /// The risk of the session.
    Risk,
}

/// Nobody knows.
pub(super) const UNKNOWN: Rails = Rails { may: ALWAYS, must: NEVER };

// === impl Model ===

impl Model {
    /// Free variables for a fact of this kind. Used only until the fact has a line in [`World::model`]; a test
    /// sees to it that every fact has one.
    pub(super) fn anything(space: &mut Space, kind: Kind) -> Result<Self, GaveUp> {
        Ok(match kind {
            Kind::Bool => Self::Possible(space.choice(2)?),
            Kind::Enum { words, .. } => Self::Possible(space.choice(words.len())?),
            Kind::OneOf(words) => Self::Possible(space.part(words.len())?),
            Kind::Set(words) => Self::Members { has: space.switches(words.len())?, unknown: NEVER },
            Kind::Str | Kind::Open { .. } | Kind::Int(..) => {
                Self::Text { id: None, absent: NEVER, unknown: ALWAYS }
            }
        })
    }

    pub(super) fn rails(
        &self,
        space: &mut Space,
        label: &LabelModel,
        check: &Check,
    ) -> Result<Rails, GaveUp> {
        match (self, check) {
            (Self::Possible(words), Check::Among(wanted)) => {
                let is_wanted = |index: usize| wanted >> index & 1 == 1;
                let (mut among, mut others) = (Vec::new(), Vec::new());
                for (index, word) in words.iter().enumerate() {
                    if is_wanted(index) { among.push(*word) } else { others.push(*word) }
                }
                let other = space.diagram.any(others)?;
                Ok(Rails { may: space.diagram.any(among)?, must: space.diagram.not(other)? })
            }
            // A set from which at most one word is drawn, and perhaps none.
            (Self::Members { has, unknown }, Check::Has(wanted) | Check::Among(wanted)) => {
                let members = has.iter().enumerate().filter(|(index, _)| wanted >> index & 1 == 1);
                let members = members.map(|(_, member)| *member).collect::<Vec<_>>();
                let found = space.diagram.any(members)?;
                Ok(Rails {
                    may: space.diagram.or(found, *unknown)?,
                    must: space.diagram.minus(found, *unknown)?,
                })
            }
            (Self::Text { id, absent, unknown }, check) => {
                let (Some(id), Some(patterns)) = (id, patterns(check)) else { return Ok(UNKNOWN) };
                let like = like(space, *id, &patterns)?;
                let like = space.diagram.minus(like, *absent)?;
                Ok(Rails {
                    may: space.diagram.or(like, *unknown)?,
                    must: space.diagram.minus(like, *unknown)?,
                })
            }
            (Self::Texts { ids, open }, check) => {
                let mut found = Vec::new();
                for id in ids {
                    found.push(match patterns(check) {
                        Some(patterns) => like(space, *id, &patterns)?,
                        None => space.has_member(*id)?,
                    });
                }
                let found = space.diagram.any(found)?;
                Ok(Rails { may: space.diagram.or(found, *open)?, must: found })
            }
            (Self::Scopes { set, unknown }, check) => {
                let mut found = Vec::new();
                match patterns(check) {
                    Some(patterns) => {
                        for pattern in &patterns {
                            found.push(set.like(space, pattern)?);
                        }
                    }
                    None => found.push(set.has_member(space)?),
                }
                let found = space.diagram.any(found)?;
                let may = space.diagram.any([found, set.open, *unknown])?;
                Ok(Rails { may, must: space.diagram.minus(found, *unknown)? })
            }
            (Self::Risk, check) => {
                let fits = |total: i64| match check {
                    Check::Above(bound) => total > *bound,
                    Check::Below(bound) => total < *bound,
                    Check::Number(numbers) => numbers.contains(&total),
                    _ => false,
                };
                Ok(Rails::known(risk::when(space, label, &fits)?))
            }
            (Self::Possible(_) | Self::Members { .. }, _) => Ok(UNKNOWN),
        }
    }
}

fn patterns(check: &Check) -> Option<Vec<Pattern>> {
    match check {
        Check::Text(texts) => Some(texts.iter().map(|text| Pattern::Exact(text.to_string())).collect()),
        Check::Matches(glob) => Some(vec![Pattern::Glob(glob.as_str().to_owned())]),
        _ => None,
    }
}

fn like(space: &mut Space, id: TextId, patterns: &[Pattern]) -> Result<Function, GaveUp> {
    let mut found = Vec::new();
    for pattern in patterns {
        found.push(space.like(id, pattern)?);
    }
    Ok(space.diagram.any(found)?)
}
