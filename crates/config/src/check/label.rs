//! The label of a session as variables, and an example of one.

use highwater_core::annotation::{DataClass, Source};
use highwater_core::label::{Label, TextSet};
use highwater_core::trust::TrustLevel;
use highwater_notation::{Word, Words};

use super::diagram::{Function, NEVER};
use super::scopes::ScopeSet;
use super::space::{GaveUp, Space, TextId, Values};
use super::texts::Pattern;

/// What a session may have taken in.
#[derive(Debug)]
pub(crate) struct LabelModel {
    pub(crate) open_world: Function,
    pub(crate) malicious: Function,
    /// Exactly one holds, in the order of [`TrustLevel::ALL`].
    pub(crate) integrity: Vec<Function>,
    /// In the order of [`DataClass::ALL`].
    pub(crate) classes: Vec<Function>,
    /// In the order of [`Source::ALL`].
    pub(crate) sources: Vec<Function>,
    pub(crate) wrote_externally: Function,
    pub(crate) scopes: ScopeSet,
    pub(crate) origins: TextId,
    /// More origins contributed than are listed.
    pub(crate) origins_open: Function,
}

// === impl LabelModel ===

impl LabelModel {
    /// Makes the variables. `classes` are made by the caller, who wants them beside others.
    pub(crate) fn new(
        space: &mut Space,
        classes: Vec<Function>,
        scopes: ScopeSet,
        origins: Vec<Pattern>,
    ) -> Result<Self, GaveUp> {
        let integrity = space.last_choice(TrustLevel::ALL.len())?;
        let model = Self {
            open_world: space.switch()?,
            malicious: space.switch()?,
            integrity,
            classes,
            sources: space.switches(Source::ALL.len())?,
            wrote_externally: space.switch()?,
            scopes,
            origins: space.text_set(origins, "mcp://elsewhere.example/page")?,
            origins_open: space.switch()?,
        };
        // What comes from strangers, or is called malicious, is worth nothing.
        space.require_if(model.open_world, model.untrusted())?;
        space.require_if(model.malicious, model.untrusted())?;
        Ok(model)
    }

    /// The session has read text that a stranger may have written.
    pub(crate) fn untrusted(&self) -> Function {
        self.integrity.first().copied().unwrap_or(NEVER)
    }

    /// The session has read data of some class.
    pub(crate) fn private(&self, space: &mut Space) -> Result<Function, GaveUp> {
        Ok(space.diagram.any(self.classes.iter().copied())?)
    }

    /// A class of data.
    pub(crate) fn class(&self, class: DataClass) -> Function {
        usize::try_from(class.index())
            .ok()
            .and_then(|index| self.classes.get(index))
            .copied()
            .unwrap_or(NEVER)
    }

    /// A label with these values.
    pub(crate) fn spelled(&self, space: &Space, values: &Values) -> Label {
        let has = |function: Function| space.value(function, values);
        let level = TrustLevel::ALL.iter().zip(&self.integrity).find(|(_, is)| has(**is));
        let level = level.map_or(TrustLevel::None, |(level, _)| *level);
        let mut label = Label::bottom()
            .with_integrity(level)
            .with_classes(chosen(&self.classes, has))
            .with_sources(chosen(&self.sources, has))
            .with_scopes(&self.scopes.spelled(space, values));
        let origins = TextSet::of(space.members(self.origins, values));
        label = label.with_origins(&if has(self.origins_open) { origins.opened() } else { origins });
        if has(self.open_world) {
            label = label.with_open_world();
        }
        if has(self.malicious) {
            label = label.with_malicious();
        }
        if has(self.wrote_externally) {
            label = label.with_wrote_externally();
        }
        label
    }
}

/// The words whose functions hold.
pub(crate) fn chosen<T: Word>(functions: &[Function], has: impl Fn(Function) -> bool) -> Words<T> {
    T::ALL
        .iter()
        .copied()
        .zip(functions)
        .filter(|(_, function)| has(**function))
        .map(|(word, _)| word)
        .collect()
}
