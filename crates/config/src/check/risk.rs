//! The risk of a session: whatever core makes of a label, asked of every label there can be.

use highwater_core::annotation::DataClass;
use highwater_core::label::Label;
use highwater_core::trust::TrustLevel;
use highwater_notation::Words;

use super::diagram::{ALWAYS, Function, NEVER};
use super::label::LabelModel;
use super::space::{GaveUp, Space};

/// When the risk is one of those that fit.
pub(crate) fn when(
    space: &mut Space,
    label: &LabelModel,
    fits: &dyn Fn(i64) -> bool,
) -> Result<Function, GaveUp> {
    classes(space, label, DataClass::ALL, Words::EMPTY, fits)
}

/// Goes through every set of classes.
fn classes(
    space: &mut Space,
    label: &LabelModel,
    rest: &[DataClass],
    held: Words<DataClass>,
    fits: &dyn Fn(i64) -> bool,
) -> Result<Function, GaveUp> {
    match rest {
        [] => levels(space, label, held, fits),
        [class, rest @ ..] => {
            let with = classes(space, label, rest, held.with(*class), fits)?;
            let without = classes(space, label, rest, held, fits)?;
            Ok(space.diagram.choose(label.class(*class), with, without)?)
        }
    }
}

/// Goes through every level of integrity, and at the lowest through the flags.
fn levels(
    space: &mut Space,
    label: &LabelModel,
    held: Words<DataClass>,
    fits: &dyn Fn(i64) -> bool,
) -> Result<Function, GaveUp> {
    let mut found = Vec::new();
    for (level, is) in TrustLevel::ALL.iter().zip(&label.integrity) {
        let at = Label::bottom().with_classes(held).with_integrity(*level);
        let when = flags(space, label, at, fits)?;
        found.push(space.diagram.and(*is, when)?);
    }
    Ok(space.diagram.any(found)?)
}

fn flags(
    space: &mut Space,
    label: &LabelModel,
    at: Label,
    fits: &dyn Fn(i64) -> bool,
) -> Result<Function, GaveUp> {
    let mut found = Vec::new();
    for flags in 0..8_u8 {
        let mut this = at.clone();
        let mut holds = ALWAYS;
        for (index, flag) in
            [label.open_world, label.malicious, label.wrote_externally].into_iter().enumerate()
        {
            let is_set = flags >> index & 1 == 1;
            let side = if is_set { flag } else { space.diagram.not(flag)? };
            holds = space.diagram.and(holds, side)?;
            this = match (is_set, index) {
                (false, _) => this,
                (true, 0) => this.with_open_world(),
                (true, 1) => this.with_malicious(),
                (true, _) => this.with_wrote_externally(),
            };
        }
        found.push(if fits(this.risk().into()) { holds } else { NEVER });
    }
    Ok(space.diagram.any(found)?)
}
