//! How the values of one fact are told apart, and when a test on it may hold or certainly does.

use highwater_core::policy::{Check, Kind, Spellings};

use super::diagram::{ALWAYS, Function, NEVER};
use super::flow::FlowModel;
use super::label::LabelModel;
use super::risk;
use super::scopes::ScopeSet;
use super::space::{GaveUp, Rails, Space, TextId};
use super::spelling;
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
    /// The same of a fact that may be absent.
    Anything { words: Vec<Function>, absent: Function },
    /// A whole number: which one it is, from the least on, unless it is unknown.
    Number { least: i64, is: Vec<Function>, unknown: Function },
    /// The risk of the session.
    Risk,
    /// The flow gates that are violated.
    Flow,
}

/// Nobody knows.
pub(super) const UNKNOWN: Rails = Rails { may: ALWAYS, must: NEVER };

// === impl Model ===

impl Model {
    /// A fact that this analysis knows only by its kind: it may have any value, be absent or be unknown. It is compared
    /// with these texts.
    pub(super) fn anything(space: &mut Space, kind: Kind, asked: Vec<Pattern>) -> Result<Self, GaveUp> {
        let (unknown, absent) = (space.switch()?, space.switch()?);
        Ok(match kind {
            Kind::Bool => Self::Anything { words: space.part(2)?, absent },
            Kind::Enum { words, .. } | Kind::OneOf(words) => {
                Self::Anything { words: space.part(words.len())?, absent }
            }
            Kind::Set(words) => Self::Members { has: space.switches(words.len())?, unknown },
            Kind::Str => Self::Text { id: Some(space.text(asked, "text")?), absent, unknown },
            Kind::Open { .. } => Self::Texts { ids: vec![space.text_set(asked, "text")?], open: unknown },
            Kind::Int(least, most) => {
                let count = usize::try_from(most.saturating_sub(least)).map_err(|_| GaveUp::TooLarge)?;
                Self::Number { least, is: space.choice(count.saturating_add(1))?, unknown }
            }
        })
    }

    pub(super) fn rails(
        &self,
        space: &mut Space,
        label: &LabelModel,
        flow: &FlowModel,
        check: &Check,
        spellings: Option<&Spellings>,
    ) -> Result<Rails, GaveUp> {
        match (self, check) {
            (Self::Possible(words), Check::Among(wanted)) => among(space, words, *wanted),
            (Self::Anything { words, absent }, Check::Among(wanted)) => {
                let Rails { may, must } = among(space, words, *wanted)?;
                Ok(Rails {
                    may: space.diagram.minus(may, *absent)?,
                    must: space.diagram.minus(must, *absent)?,
                })
            }
            // A set from which at most one word is drawn, and perhaps none.
            (Self::Members { has, unknown }, Check::Has(wanted) | Check::Among(wanted)) => {
                let found = members(space, has, *wanted)?;
                unless(space, found, *unknown)
            }
            (Self::Flow, Check::Has(wanted)) => Ok(Rails::known(members(space, &flow.violated, *wanted)?)),
            (Self::Text { id, absent, unknown }, check) => {
                let (Some(id), Some(patterns)) = (id, patterns(check)) else { return Ok(UNKNOWN) };
                let Rails { may, must } = match spellings {
                    Some(spellings) => spelling::rails(space, *id, check, spellings)?,
                    None => Rails::known(like(space, *id, &patterns)?),
                };
                let (may, must) = (space.diagram.minus(may, *absent)?, space.diagram.minus(must, *absent)?);
                Ok(Rails {
                    may: space.diagram.or(may, *unknown)?,
                    must: space.diagram.minus(must, *unknown)?,
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
            (Self::Number { least, is, unknown }, check) => {
                let fitting = (*least..).zip(is).filter(|(number, _)| fits(check, *number));
                let found = space.diagram.any(fitting.map(|(_, is)| *is).collect::<Vec<_>>())?;
                unless(space, found, *unknown)
            }
            (Self::Risk, check) => Ok(Rails::known(risk::when(space, label, &|total| fits(check, total))?)),
            (Self::Possible(_) | Self::Anything { .. } | Self::Members { .. } | Self::Flow, _) => Ok(UNKNOWN),
        }
    }
}

/// Whether a number passes the check.
fn fits(check: &Check, number: i64) -> bool {
    match check {
        Check::Above(bound) => number > *bound,
        Check::Below(bound) => number < *bound,
        Check::Number(numbers) => numbers.contains(&number),
        _ => false,
    }
}

/// When the value may be one of the wanted words, and when it can be no other.
fn among(space: &mut Space, words: &[Function], wanted: u64) -> Result<Rails, GaveUp> {
    let other = members(space, words, !wanted)?;
    Ok(Rails { may: members(space, words, wanted)?, must: space.diagram.not(other)? })
}

/// When one of the wanted words is a member.
fn members(space: &mut Space, has: &[Function], wanted: u64) -> Result<Function, GaveUp> {
    let members = has.iter().enumerate().filter(|(index, _)| wanted >> index & 1 == 1);
    Ok(space.diagram.any(members.map(|(_, member)| *member).collect::<Vec<_>>())?)
}

/// When it is found, unless it is unknown: then it may be.
fn unless(space: &mut Space, found: Function, unknown: Function) -> Result<Rails, GaveUp> {
    Ok(Rails { may: space.diagram.or(found, unknown)?, must: space.diagram.minus(found, unknown)? })
}

/// What a text is compared with.
pub(super) fn patterns(check: &Check) -> Option<Vec<Pattern>> {
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
