//! Texts that an agent spells and a server reads, as the analysis sees them: a test certainly holds where the text as it
//! stands passes, and may hold where another spelling would.
//!
//! Examples are spelled in canonical form where they can be. Of those a likeness says everything; odd spellings are
//! judged more strictly, so what is said of the others holds for all.

use std::sync::LazyLock;

use highwater_core::policy::{Check, Likeness, Spellings};

use super::diagram::Function;
use super::model::patterns;
use super::space::{GaveUp, Rails, Space, TextId};
use super::texts::Pattern;

/// Texts that start from a root, as far as canonical ones go.
static ROOTED: LazyLock<Pattern> = LazyLock::new(|| alike(&Likeness::ROOTED));

fn alike(globs: &[&str]) -> Pattern {
    let like =
        |glob: &&str| Likeness { relative: false, before: "", pattern: (*glob).into(), literal: false };
    Pattern::Alike(globs.iter().map(like).collect())
}

/// What such a text is compared with.
pub(crate) fn compared(check: &Check, spellings: &Spellings) -> Vec<Pattern> {
    let mut all = patterns(check).unwrap_or_default();
    for (anywhere, relative) in spellings.likenesses().into_iter().map(split) {
        all.push(anywhere);
        if let Some(relative) = relative {
            all.extend([relative, ROOTED.clone()]);
        }
    }
    all
}

/// When a test of such a text may hold, and when it certainly does.
pub(crate) fn rails(
    space: &mut Space,
    id: TextId,
    check: &Check,
    spellings: &Spellings,
) -> Result<Rails, GaveUp> {
    let passes = any_like(space, id, &patterns(check).unwrap_or_default())?;
    let mut alike = vec![passes];
    for (anywhere, relative) in spellings.likenesses().into_iter().map(split) {
        alike.push(space.like(id, &anywhere)?);
        if let Some(relative) = relative {
            let (relative, rooted) = (space.like(id, &relative)?, space.like(id, &ROOTED)?);
            alike.push(space.diagram.minus(relative, rooted)?);
        }
    }
    Ok(Rails { may: space.diagram.any(alike)?, must: passes })
}

/// What makes a text like something wherever it starts, and what does so only if it starts from no root.
fn split(likenesses: Vec<Likeness>) -> (Pattern, Option<Pattern>) {
    let (relative, anywhere): (Vec<_>, Vec<_>) = likenesses.into_iter().partition(|like| like.relative);
    (Pattern::Alike(anywhere), (!relative.is_empty()).then_some(Pattern::Alike(relative)))
}

fn any_like(space: &mut Space, id: TextId, patterns: &[Pattern]) -> Result<Function, GaveUp> {
    let found = patterns.iter().map(|pattern| space.like(id, pattern)).collect::<Result<Vec<_>, _>>()?;
    Ok(space.diagram.any(found)?)
}
